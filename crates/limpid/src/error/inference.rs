//! Errors of trained models in use: generation, encoders, the wrong task, evaluation.

use std::path::PathBuf;

/// A setting, a prompt or a source text with which nothing can be generated. `prompt`, `text` and
/// `step` (of new tokens) are indices from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum GenerationError {
    /// A setting is outside its range.
    #[error("{key} {found} is not {expected}")]
    OutOfRange { key: &'static str, found: String, expected: String },
    /// Beam search and sampling at once.
    #[error("beam search cannot be combined with sampling (num_beams {num_beams} with {option})")]
    BeamSampling { num_beams: usize, option: &'static str },
    /// More outputs than a search finishes.
    #[error(
        "num_return_sequences {num_return_sequences} exceeds num_beams {num_beams}: a search \
         finishes at most one sequence per beam"
    )]
    TooManySequences { num_return_sequences: usize, num_beams: usize },
    /// Several outputs of a deterministic search, which are all the same.
    #[error("temperature 0 would generate the same text {num_return_sequences} times")]
    IdenticalSequences { num_return_sequences: usize },
    /// Two length penalties.
    #[error("length_penalty and gnmt_length_penalty exclude each other")]
    TwoLengthPenalties,
    /// A setting of beam search without beam search.
    #[error("{key} has no effect without beam search")]
    BeamSearchOnly { key: &'static str },
    /// A setting of sampling with `do_sample` false.
    #[error("{key} has no effect with do_sample false")]
    SamplingOnly { key: &'static str },
    /// The least number of new tokens is above the largest.
    #[error("min_new_tokens {min_new_tokens} exceeds max_new_tokens {max_new_tokens}")]
    MinExceedsMax { min_new_tokens: usize, max_new_tokens: usize },
    /// A token id in the settings that the model does not have.
    #[error("token {id} is beyond the vocabulary of {vocab_size} tokens")]
    TokenBeyondVocabulary { id: u32, vocab_size: usize },
    /// A stop string that every text contains.
    #[error("an empty stop string would end every text at once")]
    EmptyStopString,
    /// A format of keys and values for a model that has none.
    #[error("kv_cache_dtype {dtype} has no effect: a recurrent model has no keys and values")]
    NoKvCache { dtype: &'static str },
    /// A draft model with another number of tokens.
    #[error("the draft model has {draft} tokens in its vocabulary, the model {vocab_size}")]
    DraftVocabularySize { draft: usize, vocab_size: usize },
    /// A draft model whose tokenizer has another token for an id.
    #[error("token {id} is '{draft}' for the draft model and '{token}' for the model")]
    DraftToken { id: u32, draft: String, token: String },
    /// Two drafts.
    #[error("a draft model and prompt lookup exclude each other")]
    TwoDrafts,
    /// A setting of a draft model without one.
    #[error("num_assistant_tokens has no effect without a draft model")]
    NoDraft,
    /// A draft for beam search.
    #[error("speculative decoding cannot be combined with beam search")]
    SpeculativeBeamSearch,
    /// A trace of what is decided several tokens at a time.
    #[error("speculative decoding cannot be traced")]
    SpeculativeTrace,
    /// The tokenizer gives an id that the model does not have.
    #[error("the tokenizer gives token {id}, the model's vocabulary has {vocab_size} tokens")]
    TokenizerMismatch { id: u32, vocab_size: usize },
    /// The model answered with NaN.
    #[error("the logits for token {step} are not numbers (NaN)", step = step + 1)]
    NotANumber { step: usize },
    /// The logits processors excluded every token.
    #[error("the logits processors exclude every token as token {step}", step = step + 1)]
    NoCandidates { step: usize },
    /// A prompt without tokens for a model without a start token.
    #[error("prompt {prompt} is empty, and this model has no start token", prompt = prompt + 1)]
    EmptyPrompt { prompt: usize },
    /// A prompt that is longer than the model's context.
    #[error(
        "prompt {prompt}: {tokens} tokens exceed the model's context of {context} by {excess}",
        prompt = prompt + 1, excess = tokens - context
    )]
    PromptTooLong { prompt: usize, tokens: usize, context: usize },
    /// More new tokens than fit after a prompt.
    #[error(
        "prompt {prompt}: {tokens} tokens and {new_tokens} new ones exceed the model's context of \
         {context} (and one more, that nothing follows) by {excess}",
        prompt = prompt + 1, excess = tokens + new_tokens - context - 1
    )]
    ContextExceeded {
        prompt: usize,
        tokens: usize,
        new_tokens: usize,
        context: usize,
        beam_search: bool,
    },
    /// `max_length` of the model's files ends a text before it begins.
    #[error(
        "prompt {prompt}: {tokens} tokens reach max_length {max_length} of the model's \
         generation_config.json",
        prompt = prompt + 1
    )]
    MaxLengthReached { prompt: usize, tokens: usize, max_length: usize },
    /// A source text that is, with its end token, longer than the encoder reads.
    #[error(
        "text {text}: {tokens} tokens exceed the model's maximum of {max_tokens} by {excess}",
        text = text + 1, excess = tokens - max_tokens
    )]
    SourceTooLong { text: usize, tokens: usize, max_tokens: usize },
    /// Words of a target prefix that are out of the vocabulary.
    #[error("prefix: out of vocabulary: {}", words.join(", "))]
    PrefixOutOfVocabulary { words: Vec<String> },
    /// A special token in a target prefix.
    #[error("prefix: {token} ends or pads a text and cannot begin one")]
    PrefixSpecialToken { token: String },
    /// A target prefix that leaves too little space.
    #[error(
        "prefix: {tokens} tokens and {new_tokens} new ones exceed the model's maximum of \
         {max_tokens} by {excess}",
        excess = tokens + new_tokens - max_tokens
    )]
    PrefixTooLong { tokens: usize, new_tokens: usize, max_tokens: usize },
    /// Attention weights of a model that has none.
    #[error("this model has no attention: its decoder sees the source as one state")]
    NoAttention,
}

/// A model or a text with which an encoder can do nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum EncodeError {
    /// Labels of a model without a classification head.
    #[error("the model has no classification head")]
    NoClassificationHead,
    /// Labels of words by a model without a token-classification head.
    #[error("the model has no token-classification head")]
    NoTokenClassificationHead,
    /// Answers of a model without a question-answering head.
    #[error("the model has no question-answering head")]
    NoQuestionAnsweringHead,
    /// Words for a mask by a model without a masked-language-modelling head.
    #[error("the model has no masked-language-modelling head: it cannot fill a mask")]
    NoMaskedLmHead,
    /// Words for a mask with a tokenizer that has no mask token.
    #[error("the tokenizer has no mask token ([MASK])")]
    NoMaskToken,
    /// The tokenizer gives an id that the model does not have.
    #[error("the tokenizer gives token {id}, the model's vocabulary has {vocab_size} tokens")]
    TokenizerMismatch { id: u32, vocab_size: usize },
    /// A prompt that the folder does not have.
    #[error("the folder has no prompt '{name}'")]
    UnknownPrompt { name: String, available: Vec<String> },
    /// A cross-encoder whose folder puts a prompt before every text.
    #[error("default_prompt_name '{name}': prompts of cross-encoders are not supported")]
    PromptOfCrossEncoder { name: String },
    /// One of the texts cannot be used; `index` counts from 0.
    #[error("text {}: {problem}", index + 1)]
    Input { index: usize, problem: InputProblem },
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum InputProblem {
    /// No tokens at all, not even special ones.
    #[error("no tokens, and the tokenizer adds no special ones")]
    Empty,
    /// Two texts for a model that was made for one.
    #[error("a pair of texts, and the model has one token type")]
    Pair,
    /// More tokens, special ones included, than the model has positions for.
    #[error(
        "{tokens} tokens exceed the model's maximum of {max_tokens} by {excess}",
        excess = tokens - max_tokens
    )]
    TooLong { tokens: usize, max_tokens: usize },
    /// A question that leaves no place for its context.
    #[error(
        "the question and special tokens are {tokens} tokens: of {max_tokens} they leave no place \
         for windows of the context that share {stride}"
    )]
    QuestionTooLong { tokens: usize, stride: usize, max_tokens: usize },
    /// A question or its context without a word.
    #[error("the {part} has no text")]
    NoText { part: &'static str },
    /// No mask token to fill.
    #[error("there is no {mask} to fill")]
    NoMask { mask: String },
}

/// A folder whose model cannot do what it was loaded for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum PipelineError {
    /// The model was made for another task.
    #[error("{path} holds {found}: it cannot {task}")]
    WrongModel { path: PathBuf, found: &'static str, task: Task, made_for: Task },
    /// Sources for a language model, or none for a translator.
    #[error("{found} scores {expected}")]
    WrongScorerInput { found: &'static str, expected: &'static str },
}

/// What a model can be loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Task {
    /// Continue a text.
    #[error("generate text")]
    Generation,
    /// Text to text: translation, summarization.
    #[error("translate")]
    Translation,
    /// One vector per text.
    #[error("produce embeddings")]
    Embedding,
    /// Words for masks.
    #[error("fill a mask")]
    FillMask,
    /// A label per text.
    #[error("classify")]
    Classification,
    /// Labels for the words of a text.
    #[error("label words")]
    TokenClassification,
    /// Answers to questions, found in a context.
    #[error("answer questions about a context")]
    QuestionAnswering,
    /// Texts by their relevance to a query.
    #[error("rank texts by a query")]
    Reranking,
    /// Log-probabilities of given texts.
    #[error("score texts")]
    Scoring,
}

/// Something that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum EvalError {
    /// There is nothing to score.
    #[error("no hypotheses to score")]
    NoHypotheses,
    /// There is not one reference line per hypothesis.
    #[error(
        "{hypotheses} hypotheses but {references} reference lines; expected one per hypothesis"
    )]
    CountMismatch { hypotheses: usize, references: usize },
    /// There is not one source line per hypothesis.
    #[error("{sources} source lines but {hypotheses} hypotheses; expected one per hypothesis")]
    SourceMismatch { sources: usize, hypotheses: usize },
    /// A hypothesis has no reference; `segment` counts from 0.
    #[error("line {} has no reference; expected at least one", segment + 1)]
    NoReference { segment: usize },
    /// A test example, counted from 1, is longer than the model's context.
    #[error("{path}: {unit} {number}: {tokens} tokens exceed the model's maximum of {maximum}")]
    TooLong { path: PathBuf, unit: &'static str, number: usize, tokens: usize, maximum: usize },
    /// The tokenizer of another model.
    #[error("token id {id} is out of range: the model has a vocabulary of {vocab_size}")]
    TokenOutOfRange { id: u32, vocab_size: usize },
}

/// A number of a forward pass that cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum InspectError {
    /// No such step, output, row or column; or a key that the query does not see.
    #[error("this forward pass has no such element")]
    NoElement,
    /// Its terms are not stored as f32.
    #[error("{param} is quantized: only weights in f32 can be opened")]
    Quantized { param: String },
    /// An adapter adds to it.
    #[error("{param} has an adapter: only merged weights can be opened")]
    Adapted { param: String },
    /// A model whose layers predict nothing.
    #[error("{kind} has no logit lens: its layers do not predict a next token")]
    NoLens { kind: &'static str },
    /// A place that an edit names.
    #[error("this model has no {site}")]
    NoSite { site: String },
    /// An operation without an explanation.
    #[error("numbers of {operation} cannot be opened")]
    Unsupported { operation: &'static str },
}
