//! From pieces back to text.

use super::SentencePiece;
use super::model::PieceKind;
use super::normalizer::SPACE;
use super::trie::Trie;
use crate::error::{Result, TokenizerError};

/// The byte that a byte piece stands for: 10 of `<0x0A>`.
pub(super) fn byte(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    // One spelling only: two upper-case digits.
    (byte_piece(byte) == piece).then_some(byte)
}

/// The piece of a byte.
pub(super) fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

impl SentencePiece {
    /// The text of ids.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`] if an id is beyond the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let piece = |id: &u32| match self.pieces().get(*id as usize) {
            Some(piece) => Ok(piece.text.as_str()),
            None => {
                let reason = format!("id {id} of a vocabulary of {}", self.pieces().len());
                Err(TokenizerError::Decode { reason }.into())
            }
        };
        Ok(self.decode_pieces(ids.iter().map(piece).collect::<Result<Vec<&str>>>()?))
    }

    /// The text of pieces. Control symbols are invisible, pieces that are not in the vocabulary
    /// stand for themselves, and bytes that are no UTF-8 become U+FFFD, one each.
    pub fn decode_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut text = String::new();
        let mut bytes = Vec::new();
        // Whether the space that was added to the text is still to come.
        let mut expects_space = true;
        let mut saw_space = false;
        for piece in pieces {
            let id = self.id(piece).unwrap_or(self.unknown_id());
            let kind = self.pieces()[id as usize].kind;
            if let (PieceKind::Byte, Some(byte)) = (kind, byte(piece)) {
                bytes.push(byte);
                continue;
            }
            flush(&mut bytes, &mut text);
            if saw_space || !text.is_empty() {
                expects_space = false;
            }
            saw_space = self.append(piece, id, expects_space, &mut text);
        }
        flush(&mut bytes, &mut text);
        match &self.denormalizer {
            Some(denormalizer) => denormalizer.normalize(&text, &Trie::default()).text,
            None => text,
        }
    }

    /// Appends the text of a piece; whether the one space that was added to the text was removed
    /// from it.
    fn append(&self, piece: &str, id: u32, expects_space: bool, text: &mut String) -> bool {
        let known = &self.pieces()[id as usize];
        match known.kind {
            PieceKind::Control => return false,
            PieceKind::Unknown => {
                let is_name = known.text == piece;
                text.push_str(if is_name { &self.model.trainer.unk_surface } else { piece });
                return false;
            }
            _ => {}
        }
        let spec = &self.model.normalizer;
        let strips = expects_space && (spec.add_dummy_prefix || spec.remove_extra_whitespaces);
        let stripped = piece.strip_prefix(SPACE).filter(|_| strips);
        text.push_str(&stripped.unwrap_or(piece).replace(SPACE, " "));
        // Where extra spaces are removed, all at the beginning are.
        stripped.is_some() && !spec.remove_extra_whitespaces
    }
}

/// Appends bytes as text, a replacement character for each byte that is not part of UTF-8.
fn flush(bytes: &mut Vec<u8>, text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    bytes.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_pieces_have_one_spelling() {
        assert_eq!(byte("<0x0A>"), Some(10));
        assert_eq!(byte("<0xFF>"), Some(255));
        for piece in ["<0x0a>", "<0xA>", "<0x100>", "0x0A", "<0x+A>", "<0x>"] {
            assert_eq!(byte(piece), None, "{piece}");
        }
    }

    #[test]
    fn every_byte_that_is_no_utf_8_becomes_one_replacement_character() {
        let mut text = String::from("a");
        // The first two bytes of an emoji, then é, then a byte that cannot begin a character.
        flush(&mut vec![0xf0, 0x9f, 0xc3, 0xa9, 0xff], &mut text);
        assert_eq!(text, "a\u{fffd}\u{fffd}é\u{fffd}");
    }
}
