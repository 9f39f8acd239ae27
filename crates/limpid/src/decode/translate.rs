//! Translating texts: tokens, batches of similar length, decoding, text again, in the order they came.

use super::Rules;
use super::beam::beam_search;
use super::settings::{Decoding, Strategy};
use super::speak::{Event, Speaker, text_of};
use super::stream::{TextStream, check_stops};
use super::trace::Trace;
use super::write::{Choice, Ended, Limit, Writing, write};
use crate::error::{Error, Result};
use crate::hub::Generation;
use crate::model::Translator;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Tokens of source that are translated side by side, each counted once for every text that is followed.
const TOKENS_AT_A_TIME: usize = 2_048;

/// How much to write, and when to stop.
#[derive(Clone, Debug)]
pub struct TranslateOptions {
    /// Tokens of a translation at most; `None` for twice the source and ten.
    pub new_tokens: Option<usize>,
    /// What the model's file says: new tokens at most.
    pub file_limit: Option<usize>,
    /// Strings that end a translation; they are not part of it.
    pub stops: Vec<String>,
    /// What every translation begins with.
    pub prefix: String,
    /// Whether every step is reported.
    pub trace: Trace,
}

impl Default for TranslateOptions {
    fn default() -> Self {
        Self {
            new_tokens: None,
            file_limit: None,
            stops: Vec::new(),
            prefix: String::new(),
            trace: Trace::Off,
        }
    }
}

impl TranslateOptions {
    /// As the model's files say.
    pub fn of(generation: &Generation) -> Self {
        // Their length counts the start token.
        let with_start = generation.max_length.map(|length| length.saturating_sub(1));
        let file_limit = generation.max_new.or(with_start);
        Self { file_limit, stops: generation.stops.clone(), ..Self::default() }
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
    pub ended: Ended,
    /// What a beam search found it to be worth.
    pub score: Option<f32>,
}

impl Translation {
    /// Of nothing: nothing, and that is all of it.
    fn empty() -> Self {
        Self { text: String::new(), tokens: Vec::new(), ended: Ended::EndToken, score: None }
    }
}

/// Translates texts greedily. An empty one stays empty.
pub fn translate<'a, S: AsRef<str>>(
    model: impl Into<Translator<'a>>,
    params: &'a Params,
    tokenizer: &Tokenizer,
    texts: &[S],
) -> Result<Vec<String>> {
    let model = model.into();
    let decoding = Decoding::greedy(&[model.end()]);
    let options = TranslateOptions::default();
    let found = translate_with((model, params), tokenizer, texts, &decoding, &options, &mut |_| Ok(()))?;
    Ok(found.into_iter().map(|mut best| best.swap_remove(0).text).collect())
}

/// Translates texts, each as often as `decoding` says, best first. An empty text has one translation, which is empty. `on` hears of text
/// and steps, batch by batch: not in the order of the texts. An error of `on` ends it.
pub fn translate_with<'a, S: AsRef<str>>(
    (model, params): (impl Into<Translator<'a>>, &'a Params),
    tokenizer: &Tokenizer,
    texts: &[S],
    decoding: &Decoding,
    options: &TranslateOptions,
    on: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<Vec<Vec<Translation>>> {
    let model = model.into();
    check_stops(&options.stops)?;
    let mut decoding = decoding.clone();
    decoding.rules.never.extend(never(model).into_iter().map(|token| vec![token]));
    decoding.validate(model.decoder_vocab_size())?;
    let sources = texts.iter().enumerate().map(|(i, text)| source_ids(model, tokenizer, i, text.as_ref()));
    let sources: Vec<Vec<u32>> = sources.collect::<Result<_>>()?;
    let prefix = prefix_ids(model, tokenizer, options, &decoding.rules)?;
    let job = Job { model, params, tokenizer, options, decoding: &decoding, prefix: &prefix };
    let mut order: Vec<usize> = (0..sources.len()).filter(|i| sources[*i].len() > 1).collect();
    order.sort_by_key(|i| sources[*i].len());

    let side_by_side = match decoding.strategy {
        Strategy::Greedy => 1,
        Strategy::Sample(sampling) => sampling.samples,
        Strategy::Beams(beams) => beams.beams,
    };
    let mut translations = vec![vec![Translation::empty()]; texts.len()];
    let mut rest = &order[..];
    while let Some(first) = rest.first() {
        let count = (TOKENS_AT_A_TIME / (sources[*first].len() * side_by_side)).clamp(1, rest.len());
        let (now, later) = rest.split_at(count);
        rest = later;
        for (i, found) in now.iter().zip(job.batch(now, &sources, on)?) {
            translations[*i] = found;
        }
    }
    Ok(translations)
}

struct Job<'a> {
    model: Translator<'a>,
    params: &'a Params,
    tokenizer: &'a Tokenizer,
    options: &'a TranslateOptions,
    decoding: &'a Decoding,
    prefix: &'a [u32],
}

impl Job<'_> {
    /// The texts `now` of `sources`, side by side.
    fn batch(
        &self,
        now: &[usize],
        sources: &[Vec<u32>],
        on: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<Vec<Translation>>> {
        let batch: Vec<&[u32]> = now.iter().map(|i| &sources[*i][..]).collect();
        let prompt: Vec<u32> = [self.model.start()].iter().chain(self.prefix).copied().collect();
        // Of each its own, whatever the others in the batch are: the batch must not change a translation.
        let bounds: Vec<Limit> = batch.iter().map(|source| self.limit(source)).collect();
        let limits: Vec<usize> = bounds.iter().map(|limit| limit.tokens).collect();
        let capacity = prompt.len() + limits.iter().max().unwrap_or(&0);
        let mut session = self.model.session(self.params, &batch, capacity);
        let (filter, choice);
        let mut writings = match self.decoding.strategy {
            Strategy::Beams(beams) => {
                let names = now.iter().map(|i| (*i, 0)).collect();
                let mut speaker = self.speaker(names, on)?;
                speaker.given = vec![prompt.clone(); now.len()];
                let prompts = vec![prompt; now.len()];
                let rules = &self.decoding.rules;
                let found = beam_search(&mut session, &prompts, &limits, &beams, rules, &mut speaker)?;
                let of_one = |(best, limit): (Vec<super::Hypothesis>, &Limit)| {
                    let ended = |h: &super::Hypothesis| limit.ended(h.ended);
                    best.iter().map(|h| self.translation(&h.tokens, ended(h), Some(h.score))).collect()
                };
                return found.into_iter().zip(&bounds).map(of_one).collect();
            }
            Strategy::Greedy => {
                choice = Choice::Largest;
                limits
                    .iter()
                    .enumerate()
                    .map(|(at, limit)| Writing::new(&prompt, *limit, at))
                    .collect::<Vec<_>>()
            }
            Strategy::Sample(sampling) => {
                filter = sampling.filter;
                choice = Choice::Draw(&filter, sampling.seed);
                let of_one = |at: usize| {
                    let (prompt, source, limit) = (&prompt, batch[at], limits[at]);
                    (0..sampling.samples).map(move |s| Writing::new(prompt, limit, at).drawing(source, s))
                };
                (0..now.len()).flat_map(of_one).collect()
            }
        };
        let samples = self.decoding.outputs();
        let names = now.iter().flat_map(|i| (0..samples).map(move |s| (*i, s))).collect();
        let mut speaker = self.speaker(names, on)?;
        write(&mut session, &mut writings, choice, &self.decoding.rules, &mut speaker)?;
        for i in 0..writings.len() {
            speaker.finish(i)?;
        }
        let ended = |w: &Writing| bounds[w.sequence()].ended(w.ended.unwrap_or(Ended::Context));
        let translations: Vec<Translation> =
            writings.iter().map(|w| self.translation(w.written(), ended(w), None)).collect::<Result<_>>()?;
        Ok(translations.chunks(samples).map(<[Translation]>::to_vec).collect())
    }

    fn translation(&self, new: &[u32], ended: Ended, score: Option<f32>) -> Result<Translation> {
        let tokens = [self.prefix, new].concat();
        let text = match self.options.stops.is_empty() {
            true => self.tokenizer.decode(&tokens)?,
            false => {
                let mut stream = TextStream::new(self.tokenizer, &self.options.stops, &[]);
                stream.give(self.prefix)?;
                text_of(stream, new)?
            }
        };
        Ok(Translation { text, tokens, ended, score })
    }

    /// New tokens of a translation of `source`, as far as the model has positions.
    fn limit(&self, source: &[u32]) -> Limit {
        // The last token needs no position, the start token does.
        let room = self.model.longest() - self.prefix.len();
        let usual = longest_translation(source).min(self.options.file_limit.unwrap_or(usize::MAX));
        match self.options.new_tokens {
            Some(asked) => Limit::within(asked, room),
            None => Limit::usual(usual.max(self.decoding.rules.min_new), room),
        }
    }

    fn speaker<'s, 'f>(
        &'s self,
        names: Vec<(usize, usize)>,
        on: &'f mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Speaker<'s, 'f>> {
        let (tokenizer, stops, trace) = (self.tokenizer, &self.options.stops[..], self.options.trace);
        let mut streams: Vec<TextStream> =
            names.iter().map(|_| TextStream::new(tokenizer, stops, &[])).collect();
        streams.iter_mut().try_for_each(|stream| stream.give(self.prefix))?;
        Ok(Speaker { tokenizer, stops, trace, names, given: Vec::new(), streams, on, failed: None })
    }
}

/// The ids that every translation begins with.
fn prefix_ids(
    model: Translator,
    tokenizer: &Tokenizer,
    options: &TranslateOptions,
    rules: &Rules,
) -> Result<Vec<u32>> {
    rules.check_length(options.new_tokens)?;
    let ids = if options.prefix.is_empty() { Vec::new() } else { tokenizer.encode(&options.prefix)? };
    check_vocabulary(&ids, model.decoder_vocab_size())?;
    let unknown = tokenizer.unknown_words(&options.prefix)?;
    if !unknown.is_empty() {
        return Err(Error::data(format!("--prefix: not in the model's vocabulary: {}", unknown.join(", ")))
            .hint("a translation can only begin with words that the model knows"));
    }
    let no_text = |id: &&u32| rules.ends.contains(id) || [model.end(), model.pad()].contains(id);
    if let Some(id) = ids.iter().find(no_text) {
        return Err(Error::data(format!("--prefix: {} is no text of a translation", tokenizer.token(*id)))
            .hint("leave it out"));
    }
    let longest = model.longest();
    let asked = options.new_tokens.unwrap_or(rules.min_new.max(1));
    if ids.len() + asked > longest {
        let message = format!(
            "{} tokens of the prefix and {asked} more are {} too many: the model has positions for {longest}",
            ids.len(),
            ids.len() + asked - longest
        );
        return Err(Error::data(message).hint("use fewer --tokens (or --min-tokens) or a shorter --prefix"));
    }
    Ok(ids)
}

/// Twice the source and a little: a translation that is longer has lost its way.
pub(crate) fn longest_translation(source: &[u32]) -> usize {
    2 * source.len() + 10
}

/// Padding is not a word: it is never said, unless it is also what ends a sentence.
pub(crate) fn never(model: Translator) -> Vec<u32> {
    (model.pad() != model.end()).then_some(model.pad()).into_iter().collect()
}

/// The ids of one source with its end token; an error if it is longer than the model has positions for.
pub(crate) fn source_ids(model: Translator, tokenizer: &Tokenizer, i: usize, text: &str) -> Result<Vec<u32>> {
    let mut ids = tokenizer.encode(text)?;
    ids.push(model.end());
    check_vocabulary(&ids, model.vocab_size())?;
    let longest = model.longest();
    if ids.len() > longest {
        let message = format!(
            "text {} has {} tokens, {} more than the {longest} the model reads",
            i + 1,
            ids.len(),
            ids.len() - longest
        );
        return Err(Error::data(message).hint("translate it sentence by sentence"));
    }
    Ok(ids)
}

fn check_vocabulary(ids: &[u32], vocabulary: usize) -> Result<()> {
    match ids.iter().find(|id| **id as usize >= vocabulary) {
        None => Ok(()),
        Some(id) => {
            Err(Error::data(format!("the tokenizer gives token {id}, the model knows {vocabulary} tokens"))
                .hint("tokenizer.json and config.json in this folder do not belong together"))
        }
    }
}
