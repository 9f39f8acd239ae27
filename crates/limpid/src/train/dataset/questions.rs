//! Questions about texts, for extractive question answering.
//!
//! As in the examples of `transformers`: a context that does not fit beside its question is read in
//! windows that overlap by a stride, and a window without the answer has `[CLS]` as its answer.
//!
//! ```text
//! [CLS] question [SEP] context[0..r] [SEP]        r tokens fit beside the question;
//! [CLS] question [SEP] context[r−s..2r−s] [SEP]   s, the stride, are read twice
//! ```

use super::reader::{Read, Reader, Records, SplitFiles};
use super::{Batch, Split};
use crate::data::batch::{AnswerBatch, EncodedText, EncoderInput};
use crate::data::clean::Duplicates;
use crate::data::labelled::no_examples;
use crate::data::questions::{Question, QuestionFormat, each_question};
use crate::data::sequence_file::{Recipe, SequenceFile, select_cleaned};
use crate::data::template::EncoderTemplate;
use crate::encode::AnswerOptions;
use crate::error::{DatasetError, Result};
use crate::eval::answers::MAX_ANSWER_LEN;
use crate::report::thousands;
use crate::text::Tokenizer;
use crate::train::config::AnswerTask;
use crate::train::pretrained::check_pairs;
use std::ops::Range;
use std::path::PathBuf;

/// Windows of a validation batch.
const VALIDATION_WINDOWS: usize = 16;

/// Sequences of a record: the question, the context, and the first and last token of the answer.
const WIDTH: usize = 3;

/// The row of a sequence that stands for no answer.
const NO_ANSWER: u32 = 0;

/// Questions about texts.
pub struct QuestionExamples {
    pub(super) train: Windows,
    pub(super) validation: Windows,
    /// The validation questions as text.
    questions: Vec<Question>,
    template: EncoderTemplate,
    /// Tokens of question and context that are read together, and that neighbouring windows share.
    shape: (usize, usize),
}

/// The questions of a split, and the windows in which their contexts are read.
pub(super) struct Windows {
    records: Records,
    /// The question of each window, and its tokens of the context.
    windows: Vec<(usize, Range<usize>)>,
}

impl Split for Windows {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        for record in &self.records.which {
            (0..2).for_each(|text| on(&self.records.file.get(record * WIDTH + text)));
        }
    }
}

/// The parts of a context of `tokens` tokens that are read with a question: `room` tokens each, of
/// which neighbours share `stride`.
/// # Panics
/// If the stride leaves nothing of the room.
pub(crate) fn windows(tokens: usize, room: usize, stride: usize) -> Vec<Range<usize>> {
    assert!(stride < room, "windows of {room} tokens that share {stride}");
    let mut all = Vec::new();
    let mut start = 0;
    loop {
        let end = tokens.min(start + room);
        all.push(start..end);
        if end == tokens {
            return all;
        }
        start += room - stride;
    }
}

impl Windows {
    fn new(records: Records, template: &EncoderTemplate, shape: (usize, usize)) -> Self {
        let (context, stride) = shape;
        let mut all = Vec::new();
        for (question, record) in records.which.iter().enumerate() {
            let length = |text: usize| records.file.len_of(record * WIDTH + text);
            let room = context - template.added(2) - length(0);
            all.extend(windows(length(1), room, stride).into_iter().map(|part| (question, part)));
        }
        Self { records, windows: all }
    }

    fn lengths(&self, added: usize) -> impl Iterator<Item = usize> + '_ {
        self.windows.iter().map(move |(question, part)| {
            let record = self.records.which[*question];
            self.records.file.len_of(record * WIDTH) + part.len() + added
        })
    }

    /// The tokens of a window, and the rows of its answer.
    fn get(&self, i: usize, template: &EncoderTemplate) -> (EncodedText, [u32; 2]) {
        let (question, part) = &self.windows[i];
        let first = self.records.which[*question] * WIDTH;
        let file = &self.records.file;
        let (asked, context) = (file.get(first), file.part(first + 1, part.clone()));
        let before = template.before(2, 1) + asked.len();
        let row = |token: u32| (before + token as usize - part.start) as u32;
        let answer = match file.get(first + 2)[..] {
            [from, to] if part.start <= from as usize && (to as usize) < part.end => {
                [row(from), row(to)]
            }
            _ => [NO_ANSWER; 2],
        };
        (template.pair(&asked, &context), answer)
    }
}

impl QuestionExamples {
    pub(super) fn read(reader: &mut Reader, task: &AnswerTask) -> Result<Read<Self>> {
        let data = &task.data;
        let shape = (task.model.context_length, task.doc_stride());
        let files = SplitFiles::new(
            &data.text[..],
            &data.validation_text,
            data.duplicates,
            data.validation_split,
        );
        let template = check_pairs(reader.config, reader.tokenizer, 2)?;
        let both = reader.both(&files, |reader, files, name| {
            token_questions(reader, data.format, files, (shape, template.added(2)), name)
        })?;
        let cleaning = both.0.cleaning();
        let [train, validation] = reader.split(both, WIDTH, files.fraction)?;
        let (source, policy) = files.held_out();
        if validation.which.is_empty() {
            return Err(no_examples(source).into());
        }
        let all = each_question(source, data.format)?.into_iter().map(Ok);
        let questions = select_cleaned(all, policy, &validation.which).collect::<Result<_>>()?;
        let [train, validation] =
            [train, validation].map(|records| Windows::new(records, &template, shape));
        let order = reader.shuffled(train.lengths(template.added(2)))?;
        let count = |windows: &Windows| thousands(windows.records.which.len() as u64);
        let description = format!(
            "{} training questions in {} windows, {} validation questions ({cleaning})",
            count(&train),
            thousands(train.windows.len() as u64),
            count(&validation),
        );
        let examples = Self { train, validation, questions, template, shape };
        Ok(Read { examples, order, description })
    }

    /// The validation questions.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// How answers are found in the windows of the training.
    pub(in crate::train) fn options(&self) -> AnswerOptions {
        AnswerOptions {
            max_seq_len: Some(self.shape.0),
            doc_stride: Some(self.shape.1),
            max_answer_len: MAX_ANSWER_LEN,
            ..AnswerOptions::default()
        }
    }

    pub(super) fn batch(&self, chosen: &[usize]) -> Batch {
        Batch::Answers(self.batch_of(&self.train, chosen.iter().copied()))
    }

    /// The validation split in batches.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = AnswerBatch> + '_ {
        let all = self.validation.windows.len();
        let batch = move |first: usize| {
            self.batch_of(&self.validation, first..all.min(first + VALIDATION_WINDOWS))
        };
        (0..all).step_by(VALIDATION_WINDOWS).map(batch)
    }

    fn batch_of(&self, windows: &Windows, which: impl Iterator<Item = usize>) -> AnswerBatch {
        let (encoded, answers): (Vec<EncodedText>, Vec<[u32; 2]>) =
            which.map(|i| windows.get(i, &self.template)).unzip();
        AnswerBatch { input: EncoderInput::new(&encoded), answers }
    }
}

/// A question as it is trained on: tokens of question and context, and those of the answer.
fn token_question(
    tokenizer: &Tokenizer,
    question: &Question,
    ((context, stride), added): ((usize, usize), usize),
) -> Result<Vec<Vec<u32>>> {
    let asked = tokenizer.encode(&question.question)?;
    let tokens = asked.len() + added;
    if tokens + stride >= context {
        let question = question.question.clone();
        return Err(DatasetError::QuestionTooLong { question, tokens, stride, context }.into());
    }
    let (ids, offsets) = tokenizer.encode_with_offsets(&question.context)?;
    let answer = question.answer_tokens(&offsets).map_or(Vec::new(), Vec::from);
    Ok(vec![asked, ids, answer])
}

fn token_questions(
    reader: &mut Reader,
    format: Option<QuestionFormat>,
    (files, policy): (&[PathBuf], Duplicates),
    shape: ((usize, usize), usize),
    name: &str,
) -> Result<SequenceFile> {
    let tokenizer = reader.tokenizer;
    let processing = format!("{format:?}, {shape:?}");
    // Places of answers are stored beside token ids.
    let id_limit = u32::MAX as usize;
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: Some(policy) };
    let tokenize = |question: &Question| token_question(tokenizer, question, shape);
    let questions = || Ok(each_question(files, format)?.into_iter().map(Ok));
    reader.tokenize(name, &recipe, questions, tokenize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, TruncationStrategy, word_tokenizer_for};

    #[test]
    fn windows_are_those_of_the_tokenizers_library() {
        let words: Vec<String> = (0..23).map(|i| format!("w{i}")).collect();
        let tokenizer = word_tokenizer_for([words.join(" ").as_str()], Purpose::Encoder).unwrap();
        for (tokens, room, stride) in
            [(23, 7, 3), (23, 7, 0), (7, 7, 3), (8, 7, 6), (21, 5, 1), (22, 5, 2), (1, 4, 2)]
        {
            let text = words[..tokens].join(" ");
            // [CLS], one token of the question, [SEP] and [SEP].
            let cut =
                tokenizer.with_windows(room + 4, stride, TruncationStrategy::OnlySecond).unwrap();
            let found = cut.encode_spans("w0", Some(&text)).unwrap();
            let ids = tokenizer.encode(&text).unwrap();
            let of_window = |window: &crate::text::TokenSpans| -> Vec<u32> {
                let inside = window.ids.iter().zip(&window.sequence);
                inside.filter(|(_, of)| **of == Some(1)).map(|(id, _)| *id).collect()
            };
            let expected: Vec<Vec<u32>> = found.iter().map(of_window).collect();
            let own: Vec<Vec<u32>> =
                windows(tokens, room, stride).into_iter().map(|part| ids[part].to_vec()).collect();
            assert_eq!(own, expected, "{tokens} tokens, room {room}, stride {stride}");
        }
    }
}
