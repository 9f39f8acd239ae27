//! Errors of text generation: settings that cannot work, inputs that do not fit.

/// A setting, a prompt or a source text with which nothing can be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerationError {
    /// A setting is outside its range.
    #[error("{key} {found} is not {expected}")]
    OutOfRange {
        /// Its name, as in `generation_config.json`.
        key: &'static str,
        /// The value it has.
        found: String,
        /// The values it may have.
        expected: String,
    },
    /// Beam search and sampling at once.
    #[error("beam search cannot be combined with sampling (num_beams {num_beams} with {option})")]
    BeamSampling {
        /// Number of beams.
        num_beams: usize,
        /// The option that asks for sampling.
        option: &'static str,
    },
    /// More outputs than a search finishes.
    #[error(
        "num_return_sequences {num_return_sequences} exceeds num_beams {num_beams}: a search \
         finishes at most one sequence per beam"
    )]
    TooManySequences {
        /// Outputs asked for.
        num_return_sequences: usize,
        /// Number of beams.
        num_beams: usize,
    },
    /// Several outputs of a deterministic search, which are all the same.
    #[error("temperature 0 would generate the same text {num_return_sequences} times")]
    IdenticalSequences {
        /// Outputs asked for.
        num_return_sequences: usize,
    },
    /// Two length penalties.
    #[error("length_penalty and gnmt_length_penalty exclude each other")]
    TwoLengthPenalties,
    /// A setting of beam search without beam search.
    #[error("{key} has no effect without beam search")]
    BeamSearchOnly {
        /// Its name.
        key: &'static str,
    },
    /// A setting of sampling with `do_sample` false.
    #[error("{key} has no effect with do_sample false")]
    SamplingOnly {
        /// Its name.
        key: &'static str,
    },
    /// The least number of new tokens is above the largest.
    #[error("min_new_tokens {min_new_tokens} exceeds max_new_tokens {max_new_tokens}")]
    MinExceedsMax {
        /// Least number of new tokens.
        min_new_tokens: usize,
        /// Largest number of new tokens.
        max_new_tokens: usize,
    },
    /// A token id in the settings that the model does not have.
    #[error("token {id} is beyond the vocabulary of {vocab_size} tokens")]
    TokenBeyondVocabulary {
        /// The id.
        id: u32,
        /// Size of the model's vocabulary.
        vocab_size: usize,
    },
    /// A stop string that every text contains.
    #[error("an empty stop string would end every text at once")]
    EmptyStopString,
    /// The tokenizer gives an id that the model does not have.
    #[error("the tokenizer gives token {id}, the model's vocabulary has {vocab_size} tokens")]
    TokenizerMismatch {
        /// The id.
        id: u32,
        /// Size of the model's vocabulary.
        vocab_size: usize,
    },
    /// The model answered with NaN.
    #[error("the logits for token {step} are not numbers (NaN)", step = step + 1)]
    NotANumber {
        /// Which new token, counted from 0.
        step: usize,
    },
    /// The logits processors excluded every token.
    #[error("the logits processors exclude every token as token {step}", step = step + 1)]
    NoCandidates {
        /// Which new token, counted from 0.
        step: usize,
    },
    /// A prompt without tokens for a model without a start token.
    #[error("prompt {prompt} is empty, and this model has no start token", prompt = prompt + 1)]
    EmptyPrompt {
        /// Which prompt, counted from 0.
        prompt: usize,
    },
    /// A prompt that is longer than the model's context.
    #[error(
        "prompt {prompt}: {tokens} tokens exceed the model's context of {context} by {excess}",
        prompt = prompt + 1, excess = tokens - context
    )]
    PromptTooLong {
        /// Which prompt, counted from 0.
        prompt: usize,
        /// Tokens it has.
        tokens: usize,
        /// Tokens the model attends to.
        context: usize,
    },
    /// More new tokens than fit after a prompt.
    #[error(
        "prompt {prompt}: {tokens} tokens and {new_tokens} new ones exceed the model's context of \
         {context} (and one more, that nothing follows) by {excess}",
        prompt = prompt + 1, excess = tokens + new_tokens - context - 1
    )]
    ContextExceeded {
        /// Which prompt, counted from 0.
        prompt: usize,
        /// Tokens it has.
        tokens: usize,
        /// New tokens asked for.
        new_tokens: usize,
        /// Tokens the model attends to.
        context: usize,
        /// Whether a beam search was asked for, which cannot slide.
        beam_search: bool,
    },
    /// `max_length` of the model's files ends a text before it begins.
    #[error(
        "prompt {prompt}: {tokens} tokens reach max_length {max_length} of the model's \
         generation_config.json", prompt = prompt + 1
    )]
    MaxLengthReached {
        /// Which prompt, counted from 0.
        prompt: usize,
        /// Tokens it has.
        tokens: usize,
        /// `max_length`, which counts the prompt.
        max_length: usize,
    },
    /// A source text that is longer than the encoder reads.
    #[error(
        "text {text}: {tokens} tokens exceed the model's maximum of {max_tokens} by {excess}",
        text = text + 1, excess = tokens - max_tokens
    )]
    SourceTooLong {
        /// Which text, counted from 0.
        text: usize,
        /// Tokens it has, with the end token.
        tokens: usize,
        /// Tokens the model reads.
        max_tokens: usize,
    },
    /// Words of a target prefix that are out of the vocabulary.
    #[error("prefix: out of vocabulary: {}", words.join(", "))]
    PrefixOutOfVocabulary {
        /// The words.
        words: Vec<String>,
    },
    /// A special token in a target prefix.
    #[error("prefix: {token} ends or pads a text and cannot begin one")]
    PrefixSpecialToken {
        /// The token.
        token: String,
    },
    /// A target prefix that leaves too little space.
    #[error(
        "prefix: {tokens} tokens and {new_tokens} new ones exceed the model's maximum of \
         {max_tokens} by {excess}", excess = tokens + new_tokens - max_tokens
    )]
    PrefixTooLong {
        /// Tokens it has.
        tokens: usize,
        /// New tokens asked for.
        new_tokens: usize,
        /// Tokens the decoder has positions for.
        max_tokens: usize,
    },
    /// Attention weights of a model that has none.
    #[error("this model has no attention: its decoder sees the source as one state")]
    NoAttention,
}
