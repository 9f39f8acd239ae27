//! Translation: tokenize, generate, the longest first, detokenize, in the order of the sources.

use super::decoding::{BySource, DecodingConfig, KvFormat};
use super::events::OnEvent;
use super::generation::PreparedGeneration;
use super::stream::TextStream;
use super::texts::{Detokenization, Generated, Input, TextGenerator, packed_for};
use super::tokens::{FinishReason, Limit, check_vocabulary};
use super::trace::Trace;
use super::{
    Batch, ContextOverflow, EncoderDecoderSlots, GenerationOptions, LogitsProcessor, Session,
};
use crate::error::{GenerationError, Result};
use crate::hub::{GenerationConfig, Warning, load_generation_config};
use crate::model::Seq2Seq;
use crate::text::Tokenizer;
use limpid_tensor::packed_weights::Weights;
use std::path::Path;

/// Sequences per batch, of which each core has one: more do not make products faster.
const BATCH_SIZE: usize = 128;
/// Texts per batch: keys and values of a source, and of a text that beams share, are there once.
/// Those of more texts take memory and leave the caches.
const BATCH_TEXTS: usize = 64;

/// What a translation needs beside its [`DecodingConfig`].
#[derive(Clone, Debug, Default)]
pub struct TranslateOptions {
    /// Text that every translation begins with.
    pub prefix: String,
    /// How much of each step is reported.
    pub trace: Trace,
}

/// A text that an encoder-decoder generated; its tokens begin with those of the prefix.
pub type Translation = Generated;

/// The `generation_config.json` of a translator; without an end token there, the model's.
/// # Errors
/// If the file cannot be read, or a key of it is not supported.
pub fn load_translation_config(
    folder: &Path,
    model: Seq2Seq,
) -> Result<(GenerationConfig, Vec<Warning>)> {
    let (mut config, warnings) = load_generation_config(folder)?;
    if config.eos_token_id.is_empty() {
        config.eos_token_id = vec![model.end()];
    }
    Ok((config, warnings))
}

/// How the translator in `folder` generates with these options over the defaults of its files.
/// # Errors
/// As [`load_translation_config`] and [`GenerationOptions::resolve_in`].
pub fn translation_config(
    folder: &Path,
    model: Seq2Seq,
    options: &GenerationOptions,
) -> Result<(DecodingConfig, Vec<Warning>)> {
    let (config, warnings) = load_translation_config(folder, model)?;
    Ok((options.resolve_in(folder, &config, model.decoder_vocab_size())?, warnings))
}

/// Translates texts greedily. An empty one stays empty.
/// # Errors
/// As [`translate_with`].
pub fn translate<'a, S: AsRef<str>>(
    model: impl Into<Seq2Seq<'a>>,
    weights: impl Into<Weights<'a>>,
    tokenizer: &Tokenizer,
    texts: &[S],
) -> Result<Vec<String>> {
    let model = model.into();
    let config = DecodingConfig::greedy(&[model.end()]);
    let options = TranslateOptions::default();
    let found = translate_with((model, weights), tokenizer, texts, &config, &options, None)?;
    Ok(found.into_iter().map(|mut best| best.swap_remove(0).text).collect())
}

/// Translates texts: `num_return_sequences` translations of each, best first. An empty text has one
/// translation, which is empty. `on_event` sees text and steps as they appear, not in the order of
/// the texts; without it, the texts are shared out between the cores.
/// # Errors
/// A [`GenerationError`] for a source or prefix that does not fit or settings that cannot work, and
/// every error of `on_event`.
pub fn translate_with<'a, S: AsRef<str>>(
    (model, weights): (impl Into<Seq2Seq<'a>>, impl Into<Weights<'a>>),
    tokenizer: &Tokenizer,
    texts: &[S],
    config: &DecodingConfig,
    options: &TranslateOptions,
    on_event: Option<OnEvent>,
) -> Result<Vec<Vec<Translation>>> {
    let (model, weights) = (model.into(), weights.into());
    let packed = packed_for(weights, texts.len());
    let weights = Weights { packed: weights.packed.or(packed.as_ref()), ..weights };
    check_kv_cache(model, config)?;
    let config = &with_excluded(model, config)?;
    let sources =
        texts.iter().enumerate().map(|(i, text)| source_ids(model, tokenizer, i, text.as_ref()));
    let sources: Vec<Vec<u32>> = sources.collect::<Result<_>>()?;
    let prefix = prefix_ids(model, tokenizer, options, config)?;
    let mut stream = TextStream::new(tokenizer, &config.stop_strings, &[]);
    stream.push_prefix(&prefix)?;
    let input = |source: Vec<u32>| Input {
        // Each source has its own limit: the batch must not change a translation.
        // The last token needs no position, the start token does.
        limit: limit(&source, model.longest() - prefix.len(), config),
        prompt: [&[model.start()], &prefix[..]].concat(),
        stream: stream.clone(),
        source,
        detokenization: Detokenization::Later,
    };
    let (samples, beams) = config.samples_and_beams();
    let generator = TextGenerator {
        session: &|capacity| session(model, weights, config.kv_cache_dtype, capacity),
        weights,
        config,
        inputs: sources.into_iter().map(input).collect(),
        overflow: ContextOverflow::Error,
        trace: options.trace,
        sequences: BATCH_SIZE.min(BATCH_TEXTS * samples * beams),
        speculation: None,
    };
    let length = |i: &usize| generator.inputs[*i].source.len();
    let special = special_tokens(model, tokenizer)?;
    let mut order: Vec<usize> = (0..texts.len()).filter(|i| length(i) > special).collect();
    // The longest first: what is left at the end is short.
    order.sort_by_key(|i| std::cmp::Reverse(length(i)));
    let mut translations = generator.run(&order, on_event)?;
    for found in &mut translations {
        complete(found, tokenizer, &prefix, config)?;
    }
    Ok(translations)
}

/// Puts the prefix before translations, and finds the texts that were left empty. A text that was
/// not translated because it is empty gets its empty translation.
pub(super) fn complete(
    found: &mut Vec<Translation>,
    tokenizer: &Tokenizer,
    prefix: &[u32],
    config: &DecodingConfig,
) -> Result<()> {
    for translation in found.iter_mut() {
        translation.tokens.splice(..0, prefix.iter().copied());
        if config.stop_strings.is_empty() {
            translation.text = tokenizer.decode(&translation.tokens)?;
        }
    }
    if found.is_empty() {
        let (text, tokens) = (String::new(), Vec::new());
        let finish_reason = FinishReason::EosToken;
        found.push(Translation { text, tokens, finish_reason, score: None });
    }
    Ok(())
}

/// Tokenizes and checks a text, for a translation that is advanced from outside.
/// # Errors
/// As [`translate_with`].
pub(crate) fn prepare_translation(
    model: Seq2Seq,
    tokenizer: &Tokenizer,
    text: &str,
    config: &DecodingConfig,
    options: &TranslateOptions,
) -> Result<PreparedGeneration> {
    check_kv_cache(model, config)?;
    let config = with_excluded(model, config)?;
    let source = source_ids(model, tokenizer, 0, text)?;
    let prefix = prefix_ids(model, tokenizer, options, &config)?;
    Ok(PreparedGeneration {
        limit: limit(&source, model.longest() - prefix.len(), &config),
        prompt: [&[model.start()], &prefix[..]].concat(),
        source,
        prefix: Some(prefix),
        special: special_tokens(model, tokenizer)?,
        config,
        trace: options.trace,
        longest: model.longest(),
    })
}

/// A session without sequences yet, each of at most `capacity` tokens, with keys and values in this
/// format; a recurrent model has none.
fn session<'a>(
    model: Seq2Seq<'a>,
    weights: Weights<'a>,
    format: KvFormat,
    capacity: usize,
) -> Box<dyn Session + 'a> {
    match model {
        Seq2Seq::Transformer(model) => {
            let slots = EncoderDecoderSlots::new(model, weights, capacity).with_kv_format(format);
            Box::new(Batch::over::<[u32; 0]>(slots, &[]))
        }
        Seq2Seq::Recurrent(_) => model.session::<[u32; 0]>(weights, &[], capacity),
    }
}

/// Checks that the model has keys and values, if they are to have a format.
fn check_kv_cache(model: Seq2Seq, config: &DecodingConfig) -> Result<()> {
    match (model, config.kv_cache_dtype) {
        (Seq2Seq::Transformer(_), _) | (Seq2Seq::Recurrent(_), KvFormat::F32) => Ok(()),
        (Seq2Seq::Recurrent(_), format) => {
            Err(GenerationError::NoKvCache { dtype: format.name() }.into())
        }
    }
}

/// The number of special tokens of a source: one without others is empty.
fn special_tokens(model: Seq2Seq, tokenizer: &Tokenizer) -> Result<usize> {
    Ok(tokenizer.source_affixes(model.end())?.concat().len())
}

/// The configuration with the tokens that a translator never generates.
fn with_excluded(model: Seq2Seq, config: &DecodingConfig) -> Result<DecodingConfig> {
    let mut config = config.clone();
    let excluded = excluded_tokens(model).into_iter().map(|token| vec![token]);
    config.processor.bad_words_ids.extend(excluded);
    config.validate(model.decoder_vocab_size())?;
    Ok(config)
}

/// New tokens of a translation of `source`, as far as the model has positions.
fn limit(source: &[u32], available: usize, config: &DecodingConfig) -> Limit {
    let length = &config.length;
    if let Some(max_new_tokens) = length.max_new_tokens {
        return Limit::requested(max_new_tokens, available);
    }
    // `max_length` counts the start token.
    let after_start = length.default_max_length.map(|length| length.saturating_sub(1));
    let of_files = length.default_max_new_tokens.or(after_start);
    let new_tokens = match (of_files, length.by_source) {
        (Some(most), BySource::Ignored) => most,
        (most, _) => max_translation_length(source).min(most.unwrap_or(usize::MAX)),
    };
    Limit::by_default(new_tokens.max(config.processor.min_new_tokens), available)
}

/// The ids of the target prefix, if a translation can begin with them.
fn prefix_ids(
    model: Seq2Seq,
    tokenizer: &Tokenizer,
    options: &TranslateOptions,
    config: &DecodingConfig,
) -> Result<Vec<u32>> {
    let LogitsProcessor { eos_token_ids, min_new_tokens, .. } = &config.processor;
    config.processor.check_length(config.length.max_new_tokens)?;
    let ids = if options.prefix.is_empty() {
        Vec::new()
    } else {
        tokenizer.encode_target(&options.prefix)?
    };
    check_vocabulary(&ids, model.decoder_vocab_size())?;
    let words = tokenizer.unknown_words(&options.prefix)?;
    if !words.is_empty() {
        return Err(GenerationError::PrefixOutOfVocabulary { words }.into());
    }
    let special = |id: &&u32| eos_token_ids.contains(id) || [model.end(), model.pad()].contains(id);
    if let Some(id) = ids.iter().find(special) {
        let token = tokenizer.token(*id);
        return Err(GenerationError::PrefixSpecialToken { token }.into());
    }
    let (tokens, max_tokens) = (ids.len(), model.longest());
    let new_tokens = config.length.max_new_tokens.unwrap_or((*min_new_tokens).max(1));
    if tokens + new_tokens > max_tokens {
        return Err(GenerationError::PrefixTooLong { tokens, new_tokens, max_tokens }.into());
    }
    Ok(ids)
}

/// The default limit of a translation: twice the source and a little.
pub(crate) fn max_translation_length(source: &[u32]) -> usize {
    2 * source.len() + 10
}

/// The padding token is never generated, unless it is also the end token.
pub(crate) fn excluded_tokens(model: Seq2Seq) -> Vec<u32> {
    (model.pad() != model.end()).then_some(model.pad()).into_iter().collect()
}

/// The ids of source `i` with its special tokens, if the model has positions for them.
pub(crate) fn source_ids(
    model: Seq2Seq,
    tokenizer: &Tokenizer,
    i: usize,
    text: &str,
) -> Result<Vec<u32>> {
    let ids = tokenizer.source_sentence(text, model.end())?;
    check_vocabulary(&ids, model.vocab_size())?;
    let (tokens, max_tokens) = (ids.len(), model.longest());
    match tokens > max_tokens {
        true => Err(GenerationError::SourceTooLong { text: i, tokens, max_tokens }.into()),
        false => Ok(ids),
    }
}
