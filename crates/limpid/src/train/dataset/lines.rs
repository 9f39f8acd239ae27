//! Lines as sequences of their own, long ones in pieces that fit the context.

use super::Split;
use super::reader::{Reader, Records, SplitFiles, describe_splits};
use crate::data::clean::Duplicates;
use crate::data::sequence_file::{SequenceFile, select_cleaned};
use crate::error::{DatasetError, Result, SplitName};
use crate::report::thousands;
use crate::text::each_line;
use crate::train::config::TextData;
use std::path::PathBuf;
use std::sync::Arc;

/// The lines of one split.
pub(in crate::train) struct Lines {
    file: Arc<SequenceFile>,
    pieces: Vec<Piece>,
    shape: PieceShape,
}

/// A piece of a line: which one, from which of its tokens.
#[derive(Clone, Copy)]
struct Piece {
    line: u32,
    at: u32,
}

/// How lines become pieces.
#[derive(Clone, Copy)]
pub(super) struct PieceShape {
    /// Tokens of a piece at most.
    pub(super) longest: usize,
    /// Of a language model: the token before and after every line. Then a piece starts with the
    /// last token of the one before, so that every token but the first is predicted once.
    pub(super) end: Option<u32>,
}

impl PieceShape {
    /// Tokens of a line with the end tokens around it.
    fn tokens(&self, inside: usize) -> usize {
        inside + self.end.map_or(0, |_| 2)
    }
}

fn files(data: &TextData) -> SplitFiles<'_, [PathBuf]> {
    let TextData { text, validation_text, duplicates, validation_split, .. } = data;
    SplitFiles::new(text, validation_text, *duplicates, *validation_split)
}

impl Lines {
    /// Both splits of a text, without empty lines.
    pub(super) fn read(
        reader: &mut Reader,
        data: &TextData,
        shape: PieceShape,
    ) -> Result<[Self; 2]> {
        let files = files(data);
        let (train, validation) = reader.both(&files, |reader, (files, policy), name| {
            reader.lines(files, Some(policy), name)
        })?;
        let empty = |split| Err(DatasetError::Empty { split, unit: "lines".into() }.into());
        match (train.count(), validation.as_ref().map(SequenceFile::count)) {
            (0, _) => return empty(SplitName::Train),
            (_, Some(0)) | (1, None) => return empty(SplitName::Validation),
            _ => {}
        }
        let [train, validation] = reader.split((train, validation), 1, files.fraction)?;
        // Every other training line without its leading end token: a prompt has none before it
        // either.
        let start = |i: usize| if shape.end.is_some() { 1 - i % 2 } else { 0 };
        Ok([Self::new(train, shape, start), Self::new(validation, shape, |_| 0)])
    }

    /// `start` is the first token of the first piece of the i-th line.
    fn new(records: Records, shape: PieceShape, start: impl Fn(usize) -> usize) -> Self {
        let overlap = usize::from(shape.end.is_some());
        let (which, file) = (records.which, records.file);
        let pieces_of = |(i, line): (usize, &usize)| {
            let tokens = shape.tokens(file.len_of(*line));
            let starts = (start(i)..tokens - overlap).step_by(shape.longest - overlap);
            let line = *line as u32;
            starts.map(move |at| Piece { line, at: at as u32 })
        };
        let pieces = which.iter().enumerate().flat_map(pieces_of).collect();
        Self { file, pieces, shape }
    }

    /// The number of pieces.
    pub(super) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// The number of tokens of each piece.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.pieces.iter().map(|piece| self.length(*piece))
    }

    fn length(&self, piece: Piece) -> usize {
        let tokens = self.shape.tokens(self.file.len_of(piece.line as usize));
        (tokens - piece.at as usize).min(self.shape.longest)
    }

    /// The tokens of piece `i`.
    pub(super) fn get(&self, i: usize) -> Vec<u32> {
        let piece = self.pieces[i];
        let (line, at, to) =
            (piece.line as usize, piece.at as usize, piece.at as usize + self.length(piece));
        let Some(end) = self.shape.end else { return self.file.part(line, at..to) };
        let inside = self.file.len_of(line);
        // Positions 0 and inside + 1 are the end tokens.
        let mut ids: Vec<u32> = if at == 0 { vec![end] } else { Vec::new() };
        ids.extend(self.file.part(line, at.max(1) - 1..(to - 1).min(inside)));
        if to == inside + 2 {
            ids.push(end);
        }
        ids
    }

    /// The tokens of every piece.
    pub(in crate::train) fn sequences(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        (0..self.count()).map(|i| self.get(i))
    }

    /// Indices of the lines that have pieces, ascending.
    fn lines(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = self.pieces.iter().map(|piece| piece.line as usize).collect();
        lines.dedup();
        lines
    }

    /// Characters of the validation lines. The line break counts for the end token.
    pub(super) fn characters(&self, data: &TextData) -> Result<usize> {
        let files = files(data);
        let (files, policy) = files.held_out();
        characters_of(files, policy, &self.lines())
    }

    /// How many lines both splits have, in how many pieces, and what cleaning dropped.
    pub(super) fn describe(&self, validation: &Self) -> String {
        let count = |name: &str, of: &Self| {
            let [lines, pieces] = [of.lines().len(), of.count()].map(|n| thousands(n as u64));
            match lines == pieces {
                true => format!("{name}: {lines} lines"),
                false => format!("{name}: {lines} lines in {pieces} pieces"),
            }
        };
        let own = (!Arc::ptr_eq(&self.file, &validation.file)).then(|| validation.file.cleaning());
        let splits = [count("training", self), count("validation", validation)];
        describe_splits(splits, self.file.cleaning(), own)
    }
}

impl Split for Lines {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        self.sequences().for_each(|ids| on(&ids));
    }
}

/// Characters of some of the lines that cleaning keeps (indices ascend), with their line breaks.
fn characters_of(files: &[PathBuf], policy: Duplicates, which: &[usize]) -> Result<usize> {
    select_cleaned(each_line(files), policy, which).map(|line| Ok(line?.chars().count() + 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};
    use crate::train::config::RunConfig;

    #[test]
    fn pieces_predict_every_token_but_the_first_once() {
        let folder = std::env::temp_dir().join(format!("limpid-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, files) = ("a b c d\n \na b\na b\n", [folder.join("text")]);
        std::fs::write(&files[0], text).unwrap();
        let tokenizer = word_tokenizer_for([text], Purpose::LanguageModel).unwrap();
        let [a, b, c, d] = tokenizer.encode("a b c d").unwrap()[..] else { panic!("four words") };
        let end = tokenizer.eos_id().unwrap();
        let config = RunConfig::parse("task = \"gpt\"\n[data]\ntext = [\"a\"]\n", &[]).unwrap();
        let read = |policy| {
            let (cache, progress) = (&folder.join("cache"), &mut |_: u64| {});
            let mut reader = Reader { config: &config, tokenizer: &tokenizer, cache, progress };
            std::fs::create_dir_all(cache).unwrap();
            Arc::new(reader.lines(&files, Some(policy), "train").unwrap())
        };
        assert_eq!(read(Duplicates::Keep).count(), 3);
        let file = read(Duplicates::Drop);
        assert_eq!(file.count(), 2);
        let lines = |which: &[usize], end, longest, start: usize| {
            let records = Records { file: file.clone(), which: which.to_vec() };
            Lines::new(records, PieceShape { longest, end }, |_| start)
        };
        let all = |line, start| -> Vec<Vec<u32>> {
            lines(&[line], Some(end), 4, start).sequences().collect()
        };
        assert_eq!(all(0, 0), [vec![end, a, b, c], vec![c, d, end]]);
        assert_eq!(all(0, 1), [vec![a, b, c, d], vec![d, end]]);
        assert_eq!(all(1, 0), [vec![end, a, b, end]]);
        assert_eq!(all(1, 1), [vec![a, b, end]]);
        // Those of an encoder do not overlap: every token is in one of them.
        let of_encoder = lines(&[0, 1], None, 3, 0);
        let pieces: Vec<Vec<u32>> = of_encoder.sequences().collect();
        assert_eq!(pieces, [vec![a, b, c], vec![d], vec![a, b]]);
        assert_eq!(of_encoder.lengths().collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(characters_of(&files, Duplicates::Drop, &[1]).unwrap(), 4);
        assert_eq!(characters_of(&files, Duplicates::Keep, &[0, 2]).unwrap(), 8 + 4);
        assert_eq!(
            lines(&[0, 1], Some(end), 4, 0).describe(&lines(&[1], Some(end), 4, 0)),
            "training: 2 lines in 3 pieces, validation: 1 lines \
             (4 read; 1 exact duplicates left out, 1 empty and 0 too long left out)"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
