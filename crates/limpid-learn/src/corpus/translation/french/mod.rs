//! French: how words change, and how they join.

pub(super) mod conjugation;
pub(super) mod inflection;
#[cfg(test)]
mod tests;

pub(super) use conjugation::{Mood, conjugate, gerund, participle};
pub(super) use inflection::{agree, plural};

/// Words whose h keeps its distance: "le hibou", never "l'hibou".
const ASPIRATE: &[&str] = &["haricot", "hibou", "hérisson", "haut", "huit", "héros", "hache"];

/// True when "le" becomes "l'" before this word.
pub(super) fn elides(word: &str) -> bool {
    let lower = word.to_lowercase();
    match lower.chars().next() {
        Some('h') => !ASPIRATE.iter().any(|h| lower.starts_with(h)),
        Some('y') => lower == "y",
        Some(c) => "aeiouàâéèêëîïôöùûœ".contains(c) && lower != "onze",
        None => false,
    }
}

/// Writes a sentence: contracts (de le → du), elides (je ai → j'ai), closes up punctuation, and
/// begins with a capital. There is no space before "?" and "!".
///
/// A word with a mark in front is taken literally or is a partitive: `_le` is the pronoun, which
/// never contracts; `_du`, `_dela` and `_des` mean "some" and vanish after "de" (beaucoup de pain);
/// `_un` and `_une` stand after a denied verb, "de" unless that preposition keeps them (pas de
/// chat, pas besoin d'un chat).
pub(super) fn sentence(words: &str) -> String {
    let words = contract(words);
    let mut out = String::with_capacity(words.len() * 7);
    for (i, word) in words.iter().enumerate() {
        let next = words.get(i + 1).copied().unwrap_or("");
        let word = word.trim_start_matches('_');
        let closed = out.is_empty() || out.ends_with('\'') || [",", ".", "?", "!"].contains(&word);
        if !closed {
            out.push(' ');
        }
        let elided = match word {
            "le" | "la" | "de" | "je" | "ne" | "que" | "me" | "te" | "se" | "ce" => elides(next),
            "si" => next == "il" || next == "ils",
            _ => false,
        };
        if elided {
            out.push_str(&word[..word.len() - 1]);
            out.push('\'');
        } else {
            out.push_str(word);
        }
    }
    capitalize(&out)
}

/// de le → du, de les → des, à le → au, à les → aux; and "some" by what it stands next to.
fn contract(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = |i: usize| words.get(i).copied().unwrap_or("");
    let mut out = Vec::with_capacity(words.len() + 2);
    let mut i = 0;
    while i < words.len() {
        let apart = !elides(at(i + 2));
        let (taken, written): (usize, &[&str]) = match (at(i), at(i + 1)) {
            ("de", "_du" | "_dela" | "_des") => (2, &["de"]),
            ("de", "de") => (1, &[]),
            ("de", "_un") => (2, &["de", "un"]),
            ("de", "_une") => (2, &["de", "une"]),
            ("_un" | "_une", _) => (1, &["de"]),
            ("de", "le") if apart => (2, &["du"]),
            ("de", "les") => (2, &["des"]),
            ("à", "le") if apart => (2, &["au"]),
            ("à", "les") => (2, &["aux"]),
            ("_du" | "_dela", next) if elides(next) => (1, &["de", "la"]),
            ("_du", _) => (1, &["du"]),
            ("_dela", _) => (1, &["de", "la"]),
            (word, _) => {
                out.push(word);
                i += 1;
                continue;
            }
        };
        out.extend_from_slice(written);
        i += taken;
    }
    out
}

/// The same text with its first letter in upper case.
pub(super) fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
