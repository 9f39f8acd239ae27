//! Errors of the library as exceptions: one class per area, with the message of the error.

use limpid::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

create_exception!(limpid, LimpidError, PyException, "Any error of limpid.");
create_exception!(limpid, FileError, LimpidError, "A file that cannot be read or written.");
create_exception!(limpid, ModelError, LimpidError, "A model folder that cannot be used.");
create_exception!(limpid, TaskError, LimpidError, "A model that was made for another task.");
create_exception!(limpid, InputError, LimpidError, "A text or an option that cannot be used.");
create_exception!(limpid, DataError, LimpidError, "Training data that cannot be used.");
create_exception!(limpid, ConfigError, LimpidError, "A configuration that cannot be used.");
create_exception!(limpid, RunError, LimpidError, "A training run that cannot go on.");

/// Adds the classes to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("LimpidError", py.get_type::<LimpidError>())?;
    module.add("FileError", py.get_type::<FileError>())?;
    module.add("ModelError", py.get_type::<ModelError>())?;
    module.add("TaskError", py.get_type::<TaskError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("DataError", py.get_type::<DataError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("RunError", py.get_type::<RunError>())
}

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    let mut area = &error;
    while let Error::InFile { source, .. } = area {
        area = source;
    }
    match area {
        Error::File(_) => FileError::new_err(message),
        Error::Model(_) | Error::Tokenizer(_) | Error::Chat(_) => ModelError::new_err(message),
        Error::Pipeline(_) => TaskError::new_err(message),
        Error::Generation(_) | Error::Encode(_) | Error::Inspect(_) => InputError::new_err(message),
        Error::Data(_) | Error::Dataset(_) | Error::Eval(_) => DataError::new_err(message),
        Error::Setting(_) | Error::ModelConfig(_) | Error::Plan(_) | Error::Pretrained(_) => {
            ConfigError::new_err(message)
        }
        Error::Run(_) | Error::Report(_) => RunError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => LimpidError::new_err(message),
    }
}
