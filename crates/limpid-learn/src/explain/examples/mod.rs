//! The worked examples, by subject. Each takes its arguments, calls kernels, and describes the
//! steps.

pub(super) mod additive;
pub(super) mod attention;
pub(super) mod backward;
pub(super) mod beam;
pub(super) mod blocks;
pub(super) mod bpe;
pub(super) mod context;
pub(super) mod decoding;
pub(super) mod heads;
pub(super) mod masks;
pub(super) mod norms;
pub(super) mod positions;
pub(super) mod recurrent;
pub(super) mod training;
pub(super) mod translation;

use super::model::Step;
use super::number::short;

/// What an example computes: an introduction and the steps.
pub(in crate::explain) struct Walkthrough {
    pub introduction: String,
    pub steps: Vec<Step>,
}

fn walkthrough(introduction: impl Into<String>, steps: Vec<Step>) -> Walkthrough {
    Walkthrough { introduction: introduction.into(), steps }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// "1·1 + 0·1 + 1·1 + 0·1 = 2": a dot product with its operands.
fn dot_product_text(a: &[f32], b: &[f32], result: f32) -> String {
    // A number with a sign gets brackets: "2·(−1)".
    let write = |x: &f32| if *x < 0.0 { format!("({})", short(*x)) } else { short(*x) };
    let terms: Vec<String> =
        a.iter().zip(b).map(|(a, b)| format!("{}·{}", write(a), write(b))).collect();
    format!("{} = {}", terms.join(" + "), short(result))
}

/// "√4 = 2".
fn root_text(d: usize) -> String {
    format!("√{d} = {}", short((d as f32).sqrt()))
}
