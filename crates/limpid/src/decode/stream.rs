//! From tokens to text while they are being written: only what is certain goes out.
//!
//! ```text
//! held back:  bytes that are not a whole character yet     "caf" + half of "é"
//!             text that may become a stop string           "\n" while "\n\n" is one
//! ```

use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// Tokens of the prompt that a new token is decoded together with: a space before a word shows only in company.
const COMPANY: usize = 8;

/// Refuses stop strings that would stop everything.
pub fn check_stops(stops: &[String]) -> Result<()> {
    if stops.iter().any(String::is_empty) {
        return Err(Error::config("an empty stop string would end every text at once")
            .hint("leave --stop out, or give some text"));
    }
    Ok(())
}

/// The text of one sequence as it grows.
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    stops: &'a [String],
    ids: Vec<u32>,
    /// ids[from..known] are decoded already; they keep company to what comes.
    from: usize,
    known: usize,
    text: String,
    /// Where to begin to look for stop strings: what was given is not searched.
    given: usize,
    sent: usize,
    stopped: bool,
}

impl<'a> TextStream<'a> {
    /// The text that follows `prompt`, up to the first of `stops`.
    pub fn new(tokenizer: &'a Tokenizer, stops: &'a [String], prompt: &[u32]) -> Self {
        let ids = prompt[prompt.len().saturating_sub(COMPANY)..].to_vec();
        let known = ids.len();
        Self { tokenizer, stops, ids, from: 0, known, text: String::new(), given: 0, sent: 0, stopped: false }
    }

    /// Tokens that the text begins with, which nobody writes: a stop string in them stops nothing, nor does one that begins in them.
    pub fn give(&mut self, tokens: &[u32]) -> Result<()> {
        let stops = std::mem::take(&mut self.stops);
        for token in tokens {
            self.push(*token)?;
        }
        (self.stops, self.given) = (stops, self.text.len());
        Ok(())
    }

    /// Appends a token, and gives the text that is certain now.
    pub fn push(&mut self, token: u32) -> Result<&str> {
        self.ids.push(token);
        let piece = self.piece()?;
        // A replacement character at the end: the rest of the character may still come.
        if !piece.is_empty() && !piece.ends_with(char::REPLACEMENT_CHARACTER) {
            self.take(&piece);
        }
        Ok(self.certain())
    }

    /// The rest, when nothing more comes.
    pub fn finish(&mut self) -> Result<&str> {
        if !self.stopped {
            let piece = self.piece()?;
            self.take(&piece);
        }
        let from = std::mem::replace(&mut self.sent, self.text.len());
        Ok(&self.text[from..])
    }

    /// Whether a stop string was written. It is not part of the text.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// All of the text, also what has not gone out.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the tokens after `known` add to the text.
    fn piece(&self) -> Result<String> {
        let before = self.tokenizer.decode(&self.ids[self.from..self.known])?;
        let with = self.tokenizer.decode(&self.ids[self.from..])?;
        // The same beginning, except where it was half a character that is whole now.
        let same = before.char_indices().zip(with.chars()).find(|((_, a), b)| a != b);
        let at = same.map_or(before.len().min(with.len()), |((at, _), _)| at);
        Ok(with[at..].to_string())
    }

    fn take(&mut self, piece: &str) {
        (self.from, self.known) = (self.known.min(self.ids.len().saturating_sub(1)), self.ids.len());
        let looked_at = self.text.len();
        self.text.push_str(piece);
        // A stop string may have begun before this piece.
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = self.text.floor_char_boundary(looked_at.saturating_sub(longest)).max(self.given);
        let found = self.stops.iter().filter_map(|stop| self.text[from..].find(stop.as_str())).min();
        if let Some(at) = found {
            self.text.truncate(from + at);
            self.stopped = true;
        }
    }

    fn certain(&mut self) -> &str {
        let held = match self.stopped {
            true => 0,
            false => self.stops.iter().map(|stop| overlap(&self.text, stop)).max().unwrap_or(0),
        };
        let until = (self.text.len() - held).max(self.sent);
        let from = std::mem::replace(&mut self.sent, until);
        &self.text[from..until]
    }
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
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true },
            "post_processor": null,
            "decoder": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true },
            "model": { "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": [] },
        });
        Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string()).unwrap()
    }

    fn pieces(text: &[u8], stops: &[&str]) -> (Vec<String>, bool) {
        let tokenizer = bytes();
        let stops: Vec<String> = stops.iter().map(|stop| stop.to_string()).collect();
        let mut stream = TextStream::new(&tokenizer, &stops, &[b'a'.into(), b' '.into()]);
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
    fn half_a_character_at_the_end_comes_as_a_replacement_and_nothing_is_lost() {
        let (pieces, _) = pieces(b"ab\xc3", &[]);
        assert_eq!(pieces, ["a", "b", "", "\u{fffd}"]);
        let (pieces, _) = self::pieces(b"a\xffb", &[]);
        assert_eq!(pieces.concat(), "a\u{fffd}b");
    }

    #[test]
    fn what_may_become_a_stop_string_is_held_back_and_given_when_it_does_not() {
        let (out, stopped) = pieces(b"one\n two\n\nthree", &["\n\n"]);
        assert_eq!(out.concat(), "one\n two");
        assert!(stopped);
        assert_eq!(out[..5], ["o", "n", "e", "", "\n "]);
        let (out, stopped) = pieces(b"aab", &["aaac"]);
        assert_eq!((out.concat().as_str(), stopped), ("aab", false));
        // At the end what was held back is text after all.
        assert_eq!(pieces(b"xEN", &["END"]), (vec!["x".into(), "".into(), "".into(), "EN".into()], false));
    }

    #[test]
    fn a_stop_string_ends_where_it_begins_whichever_of_several_comes_first() {
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

    #[test]
    fn an_empty_stop_string_is_refused() {
        assert!(check_stops(&["".into()]).unwrap_err().hint_text().is_some());
        assert!(check_stops(&["x".into()]).is_ok());
    }
}
