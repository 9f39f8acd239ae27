//! Text for a language model: windows from random places, or lines, each a document of its own.

use super::lines::{Lines, PieceShape};
use super::reader::{Read, Reader};
use super::windows::Windows;
use super::{Batch, Split};
use crate::data::batch::LmBatch;
use crate::data::sequences::end_token;
use crate::error::{DatasetError, Result};
use crate::report::thousands;
use crate::text::{Blocks, TextReader, Tokenizer, TokenizerKind};
use crate::train::config::{GptTask, TextData, Unit};
use std::path::PathBuf;

/// Text for a language model.
pub struct TextExamples {
    pub(super) train: TextSplit,
    /// The validation split.
    pub(in crate::train) validation: TextSplit,
    /// Tokens that a sequence may have.
    pub(in crate::train) context: usize,
    /// Seed of the run.
    pub(in crate::train) seed: u64,
    /// Characters per token: validation is also reported in bits per character.
    pub(in crate::train) characters_per_token: f64,
}

/// One split of a text.
pub(in crate::train) enum TextSplit {
    /// A long text, of which sequences are windows.
    Windows(Windows),
    /// Lines between end tokens.
    Lines(Lines),
}

impl Split for TextSplit {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        match self {
            TextSplit::Windows(windows) => windows.each(on),
            TextSplit::Lines(lines) => lines.each(on),
        }
    }
}

impl TextExamples {
    pub(super) fn read(reader: &mut Reader, task: &GptTask) -> Result<Read<Self>> {
        let (data, context, seed) =
            (&task.data, task.model.sizes.context_length, reader.config.train.seed);
        let (splits, characters_per_token, order, description) = match data.unit {
            Unit::Lines => {
                let end = Some(end_token(reader.tokenizer)?);
                let shape = PieceShape { longest: context + 1, end };
                let [train, validation] = Lines::read(reader, data, shape)?;
                let predicted: usize = validation.lengths().map(|tokens| tokens - 1).sum();
                let characters = validation.characters(data)? as f64 / predicted as f64;
                let order = reader.shuffled(train.lengths().map(|tokens| tokens - 1))?;
                let description = train.describe(&validation);
                ([train, validation].map(TextSplit::Lines), characters, order, description)
            }
            Unit::Windows | Unit::Pairs => {
                let end = reader.tokenizer.eos_id().filter(|_| data.text.len() > 1);
                let [train, validation] = Windows::read(reader, data, end)?;
                let (found, kept) = (train.len(), validation.len());
                if found <= context {
                    return Err(DatasetError::TooShort { found, context }.into());
                }
                let characters = characters_per_token(&validation, data, reader.tokenizer)?;
                let order = reader.random(found - context, found, context);
                let [found, kept] = [found, kept].map(|tokens| thousands(tokens as u64));
                let description = format!("{found} training tokens, {kept} validation tokens");
                ([train, validation].map(TextSplit::Windows), characters, order, description)
            }
        };
        let [train, validation] = splits;
        let examples = Self { train, validation, context, seed, characters_per_token };
        Ok(Read { examples, order, description })
    }

    pub(super) fn batch(&self, chosen: &[usize]) -> Batch {
        let sequence = |i: &usize| match &self.train {
            TextSplit::Windows(windows) => windows.slice(*i..*i + self.context + 1),
            TextSplit::Lines(lines) => lines.get(*i),
        };
        Batch::Lm(LmBatch::new(&chosen.iter().map(sequence).collect::<Vec<_>>()))
    }

    /// The first tokens of the validation split: what samples continue.
    pub(in crate::train) fn validation_prompt(&self) -> Vec<u32> {
        let most = (self.context / 4).clamp(1, 16);
        match &self.validation {
            TextSplit::Windows(windows) => windows.slice(0..most),
            // Without the end token that precedes a line.
            TextSplit::Lines(lines) => lines.get(0).into_iter().skip(1).take(most.min(4)).collect(),
        }
    }
}

/// Characters per token of the validation split of a text.
fn characters_per_token(
    validation: &Windows,
    data: &TextData,
    tokenizer: &Tokenizer,
) -> Result<f64> {
    let tokens = validation.len();
    if tokens < 2 {
        let (files, found) = (data.validation_text.clone(), tokens);
        return Err(DatasetError::ValidationTooShort { files, found }.into());
    }
    let gives_text_back = matches!(
        tokenizer.kind(),
        Some(TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe)
    );
    Ok(match &data.validation_text[..] {
        [] if gives_text_back => characters_in(validation, tokenizer)? as f64 / tokens as f64,
        // Tokens that lose the text between them: the held-out end is taken to be like the whole.
        [] => characters(&data.text)? as f64 / validation.file_len() as f64,
        files => characters(files)? as f64 / tokens as f64,
    })
}

/// About how many characters a text has: those of the decoded tokens. An unknown token counts as
/// one character.
fn characters_in(text: &Windows, tokenizer: &Tokenizer) -> Result<usize> {
    let mut count = 0;
    for mut ids in text.chunks() {
        let all = ids.len();
        ids.retain(|id| Some(*id) != tokenizer.unk_id());
        count += all - ids.len() + tokenizer.decode(&ids)?.chars().count();
    }
    Ok(count)
}

fn characters(files: &[PathBuf]) -> Result<u64> {
    let mut count = 0;
    for path in files {
        for block in Blocks::new(TextReader::open(path)?) {
            count += block?.chars().count() as u64;
        }
    }
    Ok(count)
}
