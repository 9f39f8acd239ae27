//! Fresh numbers for an example, and what the example makes of them.

use super::super::model::{Cell, Explanation};
use super::super::number::{fixed, short};
use super::super::{Inputs, explain};
use super::{Question, QuizStep, Right};
use crate::error::Result;
use limpid_tensor::rng::Stream;

/// Draws numbers that are easy to compute with.
pub(super) struct Fresh {
    rng: Stream,
}

impl Fresh {
    /// The numbers of one question of a seed.
    pub fn new(seed: u64, question: u64) -> Self {
        Self { rng: Stream::new(seed, question) }
    }

    /// A whole number from `from` up to `to`.
    pub fn whole(&mut self, from: i32, to: i32) -> i32 {
        from + self.rng.below((to - from + 1) as usize) as i32
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len())]
    }

    /// `n` whole numbers, not all alike.
    pub fn row(&mut self, n: usize, from: i32, to: i32) -> Vec<i32> {
        loop {
            let row: Vec<i32> = (0..n).map(|_| self.whole(from, to)).collect();
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

    /// Five probabilities in steps of 0.05, falling, all different: "0.4 0.25 0.2 0.1 0.05".
    pub fn probabilities(&mut self) -> String {
        loop {
            let mut parts: Vec<i32> = (0..4).map(|_| self.whole(1, 9)).collect();
            parts.push(20 - parts.iter().sum::<i32>());
            parts.sort_unstable_by(|a, b| b.cmp(a));
            if parts[4] >= 1 && parts.windows(2).all(|pair| pair[0] != pair[1]) {
                let texts: Vec<String> = parts.iter().map(|part| short(*part as f32 * 0.05)).collect();
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

/// An example with these numbers.
pub(super) struct Worked {
    pub explanation: Explanation,
    /// What to type to see it.
    pub command: String,
}

impl Worked {
    pub fn new(example: &'static str, options: &[(&str, &str)]) -> Result<Self> {
        let explanation = explain(example, &Inputs::parse(example, options)?)?;
        let words = options.iter().map(|(name, value)| format!(" --{name} \"{value}\""));
        Ok(Self { explanation, command: format!("limpid explain {example}{}", words.collect::<String>()) })
    }

    /// Row `i` of table `table` of a step, as what is asked for; the formula is the step's own.
    pub fn row(&self, ask: impl Into<String>, step: &str, table: usize, i: usize) -> QuizStep {
        self.part(ask, step, table, |cells| cells[i].clone())
    }

    /// Column `j` of table `table` of a step.
    pub fn column(&self, ask: impl Into<String>, step: &str, table: usize, j: usize) -> QuizStep {
        self.part(ask, step, table, |cells| cells.iter().map(|row| row[j].clone()).collect())
    }

    fn part(
        &self,
        ask: impl Into<String>,
        step: &str,
        table: usize,
        choose: impl Fn(&[Vec<Cell>]) -> Vec<Cell>,
    ) -> QuizStep {
        let step = self.explanation.step(step);
        let cells = choose(&step.tables[table].cells);
        let right = match &cells[..] {
            [Cell::Text(word)] => Right::Word(word.clone()),
            _ => Right::Numbers(cells.iter().map(value).collect()),
        };
        QuizStep { ask: ask.into(), formula: step.formula.clone(), right }
    }

    /// Row `i` of table `table` of a step as numbers to compute with.
    pub fn numbers(&self, step: &str, table: usize, i: usize) -> Vec<f64> {
        self.explanation.step(step).tables[table].cells[i].iter().map(value).collect()
    }

    /// A question about it.
    pub fn question(self, title: &'static str, text: String, steps: Vec<QuizStep>) -> Question {
        Question { number: 0, title, text, steps, answer: "", command: self.command }
    }
}

#[track_caller]
fn value(cell: &Cell) -> f64 {
    match cell {
        Cell::Number(x) => *x,
        Cell::Masked => f64::NEG_INFINITY,
        other => panic!("{other:?} is not a number that can be asked for"),
    }
}
