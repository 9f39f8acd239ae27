//! A quiz: seventeen questions on Transformers, and exercises on the worked examples with sampled
//! numbers.
//!
//! ```
//! use limpid_learn::quiz::{Verdict, quiz};
//!
//! let question = &quiz(1)?[17];
//! assert_eq!(question.title, "Self-attention");
//! let step = &question.steps[0];
//! assert_eq!(step.answer.check(&step.answer.to_string()), Verdict::Correct);
//! # Ok::<(), limpid_learn::error::Error>(())
//! ```
//!
//! The questions are answered in words or in numbers; the exercises after them in numbers, step by
//! step. Every number of an answer comes from a worked example ([`super::explain`]) or from a
//! matrix product, computed with the numbers of the seed; none is written here.

mod answer;
mod exercises;
mod model_answers;
mod questions;
mod sampler;

pub use answer::{Answer, Verdict};

use crate::error::Result;
use serde::Serialize;

/// One question or exercise.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// Its number, counted from 1.
    pub number: usize,
    /// What it is about.
    pub title: &'static str,
    /// The question.
    pub text: String,
    /// Steps whose answers are checked; none for an open question.
    pub steps: Vec<QuizStep>,
    /// A model answer in words; empty for exercises.
    pub model_answer: &'static str,
    /// The worked example that shows it.
    pub call: ExampleCall,
}

/// A worked example with inputs: arguments for [`crate::explain::Inputs::parse`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExampleCall {
    /// The name of the example.
    pub example: &'static str,
    /// Keys and texts of the options that are set.
    pub inputs: Vec<(&'static str, String)>,
}

/// A step of a question, with its answer.
#[derive(Clone, Debug, Serialize)]
pub struct QuizStep {
    /// What to compute.
    pub ask: String,
    /// The formula.
    pub formula: String,
    /// The correct answer.
    #[serde(flatten)]
    pub answer: Answer,
}

impl QuizStep {
    /// The same with another formula.
    fn with_formula(self, formula: &str) -> Self {
        Self { formula: formula.into(), ..self }
    }
}

/// The number of questions; the rest are exercises.
pub const QUESTIONS: usize = 17;

/// All questions and exercises, with the numbers of this seed.
///
/// # Errors
/// If an example refuses sampled inputs, which would be a bug.
pub fn quiz(seed: u64) -> Result<Vec<Question>> {
    let made = questions::all(seed)?.into_iter().chain(exercises::all(seed)?);
    Ok(made.zip(1..).map(|(question, number)| Question { number, ..question }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_gives_others() {
        let text = |seed| format!("{:?}", quiz(seed).unwrap());
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn every_seed_has_seventeen_questions_and_exercises_whose_answers_are_accepted() {
        for seed in 0..20 {
            let all = quiz(seed).unwrap();
            assert!(all.len() > QUESTIONS);
            for (i, question) in all.iter().enumerate() {
                assert_eq!(question.number, i + 1);
                assert!(!question.text.is_empty(), "{}", question.title);
                assert!(
                    !question.steps.is_empty() || !question.model_answer.is_empty(),
                    "{}",
                    question.title
                );
                assert_eq!(i < QUESTIONS, !question.model_answer.is_empty(), "{}", question.title);
                for step in &question.steps {
                    let shown = step.answer.to_string();
                    assert_eq!(
                        step.answer.check(&shown),
                        Verdict::Correct,
                        "{}: {shown}",
                        question.title
                    );
                    assert!(!shown.contains("NaN"), "{}: {shown}", question.title);
                    assert!(!step.formula.is_empty());
                }
            }
        }
    }

    #[test]
    fn the_backward_pass_exercise_can_be_solved_from_the_numbers_it_states() {
        for seed in 0..60 {
            let question =
                quiz(seed).unwrap().into_iter().find(|q| q.title == "Backward pass").unwrap();
            let stated = |name: &str| -> Vec<f64> {
                let numbers =
                    question.text.split(&format!("{name} = [")).nth(1).unwrap().split(']').next();
                numbers.unwrap().split(' ').map(|x| x.replace('−', "-").parse().unwrap()).collect()
            };
            let (p, dz) = (stated("p"), stated("dZ"));
            let text = question.text.split("X = [").nth(1).unwrap().split(']').next().unwrap();
            let x: Vec<Vec<f64>> = text
                .split("; ")
                .map(|row| row.split(' ').map(|x| x.parse().unwrap()).collect())
                .collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let scores: Vec<f64> = x.iter().map(|row| (dot(&x[0], row) / 2.0).exp()).collect();
            let weights: Vec<f64> = scores.iter().map(|e| e / scores.iter().sum::<f64>()).collect();
            let by_weights: Vec<f64> = x.iter().map(|row| dot(&dz, row)).collect();
            let mean = dot(&weights, &by_weights);
            let by_scores = weights.iter().zip(&by_weights).map(|(a, d)| a * (d - mean)).collect();
            let answers = [
                vec![-p[1].ln()],
                vec![p[0] / 2.0, (p[1] - 1.0) / 2.0, p[2] / 2.0],
                by_weights,
                by_scores,
            ];
            for (step, answer) in question.steps.iter().zip(answers) {
                let typed = answer.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
                assert_eq!(
                    step.answer.check(&typed),
                    Verdict::Correct,
                    "seed {seed}: {} {typed}",
                    step.ask
                );
            }
        }
    }
}
