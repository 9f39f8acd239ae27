//! Exercises: questions to test oneself with, and the worked examples with fresh numbers.
//!
//! The seventeen questions are answered in words or in numbers; the exercises after them only in numbers, step by step. Every
//! right number is taken from a worked example ([`super::explain`]) or from a product of matrices, computed with the numbers of
//! this seed; nothing is written down here.

mod answer;
mod exercises;
mod numbers;
mod questions;
mod words;

pub use answer::{Right, Verdict};

use crate::error::Result;
use serde::Serialize;

/// One question or exercise.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// Its place, counted from 1.
    pub number: usize,
    /// What it is about.
    pub title: &'static str,
    /// What is asked.
    pub text: String,
    /// What can be checked, step by step; empty for a question to think about.
    pub steps: Vec<QuizStep>,
    /// What a good answer says; empty where the numbers are all.
    pub answer: &'static str,
    /// What to type to see it.
    pub command: String,
}

/// Something with a right answer.
#[derive(Clone, Debug, Serialize)]
pub struct QuizStep {
    /// What to work out.
    pub ask: String,
    /// How.
    pub formula: String,
    /// The right answer.
    #[serde(flatten)]
    pub right: Right,
}

impl QuizStep {
    /// With a part of its example's formula.
    fn with_formula(self, formula: &str) -> Self {
        Self { formula: formula.into(), ..self }
    }
}

/// How many of them are questions; the rest are exercises.
pub const QUESTIONS: usize = 17;

/// All questions and exercises, with the numbers of this seed.
///
/// # Errors
/// If an example refuses its numbers, which would be a mistake of ours.
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
    fn every_seed_has_seventeen_questions_with_answers_and_exercises_whose_own_answers_are_right() {
        for seed in 0..20 {
            let all = quiz(seed).unwrap();
            assert!(all.len() > QUESTIONS);
            for (i, question) in all.iter().enumerate() {
                assert_eq!(question.number, i + 1);
                assert!(!question.steps.is_empty() || !question.answer.is_empty(), "{}", question.title);
                assert_eq!(i < QUESTIONS, !question.answer.is_empty(), "{}", question.title);
                for step in &question.steps {
                    let shown = step.right.shown();
                    assert_eq!(step.right.check(&shown), Verdict::Right, "{}: {shown}", question.title);
                    assert!(!shown.contains("NaN"), "{}: {shown}", question.title);
                    assert!(!step.formula.is_empty());
                }
            }
        }
    }

    #[test]
    fn what_is_asked_about_the_way_back_can_be_computed_from_the_numbers_that_are_shown() {
        for seed in 0..60 {
            let question = quiz(seed).unwrap().into_iter().find(|q| q.title == "The way back").unwrap();
            let shown = |name: &str| -> Vec<f64> {
                let numbers = question.text.split(&format!("{name} = [")).nth(1).unwrap().split(']').next();
                numbers.unwrap().split(' ').map(|x| x.replace('−', "-").parse().unwrap()).collect()
            };
            let (p, dz) = (shown("p"), shown("dZ"));
            let text = question.text.split("X = [").nth(1).unwrap().split(']').next().unwrap();
            let x: Vec<Vec<f64>> =
                text.split("; ").map(|row| row.split(' ').map(|x| x.parse().unwrap()).collect()).collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let scores: Vec<f64> = x.iter().map(|row| (dot(&x[0], row) / 2.0).exp()).collect();
            let weights: Vec<f64> = scores.iter().map(|e| e / scores.iter().sum::<f64>()).collect();
            let by_weights: Vec<f64> = x.iter().map(|row| dot(&dz, row)).collect();
            let mean = dot(&weights, &by_weights);
            let by_scores = weights.iter().zip(&by_weights).map(|(a, d)| a * (d - mean)).collect();
            let answers =
                [vec![-p[1].ln()], vec![p[0] / 2.0, (p[1] - 1.0) / 2.0, p[2] / 2.0], by_weights, by_scores];
            for (step, answer) in question.steps.iter().zip(answers) {
                let typed = answer.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
                assert_eq!(step.right.check(&typed), Verdict::Right, "seed {seed}: {} {typed}", step.ask);
            }
        }
    }
}
