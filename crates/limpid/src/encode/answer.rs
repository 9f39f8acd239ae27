//! Extractive question answering: spans of a context, by the logits of their first and last token.

use super::TextEncoder;
use crate::data::batch::EncodedText;
use crate::error::{EncodeError, InputProblem, Result};
use crate::model::config::EncoderHead;
use crate::text::{TokenSpans, Tokenizer, TruncationStrategy};

/// Options of question answering, with the defaults of the pipeline of `transformers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerOptions {
    /// Maximum number of tokens of question and context together; a longer context is read in
    /// windows. `None`: 384, or fewer if the model has fewer positions.
    pub max_seq_len: Option<usize>,
    /// Tokens that two neighbouring windows share; `None`: 128, or half of a shorter window.
    pub doc_stride: Option<usize>,
    /// Maximum number of tokens of an answer.
    pub max_answer_len: usize,
    /// Number of answers.
    pub top_k: usize,
    /// Whether there may be no answer.
    pub impossible: Impossible,
}

/// Whether a question may have no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Impossible {
    /// There is always one.
    #[default]
    Never,
    /// An empty answer competes, with the score of the first token (`[CLS]`) as a span.
    Allowed,
}

impl Default for AnswerOptions {
    fn default() -> Self {
        Self {
            max_seq_len: None,
            doc_stride: None,
            max_answer_len: 15,
            top_k: 1,
            impossible: Impossible::Never,
        }
    }
}

/// A span of the context.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its text; empty where there is no answer.
    pub answer: String,
    /// The probability of its first token times that of its last, summed over spans of the same
    /// text.
    pub score: f32,
    /// The first character.
    pub start: usize,
    /// One past the last character.
    pub end: usize,
}

/// The best answers to a question, the most likely first. Spans are widened to whole words.
/// # Errors
/// [`EncodeError::NoQuestionAnsweringHead`], and an [`EncodeError::Input`] for a question or a
/// context without text, or a question that leaves no place for a context.
pub fn answer(
    encoder: &TextEncoder,
    question: &str,
    context: &str,
    options: AnswerOptions,
) -> Result<Vec<Answer>> {
    Ok(answers(encoder, &[(question, context)], options)?.swap_remove(0))
}

/// The same for several questions, each with its context.
/// # Errors
/// Those of [`answer`], with the index of the question.
pub fn answers(
    encoder: &TextEncoder,
    questions: &[(&str, &str)],
    options: AnswerOptions,
) -> Result<Vec<Vec<Answer>>> {
    if encoder.model.config().head != EncoderHead::QuestionAnswering {
        return Err(EncodeError::NoQuestionAnsweringHead.into());
    }
    let reader = Windows::new(encoder, options)?;
    let (mut windows, mut asked) = (Vec::new(), Vec::new());
    for (index, (question, context)) in questions.iter().enumerate() {
        for (part, text) in [("question", question), ("context", context)] {
            if text.trim().is_empty() {
                let problem = InputProblem::NoText { part };
                return Err(EncodeError::Input { index, problem }.into());
            }
        }
        let of_question = reader.of(index, question, context)?;
        asked.extend(vec![index; of_question.len()]);
        windows.extend(of_question);
    }
    let encoded: Vec<EncodedText> =
        windows.iter().map(|window| (window.ids.clone(), window.type_ids.clone())).collect();
    for ((ids, types), index) in encoded.iter().zip(&asked) {
        encoder.check(*index, ids, types)?;
    }
    let first_token = ["[CLS]", "<s>"].iter().find_map(|token| encoder.tokenizer.id(token));
    let mut found: Vec<Found> = questions.iter().map(|(_, context)| Found::new(context)).collect();
    encoder.for_each_batch(&encoded, |tape, input, hidden, first| {
        let logits = encoder.model.token_logits(tape, hidden);
        for (i, span) in input.tokens.spans.iter().enumerate() {
            let rows = &logits.data()[2 * span.start..2 * (span.start + span.len)];
            found[asked[first + i]].add(&windows[first + i], rows, first_token, options);
        }
        Ok(())
    })?;
    Ok(found.into_iter().map(|found| found.best(options)).collect())
}

/// Reads questions and contexts, a long context in windows.
struct Windows<'a> {
    tokenizer: &'a Tokenizer,
    /// The same with windows.
    cut: Tokenizer,
    max_tokens: usize,
    stride: usize,
}

impl<'a> Windows<'a> {
    fn new(encoder: &TextEncoder<'a>, options: AnswerOptions) -> Result<Self> {
        let positions = encoder.model.config().max_position_embeddings;
        let max_tokens = options.max_seq_len.unwrap_or(384).min(positions);
        let stride = options.doc_stride.unwrap_or((max_tokens / 2).min(128));
        let tokenizer: &Tokenizer = encoder.tokenizer;
        let special = tokenizer.encode_with_types("", Some(""))?.0.len();
        if special.saturating_add(stride) >= max_tokens {
            let problem = InputProblem::QuestionTooLong { tokens: special, stride, max_tokens };
            return Err(EncodeError::Input { index: 0, problem }.into());
        }
        let cut = tokenizer.with_windows(max_tokens, stride, TruncationStrategy::OnlySecond)?;
        Ok(Self { tokenizer, cut, max_tokens, stride })
    }

    /// Question and context as one sequence, or as several if the context is too long.
    fn of(&self, index: usize, question: &str, context: &str) -> Result<Vec<TokenSpans>> {
        let (stride, max_tokens) = (self.stride, self.max_tokens);
        let tokens = self.tokenizer.encode_spans(question, Some(""))?.swap_remove(0).ids.len();
        if tokens.saturating_add(stride) >= max_tokens {
            let problem = InputProblem::QuestionTooLong { tokens, stride, max_tokens };
            return Err(EncodeError::Input { index, problem }.into());
        }
        self.cut.encode_spans(question, Some(context))
    }
}

/// Answers so far.
struct Found<'a> {
    answers: Vec<Answer>,
    /// The lowest score of no answer in any window.
    null: f32,
    context: &'a str,
}

impl<'a> Found<'a> {
    fn new(context: &'a str) -> Self {
        Self { answers: Vec::new(), null: f32::INFINITY, context }
    }

    /// The best answers, the most likely first.
    fn best(self, options: AnswerOptions) -> Vec<Answer> {
        let mut answers = self.answers;
        if options.impossible == Impossible::Allowed {
            answers.push(Answer { answer: String::new(), score: self.null, start: 0, end: 0 });
        }
        answers.sort_by(|a, b| b.score.total_cmp(&a.score));
        answers.truncate(options.top_k);
        answers
    }

    /// Adds the best spans of a window, with (start, end) logits for each token.
    fn add(
        &mut self,
        window: &TokenSpans,
        logits: &[f32],
        first_token: Option<u32>,
        options: AnswerOptions,
    ) {
        let inside: Vec<bool> = (window.sequence.iter().zip(&window.ids))
            .map(|(sequence, id)| *sequence == Some(1) || Some(*id) == first_token)
            .collect();
        let [mut starts, mut ends] = [0, 1].map(|column| probabilities(logits, column, &inside));
        self.null = self.null.min(starts[0] * ends[0]);
        (starts[0], ends[0]) = (0.0, 0.0);
        let mut spans = Vec::new();
        for (start, p) in starts.iter().enumerate().filter(|(i, p)| inside[*i] && **p > 0.0) {
            let last = ends.len().min(start + options.max_answer_len);
            let possible = (start..last).filter(|end| inside[*end] && ends[*end] > 0.0);
            spans.extend(possible.map(|end| (p * ends[end], start, end)));
        }
        spans.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Some of them become one when they are widened to words.
        spans.truncate(2 * options.top_k + 10);
        for (score, start, end) in spans {
            self.add_span(window, score, start, end);
        }
    }

    fn add_span(&mut self, window: &TokenSpans, score: f32, first: usize, last: usize) {
        let word = |token: usize| {
            let number = window.words[token]?;
            let of_word = (0..window.ids.len())
                .filter(|i| window.sequence[*i] == Some(1) && window.words[*i] == Some(number));
            let offsets: Vec<(usize, usize)> = of_word.map(|i| window.offsets[i]).collect();
            Some((offsets.first()?.0, offsets.last()?.1))
        };
        let (start, end) = match (word(first), word(last)) {
            (Some(first), Some(last)) => (first.0, last.1),
            _ => (window.offsets[first].0, window.offsets[last].1),
        };
        let answer: String =
            self.context.chars().skip(start).take(end.saturating_sub(start)).collect();
        let same = |other: &&mut Answer| other.answer.to_lowercase() == answer.to_lowercase();
        match self.answers.iter_mut().find(same) {
            Some(known) => known.score += score,
            None => self.answers.push(Answer { answer, score, start, end }),
        }
    }
}

/// Softmax of a column over the tokens that may be part of an answer; 0 for the others.
fn probabilities(logits: &[f32], column: usize, inside: &[bool]) -> Vec<f32> {
    let logit = |i: usize| if inside[i] { logits[2 * i + column] } else { -10_000.0 };
    let all: Vec<f32> = (0..inside.len()).map(logit).collect();
    let max = all.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials: Vec<f32> = all.iter().map(|x| (x - max).exp()).collect();
    let total: f32 = exponentials.iter().sum();
    exponentials.into_iter().map(|e| e / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_no_longer_than_asked_and_equal_texts_share_their_score() {
        let window = TokenSpans {
            ids: vec![9, 1, 2, 1],
            type_ids: vec![0; 4],
            offsets: vec![(0, 0), (0, 1), (2, 3), (4, 5)],
            is_special: vec![true, false, false, false],
            sequence: vec![None, Some(1), Some(1), Some(1)],
            words: vec![None, Some(0), Some(1), Some(2)],
        };
        let mut found = Found::new("a b A");
        let options = AnswerOptions { max_answer_len: 2, top_k: 9, ..AnswerOptions::default() };
        found.add(&window, &[0.0; 8], Some(9), options);
        // Four tokens of probability 1/4 each: six spans but for "a b A".
        let texts: Vec<_> = found.answers.iter().map(|a| (a.answer.as_str(), a.score)).collect();
        let p = 1.0 / 16.0;
        assert_eq!(texts, [("a", 2.0 * p), ("a b", p), ("b", p), ("b A", p)]);
        assert_eq!(found.null, p);
    }
}
