//! Translation: tokenize, batches of similar length, generate, detokenize, in the order of the
//! sources.

use super::beam::{Hypothesis, beam_search};
use super::decoding::{BeamSearch, DecodingConfig, Strategy};
use super::events::{OnEvent, TextObserver, text_of};
use super::stream::TextStream;
use super::tokens::{FinishReason, Limit, Sequence, TokenSelection, generate_tokens};
use super::trace::Trace;
use super::{GenerationOptions, LogitsProcessor, Session};
use crate::error::{GenerationError, Result};
use crate::hub::{GenerationConfig, Warning, load_generation_config};
use crate::model::Seq2Seq;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;
use std::path::Path;

/// Source tokens per batch, each counted once for every sequence in memory.
const BATCH_TOKENS: usize = 2_048;

/// What a translation needs beside its [`DecodingConfig`].
#[derive(Clone, Debug)]
pub struct TranslateOptions {
    /// Text that every translation begins with.
    pub prefix: String,
    /// How much of each step is reported.
    pub trace: Trace,
}

impl Default for TranslateOptions {
    fn default() -> Self {
        Self { prefix: String::new(), trace: Trace::Off }
    }
}

/// A translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// Its text.
    pub text: String,
    /// Its tokens, those of the prefix included, without the end token.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its score in a beam search.
    pub score: Option<f32>,
}

impl Translation {
    /// The translation of an empty text.
    fn empty() -> Self {
        let finish_reason = FinishReason::EosToken;
        Self { text: String::new(), tokens: Vec::new(), finish_reason, score: None }
    }
}

/// The `generation_config.json` of a translator; without an end token there, the model's.
///
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
///
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
///
/// # Errors
/// As [`translate_with`].
pub fn translate<'a, S: AsRef<str>>(
    model: impl Into<Seq2Seq<'a>>,
    params: &'a Params,
    tokenizer: &Tokenizer,
    texts: &[S],
) -> Result<Vec<String>> {
    let model = model.into();
    let config = DecodingConfig::greedy(&[model.end()]);
    let options = TranslateOptions::default();
    let found =
        translate_with((model, params), tokenizer, texts, &config, &options, &mut |_| Ok(()))?;
    Ok(found.into_iter().map(|mut best| best.swap_remove(0).text).collect())
}

/// Translates texts: `num_return_sequences` translations of each, best first. An empty text has one
/// translation, which is empty. `on_event` sees text and steps batch by batch, not in the order of
/// the texts.
///
/// # Errors
/// A [`GenerationError`] for a source or prefix that does not fit or settings that cannot work, and
/// every error of `on_event`.
pub fn translate_with<'a, S: AsRef<str>>(
    (model, params): (impl Into<Seq2Seq<'a>>, &'a Params),
    tokenizer: &Tokenizer,
    texts: &[S],
    config: &DecodingConfig,
    options: &TranslateOptions,
    on_event: OnEvent,
) -> Result<Vec<Vec<Translation>>> {
    let model = model.into();
    let mut config = config.clone();
    let excluded = excluded_tokens(model).into_iter().map(|token| vec![token]);
    config.processor.bad_words_ids.extend(excluded);
    config.validate(model.decoder_vocab_size())?;
    let sources =
        texts.iter().enumerate().map(|(i, text)| source_ids(model, tokenizer, i, text.as_ref()));
    let sources: Vec<Vec<u32>> = sources.collect::<Result<_>>()?;
    let prefix = prefix_ids(model, tokenizer, options, &config)?;
    let translator = BatchTranslator { model, params, tokenizer, options, config: &config, prefix };
    let mut order: Vec<usize> = (0..sources.len()).filter(|i| sources[*i].len() > 1).collect();
    order.sort_by_key(|i| sources[*i].len());

    let mut translations = vec![vec![Translation::empty()]; texts.len()];
    let mut rest = &order[..];
    while let Some(first) = rest.first() {
        let tokens = sources[*first].len() * config.width();
        let (batch, later) = rest.split_at((BATCH_TOKENS / tokens).clamp(1, rest.len()));
        rest = later;
        for (i, found) in batch.iter().zip(translator.batch(batch, &sources, on_event)?) {
            translations[*i] = found;
        }
    }
    Ok(translations)
}

struct BatchTranslator<'a> {
    model: Seq2Seq<'a>,
    params: &'a Params,
    tokenizer: &'a Tokenizer,
    options: &'a TranslateOptions,
    config: &'a DecodingConfig,
    prefix: Vec<u32>,
}

impl BatchTranslator<'_> {
    /// Translates the texts `batch` of `sources` together.
    fn batch(
        &self,
        batch: &[usize],
        sources: &[Vec<u32>],
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Translation>>> {
        let sources: Vec<&[u32]> = batch.iter().map(|i| &sources[*i][..]).collect();
        let prompt: Vec<u32> = [self.model.start()].iter().chain(&self.prefix).copied().collect();
        // Each source has its own limit: the batch must not change a translation.
        let limits: Vec<Limit> = sources.iter().map(|source| self.limit(source)).collect();
        let capacity = prompt.len() + limits.iter().map(|limit| limit.tokens).max().unwrap_or(0);
        let mut session = self.model.session(self.params, &sources, capacity);
        let selection = match &self.config.strategy {
            Strategy::BeamSearch(search) => {
                return self.search(batch, &mut session, &prompt, &limits, search, on_event);
            }
            Strategy::Greedy => TokenSelection::Greedy,
            Strategy::Sample(sampling) => TokenSelection::Sample(&sampling.filter, sampling.seed),
        };
        let samples = self.config.num_return_sequences();
        let sequence = |(i, s): (usize, usize)| {
            Sequence::new(&prompt, limits[i].tokens, i).with_random_stream(sources[i], s)
        };
        let all = (0..batch.len()).flat_map(|i| (0..samples).map(move |s| (i, s)));
        let names = all.clone().map(|(i, s)| (batch[i], s)).collect();
        let mut sequences: Vec<Sequence> = all.map(sequence).collect();
        let mut observer = self.observer(names, on_event)?;
        let processor = &self.config.processor;
        generate_tokens(&mut session, &mut sequences, selection, processor, &mut observer)?;
        for i in 0..sequences.len() {
            observer.finish(i)?;
        }
        let translation = |sequence: &Sequence| {
            let reason = sequence.finish_reason.unwrap_or(FinishReason::Context);
            let reason = limits[sequence.session_index()].finish_reason(reason);
            self.translation(sequence.new_tokens(), reason, None)
        };
        let found = sequences.iter().map(translation).collect::<Result<Vec<_>>>()?;
        Ok(found.chunks(samples).map(<[Translation]>::to_vec).collect())
    }

    fn search(
        &self,
        batch: &[usize],
        session: &mut impl Session,
        prompt: &[u32],
        limits: &[Limit],
        search: &BeamSearch,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Translation>>> {
        let prompts = vec![prompt.to_vec(); batch.len()];
        let mut observer = self.observer(batch.iter().map(|i| (*i, 0)).collect(), on_event)?;
        observer.prompts = prompts.clone();
        let new_tokens: Vec<usize> = limits.iter().map(|limit| limit.tokens).collect();
        let processor = &self.config.processor;
        let found = beam_search(session, &prompts, &new_tokens, search, processor, &mut observer)?;
        let translations = |(best, limit): (Vec<Hypothesis>, &Limit)| {
            let translation = |h: &Hypothesis| {
                self.translation(&h.tokens, limit.finish_reason(h.finish_reason), Some(h.score))
            };
            best.iter().map(translation).collect()
        };
        found.into_iter().zip(limits).map(translations).collect()
    }

    fn translation(
        &self,
        new_tokens: &[u32],
        finish_reason: FinishReason,
        score: Option<f32>,
    ) -> Result<Translation> {
        let tokens = [&self.prefix, new_tokens].concat();
        let stop_strings = &self.config.stop_strings;
        let text = match stop_strings.is_empty() {
            true => self.tokenizer.decode(&tokens)?,
            false => {
                let mut stream = TextStream::new(self.tokenizer, stop_strings, &[]);
                stream.push_prefix(&self.prefix)?;
                text_of(stream, new_tokens)?
            }
        };
        Ok(Translation { text, tokens, finish_reason, score })
    }

    /// New tokens of a translation of `source`, as far as the model has positions.
    fn limit(&self, source: &[u32]) -> Limit {
        let length = &self.config.length;
        // The last token needs no position, the start token does.
        let available = self.model.longest() - self.prefix.len();
        if let Some(max_new_tokens) = length.max_new_tokens {
            return Limit::requested(max_new_tokens, available);
        }
        // `max_length` counts the start token.
        let after_start = length.default_max_length.map(|length| length.saturating_sub(1));
        let default = length.default_max_new_tokens.or(after_start).unwrap_or(usize::MAX);
        let new_tokens = max_translation_length(source).min(default);
        Limit::by_default(new_tokens.max(self.config.processor.min_new_tokens), available)
    }

    fn observer<'s, 'f>(
        &'s self,
        names: Vec<(usize, usize)>,
        on_event: OnEvent<'f>,
    ) -> Result<TextObserver<'s, 'f>> {
        let (tokenizer, stop_strings) = (self.tokenizer, &self.config.stop_strings[..]);
        let mut streams: Vec<TextStream> =
            names.iter().map(|_| TextStream::new(tokenizer, stop_strings, &[])).collect();
        streams.iter_mut().try_for_each(|stream| stream.push_prefix(&self.prefix))?;
        let (trace, prompts, error) = (self.options.trace, Vec::new(), None);
        let observer = TextObserver {
            tokenizer,
            stop_strings,
            trace,
            names,
            prompts,
            streams,
            on_event,
            error,
        };
        Ok(observer)
    }
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

/// The ids of source `i` with its end token, if the model has positions for them.
pub(crate) fn source_ids(
    model: Seq2Seq,
    tokenizer: &Tokenizer,
    i: usize,
    text: &str,
) -> Result<Vec<u32>> {
    let mut ids = tokenizer.encode(text)?;
    ids.push(model.end());
    check_vocabulary(&ids, model.vocab_size())?;
    let (tokens, max_tokens) = (ids.len(), model.longest());
    match tokens > max_tokens {
        true => Err(GenerationError::SourceTooLong { text: i, tokens, max_tokens }.into()),
        false => Ok(ids),
    }
}

fn check_vocabulary(ids: &[u32], vocab_size: usize) -> Result<()> {
    match ids.iter().copied().find(|id| *id as usize >= vocab_size) {
        None => Ok(()),
        Some(id) => Err(GenerationError::TokenizerMismatch { id, vocab_size }.into()),
    }
}
