//! Small translators of three kinds and one size, for experiments that compare them.

use crate::corpus::Pair;
use crate::error::Result;
use limpid::model::config::{
    Cell, Directions, EncoderDecoderConfig, RecurrentAttention, RecurrentConfig,
};
use limpid::model::{Model, Recurrent, Seq2Seq};

/// What a translator is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    /// Recurrent: all that the decoder gets of a sentence is one state.
    Plain,
    /// Recurrent, and the decoder looks back at all states, by additive attention.
    Attentive,
    /// Attention throughout.
    Transformer,
}

impl Architecture {
    pub(super) const ALL: [Architecture; 3] =
        [Architecture::Plain, Architecture::Attentive, Architecture::Transformer];

    pub(super) fn name(self) -> &'static str {
        match self {
            Architecture::Plain => "recurrent, no attention",
            Architecture::Attentive => "recurrent with attention",
            Architecture::Transformer => "Transformer",
        }
    }

    /// A model with random weights. Embeddings are equally wide in all kinds; states are as wide as
    /// gives a recurrent model the number of parameters of the Transformer.
    pub(super) fn model(self, vocabulary: usize, width: usize, seed: u64) -> Result<Model> {
        let transformer = EncoderDecoderConfig::new(vocabulary, LAYERS, HEADS, width, 4 * width);
        let attention = match self {
            Architecture::Transformer => return Ok(Model::new(&transformer, seed)?),
            Architecture::Plain => RecurrentAttention::None,
            Architecture::Attentive => RecurrentAttention::Additive,
        };
        let wanted = Model::new(&transformer, seed)?.params.count();
        let config = |hidden: usize| RecurrentConfig {
            hidden_size: hidden,
            attention_size: hidden,
            directions: Directions::Bidirectional,
            ..RecurrentConfig::new(vocabulary, Cell::Gru, attention, 1, width)
        };
        // The count grows with the width: halve the range in which it passes what is wanted.
        let (mut low, mut high) = (1, 64 * width);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if recurrent_parameters(&config(middle))? <= wanted {
                low = middle
            } else {
                high = middle
            }
        }
        let short = wanted - recurrent_parameters(&config(low))?;
        let over = recurrent_parameters(&config(high))? - wanted;
        Ok(Model::new(config(if over < short { high } else { low }), seed)?)
    }
}

/// Layers of the Transformer's encoder and of its decoder.
pub(super) const LAYERS: usize = 2;
const HEADS: usize = 4;

fn recurrent_parameters(config: &RecurrentConfig) -> Result<usize> {
    let mut builder = limpid_tensor::params::Params::builder();
    Recurrent::new(config, &mut builder)?;
    Ok(builder.iter().map(|(_, spec)| spec.shape.len()).sum())
}

/// The translator in a model that [`Architecture::model`] made.
pub(super) fn translator(model: &Model) -> Seq2Seq<'_> {
    model.stack.translator().expect("an encoder-decoder was made")
}

/// From French to English.
pub(super) fn french_english(pairs: &[Pair]) -> Vec<(String, String)> {
    pairs.iter().map(|pair| (pair.french.clone(), pair.english.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_all_kinds_have_the_same_number_of_parameters_within_two_percent() {
        for (vocabulary, width) in [(500, 32), (3_000, 128)] {
            let counts = Architecture::ALL
                .map(|kind| kind.model(vocabulary, width, 1).unwrap().params.count());
            let wanted = counts[2] as f64;
            for count in counts {
                assert!((count as f64 / wanted - 1.0).abs() < 0.02, "{counts:?}");
            }
        }
    }
}
