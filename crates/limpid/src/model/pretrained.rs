//! Pretrained weights: parameters that one model loads from another.

use super::{Model, Stack};
use limpid_tensor::params::ParamId;

/// A head that keeps its initial weights, because the pretrained model has none that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewHead {
    /// The pretrained classifier has other labels, or the same in another order.
    Classifier,
    /// The pretrained model has no masked-LM head.
    MaskedLm,
}

impl Model {
    /// Takes every parameter that `pretrained` has under the same name and with the same shape,
    /// and its family. A classification head is taken only if the labels are the same. What is not
    /// trained here and lies in a mapped file there is used in place.
    pub fn load_matching(&mut self, pretrained: &Model) {
        let ids: Vec<_> = self.params.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(other) = self.matching(pretrained, id) {
                self.params.take_values(id, &pretrained.params, other);
            }
        }
        self.model_type = pretrained.model_type;
    }

    /// The names of the parameters that [`Model::load_matching`] leaves as they are.
    pub fn unmatched(&self, pretrained: &Model) -> Vec<String> {
        let all = self.params.iter();
        let left = all.filter(|(id, _)| self.matching(pretrained, *id).is_none());
        left.map(|(_, spec)| spec.name.clone()).collect()
    }

    /// The parameter of `pretrained` that one of this model is loaded from.
    fn matching(&self, pretrained: &Model, id: ParamId) -> Option<ParamId> {
        let name = &self.params.spec(id).name;
        let is_classifier = Self::CLASSIFIERS.iter().any(|head| name.starts_with(head));
        if is_classifier && self.new_heads(pretrained).contains(&NewHead::Classifier) {
            return None;
        }
        let other = pretrained.params.find(name)?;
        (pretrained.params.shape(other) == self.params.shape(id)).then_some(other)
    }

    /// The heads that [`Model::load_matching`] does not load although the model has them. A
    /// classifier on an encoder that had none is not listed: a new head is what is asked for.
    pub fn new_heads(&self, pretrained: &Model) -> Vec<NewHead> {
        let (now, then) = (&self.stack, &pretrained.stack);
        let other_classes = matches!(
            (now.labels(), then.labels()),
            (Some(a), Some(b)) if a.names != b.names || a.problem() != b.problem()
        );
        let tags = |stack: &Stack| match stack {
            Stack::Encoder(encoder) => encoder.token_labels().map(<[String]>::to_vec),
            _ => None,
        };
        let other_tags = matches!((tags(now), tags(then)), (Some(a), Some(b)) if a != b);
        let fills_masks =
            |stack: &Stack| matches!(stack, Stack::Encoder(e) if e.config().head.fills_masks());
        // The output layers of heads of different kinds have one name.
        let other_kind = now.labels().is_some() != then.labels().is_some()
            && tags(now).is_some() != tags(then).is_some();
        let heads = [
            (NewHead::Classifier, other_classes || other_tags || other_kind),
            (NewHead::MaskedLm, fills_masks(now) && !fills_masks(then)),
        ];
        heads.into_iter().filter(|(_, is_new)| *is_new).map(|(head, _)| head).collect()
    }

    /// The parameters of classification heads.
    const CLASSIFIERS: [&str; 2] = ["classifier.", "score."];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::{EncoderConfig, EncoderHead};

    fn model(head: EncoderHead, seed: u64) -> Model {
        Model::new(EncoderConfig { head, ..EncoderConfig::new(11, 8, 2, 2, 8) }, seed).unwrap()
    }

    fn labels(names: [&str; 2]) -> EncoderHead {
        EncoderHead::Classifier(names.map(String::from).to_vec().into())
    }

    fn values<'a>(model: &'a Model, name: &str) -> &'a [f32] {
        model.params.get(model.params.find(name).unwrap())
    }

    #[test]
    fn the_encoder_is_loaded_under_any_head_and_a_missing_head_stays_new() {
        let pretrained = model(EncoderHead::Bare, 1);
        let mut fine_tuned = model(EncoderHead::MaskedLm, 2);
        let before = values(&fine_tuned, "lm_head.dense.weight").to_vec();
        fine_tuned.load_matching(&pretrained);
        for (id, spec) in pretrained.params.iter() {
            assert_eq!(values(&fine_tuned, &spec.name), pretrained.params.get(id), "{}", spec.name);
        }
        assert_eq!(values(&fine_tuned, "lm_head.dense.weight"), before);
        assert_eq!(fine_tuned.new_heads(&pretrained), [NewHead::MaskedLm]);
    }

    #[test]
    fn a_classifier_is_loaded_only_for_the_same_labels() {
        let pretrained = model(labels(["no", "yes"]), 1);
        for (names, new_heads) in
            [(["no", "yes"], vec![]), (["yes", "no"], vec![NewHead::Classifier])]
        {
            let mut fine_tuned = model(labels(names), 2);
            assert_eq!(fine_tuned.new_heads(&pretrained), new_heads);
            fine_tuned.load_matching(&pretrained);
            let same = |name| values(&fine_tuned, name) == values(&pretrained, name);
            assert!(same("pooler.weight"));
            assert_eq!(same("classifier.weight"), new_heads.is_empty());
        }
    }

    #[test]
    fn a_parameter_of_another_shape_is_not_loaded() {
        let config = EncoderConfig::new(11, 8, 2, 2, 8);
        let pretrained = Model::new(EncoderConfig { vocab_size: 13, ..config.clone() }, 1).unwrap();
        let mut fine_tuned = Model::new(config, 2).unwrap();
        let before = values(&fine_tuned, "token_embedding.weight").to_vec();
        fine_tuned.load_matching(&pretrained);
        assert_eq!(values(&fine_tuned, "token_embedding.weight"), before);
        let name = "layers.1.ffn.up.weight";
        assert_eq!(values(&fine_tuned, name), values(&pretrained, name));
    }
}
