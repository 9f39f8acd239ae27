//! `train.freeze`: parts of a model that are not trained. They cost neither a gradient nor moments.

use crate::error::{Result, RunError};
use limpid_tensor::params::{Params, Role};
use std::ops::RangeInclusive;

/// Freezes the parts that these patterns name.
///
/// # Errors
/// If a pattern names nothing, or nothing is left to train.
pub(super) fn freeze(params: &mut Params, patterns: &[String]) -> Result<()> {
    if patterns.is_empty() {
        return Ok(());
    }
    for pattern in patterns {
        if !params.iter().any(|(_, spec)| is_part(pattern, &spec.name)) {
            let (pattern, parts) = (pattern.clone(), parts(params));
            return Err(RunError::NothingToFreeze { pattern, parts }.into());
        }
    }
    let is_frozen = |name: &str| patterns.iter().any(|pattern| is_part(pattern, name));
    params.set_roles(|spec| if is_frozen(&spec.name) { Role::Fixed } else { spec.role });
    match params.count() {
        0 => Err(RunError::AllFrozen.into()),
        _ => Ok(()),
    }
}

/// Whether a pattern names a parameter: `embeddings`, a range of layers (`layers.0-3`,
/// `encoder.layers.2`), or whole parts of the beginning of its name.
pub(super) fn is_part(pattern: &str, name: &str) -> bool {
    if pattern == "embeddings" {
        return name.contains("embedding");
    }
    if let Some((part, numbers)) = layers(pattern) {
        let after = name.strip_prefix(part).or_else(|| match part {
            "layers." => name.split_once(".layers.").map(|(_, after)| after),
            _ => None,
        });
        let number = after.and_then(|after| after.split('.').next()?.parse().ok());
        return number.is_some_and(|number: usize| numbers.contains(&number));
    }
    name.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `layers.` and what is before it, and the numbers behind it: one, or from one to another.
fn layers(pattern: &str) -> Option<(&str, RangeInclusive<usize>)> {
    let at = pattern.rfind("layers.")? + "layers.".len();
    let (part, numbers) = pattern.split_at(at);
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    Some((part, first.parse().ok()?..=last.parse().ok()?))
}

/// The parts of a model that can be named, each once.
fn parts(params: &Params) -> Vec<String> {
    let mut parts = vec!["embeddings".to_string()];
    for (_, spec) in params.iter() {
        let part = match spec.name.find("layers.") {
            Some(at) => {
                let number = spec.name[at..].split('.').nth(1).unwrap_or_default();
                format!("{}layers.{number}", &spec.name[..at])
            }
            None => spec.name.split('.').next().unwrap_or_default().to_string(),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::model::Model;
    use crate::model::config::{DecoderConfig, EncoderDecoderConfig};

    fn frozen(model: &Model) -> Vec<&str> {
        let fixed = model.params.iter().filter(|(_, spec)| spec.role == Role::Fixed);
        fixed.map(|(_, spec)| spec.name.as_str()).collect()
    }

    #[test]
    fn layers_are_frozen_by_number_and_other_parts_by_name() {
        let mut model = Model::new(DecoderConfig::gpt2(9, 8, 12, 2, 8), 1).unwrap();
        freeze(&mut model.params, &["embeddings".into(), "layers.1-2".into()]).unwrap();
        let names = frozen(&model);
        let is_expected = |name: &&str| {
            ["token_embedding.", "position_embedding.", "layers.1.", "layers.2."]
                .iter()
                .any(|part| name.starts_with(part))
        };
        // Not layers 10 and 11.
        assert!(names.iter().all(is_expected), "{names:?}");
        let expected = model.params.iter().filter(|(_, spec)| is_expected(&spec.name.as_str()));
        assert_eq!(names.len(), expected.count());
        let mut model = Model::new(EncoderDecoderConfig::new(9, 2, 2, 8, 8), 1).unwrap();
        freeze(&mut model.params, &["encoder".into(), "decoder.layers.0".into()]).unwrap();
        let names = frozen(&model);
        assert!(names.contains(&"encoder.layers.1.ffn.up.weight"), "{names:?}");
        assert!(names.contains(&"decoder.layers.0.ffn.up.weight"), "{names:?}");
        assert!(!names.contains(&"decoder.layers.1.ffn.up.weight"), "{names:?}");
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused_with_those_that_do() {
        let mut model = Model::new(DecoderConfig::gpt2(9, 8, 2, 2, 8), 1).unwrap();
        let error = freeze(&mut model.params, &["layers.7".into()]).unwrap_err();
        let Error::Run(RunError::NothingToFreeze { parts, .. }) = error else { panic!("{error}") };
        assert!(parts.contains(&"layers.1".to_string()), "{parts:?}");
        let all = ["embeddings", "layers.0-1", "final_norm"].map(String::from);
        let error = freeze(&mut model.params, &all).unwrap_err();
        assert!(matches!(error, Error::Run(RunError::AllFrozen)), "{error}");
    }
}
