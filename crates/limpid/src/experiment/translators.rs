//! Small translators of three kinds and one size, for experiments that compare them.

use crate::config::{Cell, Directions, RnnAttention, RnnConfig, Seq2SeqConfig};
use crate::data::corpus::Pair;
use crate::error::Result;
use crate::model::{Model, Rnn, Translator};
use crate::nn::Builder;

/// What a translator is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Recurrent: all that the decoder gets of a sentence is one state.
    Plain,
    /// Recurrent, and the decoder looks back at all states, by additive attention.
    Attentive,
    /// Attention throughout.
    Transformer,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Plain, Kind::Attentive, Kind::Transformer];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Plain => "recurrent, no attention",
            Kind::Attentive => "recurrent with attention",
            Kind::Transformer => "Transformer",
        }
    }

    /// A model with random weights. Embeddings are equally wide in all kinds; states are as wide as gives a recurrent model the number of
    /// parameters of the Transformer.
    pub(super) fn model(self, vocabulary: usize, width: usize, seed: u64) -> Result<Model> {
        let transformer = Seq2SeqConfig::new(vocabulary, LAYERS, HEADS, width, 4 * width);
        let attention = match self {
            Kind::Transformer => return Model::seq2seq(&transformer, seed),
            Kind::Plain => RnnAttention::None,
            Kind::Attentive => RnnAttention::Additive,
        };
        let wanted = Model::seq2seq(&transformer, seed)?.params.count();
        let config = |hidden: usize| RnnConfig {
            hidden_size: hidden,
            attention_size: hidden,
            directions: Directions::Both,
            ..RnnConfig::new(vocabulary, Cell::Gru, attention, 1, width)
        };
        // The count grows with the width: halve the range in which it passes what is wanted.
        let (mut low, mut high) = (1, 64 * width);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if recurrent_parameters(&config(middle))? <= wanted { low = middle } else { high = middle }
        }
        let short = wanted - recurrent_parameters(&config(low))?;
        let over = recurrent_parameters(&config(high))? - wanted;
        Model::rnn(&config(if over < short { high } else { low }), seed)
    }
}

/// Layers of the Transformer's encoder and of its decoder.
pub(super) const LAYERS: usize = 2;
const HEADS: usize = 4;

fn recurrent_parameters(config: &RnnConfig) -> Result<usize> {
    let mut builder = Builder::default();
    Rnn::new(config, &mut builder)?;
    Ok(builder.files().map(|(_, spec)| spec.shape.len()).sum())
}

/// The translator in a model that [`Kind::model`] made.
pub(super) fn translator(model: &Model) -> Translator<'_> {
    model.architecture.translator().expect("an encoder-decoder was made")
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
            let counts = Kind::ALL.map(|kind| kind.model(vocabulary, width, 1).unwrap().params.count());
            let wanted = counts[2] as f64;
            for count in counts {
                assert!((count as f64 / wanted - 1.0).abs() < 0.02, "{counts:?}");
            }
        }
    }
}
