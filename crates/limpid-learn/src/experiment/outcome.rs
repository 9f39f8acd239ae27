//! The outcome of an experiment: findings, figures, tables.

use super::{Effort, Experiment, SizeOverrides};
use limpid::report::{Bars, Chart};
use serde_json::{Value, json};

/// The verdict on a claim, or on a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim is true beyond chance.
    Confirmed,
    /// The opposite is true, or a threshold was missed, beyond chance.
    Refuted,
    /// Neither can be said.
    Inconclusive,
    /// Not part of the claim: a number worth knowing.
    Observation,
}

impl Verdict {
    /// Its name in pages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Refuted => "refuted",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Observation => "observation",
        }
    }

    /// Of a plain fact, without uncertainty.
    pub fn of(fact: bool) -> Self {
        if fact { Verdict::Confirmed } else { Verdict::Refuted }
    }

    /// Of several that must all be true; observations do not count.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Verdict::Confirmed, |all, one| match (all, one) {
            (Verdict::Refuted, _) | (_, Verdict::Refuted) => Verdict::Refuted,
            (Verdict::Inconclusive, _) | (_, Verdict::Inconclusive) => Verdict::Inconclusive,
            _ => Verdict::Confirmed,
        })
    }
}

/// One part of a claim with its verdict, or an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The statement that was tested.
    pub what: String,
    /// Whether it is true.
    pub verdict: Verdict,
    /// The numbers, with their uncertainty.
    pub evidence: String,
}

impl Finding {
    /// A part of a claim.
    pub fn new(what: impl Into<String>, verdict: Verdict, evidence: impl Into<String>) -> Self {
        Self { what: what.into(), verdict, evidence: evidence.into() }
    }

    /// A number worth knowing beside the claim.
    pub fn observation(what: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(what, Verdict::Observation, evidence)
    }
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of its file, without the ending.
    pub name: String,
    /// The figure, as SVG.
    pub svg: String,
}

impl Picture {
    /// A line chart.
    pub fn chart(name: &str, chart: &Chart) -> Self {
        Self { name: name.into(), svg: chart.svg() }
    }

    /// A bar chart.
    pub fn bars(name: &str, bars: &Bars) -> Self {
        Self { name: name.into(), svg: bars.svg() }
    }
}

/// Numbers in rows; the first cell of each is its head.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// The outcome of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it was done, in a few sentences: models, data, sizes, seeds.
    pub method: String,
    /// The parts of the claim.
    pub findings: Vec<Finding>,
    /// Figures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
}

impl Outcome {
    /// The verdict on the whole claim.
    pub fn verdict(&self) -> Verdict {
        Verdict::all(self.findings.iter().map(|finding| finding.verdict))
    }

    /// As JSON, without the figures themselves. A smoke test has no verdicts.
    pub fn json(
        &self,
        experiment: &Experiment,
        effort: Effort,
        seed: u64,
        sizes: SizeOverrides,
    ) -> Value {
        let finding = |f: &Finding| match effort {
            Effort::Quick => json!({"what": f.what, "evidence": f.evidence}),
            Effort::Full => {
                json!({"what": f.what, "verdict": f.verdict.name(), "evidence": f.evidence})
            }
        };
        let table = |t: &Table| json!({"title": t.title, "head": t.head, "rows": t.rows});
        let file = |picture: &Picture| format!("{}.svg", picture.name);
        json!({
            "experiment": experiment.name,
            "claim": experiment.claim,
            "effort": effort.pick("quick", "full"),
            "seed": seed,
            "steps": sizes.steps,
            "width": sizes.width,
            "verdict": effort.pick(None, Some(self.verdict().name())),
            "method": self.method,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(table).collect::<Vec<_>>(),
            "figures": self.pictures.iter().map(file).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refuted_part_refutes_a_claim_and_an_inconclusive_one_leaves_it_open() {
        use Verdict::{Confirmed, Inconclusive, Observation, Refuted};
        assert_eq!(Verdict::all([Confirmed, Confirmed]), Confirmed);
        assert_eq!(Verdict::all([Confirmed, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::all([Inconclusive, Refuted, Confirmed]), Refuted);
        assert_eq!(Verdict::all([Observation, Confirmed, Observation]), Confirmed);
    }
}
