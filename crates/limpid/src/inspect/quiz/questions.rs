//! The seventeen questions, in the order in which the subject is learnt. What is computable has fresh numbers.

use super::super::maths::{Matrix, Sight, attend};
use super::numbers::{Fresh, Worked};
use super::words::ANSWERS;
use super::{Question, QuizStep, Right};
use crate::error::Result;

/// Widths that models have.
const WIDTHS: [usize; 5] = [64, 128, 256, 512, 768];

/// All of them.
pub(super) fn all(seed: u64) -> Result<Vec<Question>> {
    let mut all: Vec<Question> = ANSWERS
        .iter()
        .map(|written| Question {
            number: 0,
            title: written.title,
            text: written.question.to_owned(),
            steps: Vec::new(),
            answer: written.answer,
            command: written.command.to_owned(),
        })
        .collect();
    for (i, question) in all.iter_mut().enumerate() {
        let fresh = &mut Fresh::new(seed, i as u64);
        match question.title {
            "The size of the input" => input_size(question, fresh),
            "Sizes in attention" => attention_sizes(question, fresh),
            "The mask as a matrix" => mask_matrix(question, fresh)?,
            "The width of a head" => head_width(question, fresh),
            "From likelihood to loss" => likelihood(question, fresh)?,
            "Hot and cold" => temperature(question, fresh)?,
            _ => {}
        }
    }
    Ok(all)
}

/// Rows and columns, as they came out.
fn size(ask: &str, formula: &str, of: &Matrix) -> QuizStep {
    let right = Right::Numbers(vec![of.rows() as f64, of.cols() as f64]);
    QuizStep { ask: ask.to_owned(), formula: formula.to_owned(), right }
}

fn number(ask: &str, formula: &str, right: f64) -> QuizStep {
    QuizStep { ask: ask.to_owned(), formula: formula.to_owned(), right: Right::Numbers(vec![right]) }
}

fn input_size(question: &mut Question, fresh: &mut Fresh) {
    let (t, c) = (fresh.whole(5, 40) as usize, fresh.one_of(&WIDTHS));
    // An embedding is a table with a row for each word: picking T rows of width d_m makes X.
    let x = Matrix::filled(t, 1, 1.0).times(&Matrix::filled(1, c, 0.0));
    question.text = format!(
        "A sentence has {t} tokens, and every token is embedded with d_m = {c} numbers. How large is the matrix X that \
         enters the first layer?"
    );
    question.steps = vec![size("rows and columns of X", "T×d_m: one row for each token", &x)];
}

fn attention_sizes(question: &mut Question, fresh: &mut Fresh) {
    let (t, d_k) = (fresh.whole(5, 20) as usize, fresh.one_of(&[32, 64, 96]));
    let d_v = fresh.one_of(&[48, 80, 128]);
    let zeros = |cols| Matrix::filled(t, cols, 0.0);
    let (q, k, v) = (zeros(d_k), zeros(d_k), zeros(d_v));
    let z = attend(&q, &k, &v, 1, Sight::FULL).z;
    question.text =
        format!("In a self-attention Q is {} and V is {}. How large are the rest?", q.size(), v.size());
    question.steps = vec![
        size("rows and columns of K", "K is as wide as Q, for they are multiplied number by number", &k),
        size("rows and columns of Q·Kᵀ", "T×T: every token asks every token", &q.times_transposed(&k)),
        size("rows and columns of the output Z", "softmax(Q·Kᵀ/√d_k)·V: T rows, as wide as V", &z),
    ];
}

fn mask_matrix(question: &mut Question, fresh: &mut Fresh) -> Result<()> {
    let length = fresh.whole(3, 5);
    let row = fresh.whole(1, length - 2) as usize;
    let worked = Worked::new("causal-mask", &[("length", &length.to_string())])?;
    question.text = format!(
        "Write down the causal mask M for {length} tokens, the matrix that is added to the scores before softmax. What does \
         adding it do?"
    );
    question.steps = vec![
        worked.row("the first row of M", "The mask", 0, 0),
        worked.row(format!("row {} of M", row + 1), "The mask", 0, row),
        worked.row(
            format!("row {} of the weights, if all scores are 0", row + 1),
            "Weights when all scores are alike",
            0,
            row,
        ),
    ];
    question.command = worked.command;
    Ok(())
}

fn head_width(question: &mut Question, fresh: &mut Fresh) {
    let (c, h) = (fresh.one_of(&[256, 512, 768, 1024]), fresh.one_of(&[4, 8, 16]));
    // The columns are shared out: as wide is what one head gets.
    let head = Matrix::filled(1, c, 0.0).columns(0, c / h);
    let d = head.cols() as f64;
    question.text = format!(
        "A model of width d_m = {c} has h = {h} heads. How wide are a head's keys and values as a rule?"
    );
    question.steps = vec![
        number("d_k", "d_k = d_m / h", d),
        number("d_v", "d_v = d_m / h, so that the heads side by side are as wide as the model again", d),
        number("what a head divides its scores by", "√d_k", d.sqrt()),
    ];
}

fn likelihood(question: &mut Question, fresh: &mut Fresh) -> Result<()> {
    let p: Vec<String> =
        (0..3).map(|_| fresh.one_of(&["0.2", "0.25", "0.4", "0.5", "0.8", "0.9"]).to_owned()).collect();
    let p = p.join(" ");
    let options = [("target", "I am <eos>"), ("source", "Je suis"), ("probabilities", &p[..])];
    let worked = Worked::new("teacher-forcing", &options)?;
    question.text = format!(
        "A model should make sentences likely. Derive the loss that is minimised instead, and compute it for three words \
         to which the model gave the probabilities [{p}]."
    );
    question.steps = vec![
        worked.column("the loss of each word", "Loss of each place", 0, 1),
        worked.row("the probability of all three", "Loss of the sentence", 0, 0).with_formula("p₁ · p₂ · p₃"),
        worked.row("the loss of the sentence: the sum", "Loss of the sentence", 0, 1),
        worked.row("the mean a word", "Loss of the sentence", 0, 2).with_formula("the sum / 3"),
    ];
    question.command = worked.command;
    Ok(())
}

fn temperature(question: &mut Question, fresh: &mut Fresh) -> Result<()> {
    let p = fresh.probabilities();
    let worked = Worked::new("decoding", &[("probabilities", &p), ("temperature", "100 0.1")])?;
    question.text = format!(
        "A model gives five words the probabilities [{p}]. What becomes of them at a very high temperature, 100, and \
         at a very low one, 0.1?"
    );
    question.steps = vec![
        worked.row("the five probabilities at temperature 100", "Temperature", 0, 0),
        worked.row("the five probabilities at temperature 0.1", "Temperature", 0, 1),
    ];
    question.command = worked.command;
    Ok(())
}
