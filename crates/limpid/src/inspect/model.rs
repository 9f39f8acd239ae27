//! What an explanation is, apart from how it is shown: steps with a formula, tables and notes.

use super::maths::Matrix;
use super::number::{decimals, f64_of};
use serde::{Serialize, Serializer};

/// One worked example, computed.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// What is typed to get it.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What the example is, for a reader who has seen nothing of it.
    pub story: String,
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
    /// How, as a line of mathematics in plain text.
    pub formula: String,
    /// What for.
    pub why: Option<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// What to notice in them.
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
    /// Decimals to write, if more than these numbers need by themselves.
    #[serde(skip)]
    pub(super) decimals: usize,
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// −∞: hidden by a mask.
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
    /// A number that is found in print and is not right.
    OftenPrinted {
        /// What one reads.
        printed: String,
        /// What it is.
        correct: String,
        /// How one sees that.
        because: String,
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

    /// Says what the step is for.
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

    /// Gives all tables so far the same number of decimals, so that they can be compared digit by digit.
    pub(super) fn same_decimals(mut self) -> Self {
        let numbers: Vec<f64> = self.tables.iter().flat_map(|table| table.numbers().concat()).collect();
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

    /// Adds a number that is found in print and is not right.
    pub fn often_printed(
        mut self,
        printed: impl Into<String>,
        correct: impl Into<String>,
        because: impl Into<String>,
    ) -> Self {
        let (printed, correct, because) = (printed.into(), correct.into(), because.into());
        self.notes.push(Note::OftenPrinted { printed, correct, because });
        self
    }

    /// Changes the step in one case only: notes about printed numbers belong to the usual inputs.
    pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }
}

impl Table {
    /// A table of any cells.
    ///
    /// # Panics
    /// If the labels do not fit the cells.
    #[track_caller]
    pub fn new(
        title: impl Into<String>,
        row_labels: &[String],
        col_labels: &[String],
        cells: Vec<Vec<Cell>>,
    ) -> Self {
        let title = title.into();
        assert!(
            cells.len() == row_labels.len() && cells.iter().all(|row| row.len() == col_labels.len()),
            "table {title}: {} row labels and {} column labels do not fit its cells",
            row_labels.len(),
            col_labels.len()
        );
        Self { title, row_labels: row_labels.to_vec(), col_labels: col_labels.to_vec(), cells, decimals: 0 }
    }

    /// A matrix of numbers; −∞ is masked.
    #[track_caller]
    pub fn matrix(
        title: impl Into<String>,
        row_labels: &[String],
        col_labels: &[String],
        matrix: &Matrix,
    ) -> Self {
        let cells = matrix.iter_rows().map(|row| row.iter().map(|x| Cell::from(*x)).collect()).collect();
        Self::new(title, row_labels, col_labels, cells)
    }

    /// One list beside another: labels down the side, one named column of numbers each.
    #[track_caller]
    pub fn columns(title: impl Into<String>, row_labels: &[String], columns: &[(&str, &[f32])]) -> Self {
        let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let cells = (0..row_labels.len()).map(|i| columns.iter().map(|(_, x)| Cell::from(x[i])).collect());
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
