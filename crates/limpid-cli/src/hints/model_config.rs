//! Sizes and options of models.

use super::Verb;
use limpid::error::ModelConfigError;

pub(super) fn hint(error: &ModelConfigError, verb: Verb) -> Option<String> {
    Some(match error {
        ModelConfigError::TooManyLayers { max, .. } => format!("use at most {max} layers"),
        ModelConfigError::TooManyParameters { parameters, max } => {
            let factor = (parameters / max).sqrt().ceil().max(2.0);
            format!(
                "a width {factor:.0} times smaller would do, or fewer layers, a smaller \
                 vocabulary or context"
            )
        }
        ModelConfigError::Heads { nearest, .. } => match verb {
            Verb::Train => format!("{nearest} would do: --set model.heads={nearest}"),
            Verb::WithHeads => format!("{nearest} would do: --heads {nearest}"),
            _ => format!("{nearest} heads would do"),
        },
        ModelConfigError::Dropout { .. } => "usual values are 0 to 0.3".into(),
        ModelConfigError::SharedEmbeddings { .. } => {
            "use one vocabulary for both, or share_encoder_decoder_embeddings = false".into()
        }
        ModelConfigError::SpecialToken { .. } => {
            "the ids of special tokens are those of tokenizer.json".into()
        }
        ModelConfigError::OneHotPositions { max_positions, width } => {
            let key = if verb == Verb::Train {
                "model.context_length"
            } else {
                "max_position_embeddings"
            };
            format!("use {key} = {width}, or a width of at least {max_positions}")
        }
        ModelConfigError::TooFewLabels { .. } => "give examples of at least two classes".into(),
        _ => return None,
    })
}
