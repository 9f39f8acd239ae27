//! The built-in parallel corpus, English and French, written by us: a grammar that makes sentence pairs.
//!
//! One plan is realised twice. Words are paired one to one (each English lemma has one French lemma in its
//! sense), and what one language leaves open the sentence itself decides, so a translation can be right:
//! - "you" is "tu"; "vous" only after a title ("Monsieur, vous …" / "Sir, you …");
//! - a speaker, and "they" without an antecedent, are masculine; "elles" has its antecedent in the sentence;
//! - "son" is "his", "her" or "its" by the subject of its clause; "le" and "la" by what they refer to;
//! - a French present without a word of time is English "is eating", with one of habit "eats";
//!   a finished past is "a mangé" / "ate", a lasting one "mangeait" / "was eating", a state "savait" / "knew".
//!
//! French is written with accents and œ, with ASCII apostrophes, and without a space before "?" and "!".
//! English is written in full ("does not", not "doesn't"). About one statement in twenty lacks its full stop,
//! because people type so.

mod constructions;
mod draw;
mod english;
mod french;
mod grammar;
mod lexicon;
mod noun_phrase;
mod predicate;
mod splits;
#[cfg(test)]
mod tests;

use limpid_tensor::rng::Stream;

pub use splits::{Corpus, generate};

use constructions::{ALL, End, PHRASES};
use draw::Draw;

/// A sentence in both languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The English sentence.
    pub english: String,
    /// The French sentence.
    pub french: String,
    /// Which of [`CONSTRUCTIONS`] made it.
    pub construction: &'static str,
}

/// The name under which the fixed phrases ("Merci" / "Thanks") go.
const FIXED: &str = "fixed phrase";

const NAMES: [&str; ALL.len() + 1] = {
    let mut names = [FIXED; ALL.len() + 1];
    let mut i = 0;
    while i < ALL.len() {
        names[i + 1] = ALL[i].name;
        i += 1;
    }
    names
};

/// The names of the constructions.
pub const CONSTRUCTIONS: &[&str] = &NAMES;

/// How many different lemmas the grammar knows: (English, French).
pub fn lemma_counts() -> (usize, usize) {
    lexicon::lemma_counts()
}

/// Pair number `n` of a seed: a pure function, so any part of a corpus can be made alone.
///
/// Sentences have 3 to 60 words a side; only the fixed phrases are shorter.
pub fn pair(seed: u64, n: u64) -> Pair {
    let mut draw = Draw::new(Stream::new(seed, n));
    // Two in a hundred: often enough to be learnt by heart.
    if draw.chance(2) {
        return fixed_phrase(&mut draw);
    }
    loop {
        let pair = ordinary(&mut draw);
        let fits = |text: &str| (3..=60).contains(&text.split_whitespace().count());
        if fits(&pair.english) && fits(&pair.french) {
            return pair;
        }
    }
}

fn ordinary(draw: &mut Draw) -> Pair {
    let total = ALL.iter().map(|construction| construction.weight).sum();
    let mut place = draw.below(total);
    let construction = ALL
        .iter()
        .find(|construction| {
            let here = place < construction.weight;
            place = place.saturating_sub(construction.weight);
            here
        })
        .expect("the weights add up to the total");
    let (text, end) = (construction.make)(draw);
    let mark = match end {
        End::Stop if draw.chance(5) => "",
        End::Stop => ".",
        End::Ask => "?",
        End::Exclaim => "!",
    };
    Pair {
        english: english::sentence(&text.en) + mark,
        french: french::sentence(&text.fr) + mark,
        construction: construction.name,
    }
}

fn fixed_phrase(draw: &mut Draw) -> Pair {
    // The notes' own sentences come first in the table and are said most.
    let i = if draw.chance(12) { draw.below(2) } else { draw.below(PHRASES.len()) };
    let (english, french) = PHRASES[i];
    let closed = english.ends_with(['?', '!']);
    let mark = if closed || draw.chance(50) { "" } else { "." };
    Pair { english: format!("{english}{mark}"), french: format!("{french}{mark}"), construction: FIXED }
}
