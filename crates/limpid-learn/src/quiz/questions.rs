//! The seventeen questions, in the order in which the subject is learnt; some with sampled numbers.

use super::model_answers::{QUESTION_TEXTS, QuestionText};
use super::sampler::{Sampler, WorkedExample};
use super::{Answer, ExampleCall, Question, QuizStep};
use crate::error::Result;
use crate::explain::maths::{Mask, Matrix, attend};

/// Common widths of models.
const WIDTHS: [usize; 5] = [64, 128, 256, 512, 768];

/// All of them.
pub(super) fn all(seed: u64) -> Result<Vec<Question>> {
    let question = |text: &QuestionText| Question {
        number: 0,
        title: text.title,
        text: text.question.to_owned(),
        steps: Vec::new(),
        model_answer: text.answer,
        call: ExampleCall { example: text.example, inputs: Vec::new() },
    };
    let mut all: Vec<Question> = QUESTION_TEXTS.iter().map(question).collect();
    for (i, question) in all.iter_mut().enumerate() {
        let sampler = &mut Sampler::new(seed, i as u64);
        match question.title {
            "The size of the input" => input_size(question, sampler),
            "Sizes in attention" => attention_sizes(question, sampler),
            "The mask as a matrix" => mask_matrix(question, sampler)?,
            "The width of a head" => head_width(question, sampler),
            "From likelihood to loss" => likelihood(question, sampler)?,
            "Temperature" => temperature(question, sampler)?,
            "A story and a summary" => question.call.inputs = story_and_summary(),
            _ => {}
        }
    }
    Ok(all)
}

/// The shape of a matrix as the answer.
fn size(ask: &str, formula: &str, of: &Matrix) -> QuizStep {
    let answer = Answer::Numbers(vec![of.rows() as f64, of.cols() as f64]);
    QuizStep { ask: ask.to_owned(), formula: formula.to_owned(), answer }
}

fn number(ask: &str, formula: &str, answer: f64) -> QuizStep {
    QuizStep {
        ask: ask.to_owned(),
        formula: formula.to_owned(),
        answer: Answer::Numbers(vec![answer]),
    }
}

fn input_size(question: &mut Question, sampler: &mut Sampler) {
    let (t, c) = (sampler.integer(5, 40) as usize, sampler.one_of(&WIDTHS));
    // An embedding table has a row per word: selecting T rows of width d_m makes X.
    let x = Matrix::filled(t, 1, 1.0).times(&Matrix::filled(1, c, 0.0));
    question.text = format!(
        "A sentence has {t} tokens, and every token is embedded with d_m = {c} numbers. What is \
         the shape of the matrix X that enters the first layer?"
    );
    question.steps = vec![size("rows and columns of X", "T×d_m: one row for each token", &x)];
}

fn attention_sizes(question: &mut Question, sampler: &mut Sampler) {
    let (t, d_k) = (sampler.integer(5, 20) as usize, sampler.one_of(&[32, 64, 96]));
    let d_v = sampler.one_of(&[48, 80, 128]);
    let zeros = |cols| Matrix::filled(t, cols, 0.0);
    let (q, k, v) = (zeros(d_k), zeros(d_k), zeros(d_v));
    let z = attend(&q, &k, &v, 1, Mask::FULL).z;
    question.text = format!(
        "In a self-attention Q is {} and V is {}. What are the shapes of the others?",
        q.size(),
        v.size()
    );
    question.steps = vec![
        size("rows and columns of K", "K is as wide as Q, for a score is their dot product", &k),
        size(
            "rows and columns of Q·Kᵀ",
            "T×T: every token attends to every token",
            &q.times_transposed(&k),
        ),
        size("rows and columns of the output Z", "softmax(Q·Kᵀ/√d_k)·V: T rows, as wide as V", &z),
    ];
}

fn mask_matrix(question: &mut Question, sampler: &mut Sampler) -> Result<()> {
    let length = sampler.integer(3, 5);
    let row = sampler.integer(1, length - 2) as usize;
    let worked = WorkedExample::new("causal-mask", &[("length", &length.to_string())])?;
    question.text = format!(
        "Write down the causal mask M for {length} tokens, the matrix that is added to the scores \
         before softmax. What does adding it do?"
    );
    question.steps = vec![
        worked.row("the first row of M", "The mask", 0, 0),
        worked.row(format!("row {} of M", row + 1), "The mask", 0, row),
        worked.row(
            format!("row {} of the weights, if all scores are 0", row + 1),
            "Weights of equal scores",
            0,
            row,
        ),
    ];
    question.call = worked.call;
    Ok(())
}

fn head_width(question: &mut Question, sampler: &mut Sampler) {
    let (c, h) = (sampler.one_of(&[256, 512, 768, 1024]), sampler.one_of(&[4, 8, 16]));
    // One head gets c/h of the columns.
    let head = Matrix::filled(1, c, 0.0).columns(0, c / h);
    let d = head.cols() as f64;
    question.text = format!(
        "A model of width d_m = {c} has h = {h} heads. How wide are the keys and values of a head?"
    );
    question.steps = vec![
        number("d_k", "d_k = d_m / h", d),
        number(
            "d_v",
            "d_v = d_m / h, so that the concatenated heads are as wide as the model again",
            d,
        ),
        number("what a head divides its scores by", "√d_k", d.sqrt()),
    ];
}

fn likelihood(question: &mut Question, sampler: &mut Sampler) -> Result<()> {
    let p: Vec<String> = (0..3)
        .map(|_| sampler.one_of(&["0.2", "0.25", "0.4", "0.5", "0.8", "0.9"]).to_owned())
        .collect();
    let p = p.join(" ");
    let options = [("target", "I am <eos>"), ("source", "Je suis"), ("probabilities", &p[..])];
    let worked = WorkedExample::new("teacher-forcing", &options)?;
    question.text = format!(
        "A language model is trained by maximum likelihood. Derive the loss that is minimized \
         instead, and compute it for three words to which the model gave the probabilities [{p}]."
    );
    question.steps = vec![
        worked.column("the loss of each word", "Loss of each position", 0, 1),
        worked
            .row("the probability of all three", "Loss of the sentence", 0, 0)
            .with_formula("p₁ · p₂ · p₃"),
        worked.row("the loss of the sentence: the sum", "Loss of the sentence", 0, 1),
        worked.row("the mean per word", "Loss of the sentence", 0, 2).with_formula("the sum / 3"),
    ];
    question.call = worked.call;
    Ok(())
}

fn temperature(question: &mut Question, sampler: &mut Sampler) -> Result<()> {
    let p = sampler.probabilities();
    let worked =
        WorkedExample::new("decoding", &[("probabilities", &p), ("temperature", "100 0.1")])?;
    question.text = format!(
        "A model gives five words the probabilities [{p}]. What are they at a very high \
         temperature, 100, and at a very low one, 0.1?"
    );
    question.steps = vec![
        worked.row("the five probabilities at temperature 100", "Temperature", 0, 0),
        worked.row("the five probabilities at temperature 0.1", "Temperature", 0, 1),
    ];
    question.call = worked.call;
    Ok(())
}

/// Greedy beside a high temperature, with top-p.
fn story_and_summary() -> Vec<(&'static str, String)> {
    vec![("temperature", "0 0.9".to_owned()), ("top-p", "0.9".to_owned())]
}
