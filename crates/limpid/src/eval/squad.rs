//! Metrics of extractive question answering as SQuAD defines them: exact match and the F1 of words,
//! after lowercasing and without punctuation, articles and extra spaces. Of several correct answers
//! the best counts; a question without one is answered correctly by nothing.
//!
//! ```
//! use limpid::eval::squad::AnswerScore;
//!
//! let mut score = AnswerScore::default();
//! score.add("the Cat.", &["cat", "dog"]);
//! score.add("a black cat", &["cat"]);
//! assert_eq!(score.exact_match(), 0.5);
//! assert!((score.f1() - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
//! ```

use std::collections::HashMap;

/// Sums over questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerScore {
    questions: u64,
    exact: u64,
    f1: f64,
}

impl AnswerScore {
    /// Counts a question: the predicted answer and the correct ones; none if there is no answer.
    pub fn add(&mut self, predicted: &str, correct: &[&str]) {
        // Answers of nothing but articles and punctuation are none, as in SQuAD 2.
        let mut correct: Vec<&str> =
            correct.iter().copied().filter(|text| !normalized(text).is_empty()).collect();
        if correct.is_empty() {
            correct.push("");
        }
        let best = correct.iter().map(|text| f1(predicted, text)).fold(0.0, f64::max);
        let is_exact = |text: &&str| normalized(text) == normalized(predicted);
        self.questions += 1;
        self.exact += u64::from(correct.iter().any(is_exact));
        self.f1 += best;
    }

    /// The number of questions.
    pub fn questions(&self) -> u64 {
        self.questions
    }

    /// The share of questions whose answer is exactly a correct one.
    pub fn exact_match(&self) -> f64 {
        super::ratio(self.exact, self.questions)
    }

    /// The mean F1.
    pub fn f1(&self) -> f64 {
        if self.questions == 0 { 0.0 } else { self.f1 / self.questions as f64 }
    }
}

/// Words of an answer as they are compared.
pub fn normalized(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let plain: String = lower.chars().filter(|c| !c.is_ascii_punctuation()).collect();
    without_articles(&plain)
        .split(super::is_space)
        .filter(|w| !w.is_empty())
        .map(String::from)
        .collect()
}

/// Articles become spaces where they are whole words: between characters that are neither letters,
/// digits nor `_`.
fn without_articles(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        plain.push_str(if matches!(part, "a" | "an" | "the") { " " } else { part });
        rest = after;
    }
    plain
}

/// F1 of the words of two answers; of two empty ones 1, of one 0.
fn f1(predicted: &str, correct: &str) -> f64 {
    let (predicted, correct) = (normalized(predicted), normalized(correct));
    if predicted.is_empty() || correct.is_empty() {
        return f64::from(u8::from(predicted == correct));
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    correct.iter().for_each(|word| *left.entry(word).or_default() += 1);
    let mut common = 0;
    for word in &predicted {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    // 2PR / (P + R) without dividing first.
    2.0 * common as f64 / (predicted.len() + correct.len()) as f64
}
