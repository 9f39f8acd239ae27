//! Lines as documents between end tokens, long ones in pieces that fit the context of a language
//! model.

use super::lines::cleaned_lines;
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::sequence_file::{SequenceFile, select_cleaned};
use crate::data::sequences::{chunk_starts, end_token};
use crate::error::Result;
use crate::text::{Tokenizer, each_line};
use std::path::{Path, PathBuf};

/// Lines, each between end tokens.
pub(super) struct Documents {
    lines: SequenceFile,
    end: u32,
}

/// A piece of a document: which one, from which of its tokens.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) document: u32,
    at: u32,
}

/// Characters of some of the lines that cleaning keeps (indices ascend). The line break counts for
/// the end token.
pub(super) fn characters_of(
    files: &[PathBuf],
    policy: Duplicates,
    which: &[usize],
) -> Result<usize> {
    select_cleaned(each_line(files), policy, which).map(|line| Ok(line?.chars().count() + 1)).sum()
}

impl Documents {
    pub(super) fn read(
        (files, policy): (&[PathBuf], Duplicates),
        tokenizer: &Tokenizer,
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let end = end_token(tokenizer)?;
        Ok(Self { lines: cleaned_lines((files, policy), tokenizer, path, progress)?, end })
    }

    pub(super) fn count(&self) -> usize {
        self.lines.count()
    }

    /// How many were read and dropped.
    pub(super) fn cleaning(&self) -> Cleaning {
        self.lines.cleaning()
    }

    /// Pieces of at most `context` predictions, from token `first` on.
    pub(super) fn pieces(
        &self,
        document: usize,
        first: usize,
        context: usize,
    ) -> impl Iterator<Item = Piece> + use<> {
        let starts = chunk_starts(first, self.lines.len_of(document) + 2, context);
        starts.map(move |at| Piece { document: document as u32, at: at as u32 })
    }

    /// Tokens of a piece.
    pub(super) fn length(&self, piece: Piece, context: usize) -> usize {
        let tokens = self.lines.len_of(piece.document as usize) + 2;
        (tokens - piece.at as usize).min(context + 1)
    }

    pub(super) fn piece(&self, piece: Piece, context: usize) -> Vec<u32> {
        let (document, at) = (piece.document as usize, piece.at as usize);
        let (to, inside) = (at + self.length(piece, context), self.lines.len_of(document));
        // Positions 0 and inside + 1 are the end tokens.
        let mut ids: Vec<u32> = if at == 0 { vec![self.end] } else { Vec::new() };
        ids.extend(self.lines.part(document, at.max(1) - 1..(to - 1).min(inside)));
        if to == inside + 2 {
            ids.push(self.end);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::describe_lines;
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn pieces_predict_every_token_but_the_first_once() {
        let folder = std::env::temp_dir().join(format!("limpid-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, files) = ("a b c d\n \na b\na b\n", [folder.join("text")]);
        std::fs::write(&files[0], text).unwrap();
        let tokenizer = word_tokenizer_for([text], Purpose::LanguageModel).unwrap();
        let [a, b, c, d] = tokenizer.encode("a b c d").unwrap()[..] else { panic!("four words") };
        let read = |policy| {
            Documents::read((&files, policy), &tokenizer, &folder.join("cache"), &mut |_| {})
                .unwrap()
        };
        assert_eq!(read(Duplicates::Keep).count(), 3);
        let lines = read(Duplicates::Drop);
        let end = lines.end;
        let all = |document, first| -> Vec<Vec<u32>> {
            let pieces = lines.pieces(document, first, 3);
            pieces.map(|piece| lines.piece(piece, 3)).collect()
        };
        assert_eq!(lines.count(), 2);
        assert_eq!(all(0, 0), [vec![end, a, b, c], vec![c, d, end]]);
        assert_eq!(all(0, 1), [vec![a, b, c, d], vec![d, end]]);
        assert_eq!(all(1, 0), [vec![end, a, b, end]]);
        assert_eq!(all(1, 1), [vec![a, b, end]]);
        assert_eq!(characters_of(&files, Duplicates::Drop, &[1]).unwrap(), 4);
        assert_eq!(characters_of(&files, Duplicates::Keep, &[0, 2]).unwrap(), 8 + 4);
        let (train, kept) = ([0, 0, 1].into_iter(), [1].into_iter());
        assert_eq!(
            describe_lines((train, lines.cleaning()), (kept, None)),
            "training: 2 lines in 3 pieces, validation: 1 lines \
             (4 read; 1 exact duplicates left out, 1 empty and 0 too long left out)"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
