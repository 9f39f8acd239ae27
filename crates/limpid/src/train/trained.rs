//! How many parameters a run trains, before its model exists: the others cost neither a gradient
//! nor moments.

use super::config::RunConfig;
use super::freeze::is_part;
use crate::error::Result;
use crate::hub::{AdapterConfig, StackConfig};
use crate::model::Stack;
use limpid_tensor::params::{ParamSpec, Params, Role};

/// Beginnings of the names of heads: a pretrained model may lack them, and then they are trained
/// beside adapters.
const HEADS: [&str; 5] = ["classifier.", "score.", "pooler.", "lm_head.", "qa_outputs."];

/// No machine holds more: such a model is not even described parameter by parameter.
const MOST: f64 = 1e12;

/// Parameters of a model, about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ParameterCounts {
    /// Those with a gradient and moments, adapters included.
    pub(super) trained: f64,
    /// Those that stay as they are.
    pub(super) fixed: f64,
}

impl ParameterCounts {
    /// Those of a run's model: no fewer trained ones than there are.
    pub(super) fn of(config: &RunConfig, stack: &StackConfig) -> Result<Self> {
        let all = Self { trained: stack.parameters_about(), fixed: 0.0 };
        let saves_modules = config.lora.as_ref().is_some_and(|l| !l.modules_to_save.is_empty());
        let has_fixed = config.lora.is_some() || !config.train.freeze.is_empty();
        // Modules to save have the names of the weight file, which is not open yet.
        if !has_fixed || saves_modules || all.trained > MOST {
            return Ok(all);
        }
        let mut builder = Params::builder();
        Stack::new(stack, &mut builder)?;
        let mut counts = Self { trained: 0.0, fixed: 0.0 };
        let frozen = &config.train.freeze;
        for (_, spec) in builder.iter() {
            let len = spec.shape.len() as f64;
            let is_frozen = frozen.iter().any(|pattern| is_part(pattern, &spec.name));
            let is_head = HEADS.iter().any(|head| spec.name.starts_with(head));
            match &config.lora {
                _ if is_frozen || spec.role != Role::Trained => counts.fixed += len,
                Some(lora) if !is_head => {
                    counts.fixed += len;
                    counts.trained += adapters(lora, spec);
                }
                _ => counts.trained += len,
            }
        }
        Ok(counts)
    }
}

/// Numbers of the adapters of a matrix, whose rows may be those of three modules (q, k and v), each
/// with an A of its own.
fn adapters(lora: &AdapterConfig, spec: &ParamSpec) -> f64 {
    match spec.shape.rank() {
        2 if !spec.name.contains("embedding") => {
            (lora.r * (spec.shape.dim(0) + 3 * spec.shape.dim(1))) as f64
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use std::collections::BTreeSet;

    const FROM: &str = "model.from=../../reference/fixtures/gpt2-tiny";

    fn config(set: &[&str]) -> RunConfig {
        let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
        RunConfig::parse("task = \"gpt\"\n[data]\ntext = [\"a\"]\n", &set).unwrap()
    }

    fn counts(config: &RunConfig) -> ParameterCounts {
        ParameterCounts::of(config, &config.stack(16, &[]).unwrap()).unwrap()
    }

    #[test]
    fn adapters_train_little_and_no_less_than_they_have() {
        let config = config(&[FROM, "lora.rank=2"]);
        let found = counts(&config);
        let stack = config.stack(16, &[]).unwrap();
        let mut model = Model::new(stack, 0).unwrap();
        model.model_type = Some("gpt2");
        let before: BTreeSet<String> =
            model.params.iter().map(|(_, spec)| spec.name.clone()).collect();
        config.lora.unwrap().attach(&mut model, 0, |_| false).unwrap();
        let is_new = |spec: &&ParamSpec| !before.contains(&spec.name);
        let specs = || model.params.iter().map(|(_, spec)| spec);
        let trained: usize = specs().filter(is_new).map(|spec| spec.shape.len()).sum();
        let fixed: usize = specs().filter(|s| !is_new(s)).map(|spec| spec.shape.len()).sum();
        assert_eq!(found.fixed, fixed as f64);
        assert!(trained > 0 && found.trained >= trained as f64, "{found:?}, {trained}");
        assert!(found.trained <= 3.0 * trained as f64, "{found:?}, {trained}");
    }

    #[test]
    fn frozen_parts_are_not_trained() {
        let config =
            config(&["model.layers=2", "model.hidden_size=8", "train.freeze=[\"layers\"]"]);
        let found = counts(&config);
        let mut model = Model::new(config.stack(16, &[]).unwrap(), 0).unwrap();
        super::super::freeze::freeze(&mut model.params, &config.train.freeze).unwrap();
        assert_eq!(found.trained, model.params.count() as f64);
    }
}
