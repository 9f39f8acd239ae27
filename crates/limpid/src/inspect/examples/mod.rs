//! The worked examples, by subject. Each reads its numbers, calls kernels, and says what it did.

pub(super) mod attention;
pub(super) mod backward;
pub(super) mod blocks;
pub(super) mod context;
pub(super) mod decoding;
pub(super) mod heads;
pub(super) mod masks;
pub(super) mod norms;
pub(super) mod positions;
pub(super) mod training;

use super::model::Step;
use super::number::short;

/// What an example has to say.
pub(in crate::inspect) struct Told {
    pub story: String,
    pub steps: Vec<Step>,
}

fn told(story: impl Into<String>, steps: Vec<Step>) -> Told {
    Told { story: story.into(), steps }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// "1·1 + 0·1 + 1·1 + 0·1 = 2": a dot product with its operands.
fn dot_in_words(a: &[f32], b: &[f32], result: f32) -> String {
    // A number with a sign gets brackets: "2·(−1)".
    let write = |x: &f32| if *x < 0.0 { format!("({})", short(*x)) } else { short(*x) };
    let terms: Vec<String> = a.iter().zip(b).map(|(a, b)| format!("{}·{}", write(a), write(b))).collect();
    format!("{} = {}", terms.join(" + "), short(result))
}

/// "√4 = 2".
fn root_in_words(d: usize) -> String {
    format!("√{d} = {}", short((d as f32).sqrt()))
}
