//! What came of an experiment.

use super::{Effort, Experiment, Settings};
use crate::report::{Bars, Chart};
use serde_json::{Value, json};

/// Whether a claim held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did, beyond chance.
    Held,
    /// The opposite did, or it stayed below what was asked, beyond chance.
    DidNotHold,
    /// Neither can be said.
    NotClear,
    /// No part of the claim: a number that one should know, told and not judged.
    Told,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::DidNotHold => "did not hold",
            Verdict::NotClear => "not clear",
            Verdict::Told => "told",
        }
    }

    /// Of a plain fact, without uncertainty.
    pub fn of(fact: bool) -> Self {
        if fact { Verdict::Held } else { Verdict::DidNotHold }
    }

    /// Of several that must all hold; what is only told does not count.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Verdict::Held, |all, one| match (all, one) {
            (Verdict::DidNotHold, _) | (_, Verdict::DidNotHold) => Verdict::DidNotHold,
            (Verdict::NotClear, _) | (_, Verdict::NotClear) => Verdict::NotClear,
            _ => Verdict::Held,
        })
    }
}

/// One part of a claim, judged; or what else one should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was to be shown.
    pub what: String,
    /// Whether it was.
    pub verdict: Verdict,
    /// The numbers, with their uncertainty.
    pub evidence: String,
}

impl Finding {
    /// A part of a claim.
    pub fn new(what: impl Into<String>, verdict: Verdict, evidence: impl Into<String>) -> Self {
        Self { what: what.into(), verdict, evidence: evidence.into() }
    }

    /// What is told and not judged.
    pub fn told(what: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(what, Verdict::Told, evidence)
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of its file, without the ending.
    pub name: String,
    /// The picture.
    pub svg: String,
}

impl Picture {
    /// A line chart.
    pub fn chart(name: &str, chart: &Chart) -> Self {
        Self { name: name.into(), svg: chart.svg() }
    }

    /// Bars.
    pub fn bars(name: &str, bars: &Bars) -> Self {
        Self { name: name.into(), svg: bars.svg() }
    }
}

/// Numbers in rows; the first cell of each is its head.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// What came of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it was done, in a few sentences: models, data, sizes, seeds.
    pub method: String,
    /// The parts of the claim.
    pub findings: Vec<Finding>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
}

impl Outcome {
    /// Whether all of it held.
    pub fn verdict(&self) -> Verdict {
        Verdict::all(self.findings.iter().map(|finding| finding.verdict))
    }

    /// As JSON, without the pictures: what was run, and what was found. A quick run is not judged as a whole.
    pub fn json(&self, experiment: &Experiment, effort: Effort, seed: u64, asked: Settings) -> Value {
        let verdict = effort.pick("not judged", self.verdict().words());
        let finding =
            |f: &Finding| json!({"what": f.what, "verdict": f.verdict.words(), "evidence": f.evidence});
        let table = |t: &Table| json!({"title": t.title, "head": t.head, "rows": t.rows});
        json!({
            "experiment": experiment.name, "claim": experiment.claim, "effort": effort.pick("quick", "full"), "seed": seed,
            "steps_asked": asked.steps, "width_asked": asked.width, "verdict": verdict, "method": self.method,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(table).collect::<Vec<_>>(),
            "pictures": self.pictures.iter().map(|picture| format!("{}.svg", picture.name)).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_that_did_not_hold_decides_and_one_that_is_not_clear_leaves_it_open() {
        use Verdict::{DidNotHold, Held, NotClear, Told};
        assert_eq!(Verdict::all([Held, Held]), Held);
        assert_eq!(Verdict::all([Held, NotClear]), NotClear);
        assert_eq!(Verdict::all([NotClear, DidNotHold, Held]), DidNotHold);
        assert_eq!(Verdict::all([Told, Held, Told]), Held);
    }
}
