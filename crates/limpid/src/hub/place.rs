//! Where a number of a parameter lies in the weight files of a folder.

use super::{FileForm, FileTensor, Opened, folder};
use crate::error::Result;
use std::path::Path;

/// An element of a tensor of a weight file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The name of the file.
    pub file: String,
    /// The name of the tensor.
    pub tensor: String,
    /// Its row there; 0 of a vector.
    pub row: usize,
    /// Its column there.
    pub column: usize,
    /// The type of the numbers there: `f32`.
    pub dtype: String,
}

/// Where an element of a parameter lies; `None` if it is not in a file of its own: an adapter's,
/// or one that is made from others.
/// # Errors
/// If the folder holds no model.
pub fn file_place(path: &Path, param: &str, at: [usize; 2]) -> Result<Option<FilePlace>> {
    let (base, _) = folder::base_and_adapter(path)?;
    let opened = Opened::new(&base, None)?;
    let Some((id, _)) = opened.builder.iter().find(|(_, spec)| spec.name == param) else {
        return Ok(None);
    };
    let [row, column] = at;
    // A vector has one row here, and its elements are the rows of its tensors.
    let is_vector = opened.builder.spec(id).shape.rank() == 1;
    let index = if is_vector { column } else { row };
    let holds = |tensor: &&FileTensor| tensor.param == id && tensor.rows.contains(&index);
    let Some(tensor) = opened.tensors.iter().find(holds) else { return Ok(None) };
    let index = row_in_file(tensor, index - tensor.rows.start);
    let (row, column) = match (is_vector, tensor.form) {
        (true, _) => (0, index),
        (false, FileForm::Transposed) => (column, index),
        (false, _) => (index, column),
    };
    let names = std::iter::once(&tensor.name).chain(&tensor.aliases);
    for name in names {
        for file in opened.file.files() {
            if let Some(found) = file.tensor(name) {
                let dtype = format!("{:?}", found.dtype()).to_lowercase();
                let path = file.path().file_name().unwrap_or_default();
                let file = path.to_string_lossy().into_owned();
                return Ok(Some(FilePlace { file, tensor: name.clone(), row, column, dtype }));
            }
        }
    }
    Ok(None)
}

/// The row in the file of a row of its part of the parameter.
fn row_in_file(tensor: &FileTensor, row: usize) -> usize {
    match tensor.form {
        FileForm::Same | FileForm::Transposed => row,
        FileForm::ByHead { heads } => {
            let block = (tensor.rows.len() / (3 * heads).max(1)).max(1);
            let (part, head) = (row / (heads * block), row / block % heads);
            (head * 3 + part) * block + row % block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub;
    use safetensors::SafeTensors;
    use std::path::PathBuf;

    #[test]
    fn a_number_of_every_parameter_is_in_the_file_where_it_is_said_to_be() {
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
        let mut checked = 0;
        for name in ["gpt2-tiny", "neox-tiny", "marian-tiny", "bert-mlm", "rnn-gru-additive"] {
            let folder = fixtures.join(name);
            let (model, _) = hub::load(&folder).unwrap();
            let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
            let file = SafeTensors::deserialize(&bytes).unwrap();
            for (id, spec) in model.params.iter() {
                let rank = spec.shape.rank();
                let columns = if rank == 2 { spec.shape.dim(1) } else { spec.shape.len() };
                let rows = spec.shape.len() / columns;
                for at in [[0, 0], [rows - 1, columns / 2], [rows / 2, columns - 1]] {
                    let Some(place) = file_place(&folder, &spec.name, at).unwrap() else {
                        continue;
                    };
                    let tensor = file.tensor(&place.tensor).unwrap();
                    let width = *tensor.shape().last().unwrap();
                    let from = 4 * (place.row * width + place.column);
                    let stored = tensor.data()[from..from + 4].try_into().unwrap();
                    let value = model.params.get(id)[at[0] * columns + at[1]];
                    assert_eq!(f32::from_le_bytes(stored), value, "{name}: {} {at:?}", spec.name);
                    checked += 1;
                }
            }
        }
        assert!(checked > 300, "{checked}");
    }
}
