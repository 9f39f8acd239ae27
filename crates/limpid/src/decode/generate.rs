//! A language model that continues texts: tokens, decoding, text again, piece by piece.

use super::beam::beam_search;
use super::settings::{Decoding, Strategy};
use super::speak::{Event, Speaker, text_of};
use super::stream::{TextStream, check_stops};
use super::trace::Trace;
use super::write::{Choice, Ended, Limit, Writing, write};
use super::{GptSession, filter::Filter};
use crate::error::{Error, Result};
use crate::model::Gpt;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Texts that are written side by side.
const AT_A_TIME: usize = 32;

/// New tokens where nobody says how many.
const NEW_TOKENS: usize = 100;

/// What happens to a text that outgrows the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// A prompt that does not fit is refused, and so is asking for more tokens than fit after it.
    Refuse,
    /// The beginning is forgotten: whenever the context is full, its last half is read again and the text goes on.
    Slide,
}

/// How much to write, and when to stop.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// New tokens at most; `None` for what the model's file says, or a hundred, as far as they fit.
    pub new_tokens: Option<usize>,
    /// What the model's file says: new tokens at most, and tokens at most with the prompt.
    pub file_limits: (Option<usize>, Option<usize>),
    /// Strings that end a text; they are not part of it.
    pub stops: Vec<String>,
    /// The token that an empty prompt stands for.
    pub start: Option<u32>,
    /// What happens to a text that outgrows the context.
    pub overflow: Overflow,
    /// Whether every step is reported.
    pub trace: Trace,
}

/// A continuation.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its text, without the prompt.
    pub text: String,
    /// Its tokens, without the end token; those of a stop string are included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub ended: Ended,
    /// What a beam search found it to be worth.
    pub score: Option<f32>,
}

/// Continues each prompt, as often as `decoding` says; `on` hears of text as it is written. An error of `on` ends it.
pub fn generate<S: AsRef<str>>(
    (model, params): (&Gpt, &Params),
    tokenizer: &Tokenizer,
    prompts: &[S],
    decoding: &Decoding,
    options: &GenerateOptions,
    on: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<Vec<Vec<Generated>>> {
    check_stops(&options.stops)?;
    decoding.validate(model.config().vocab_size)?;
    let prompts: Vec<Vec<u32>> = prompts
        .iter()
        .enumerate()
        .map(|(i, text)| prompt_ids(model, tokenizer, i, text.as_ref(), options))
        .collect::<Result<_>>()?;
    let limits: Vec<Limit> = prompts
        .iter()
        .enumerate()
        .map(|(i, prompt)| limit(model, i, prompt.len(), decoding, options))
        .collect::<Result<_>>()?;
    let job = Job { model, params, tokenizer, options, decoding };
    match decoding.strategy {
        Strategy::Beams(_) => job.beams(&prompts, &limits, on),
        Strategy::Greedy => job.write(&prompts, &limits, Choice::Largest, on),
        Strategy::Sample(sampling) => {
            let filter: Filter = sampling.filter;
            job.write(&prompts, &limits, Choice::Draw(&filter, sampling.seed), on)
        }
    }
}

struct Job<'a> {
    model: &'a Gpt,
    params: &'a Params,
    tokenizer: &'a Tokenizer,
    options: &'a GenerateOptions,
    decoding: &'a Decoding,
}

impl<'a> Job<'a> {
    /// Greedily or by drawing: batches of all prompts and samples, in order.
    fn write(
        &self,
        prompts: &[Vec<u32>],
        limits: &[Limit],
        choice: Choice,
        on: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<Vec<Generated>>> {
        let samples = self.decoding.outputs();
        let all: Vec<(usize, usize)> =
            (0..prompts.len()).flat_map(|p| (0..samples).map(move |s| (p, s))).collect();
        let mut generated: Vec<Vec<Generated>> = vec![Vec::new(); prompts.len()];
        for names in all.chunks(AT_A_TIME) {
            let first = names[0].0;
            let mut writings: Vec<Writing> = names
                .iter()
                .map(|(p, s)| Writing::new(&prompts[*p], limits[*p].tokens, p - first).drawing(&[], *s))
                .collect();
            let mut speaker = self.speaker(names.to_vec(), prompts, on);
            self.write_batch(&mut writings, choice, &mut speaker)?;
            for (i, w) in writings.iter().enumerate() {
                let text = speaker.finish(i)?;
                let ended = limits[names[i].0].ended(w.ended.unwrap_or(Ended::Context));
                let tokens = w.written().to_vec();
                generated[names[i].0].push(Generated { text, tokens, ended, score: None });
            }
        }
        Ok(generated)
    }

    fn write_batch(&self, writings: &mut [Writing], choice: Choice, speaker: &mut Speaker) -> Result<()> {
        let context = self.model.config().n_positions;
        // A prompt that is too long begins in the middle.
        writings.iter_mut().for_each(|w| w.slide(context, w.sequence()));
        let sequences = writings.iter().map(|w| w.sequence() + 1).max().unwrap_or(0);
        let longest = writings.iter().map(Writing::longest).max().unwrap_or(0);
        let mut session = GptSession::new(self.model, self.params, sequences, longest);
        write(&mut session, writings, choice, &self.decoding.rules, speaker)?;
        if self.options.overflow == Overflow::Refuse {
            return Ok(());
        }
        // Those that filled the context, each on its own from here: their texts have little in common any more.
        for (i, w) in writings.iter_mut().enumerate() {
            while w.ended.is_none() {
                w.slide((context / 2).max(1), 0);
                let mut one = Renamed { speaker, sequence: i };
                let mut session = GptSession::new(self.model, self.params, 1, context);
                write(&mut session, std::slice::from_mut(w), choice, &self.decoding.rules, &mut one)?;
            }
        }
        Ok(())
    }

    fn beams(
        &self,
        prompts: &[Vec<u32>],
        limits: &[Limit],
        on: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<Vec<Generated>>> {
        let Strategy::Beams(beams) = self.decoding.strategy else { unreachable!("beam search was chosen") };
        let names: Vec<(usize, usize)> = (0..prompts.len()).map(|p| (p, 0)).collect();
        let mut generated = Vec::new();
        let at_a_time = (AT_A_TIME / beams.beams).max(1);
        for names in names.chunks(at_a_time) {
            let range = names[0].0..names[0].0 + names.len();
            let (prompts, limits) = (&prompts[range.clone()], &limits[range]);
            let most: Vec<usize> = limits.iter().map(|limit| limit.tokens).collect();
            let capacity = prompts.iter().zip(&most).map(|(prompt, limit)| prompt.len() + limit).max();
            let mut session = GptSession::new(self.model, self.params, prompts.len(), capacity.unwrap_or(0));
            let mut speaker = self.speaker(names.to_vec(), prompts, on);
            speaker.given = prompts.to_vec();
            let found =
                beam_search(&mut session, prompts, &most, &beams, &self.decoding.rules, &mut speaker)?;
            for ((best, prompt), limit) in found.into_iter().zip(prompts).zip(limits) {
                let text = |tokens: &[u32]| {
                    text_of(TextStream::new(self.tokenizer, &self.options.stops, prompt), tokens)
                };
                let outputs = best.into_iter().map(|h| {
                    Ok(Generated {
                        text: text(&h.tokens)?,
                        tokens: h.tokens,
                        ended: limit.ended(h.ended),
                        score: Some(h.score),
                    })
                });
                generated.push(outputs.collect::<Result<_>>()?);
            }
        }
        Ok(generated)
    }

    fn speaker<'f>(
        &self,
        names: Vec<(usize, usize)>,
        prompts: &[Vec<u32>],
        on: &'f mut dyn FnMut(Event) -> Result<()>,
    ) -> Speaker<'a, 'f> {
        let stops = &self.options.stops[..];
        let stream = |(p, _): &(usize, usize)| {
            TextStream::new(self.tokenizer, stops, prompts.get(*p).map_or(&[][..], |prompt| prompt))
        };
        let streams = names.iter().map(stream).collect();
        let (tokenizer, trace) = (self.tokenizer, self.options.trace);
        Speaker { tokenizer, stops, trace, names, given: Vec::new(), streams, on, failed: None }
    }
}

/// One sequence of a batch that goes on alone.
struct Renamed<'r, 'a, 'f> {
    speaker: &'r mut Speaker<'a, 'f>,
    sequence: usize,
}

impl super::Listener for Renamed<'_, '_, '_> {
    fn token(&mut self, _: usize, token: u32) -> Result<std::ops::ControlFlow<()>> {
        self.speaker.token(self.sequence, token)
    }
    fn traces(&self) -> Trace {
        self.speaker.traces()
    }
    fn step(&mut self, step: super::Step) {
        self.speaker.step(super::Step { sequence: self.sequence, ..step });
    }
}

/// The ids of a prompt, if the model can read them.
fn prompt_ids(
    model: &Gpt,
    tokenizer: &Tokenizer,
    i: usize,
    text: &str,
    options: &GenerateOptions,
) -> Result<Vec<u32>> {
    let (vocabulary, context) = (model.config().vocab_size, model.config().n_positions);
    let mut ids = tokenizer.encode(text)?;
    if ids.is_empty() {
        ids.extend(options.start);
    }
    if ids.is_empty() {
        return Err(Error::data(format!(
            "prompt {} is empty, and this model has no token to start with",
            i + 1
        ))
        .hint("give it something to continue: --prompt \"Once upon a time\""));
    }
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(Error::data(format!(
            "the tokenizer gives token {id}, the model knows {vocabulary} tokens"
        ))
        .hint("tokenizer.json and config.json in this folder do not belong together"));
    }
    if ids.len() > context && options.overflow == Overflow::Refuse {
        return Err(Error::data(format!(
            "prompt {} has {} tokens, the model's context is {context}: {} too many",
            i + 1,
            ids.len(),
            ids.len() - context
        ))
        .hint("shorten it, or use --slide to forget its beginning"));
    }
    Ok(ids)
}

/// How many tokens may follow a prompt.
fn limit(
    model: &Gpt,
    i: usize,
    prompt: usize,
    decoding: &Decoding,
    options: &GenerateOptions,
) -> Result<Limit> {
    let context = model.config().n_positions;
    // The last token needs no position: nothing follows it.
    let room = (context + 1).saturating_sub(prompt);
    let slides = options.overflow == Overflow::Slide && !matches!(decoding.strategy, Strategy::Beams(_));
    decoding.rules.check_length(options.new_tokens)?;
    // What must be said is asked for, too.
    let least = (decoding.rules.min_new > room).then_some(decoding.rules.min_new);
    if let Some(asked) = options.new_tokens.or(least) {
        if asked > room && !slides {
            let (message, hint) = (
                format!(
                    "prompt {} has {prompt} tokens and {asked} more would make {}, the model's context is {context} (and one more, that nothing follows): {} too many",
                    i + 1,
                    prompt + asked,
                    asked - room
                ),
                match decoding.strategy {
                    Strategy::Beams(_) => format!("use --tokens {room}; beam search cannot slide"),
                    _ => format!("use --tokens {room}, or --slide to forget the beginning"),
                },
            );
            return Err(Error::data(message).hint(hint));
        }
        return Ok(Limit::within(asked, asked));
    }
    let (new, with_prompt) = options.file_limits;
    // What was forgotten does not count.
    let with_prompt = with_prompt.filter(|_| !slides);
    if let (None, Some(length)) = (new, with_prompt.filter(|length| *length <= prompt)) {
        return Err(Error::data(format!(
            "prompt {} has {prompt} tokens, and the model's generation_config.json ends every text at {length} (max_length)",
            i + 1
        ))
        .hint("say how many are to follow: --tokens 50"));
    }
    let theirs = new.or(with_prompt.map(|length| length.saturating_sub(prompt))).unwrap_or(NEW_TOKENS);
    let theirs = theirs.max(decoding.rules.min_new);
    Ok(if slides { Limit::within(theirs, theirs) } else { Limit::usual(theirs, room) })
}
