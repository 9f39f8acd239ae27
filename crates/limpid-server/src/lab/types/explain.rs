//! Where a number comes from.

use super::models::Token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A number of a pass, or of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Element {
    /// An element of a tensor.
    Output {
        /// The step that made it.
        step: usize,
        /// Which of its outputs.
        output: usize,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// An attention weight.
    Weight {
        /// The step of the attention.
        step: usize,
        /// Counted from 0.
        head: usize,
        /// Row of the queries.
        query: usize,
        /// Row of the keys.
        key: usize,
    },
    /// An attention score, before the softmax.
    Score {
        /// The step of the attention.
        step: usize,
        /// Counted from 0.
        head: usize,
        /// Row of the queries.
        query: usize,
        /// Row of the keys.
        key: usize,
    },
    /// A number inside of a recurrent layer.
    Recurrent {
        /// The step of the layer.
        step: usize,
        /// `gate0` and so on in PyTorch's order, `candidate`, `cell`, `query` or `energy`.
        part: String,
        /// Of an energy: row of the keys.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<usize>,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// An element of a parameter.
    Param {
        /// Its name.
        name: String,
        /// Its row; 0 of a vector.
        row: usize,
        /// Its column.
        column: usize,
    },
}

/// A number to explain.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The pass's id.
    pub pass: String,
    /// Which number.
    pub element: Element,
    /// Terms that are listed; 12 without.
    #[serde(default)]
    pub largest: Option<usize>,
}

/// Where a factor comes from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Origin {
    /// Computed in this pass.
    Element {
        /// To go on with.
        element: Element,
        /// The tensor it belongs to.
        name: String,
    },
    /// A weight.
    Param {
        /// To go on with.
        element: Element,
        /// Its name, with row and column.
        name: String,
    },
    /// A constant, or a statistic of a row.
    Constant {
        /// Its letter.
        symbol: String,
    },
}

/// A factor of a term.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Factor {
    /// Its value.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// A term of a sum.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Term {
    /// Its value.
    pub value: f64,
    /// Its place among the terms, in their order.
    pub index: usize,
    /// What is multiplied.
    pub factors: Vec<Factor>,
}

/// Terms that are not listed.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Rest {
    /// How many.
    pub count: usize,
    /// Their sum.
    pub sum: f64,
}

/// Where a parameter lies in a file.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FilePlace {
    /// The file.
    pub file: String,
    /// The tensor in it.
    pub tensor: String,
    /// Row and column there.
    pub row: usize,
    /// Column there.
    pub column: usize,
    /// The type of its numbers there.
    pub dtype: String,
}

/// How a number was computed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Explained {
    /// Which number.
    pub element: Element,
    /// The tensor it belongs to.
    pub name: String,
    /// The operation; `parameter` at the bottom.
    pub operation: String,
    /// In the letters of the operation.
    pub formula: String,
    /// The number, as the model computed it.
    pub value: f64,
    /// The largest terms.
    pub terms: Vec<Term>,
    /// The others.
    pub rest: Rest,
    /// How many terms there are.
    pub count: usize,
    /// All terms added again, in f64.
    pub sum: f64,
    /// The number again, from the sum.
    pub again: f64,
    /// The difference in units in the last place.
    pub ulps: f64,
    /// The token, where the number is an embedding of one.
    pub token: Option<Token>,
    /// The token that its row belongs to.
    pub row_token: Option<Token>,
    /// The token that its column belongs to, of a weight or a score.
    pub column_token: Option<Token>,
    /// Where it lies in a file, of a parameter.
    pub file: Option<FilePlace>,
}
