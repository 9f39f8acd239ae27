//! Explanations as data, apart from how they are shown: steps with a formula, tables and notes.

use super::maths::Matrix;
use super::number::{decimals, f64_of};
use serde::{Serialize, Serializer};

/// One worked example, computed.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The example's name.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What the example is, for a reader who knows nothing of it.
    pub introduction: String,
    /// The computation, in order.
    pub steps: Vec<Step>,
    /// Names of examples to read next.
    pub see_also: &'static [&'static str],
}

/// One step of the computation.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What is done.
    pub title: String,
    /// The formula, as plain text.
    pub formula: String,
    /// What the step is for.
    pub why: Option<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// What to notice in the numbers.
    pub notes: Vec<Note>,
}

/// Numbers with names for rows and columns.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What the numbers are.
    pub title: String,
    /// One per row.
    pub row_labels: Vec<String>,
    /// One per column.
    pub col_labels: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<Cell>>,
    /// The least number of decimals to show.
    #[serde(skip)]
    pub(super) decimals: usize,
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// −∞: masked.
    Masked,
    /// A word.
    Text(String),
    /// Nothing.
    Empty,
}

/// Something to notice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// A common misconception.
    Misconception {
        /// What is often claimed.
        claim: String,
        /// What is true.
        correct: String,
        /// Why.
        reason: String,
    },
    /// Anything else.
    Remark {
        /// The text.
        text: String,
    },
}

impl Serialize for Cell {
    /// A JSON number, a string, `null`, or "-inf", which JSON has no number for.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Number(x) => serializer.serialize_f64(*x),
            Cell::Masked => serializer.serialize_str("-inf"),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Empty => serializer.serialize_none(),
        }
    }
}

impl From<f32> for Cell {
    fn from(x: f32) -> Self {
        if x == f32::NEG_INFINITY {
            return Cell::Masked;
        }
        Cell::Number(f64_of(x))
    }
}

impl From<usize> for Cell {
    fn from(x: usize) -> Self {
        Cell::Number(x as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl Explanation {
    /// The step whose title begins like this.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn step(&self, title: &str) -> &Step {
        self.steps.iter().find(|step| step.title.starts_with(title)).unwrap_or_else(|| {
            let titles: Vec<_> = self.steps.iter().map(|step| &step.title).collect();
            panic!("{} has no step '{title}', only {titles:?}", self.name)
        })
    }
}

impl Step {
    /// A step without numbers yet.
    pub fn new(title: impl Into<String>, formula: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            formula: formula.into(),
            why: None,
            tables: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets what the step is for.
    pub fn why(mut self, text: impl Into<String>) -> Self {
        self.why = Some(text.into());
        self
    }

    /// Adds numbers.
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds several tables.
    pub fn tables(mut self, tables: impl IntoIterator<Item = Table>) -> Self {
        self.tables.extend(tables);
        self
    }

    /// Shows all tables so far with the same number of decimals, so that they can be compared digit
    /// by digit.
    pub(super) fn same_decimals(mut self) -> Self {
        let numbers: Vec<f64> =
            self.tables.iter().flat_map(|table| table.numbers().concat()).collect();
        let finite: Vec<f64> = numbers.into_iter().filter(|x| x.is_finite()).collect();
        let decimals = decimals(&finite);
        self.tables.iter_mut().for_each(|table| table.decimals = decimals);
        self
    }

    /// Adds something to notice.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.notes.push(Note::Remark { text: text.into() });
        self
    }

    /// Adds a common misconception.
    pub fn misconception(
        mut self,
        claim: impl Into<String>,
        correct: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let (claim, correct, reason) = (claim.into(), correct.into(), reason.into());
        self.notes.push(Note::Misconception { claim, correct, reason });
        self
    }

    /// Changes the step if a condition holds: some notes apply to the default inputs only.
    pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }
}

impl Table {
    /// A table of any cells.
    ///
    /// # Panics
    /// If there is not one label for each row and column.
    #[track_caller]
    pub fn new(
        title: impl Into<String>,
        row_labels: &[String],
        col_labels: &[String],
        cells: Vec<Vec<Cell>>,
    ) -> Self {
        let title = title.into();
        assert!(
            cells.len() == row_labels.len()
                && cells.iter().all(|row| row.len() == col_labels.len()),
            "table {title}: {} row labels and {} column labels do not fit its cells",
            row_labels.len(),
            col_labels.len()
        );
        Self {
            title,
            row_labels: row_labels.to_vec(),
            col_labels: col_labels.to_vec(),
            cells,
            decimals: 0,
        }
    }

    /// A matrix of numbers; −∞ is masked.
    #[track_caller]
    pub fn matrix(
        title: impl Into<String>,
        row_labels: &[String],
        col_labels: &[String],
        matrix: &Matrix,
    ) -> Self {
        let cells =
            matrix.iter_rows().map(|row| row.iter().map(|x| Cell::from(*x)).collect()).collect();
        Self::new(title, row_labels, col_labels, cells)
    }

    /// Named columns of numbers side by side, with row labels.
    #[track_caller]
    pub fn columns(
        title: impl Into<String>,
        row_labels: &[String],
        columns: &[(&str, &[f32])],
    ) -> Self {
        let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let cells =
            (0..row_labels.len()).map(|i| columns.iter().map(|(_, x)| Cell::from(x[i])).collect());
        Self::new(title, row_labels, &names, cells.collect())
    }

    /// The numbers; −∞ where masked, NaN where there is no number.
    pub fn numbers(&self) -> Vec<Vec<f64>> {
        let number = |cell: &Cell| match cell {
            Cell::Number(x) => *x,
            Cell::Masked => f64::NEG_INFINITY,
            Cell::Text(_) | Cell::Empty => f64::NAN,
        };
        self.cells.iter().map(|row| row.iter().map(number).collect()).collect()
    }
}
