//! The weight files of a folder: `model.safetensors`, or the shards that
//! `model.safetensors.index.json` lists, read as one.
//!
//! ```text
//! {"metadata": {"total_size": 288},
//!  "weight_map": {"wte.weight": "model-00001-of-00002.safetensors", …}}
//! ```

use super::WEIGHTS;
use super::keys::read_object;
use super::weight_file::{StoredTensor, WeightFile};
use crate::error::{Error, ModelError, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The list of tensors of a sharded model, with the file of each.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// All weight files of a folder, mapped.
#[derive(Debug)]
pub(super) struct WeightFiles {
    /// The file that lists the tensors: the weight file itself, or the index.
    list: PathBuf,
    files: Vec<WeightFile>,
    /// The file of each tensor.
    places: BTreeMap<String, usize>,
}

impl WeightFiles {
    /// Maps the files of a folder that has `model.safetensors`, or else an index.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let list = folder.join(WEIGHTS);
        if list.exists() {
            return Self::new(list.clone(), vec![WeightFile::open(&list)?]);
        }
        let index = folder.join(INDEX);
        let map = read_index(&index)?;
        let shards: BTreeSet<&String> = map.values().collect();
        let open = |shard: &&String| {
            let path = folder.join(shard);
            if !path.is_file() {
                let error = ModelError::MissingShard { shard: (*shard).clone() };
                return Err(Error::from(error).in_file(&index));
            }
            WeightFile::open(&path)
        };
        let files = shards.iter().map(open).collect::<Result<Vec<_>>>()?;
        let all = Self::new(index, files)?;
        for (tensor, shard) in map {
            let found = all.tensor(&tensor);
            if !found.is_some_and(|found| found.file().path().ends_with(&shard)) {
                let error = ModelError::NotInShard { tensor, shard };
                return Err(Error::from(error).in_file(&all.list));
            }
        }
        Ok(all)
    }

    /// Whether a folder has weight files.
    pub(super) fn exist_in(folder: &Path) -> bool {
        folder.join(WEIGHTS).exists() || folder.join(INDEX).exists()
    }

    fn new(list: PathBuf, files: Vec<WeightFile>) -> Result<Self> {
        let mut places = BTreeMap::new();
        for (i, file) in files.iter().enumerate() {
            for tensor in file.names() {
                if places.insert(tensor.clone(), i).is_some() {
                    let error = ModelError::DuplicateTensor { tensor };
                    return Err(Error::from(error).in_file(file.path()));
                }
            }
        }
        Ok(Self { list, files, places })
    }

    /// The pages of all files will be used again and again, in any order.
    pub(super) fn expect_use(&self) {
        self.files.iter().for_each(WeightFile::expect_use);
    }

    /// The file that lists the tensors.
    pub(super) fn list(&self) -> &Path {
        &self.list
    }

    /// The names of all tensors, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.places.keys()
    }

    /// The weight files.
    pub(super) fn files(&self) -> &[WeightFile] {
        &self.files
    }

    /// A tensor by its name.
    pub(super) fn tensor(&self, name: &str) -> Option<StoredTensor<'_>> {
        self.files[*self.places.get(name)?].tensor(name)
    }
}

/// The `weight_map` of an index: the file of each tensor.
fn read_index(path: &Path) -> Result<BTreeMap<String, String>> {
    let error = |error: ModelError| Error::from(error).in_file(path);
    let wrong = |key: String, found: &Value, expected: &str| {
        error(ModelError::WrongValue { key, found: found.to_string(), expected: expected.into() })
    };
    let key = || "weight_map".to_string();
    let map = match read_object(path)?.remove("weight_map") {
        Some(Value::Object(map)) => map,
        Some(other) => return Err(wrong(key(), &other, "an object of tensors and their files")),
        None => return Err(error(ModelError::MissingKey { key: key() })),
    };
    let mut files = BTreeMap::new();
    for (tensor, file) in map {
        match file {
            Value::String(shard) if is_file_name(&shard) => drop(files.insert(tensor, shard)),
            Value::String(shard) => return Err(error(ModelError::ShardPath { shard })),
            other => return Err(wrong(format!("weight_map.{tensor}"), &other, "a file name")),
        }
    }
    Ok(files)
}

/// Whether a name is one of a file beside another: an index must not reach other folders.
pub(super) fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    one && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub;
    use crate::model::Model;
    use crate::model::config::DecoderConfig;
    use safetensors::tensor::SafeTensors;
    use serde_json::json;
    use std::fs;

    /// A saved model, its weights in two shards with an index.
    fn sharded(name: &str) -> (Model, PathBuf, Value) {
        let model = Model::new(DecoderConfig::gpt2(5, 4, 2, 1, 4), 1).unwrap();
        let folder = std::env::temp_dir().join(format!("limpid-{name}-{}", std::process::id()));
        hub::save(&model, &folder).unwrap();
        let bytes = fs::read(folder.join(WEIGHTS)).unwrap();
        fs::remove_file(folder.join(WEIGHTS)).unwrap();
        let mut tensors = SafeTensors::deserialize(&bytes).unwrap().tensors();
        tensors.sort_by(|a, b| a.0.cmp(&b.0));
        let mut map = serde_json::Map::new();
        for (i, part) in tensors.chunks(tensors.len().div_ceil(2)).enumerate() {
            let shard = format!("model-0000{}-of-00002.safetensors", i + 1);
            let views = part.iter().map(|(name, view)| (name, view));
            fs::write(folder.join(&shard), safetensors::serialize(views, None).unwrap()).unwrap();
            map.extend(part.iter().map(|(name, _)| (name.clone(), json!(shard))));
        }
        let index = json!({"metadata": {"total_size": 1}, "weight_map": map});
        fs::write(folder.join(INDEX), index.to_string()).unwrap();
        (model, folder, index)
    }

    #[test]
    fn shards_are_read_as_one_file() {
        let (model, folder, _) = sharded("shards");
        let (same, warnings) = hub::load(&folder).unwrap();
        assert_eq!((same.params.flat(), warnings), (model.params.flat(), vec![]));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_index_that_does_not_fit_its_shards_is_refused_by_name() {
        let (_, folder, index) = sharded("bad-shards");
        let error = |index: &str| {
            fs::write(folder.join(INDEX), index).unwrap();
            let error = hub::load(&folder).err().unwrap().to_string();
            assert!(error.contains(INDEX), "{error}");
            error
        };
        let with = |tensor: &str, shard: Value| {
            let mut index = index.clone();
            index["weight_map"][tensor] = shard;
            error(&index.to_string())
        };
        let wte = "transformer.wte.weight";
        let first = "model-00001-of-00002.safetensors";
        for path in ["../other.safetensors", "/etc/passwd", "a/b.safetensors", "..", "", "a\\b"] {
            let error = with(wte, json!(path));
            assert!(error.contains("is not the name of a file beside the index"), "{error}");
        }
        assert!(with(wte, json!("lost.safetensors")).contains("shard lost.safetensors is missing"));
        // It is in the second.
        let error_text = with(wte, json!(first));
        assert!(error_text.contains(&format!("{first} has no tensor {wte}")), "{error_text}");
        assert!(with("new", json!(first)).contains("has no tensor new"));
        assert!(with(wte, json!(7)).contains("weight_map.transformer.wte.weight is 7"));
        assert!(error("{").contains("not valid JSON"));
        assert!(error("[]").contains("expected a JSON object"));
        assert!(error("{}").contains("weight_map is missing"));
        assert!(error(r#"{"weight_map": 1}"#).contains("weight_map is 1"));
        assert!(error(r#"{"weight_map": {}}"#).contains("is missing"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_truncated_shard_and_a_tensor_in_two_shards_are_refused_with_the_shard() {
        let (_, folder, _) = sharded("cut-shards");
        let [one, two] = [1, 2].map(|i| folder.join(format!("model-0000{i}-of-00002.safetensors")));
        let bytes = fs::read(&two).unwrap();
        fs::write(&two, &bytes[..bytes.len() - 1]).unwrap();
        let error = hub::load(&folder).err().unwrap().to_string();
        assert!(error.contains("00002-of-00002.safetensors: not a complete"), "{error}");
        fs::copy(&one, &two).unwrap();
        let error = hub::load(&folder).err().unwrap().to_string();
        assert!(error.contains("stands in two shards"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
