//! BLEU: n-gram precision of a translation against references (Papineni et al. 2002).
//!
//! ```text
//! pₙ = Σ min(count in hypothesis, largest count in one reference) / Σ count in hypothesis
//! BLEU = BP · (p₁ · … · p_N)^(1/N)        BP = min(1, exp(1 − r/c))
//! ```
//!
//! n = 1 … N, by default 4. The sums run over the whole corpus, c is the number of words of all
//! hypotheses and r of all references, where each hypothesis counts the reference whose length is
//! closest to its own. Precisions are in percent. [`Smooth`] defines the precision of an order
//! without a match.
//!
//! ```
//! use limpid::eval::Bleu;
//!
//! let score = Bleu::default().sentence("the cat sat on the mat", &["the cat sat on a mat"])?;
//! assert!((score.precisions[0] - 100.0 * 5.0 / 6.0).abs() < 1e-9);
//! # Ok::<(), limpid::error::EvalError>(())
//! ```

use std::collections::HashMap;
use std::fmt;

use super::metric::{Metric, count_lines, ngrams, signature};
use super::{BleuTokenizer, Case, EvalError, is_space, ratio, words};

/// The default of [`Bleu::max_order`].
pub const ORDERS: usize = 4;

/// Smoothing of orders without a match (Chen and Cherry 2014).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smooth {
    /// The first such order counts as 1/2 match, the next as 1/4, and so on, as in mteval-v13a.
    #[default]
    Exp,
    /// Each counts as this many matches; 0.1 is sacreBLEU's choice.
    Floor(f64),
    /// From order 2 on this number is added to matches and n-grams, of every order; 1 is
    /// sacreBLEU's choice.
    AddK(f64),
    /// Its precision is 0, and so is BLEU.
    None,
}

impl Smooth {
    fn signature(self) -> String {
        match self {
            Smooth::Exp => "exp".to_string(),
            Smooth::Floor(value) => format!("floor[{value:.2}]"),
            Smooth::AddK(value) => format!("add-k[{value:.2}]"),
            Smooth::None => "none".to_string(),
        }
    }
}

/// The orders over which precisions are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NgramOrders {
    /// All: text without a 4-gram scores 0.
    #[default]
    All,
    /// Those the hypothesis has n-grams of (sacreBLEU's effective order): for single sentences,
    /// which may be short.
    Effective,
}

/// BLEU with its settings; the defaults are sacreBLEU's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// Whether case matters.
    pub case: Case,
    /// The tokenizer.
    pub tokenizer: BleuTokenizer,
    /// Smoothing of orders without a match.
    pub smooth: Smooth,
    /// The longest n-grams counted, at least 1.
    pub max_order: usize,
    /// Which orders count.
    pub orders: NgramOrders,
}

impl Default for Bleu {
    fn default() -> Self {
        Self {
            case: Case::default(),
            tokenizer: BleuTokenizer::default(),
            smooth: Smooth::default(),
            max_order: ORDERS,
            orders: NgramOrders::default(),
        }
    }
}

/// A BLEU score and its components.
#[derive(Clone, Debug, PartialEq)]
pub struct BleuScore {
    /// BLEU, from 0 to 100.
    pub score: f64,
    /// Smoothed precisions of the orders 1, 2, …, in percent.
    pub precisions: Vec<f64>,
    /// The brevity penalty: at most 1, for hypotheses shorter than their references.
    pub brevity_penalty: f64,
    /// The counts behind them.
    pub counts: BleuCounts,
    /// The signature, for example `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`.
    pub signature: String,
}

/// The counts of BLEU. Those of a corpus are the sums of its lines'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BleuCounts {
    /// Words of the hypotheses.
    pub hypothesis_len: u64,
    /// Words of the closest references.
    pub reference_len: u64,
    /// N-grams of the hypotheses that a reference has too, for the orders 1, 2, …
    pub correct: Vec<u64>,
    /// N-grams of the hypotheses, for the orders 1, 2, …
    pub total: Vec<u64>,
}

impl BleuCounts {
    /// From a row of [`Metric::count`]: both lengths, the matches, the n-grams.
    fn from_row(row: &[u64]) -> Self {
        let orders = (row.len() - 2) / 2;
        Self {
            hypothesis_len: row[0],
            reference_len: row[1],
            correct: row[2..2 + orders].to_vec(),
            total: row[2 + orders..].to_vec(),
        }
    }

    /// Hypothesis words per reference word.
    pub fn ratio(&self) -> f64 {
        ratio(self.hypothesis_len, self.reference_len)
    }
}

impl Metric for Bleu {
    fn name(&self) -> String {
        "BLEU".to_string()
    }

    fn settings(&self) -> String {
        let effective = match self.orders {
            NgramOrders::All => "no",
            NgramOrders::Effective => "yes",
        };
        // sacreBLEU does not sign this, although scores of different orders are not comparable.
        let order = match self.max_order {
            ORDERS => String::new(),
            order => format!("|order:{order}"),
        };
        let (case, tokenizer, smooth) =
            (self.case.signature(), self.tokenizer.signature(), self.smooth.signature());
        format!("case:{case}|eff:{effective}|tok:{tokenizer}|smooth:{smooth}{order}")
    }

    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<u64> {
        let hypothesis = self.prepare(hypothesis);
        let hypothesis: Vec<&str> = words(&hypothesis).collect();
        let references: Vec<String> =
            references.iter().map(|reference| self.prepare(reference)).collect();
        let references: Vec<Vec<&str>> =
            references.iter().map(|text| words(text).collect()).collect();

        // The shorter one of two that are equally close.
        let closest = references
            .iter()
            .map(Vec::len)
            .min_by_key(|&len| (len.abs_diff(hypothesis.len()), len))
            .expect("a segment has a reference");
        let (mut correct, mut total) = (vec![0; self.max_order], vec![0; self.max_order]);
        for n in 1..=self.max_order {
            // Clipping: an n-gram matches at most as often as in the reference with most of it.
            let mut allowed: HashMap<&[&str], u64> = HashMap::new();
            for reference in &references {
                for (ngram, count) in ngrams(reference, n) {
                    let most = allowed.entry(ngram).or_default();
                    *most = count.max(*most);
                }
            }
            for (ngram, count) in ngrams(&hypothesis, n) {
                total[n - 1] += count;
                correct[n - 1] += count.min(allowed.get(ngram).copied().unwrap_or(0));
            }
        }
        let lengths = [hypothesis.len() as u64, closest as u64];
        [&lengths[..], &correct, &total].concat()
    }

    fn score(&self, counts: &[u64]) -> f64 {
        self.explain(counts).score
    }
}

impl Bleu {
    /// Scores a corpus; `references[i]` are the references of `hypotheses[i]`, at least one.
    /// # Errors
    /// If there are no hypotheses, or not at least one reference for each.
    pub fn corpus(
        &self,
        hypotheses: &[&str],
        references: &[Vec<&str>],
    ) -> Result<BleuScore, EvalError> {
        let counts = count_lines(self, hypotheses, references)?;
        let signature = signature(self, references, None);
        Ok(BleuScore { signature, ..self.explain(&counts.total()) })
    }

    /// Scores one sentence, over the orders it has, whatever [`Bleu::orders`] is.
    ///
    /// # Errors
    /// [`EvalError::NoReference`] if there is no reference.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Result<BleuScore, EvalError> {
        Self { orders: NgramOrders::Effective, ..*self }
            .corpus(&[hypothesis], &[references.to_vec()])
    }

    /// The score of a row of counts, or of a sum of rows, and what it is made of. Its signature is
    /// empty: the counts do not know how many references there were.
    pub fn explain(&self, counts: &[u64]) -> BleuScore {
        let counts = BleuCounts::from_row(counts);
        // No words: e^-∞ = 0 against some, and `min` turns the 0/0 against none into e^0 = 1.
        let references_per_word = counts.reference_len as f64 / counts.hypothesis_len as f64;
        let brevity_penalty = (1.0 - references_per_word).min(0.0).exp();
        let (precisions, effective) = self.precisions(&counts);
        let counted = match self.orders {
            NgramOrders::All => self.max_order,
            NgramOrders::Effective => effective,
        };
        let score = if precisions[..counted].contains(&0.0) {
            0.0
        } else {
            let logs: f64 = precisions[..counted].iter().map(|p| p.ln()).sum();
            brevity_penalty * (logs / counted as f64).exp()
        };
        BleuScore { score, precisions, brevity_penalty, counts, signature: String::new() }
    }

    /// Smoothed precisions in percent, and how many orders have n-grams at all (if nothing matches,
    /// at least 1).
    fn precisions(&self, counts: &BleuCounts) -> (Vec<f64>, usize) {
        let mut precisions = vec![0.0; self.max_order];
        // Smoothing is for a long n-gram that happens not to match, not for a text without one
        // right word.
        if counts.correct.iter().all(|&correct| correct == 0) {
            return (precisions, 1);
        }
        let (mut halvings, mut effective) = (1.0, 1);
        for (i, precision) in precisions.iter_mut().enumerate() {
            let (mut correct, mut total) = (counts.correct[i] as f64, counts.total[i] as f64);
            if let Smooth::AddK(k) = self.smooth
                && i > 0
            {
                correct += k;
                total += k;
            }
            if total == 0.0 {
                break; // every hypothesis is shorter: nothing to smooth, here or in longer orders
            }
            effective = i + 1;
            *precision = match self.smooth {
                _ if correct > 0.0 => 100.0 * correct / total,
                Smooth::Exp => {
                    halvings *= 2.0;
                    100.0 / (halvings * total)
                }
                Smooth::Floor(value) => 100.0 * value / total,
                Smooth::AddK(_) | Smooth::None => 0.0,
            };
        }
        (precisions, effective)
    }

    fn prepare(&self, line: &str) -> String {
        let line = self.case.apply(line);
        // The end is trimmed first because it changes tokens: a hyphen before a line end joins
        // lines.
        self.tokenizer.tokenize(line.trim_end_matches(is_space)).into_owned()
    }
}

impl BleuScore {
    /// What stands behind the score in sacreBLEU's line:
    /// `82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)`.
    pub fn details(&self) -> String {
        let precisions: Vec<String> = self.precisions.iter().map(|p| format!("{p:.1}")).collect();
        let (counts, ratio) = (&self.counts, self.counts.ratio());
        format!(
            "{} (BP = {:.3} ratio = {ratio:.3} hyp_len = {} ref_len = {})",
            precisions.join("/"),
            self.brevity_penalty,
            counts.hypothesis_len,
            counts.reference_len
        )
    }
}

/// sacreBLEU's line: `BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17
/// ref_len = 18)`.
impl fmt::Display for BleuScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BLEU = {:.2} {}", self.score, self.details())
    }
}
