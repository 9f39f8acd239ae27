//! Requests: options set one by one, then run.

use super::{Generator, Translator};
use crate::error::{Error, Result};
use crate::generate::{
    ContextOverflow, EarlyStopping, Event, Generated, GenerationOptions, KvFormat, Translation,
};
use std::ops::ControlFlow;

/// A setter for each generation option.
macro_rules! option_setters {
    () => {
        option_setters! {
            /// Sample instead of taking the most likely token.
            do_sample: bool,
            /// Softmax temperature; 0 is greedy search.
            temperature: f32,
            /// Sample from the k most likely tokens.
            top_k: usize,
            /// Sample from the smallest set of tokens with this probability mass.
            top_p: f32,
            /// Seed of the samples.
            seed: u64,
            /// Beams of a beam search.
            num_beams: usize,
            /// Outputs per input: samples, or the n best of a beam search.
            num_return_sequences: usize,
            /// Exponent of the length that beam scores are divided by.
            length_penalty: f32,
            /// Exponent of the GNMT length penalty, instead.
            gnmt_length_penalty: f32,
            /// When a beam search stops.
            early_stopping: EarlyStopping,
            /// Penalty on tokens that occurred before.
            repetition_penalty: f32,
            /// Length of n-grams that occur at most once.
            no_repeat_ngram_size: usize,
            /// New tokens before an end token is allowed.
            min_new_tokens: usize,
            /// Largest number of new tokens.
            max_new_tokens: usize,
            /// How keys and values are stored.
            kv_cache_dtype: KvFormat,
        }
    };
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self, value: $type) -> Self {
                self.options.$name = Some(value);
                self
            }
        )*

        /// A string that ends the text and is not part of it; may be set several times.
        pub fn stop_string(mut self, text: impl Into<String>) -> Self {
            self.options.stop_strings.get_or_insert_default().push(text.into());
            self
        }

        /// All options at once.
        pub fn options(mut self, options: GenerationOptions) -> Self {
            self.options = options;
            self
        }
    };
}

/// One prompt with its options: made by [`Generator::prompt`].
#[derive(Clone)]
#[must_use = "a request does nothing before `generate`"]
pub struct GenerationRequest<'g> {
    generator: &'g Generator,
    prompt: String,
    options: GenerationOptions,
    overflow: ContextOverflow,
    draft: Option<&'g Generator>,
    num_assistant_tokens: Option<usize>,
    prompt_lookup_num_tokens: Option<usize>,
}

impl<'g> GenerationRequest<'g> {
    pub(super) fn new(generator: &'g Generator, prompt: String) -> Self {
        let (options, overflow) = Default::default();
        let (draft, num_assistant_tokens, prompt_lookup_num_tokens) = Default::default();
        Self {
            generator,
            prompt,
            options,
            overflow,
            draft,
            num_assistant_tokens,
            prompt_lookup_num_tokens,
        }
    }

    option_setters!();

    /// What happens when the text outgrows the model's context.
    pub fn overflow(mut self, overflow: ContextOverflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Speculative decoding with a smaller model of the same vocabulary: greedily the same text, by
    /// sampling one of the same distribution.
    pub fn draft(mut self, draft: &'g Generator) -> Self {
        self.draft = Some(draft);
        self
    }

    /// Tokens that the draft model proposes at a time, 4 by default.
    pub fn num_assistant_tokens(mut self, tokens: usize) -> Self {
        self.num_assistant_tokens = Some(tokens);
        self
    }

    /// Speculative decoding with so many tokens at a time that followed the same tokens before.
    pub fn prompt_lookup_num_tokens(mut self, tokens: usize) -> Self {
        self.prompt_lookup_num_tokens = Some(tokens);
        self
    }

    /// The continuation, without the prompt; the first if there are several.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn generate(self) -> Result<String> {
        Ok(self.generate_all()?.swap_remove(0).text)
    }

    /// All continuations, best first, with tokens, finish reasons and scores.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn generate_all(self) -> Result<Vec<Generated>> {
        Ok(self.run(&mut |_| Ok(()))?.swap_remove(0))
    }

    /// Calls `on_text` with each piece of the text as soon as it is final; `Break` ends the
    /// generation. Gives the whole text. A beam search gives its text in one piece.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn stream(self, mut on_text: impl FnMut(&str) -> ControlFlow<()>) -> Result<String> {
        let (mut text, mut stopped) = (String::new(), false);
        let found = self.run(&mut |event| {
            if let Event::Text { sample: 0, text: piece, .. } = event {
                text.push_str(piece);
                stopped = on_text(piece).is_break();
            }
            if stopped { Err(Error::Interrupted) } else { Ok(()) }
        });
        match found {
            Err(Error::Interrupted) if stopped => Ok(text),
            Err(error) => Err(error),
            Ok(mut found) => {
                let whole = found.swap_remove(0).swap_remove(0).text;
                if text.is_empty() && !whole.is_empty() {
                    // A beam search: its text is known at the end only.
                    let _ = on_text(&whole);
                }
                Ok(whole)
            }
        }
    }

    fn run(&self, on_event: crate::generate::OnEvent) -> Result<Vec<Vec<Generated>>> {
        let config = self.generator.decoding_config(&self.options)?;
        let options = self.generator.generate_options(self.overflow);
        let (generator, prompts) = (self.generator, &[&self.prompt]);
        let tokens = (self.num_assistant_tokens, self.prompt_lookup_num_tokens);
        match generator.speculation_of(self.draft, tokens)? {
            None => generator.run(prompts, &config, &options, on_event),
            Some(speculation) => {
                generator.run_speculatively(speculation, prompts, &config, &options, on_event)
            }
        }
    }
}

/// Some texts with their options: made by [`Translator::request`].
#[derive(Clone)]
#[must_use = "a request does nothing before `translate`"]
pub struct TranslationRequest<'t> {
    translator: &'t Translator,
    texts: Vec<String>,
    options: GenerationOptions,
    prefix: String,
}

impl<'t> TranslationRequest<'t> {
    pub(super) fn new(translator: &'t Translator, texts: Vec<String>) -> Self {
        let (options, prefix) = Default::default();
        Self { translator, texts, options, prefix }
    }

    option_setters!();

    /// Text that every translation begins with.
    pub fn prefix(mut self, text: impl Into<String>) -> Self {
        self.prefix = text.into();
        self
    }

    /// The best translation of each text.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn translate(self) -> Result<Vec<String>> {
        let found = self.translate_all()?;
        Ok(found.into_iter().map(|mut best| best.swap_remove(0).text).collect())
    }

    /// All translations of each text, best first, with tokens, finish reasons and scores. An empty
    /// text has one translation, which is empty.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn translate_all(self) -> Result<Vec<Vec<Translation>>> {
        let config = self.translator.decoding_config(&self.options)?;
        let options =
            crate::generate::TranslateOptions { prefix: self.prefix, ..Default::default() };
        self.translator.run(&self.texts, &config, &options, None)
    }
}
