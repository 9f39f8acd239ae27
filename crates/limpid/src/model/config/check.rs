//! Checks that several configurations share.

use super::Tie;
use crate::error::{ModelConfigError, Result};

/// The memory of an ordinary machine holds no more: 40 GB of weights.
const MAX_PARAMETERS: f64 = 1e10;
const MAX_LAYERS: usize = 1_000;

pub(super) fn check_positive(sizes: &[(&'static str, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, value)| *value == 0) {
        Some((key, _)) => Err(ModelConfigError::Zero { key }.into()),
        None => Ok(()),
    }
}

pub(super) fn check_layers(found: usize, max: usize) -> Result<()> {
    if found > max {
        return Err(ModelConfigError::TooManyLayers { found, max }.into());
    }
    Ok(())
}

pub(super) fn check_size(layers: usize, parameters: f64) -> Result<()> {
    check_layers(layers, MAX_LAYERS)?;
    if parameters > MAX_PARAMETERS {
        let max = MAX_PARAMETERS;
        return Err(ModelConfigError::TooManyParameters { parameters, max }.into());
    }
    Ok(())
}

pub(super) fn check_heads(heads: usize, width: usize, key: &'static str) -> Result<()> {
    if heads > 0 && width.is_multiple_of(heads) {
        return Ok(());
    }
    // Divisors come in pairs, one of each at most √width: a search up to there stays fast for a
    // width with a digit too many.
    let small = (1..)
        .take_while(|h: &usize| h.saturating_mul(*h) <= width)
        .filter(|h| width.is_multiple_of(*h));
    let divisors = small.flat_map(|h| [h, width / h]);
    let nearest = divisors.min_by_key(|h| h.abs_diff(heads.max(1))).unwrap_or(1);
    Err(ModelConfigError::Heads { key, heads, width, nearest }.into())
}

pub(super) fn check_dropout(found: f32) -> Result<()> {
    match (0.0..1.0).contains(&found) {
        true => Ok(()),
        false => Err(ModelConfigError::Dropout { found }.into()),
    }
}

/// Refuses one embedding table for two vocabularies, and special tokens (padding, end, decoder
/// start) outside the target vocabulary.
pub(super) fn check_vocabularies(
    tie: Tie,
    [source_tokens, target_tokens]: [usize; 2],
    special: [u32; 3],
) -> Result<()> {
    if tie == Tie::Shared && source_tokens != target_tokens {
        return Err(ModelConfigError::SharedEmbeddings { source_tokens, target_tokens }.into());
    }
    let keys = ["pad_token_id", "eos_token_id", "decoder_start_token_id"];
    let vocab_size = target_tokens;
    match keys.into_iter().zip(special).find(|(_, id)| *id as usize >= vocab_size) {
        None => Ok(()),
        Some((key, id)) => Err(ModelConfigError::SpecialToken { key, id, vocab_size }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DecoderConfig, EncoderDecoderConfig};
    use crate::error::{Error, ModelConfigError};

    #[test]
    fn heads_that_do_not_divide_the_width_are_refused_with_a_number_that_does() {
        let error = DecoderConfig::gpt2(100, 64, 2, 5, 384).validate().unwrap_err();
        assert_eq!(error.to_string(), "heads: width 384 is not divisible by 5 heads");
        assert!(matches!(
            error,
            Error::ModelConfig(ModelConfigError::Heads { heads: 5, nearest: 4, .. })
        ));
        assert!(DecoderConfig::gpt2(100, 64, 2, 6, 384).validate().is_ok());
    }

    #[test]
    fn a_model_without_layers_or_with_impossible_dropout_is_refused() {
        assert!(DecoderConfig::gpt2(100, 64, 0, 4, 32).validate().is_err());
        let dropout = DecoderConfig { dropout: 1.0, ..DecoderConfig::gpt2(100, 64, 1, 4, 32) };
        assert!(dropout.validate().is_err());
        let config = EncoderDecoderConfig::new(50, 1, 2, 8, 16);
        assert!(EncoderDecoderConfig { eos_token_id: 50, ..config }.validate().is_err());
    }
}
