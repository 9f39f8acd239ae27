//! Options of generation, from keyword arguments with the names of `transformers`.

use limpid::generate::{EarlyStopping, GenerationOptions, KvFormat};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// The options that were given; `None` stands for one that was not.
pub fn generation_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<GenerationOptions> {
    let mut options = GenerationOptions::default();
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        if !value.is_none() {
            set(&mut options, &key, &value)?;
        }
    }
    Ok(options)
}

fn set(options: &mut GenerationOptions, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match key {
        "do_sample" => options.do_sample = Some(of(key, value)?),
        "temperature" => options.temperature = Some(of(key, value)?),
        "top_k" => options.top_k = Some(of(key, value)?),
        "top_p" => options.top_p = Some(of(key, value)?),
        "seed" => options.seed = Some(of(key, value)?),
        "num_beams" => options.num_beams = Some(of(key, value)?),
        "num_return_sequences" => options.num_return_sequences = Some(of(key, value)?),
        "length_penalty" => options.length_penalty = Some(of(key, value)?),
        "gnmt_length_penalty" => options.gnmt_length_penalty = Some(of(key, value)?),
        "early_stopping" => options.early_stopping = Some(early_stopping(value)?),
        "repetition_penalty" => options.repetition_penalty = Some(of(key, value)?),
        "no_repeat_ngram_size" => options.no_repeat_ngram_size = Some(of(key, value)?),
        "min_new_tokens" => options.min_new_tokens = Some(of(key, value)?),
        "max_new_tokens" => options.max_new_tokens = Some(of(key, value)?),
        "stop_strings" => options.stop_strings = Some(stop_strings(value)?),
        "kv_cache_dtype" => options.kv_cache_dtype = Some(kv_format(value)?),
        _ => return Err(PyTypeError::new_err(format!("unexpected keyword argument '{key}'"))),
    }
    Ok(())
}

fn of<'py, T: FromPyObjectOwned<'py>>(key: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        let message = format!("{key}: {}", error.value(value.py()));
        match error.is_instance_of::<PyTypeError>(value.py()) {
            true => PyTypeError::new_err(message),
            false => PyValueError::new_err(message),
        }
    })
}

/// The three values that `transformers` has for it.
fn early_stopping(value: &Bound<'_, PyAny>) -> PyResult<EarlyStopping> {
    if let Ok(immediate) = value.extract::<bool>() {
        return Ok(if immediate { EarlyStopping::Immediate } else { EarlyStopping::Heuristic });
    }
    match value.extract::<String>() {
        Ok(text) if text == "never" => Ok(EarlyStopping::Never),
        _ => Err(PyValueError::new_err("early_stopping: expected True, False or \"never\"")),
    }
}

fn stop_strings(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.cast::<PyString>() {
        Ok(one) => Ok(vec![one.extract()?]),
        Err(_) => of("stop_strings", value),
    }
}

fn kv_format(value: &Bound<'_, PyAny>) -> PyResult<KvFormat> {
    let name: String = of("kv_cache_dtype", value)?;
    KvFormat::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
        let names = KvFormat::ALL.map(KvFormat::name).join(", ");
        PyValueError::new_err(format!("kv_cache_dtype: '{name}' is none of {names}"))
    })
}
