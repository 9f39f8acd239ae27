//! Sampled inputs for an example, and the steps computed from them.

use super::{Answer, ExampleCall, Question, QuizStep};
use crate::error::Result;
use crate::explain::model::{Cell, Explanation};
use crate::explain::number::{fixed, short};
use crate::explain::{Inputs, explain};
use limpid_tensor::rng::Stream;

/// Samples numbers that are easy to compute with by hand.
pub(super) struct Sampler {
    rng: Stream,
}

impl Sampler {
    /// The numbers of one question of a seed.
    pub fn new(seed: u64, question: u64) -> Self {
        Self { rng: Stream::new(seed, question) }
    }

    /// An integer from `from` to `to`, both included.
    pub fn integer(&mut self, from: i32, to: i32) -> i32 {
        from + self.rng.below((to - from + 1) as usize) as i32
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len())]
    }

    /// `n` integers, not all equal.
    pub fn row(&mut self, n: usize, from: i32, to: i32) -> Vec<i32> {
        loop {
            let row: Vec<i32> = (0..n).map(|_| self.integer(from, to)).collect();
            if row.iter().any(|x| *x != row[0]) {
                return row;
            }
        }
    }

    /// Rows that differ, as text: "1 0 2; 0 1 1".
    pub fn rows(&mut self, rows: usize, cols: usize, from: i32, to: i32) -> String {
        loop {
            let all: Vec<String> = (0..rows).map(|_| text(&self.row(cols, from, to))).collect();
            if (1..rows).all(|i| !all[..i].contains(&all[i])) {
                return all.join("; ");
            }
        }
    }

    /// Five probabilities in steps of 0.05, descending, all different: "0.4 0.25 0.2 0.1 0.05".
    pub fn probabilities(&mut self) -> String {
        loop {
            let mut parts: Vec<i32> = (0..4).map(|_| self.integer(1, 9)).collect();
            parts.push(20 - parts.iter().sum::<i32>());
            parts.sort_unstable_by(|a, b| b.cmp(a));
            if parts[4] >= 1 && parts.windows(2).all(|pair| pair[0] != pair[1]) {
                let texts: Vec<String> =
                    parts.iter().map(|part| short(*part as f32 * 0.05)).collect();
                return texts.join(" ");
            }
        }
    }
}

/// "1 0 2".
pub(super) fn text(row: &[i32]) -> String {
    row.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}

/// "0.25 −1.5", with four decimals.
pub(super) fn decimal_text(row: &[f64]) -> String {
    row.iter().map(|x| fixed(*x, 4)).collect::<Vec<_>>().join(" ")
}

/// An example computed with these inputs.
pub(super) struct WorkedExample {
    pub explanation: Explanation,
    /// How to compute it again.
    pub call: ExampleCall,
}

impl WorkedExample {
    pub fn new(example: &'static str, options: &[(&'static str, &str)]) -> Result<Self> {
        let explanation = explain(example, &Inputs::parse(example, options)?)?;
        let inputs = options.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
        Ok(Self { explanation, call: ExampleCall { example, inputs } })
    }

    /// Row `i` of table `table` of a step as the answer; the formula is the step's own.
    pub fn row(&self, ask: impl Into<String>, step: &str, table: usize, i: usize) -> QuizStep {
        self.part(ask, step, table, |cells| cells[i].clone())
    }

    /// Column `j` of table `table` of a step as the answer.
    pub fn column(&self, ask: impl Into<String>, step: &str, table: usize, j: usize) -> QuizStep {
        self.part(ask, step, table, |cells| cells.iter().map(|row| row[j].clone()).collect())
    }

    fn part(
        &self,
        ask: impl Into<String>,
        step: &str,
        table: usize,
        select: impl Fn(&[Vec<Cell>]) -> Vec<Cell>,
    ) -> QuizStep {
        let step = self.explanation.step(step);
        let cells = select(&step.tables[table].cells);
        let answer = match &cells[..] {
            [Cell::Text(word)] => Answer::Word(word.clone()),
            _ => Answer::Numbers(cells.iter().map(value).collect()),
        };
        QuizStep { ask: ask.into(), formula: step.formula.clone(), answer }
    }

    /// Row `i` of table `table` of a step.
    pub fn numbers(&self, step: &str, table: usize, i: usize) -> Vec<f64> {
        self.explanation.step(step).tables[table].cells[i].iter().map(value).collect()
    }

    /// A question about it.
    pub fn question(self, title: &'static str, text: String, steps: Vec<QuizStep>) -> Question {
        Question { number: 0, title, text, steps, model_answer: "", call: self.call }
    }
}

#[track_caller]
fn value(cell: &Cell) -> f64 {
    match cell {
        Cell::Number(x) => *x,
        Cell::Masked => f64::NEG_INFINITY,
        other => panic!("{other:?} is not a number"),
    }
}
