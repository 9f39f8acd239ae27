//! The Dense module of sentence-transformers: a linear layer after the pooling.

use super::keys::{Keys, read_object};
use super::shards::WeightFiles;
use super::{CONFIG, folder};
use crate::error::{Error, KeyScope, ModelError, Result};
use serde_json::{Value, json};
use std::path::Path;

/// y = φ(W·x + b), from an embedding to an embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// W, (out, in).
    weight: Vec<f32>,
    /// b, (out); zeros where the module has none.
    bias: Vec<f32>,
    activation: DenseActivation,
}

/// φ of a [`Dense`] module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenseActivation {
    /// y = z.
    Identity,
    /// tanh(z).
    Tanh,
    /// max(0, z).
    Relu,
    /// σ(z) = 1 / (1 + exp(−z)).
    Sigmoid,
    /// z·σ(z).
    Silu,
}

/// The classes of PyTorch; the first is the default of sentence-transformers.
const ACTIVATIONS: [(&str, DenseActivation); 5] = [
    ("torch.nn.modules.activation.Tanh", DenseActivation::Tanh),
    ("torch.nn.modules.linear.Identity", DenseActivation::Identity),
    ("torch.nn.modules.activation.ReLU", DenseActivation::Relu),
    ("torch.nn.modules.activation.Sigmoid", DenseActivation::Sigmoid),
    ("torch.nn.modules.activation.SiLU", DenseActivation::Silu),
];

impl Dense {
    /// Reads `config.json` and `model.safetensors` of the module's folder.
    pub(super) fn load(module: &Path) -> Result<Self> {
        let path = module.join(CONFIG);
        let mut keys = Keys { path: &path, map: read_object(&path)?, scope: KeyScope::Model };
        let (inputs, outputs) = (keys.size("in_features")?, keys.size("out_features")?);
        if let Some(key) = [("in_features", inputs), ("out_features", outputs)]
            .into_iter()
            .find_map(|(key, n)| (n == 0).then_some(key))
        {
            return Err(keys.wrong(key, &json!(0), "at least 1"));
        }
        let has_bias = keys.flag("bias")?.unwrap_or(true);
        let name = keys.text("activation_function")?;
        let name = name.unwrap_or_else(|| ACTIVATIONS[0].0.into());
        let Some((_, activation)) = ACTIVATIONS.into_iter().find(|(known, _)| *known == name)
        else {
            return Err(keys.error(ModelError::UnsupportedValue {
                key: "activation_function".into(),
                found: name,
                supported: ACTIVATIONS.map(|(known, _)| known).join(", "),
                scope: KeyScope::Model,
            }));
        };
        keys.must_be_one_of("use_residual", &[json!(false), Value::Null])?;
        for key in ["module_input_name", "module_output_name"] {
            keys.must_be_one_of(key, &[json!("sentence_embedding"), Value::Null])?;
        }
        folder::check_weights(module)?;
        let files = WeightFiles::open(module)?;
        let read = |name: &str, shape: &[usize]| {
            let tensor = name.to_string();
            let Some(stored) = files.tensor(name) else {
                let error = ModelError::MissingTensor { tensor };
                return Err(Error::from(error).in_file(files.list()));
            };
            if stored.shape() != shape {
                let (found, expected) = (stored.shape().to_vec(), shape.to_vec());
                return Err(stored.error(ModelError::WrongShape { tensor, found, expected }));
            }
            // As large as the file says, which is as large as the file is.
            let mut values = vec![0.0; shape.iter().product()];
            stored.read(0, &mut values)?;
            Ok(values)
        };
        let weight = read("linear.weight", &[outputs, inputs])?;
        let bias = match has_bias {
            true => read("linear.bias", &[outputs])?,
            false => vec![0.0; outputs],
        };
        Ok(Self { weight, bias, activation })
    }

    /// Components of an embedding that it takes.
    pub fn in_features(&self) -> usize {
        self.weight.len() / self.bias.len().max(1)
    }

    /// Components of an embedding that it gives.
    pub fn out_features(&self) -> usize {
        self.bias.len()
    }

    /// y of one embedding.
    /// # Panics
    /// If it has another number of components than [`Dense::in_features`].
    pub fn forward(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.in_features(), "components of an embedding");
        let row = |(row, bias): (&[f32], &f32)| {
            let dot: f64 = row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum();
            self.activation.apply(dot + f64::from(*bias))
        };
        self.weight.chunks_exact(x.len().max(1)).zip(&self.bias).map(row).collect()
    }
}

impl DenseActivation {
    fn apply(self, z: f64) -> f64 {
        match self {
            Self::Identity => z,
            Self::Tanh => z.tanh(),
            Self::Relu => z.max(0.0),
            Self::Sigmoid => 1.0 / (1.0 + (-z).exp()),
            Self::Silu => z / (1.0 + (-z).exp()),
        }
    }
}
