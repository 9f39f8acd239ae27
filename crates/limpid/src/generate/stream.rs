//! Incremental detokenization: from tokens to text while a sequence grows.
//!
//! ```text
//! held back:  bytes that are not a whole character yet     "caf" + half of "é"
//!             bytes that are read together with the next   <0x0A>, then maybe <0xC3>
//!             text that may become a stop string           "\n" while "\n\n" is one
//! ```

use crate::error::Result;
use crate::text::Tokenizer;
use std::sync::Arc;

/// Tokens of the prompt that a new token is decoded together with: many tokenizers write the space
/// before a word only after another token.
const DECODE_CONTEXT: usize = 8;

/// The text of one sequence as it grows: what is given out never changes any more.
#[derive(Clone)]
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    stop_strings: Arc<[String]>,
    ids: Vec<u32>,
    /// `ids[from..decoded]` are decoded already; they are the context of what comes.
    from: usize,
    decoded: usize,
    text: String,
    /// Where the search for stop strings begins: a prefix is not searched.
    prefix: usize,
    sent: usize,
    stopped: bool,
}

impl<'a> TextStream<'a> {
    /// The text that follows `prompt`, up to the first of `stop_strings`.
    pub fn new(tokenizer: &'a Tokenizer, stop_strings: &[String], prompt: &[u32]) -> Self {
        let ids = prompt[prompt.len().saturating_sub(DECODE_CONTEXT)..].to_vec();
        let decoded = ids.len();
        Self {
            tokenizer,
            stop_strings: stop_strings.into(),
            ids,
            from: 0,
            decoded,
            text: String::new(),
            prefix: 0,
            sent: 0,
            stopped: false,
        }
    }

    /// Appends tokens that are given, not generated: a stop string in them stops nothing, nor does
    /// one that begins in them.
    /// # Errors
    /// If the tokenizer cannot decode them.
    pub fn push_prefix(&mut self, tokens: &[u32]) -> Result<()> {
        let stop_strings = std::mem::take(&mut self.stop_strings);
        for token in tokens {
            self.push(*token)?;
        }
        (self.stop_strings, self.prefix) = (stop_strings, self.text.len());
        Ok(())
    }

    /// Appends a token, and gives the text that is final now.
    /// # Errors
    /// If the tokenizer cannot decode it.
    pub fn push(&mut self, token: u32) -> Result<&str> {
        self.ids.push(token);
        let piece = self.piece()?;
        // A replacement character at the end: the rest of the character may still come. Tokens of
        // single bytes are decoded together: an invalid one makes all of them replacement
        // characters.
        let may_change = piece.ends_with(char::REPLACEMENT_CHARACTER)
            || (is_byte(&self.tokenizer.token(token)) && !self.stops_with(&piece));
        if !piece.is_empty() && !may_change {
            self.take(&piece);
        }
        Ok(self.final_text())
    }

    /// The rest of the text, when no more tokens come.
    /// # Errors
    /// If the tokenizer cannot decode it.
    pub fn finish(&mut self) -> Result<&str> {
        if !self.stopped {
            let piece = self.piece()?;
            self.take(&piece);
        }
        let from = std::mem::replace(&mut self.sent, self.text.len());
        Ok(&self.text[from..])
    }

    /// Whether a stop string was generated. It is not part of the text.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The whole text with these tokens, up to the first stop string.
    pub(super) fn text_after(mut self, tokens: &[u32]) -> Result<String> {
        self.push_until_stop(tokens)?;
        self.finish()?;
        Ok(self.text)
    }

    /// Whether a stop string is among the text of these tokens.
    pub(super) fn stops_after(&self, tokens: &[u32]) -> Result<bool> {
        if self.stop_strings.is_empty() {
            return Ok(false);
        }
        let mut stream = self.clone();
        stream.push_until_stop(tokens)?;
        Ok(stream.stopped)
    }

    fn push_until_stop(&mut self, tokens: &[u32]) -> Result<()> {
        let mut tokens = tokens.iter();
        while let (false, Some(token)) = (self.stopped, tokens.next()) {
            self.push(*token)?;
        }
        Ok(())
    }

    /// Whether a text may end with a stop string.
    pub(super) fn may_stop(&self) -> bool {
        !self.stop_strings.is_empty()
    }

    /// All of the text, also what is held back.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the tokens after `decoded` add to the text.
    fn piece(&self) -> Result<String> {
        let before = self.tokenizer.decode(&self.ids[self.from..self.decoded])?;
        let with = self.tokenizer.decode(&self.ids[self.from..])?;
        // The same beginning, except where it was half a character that is whole now.
        let same = before.char_indices().zip(with.chars()).find(|((_, a), b)| a != b);
        let at = same.map_or(before.len().min(with.len()), |((at, _), _)| at);
        Ok(with[at..].to_string())
    }

    fn take(&mut self, piece: &str) {
        (self.from, self.decoded) =
            (self.decoded.min(self.ids.len().saturating_sub(1)), self.ids.len());
        let looked_at = self.text.len();
        self.text.push_str(piece);
        // A stop string may have begun before this piece.
        let longest = self.stop_strings.iter().map(String::len).max().unwrap_or(0);
        let from =
            self.text.floor_char_boundary(looked_at.saturating_sub(longest)).max(self.prefix);
        let found =
            self.stop_strings.iter().filter_map(|stop| self.text[from..].find(stop.as_str())).min();
        if let Some(at) = found {
            self.text.truncate(from + at);
            self.stopped = true;
        }
    }

    /// Whether there is a stop string once this is taken.
    fn stops_with(&self, piece: &str) -> bool {
        !self.stop_strings.is_empty() && {
            let mut next = self.clone();
            next.take(piece);
            next.stopped
        }
    }

    fn final_text(&mut self) -> &str {
        let held = match self.stopped {
            true => 0,
            false => {
                self.stop_strings.iter().map(|stop| overlap(&self.text, stop)).max().unwrap_or(0)
            }
        };
        let until = (self.text.len() - held).max(self.sent);
        let from = std::mem::replace(&mut self.sent, until);
        &self.text[from..until]
    }
}

/// Whether a token stands for a byte, as in SentencePiece's byte fallback: `<0x0A>`.
fn is_byte(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
}

/// How many bytes at the end of `text` are a beginning of `stop`, but not all of it.
fn overlap(text: &str, stop: &str) -> usize {
    let beginnings = stop.char_indices().map(|(at, _)| at).skip(1);
    beginnings.filter(|at| text.ends_with(&stop[..*at])).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A token for each byte, as byte-level BPE without merges has it; 256 and 257 are whole words.
    fn bytes() -> Tokenizer {
        // The printable stand-ins of bytes that GPT-2's tokenizer uses.
        let printable = |b: u32| matches!(b, 33..=126 | 161..=172 | 174..=255);
        let mut shifted = 0;
        let mut vocab = serde_json::Map::new();
        for b in 0..256_u32 {
            let c = if printable(b) {
                b
            } else {
                shifted += 1;
                255 + shifted
            };
            vocab.insert(char::from_u32(c).unwrap().to_string(), b.into());
        }
        let byte_level = serde_json::json!({
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
            "use_regex": true,
        });
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": byte_level, "post_processor": null,
            "decoder": byte_level,
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null,
                "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
                "byte_fallback": false, "vocab": vocab, "merges": [],
            },
        });
        Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string()).unwrap()
    }

    fn pieces(text: &[u8], stop_strings: &[&str]) -> (Vec<String>, bool) {
        let tokenizer = bytes();
        let stop_strings: Vec<String> = stop_strings.iter().map(|stop| stop.to_string()).collect();
        let mut stream = TextStream::new(&tokenizer, &stop_strings, &[b'a'.into(), b' '.into()]);
        let mut out = Vec::new();
        for byte in text {
            out.push(stream.push(u32::from(*byte)).unwrap().to_string());
            if stream.stopped() {
                break;
            }
        }
        out.push(stream.finish().unwrap().to_string());
        (out, stream.stopped())
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let (pieces, stopped) = pieces("né€!".as_bytes(), &[]);
        assert_eq!(pieces, ["n", "", "é", "", "", "€", "!", ""]);
        assert!(!stopped);
    }

    #[test]
    fn half_a_character_at_the_end_becomes_a_replacement_character() {
        let (pieces, _) = pieces(b"ab\xc3", &[]);
        assert_eq!(pieces, ["a", "b", "", "\u{fffd}"]);
        let (pieces, _) = self::pieces(b"a\xffb", &[]);
        assert_eq!(pieces.concat(), "a\u{fffd}b");
    }

    /// "a", "b", and a token for each byte, as SentencePiece's byte fallback has them.
    fn byte_fallback() -> Tokenizer {
        let mut vocab: serde_json::Map<String, serde_json::Value> =
            (0..256_u32).map(|b| (format!("<0x{b:02X}>"), b.into())).collect();
        vocab.extend([("a".to_string(), 256.into()), ("b".to_string(), 257.into())]);
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": null, "post_processor": null,
            "decoder": {
                "type": "Sequence", "decoders": [{ "type": "ByteFallback" }, { "type": "Fuse" }],
            },
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null,
                "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
                "byte_fallback": true, "vocab": vocab, "merges": [],
            },
        });
        Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string()).unwrap()
    }

    #[test]
    fn what_is_streamed_of_single_bytes_is_what_all_of_them_decode_to() {
        let tokenizer = byte_fallback();
        let streamed = |ids: &[u32], stop_strings: &[String]| {
            let mut stream = TextStream::new(&tokenizer, stop_strings, &[256]);
            let mut out = Vec::new();
            for id in ids {
                out.push(stream.push(*id).unwrap().to_string());
                if stream.stopped() {
                    return (out, stream.text().to_string());
                }
            }
            out.push(stream.finish().unwrap().to_string());
            (out, stream.text().to_string())
        };
        let whole = |ids: &[u32]| tokenizer.decode(ids).unwrap();
        let invalid = [257, b']'.into(), 0x15, 0xe2, 257, 10, 257, 0xc3, 0xa9, b'!'.into()];
        assert_eq!(whole(&invalid), "b\u{fffd}\u{fffd}\u{fffd}b\nbé!");
        let (pieces, text) = streamed(&invalid, &[]);
        assert_eq!((pieces.concat(), text), (whole(&invalid), whole(&invalid)));
        // Nothing that is given out changes: the end of a run is told by the next token.
        assert_eq!(pieces[..5], ["b", "", "", "", "\u{fffd}\u{fffd}\u{fffd}b"]);
        // A stop string of such bytes stops at once.
        let (pieces, text) = streamed(&[257, 10, 257], &["\n".to_string()]);
        assert_eq!((pieces.len(), text.as_str()), (2, "b"));
    }

    #[test]
    fn a_possible_stop_string_is_held_back_and_given_out_if_it_is_none() {
        let (out, stopped) = pieces(b"one\n two\n\nthree", &["\n\n"]);
        assert_eq!(out.concat(), "one\n two");
        assert!(stopped);
        assert_eq!(out[..5], ["o", "n", "e", "", "\n "]);
        let (out, stopped) = pieces(b"aab", &["aaac"]);
        assert_eq!((out.concat().as_str(), stopped), ("aab", false));
        // At the end what was held back is text after all.
        assert_eq!(
            pieces(b"xEN", &["END"]),
            (vec!["x".into(), "".into(), "".into(), "EN".into()], false)
        );
    }

    #[test]
    fn the_text_ends_where_the_first_of_several_stop_strings_begins() {
        assert_eq!(pieces(b"say aab.", &["ab", "y"]).0.concat(), "sa");
        assert_eq!(pieces("là — non".as_bytes(), &["—"]).0.concat(), "là ");
        assert_eq!(pieces(b"aaab", &["aab"]).0.concat(), "a");
    }

    #[test]
    fn a_word_after_a_prompt_keeps_its_space() {
        let tokenizer = crate::text::word_tokenizer(["he sleeps."]).unwrap();
        let ids = tokenizer.encode("he sleeps.").unwrap();
        let mut stream = TextStream::new(&tokenizer, &[], &ids[..1]);
        assert_eq!(stream.push(ids[1]).unwrap(), " sleeps");
        assert_eq!(stream.push(ids[2]).unwrap(), ".");
    }
}
