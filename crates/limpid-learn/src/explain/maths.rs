//! A small matrix, and calls of the kernels that training uses: nothing here has arithmetic of its
//! own.

use limpid_tensor::kernels::activation::{Activation, activate};
use limpid_tensor::kernels::attention::{
    AttentionSpec, Causality, Heads, HeadsMut, Padding, Span, attention_forward, attention_weights,
};
use limpid_tensor::kernels::cross_entropy::{Gradient, cross_entropy};
use limpid_tensor::kernels::elementwise::{add_forward, scale_forward};
use limpid_tensor::kernels::layer_norm::{NormInput, layer_norm_forward};
use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product};
use limpid_tensor::kernels::softmax::softmax_forward;

mod recurrent;

pub use recurrent::{RecurrentState, RecurrentWeights, additive_attention, gradient_by_state};

/// Rows of numbers, all of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

impl Matrix {
    /// A matrix of these numbers, row by row.
    ///
    /// # Panics
    /// If there are not rows · cols numbers.
    #[track_caller]
    pub fn new(rows: usize, cols: usize, data: Vec<f32>) -> Self {
        assert_eq!(rows * cols, data.len(), "a matrix of {rows} by {cols}");
        Self { rows, cols, data }
    }

    /// The same number everywhere.
    pub fn filled(rows: usize, cols: usize, value: f32) -> Self {
        Self { rows, cols, data: vec![value; rows * cols] }
    }

    /// One row.
    pub fn row_of(data: &[f32]) -> Self {
        Self { rows: 1, cols: data.len(), data: data.to_vec() }
    }

    /// 1 on the diagonal.
    pub fn identity(n: usize) -> Self {
        Self {
            rows: n,
            cols: n,
            data: (0..n * n).map(|i| f32::from(u8::from(i / n == i % n))).collect(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// "3×4".
    pub fn size(&self) -> String {
        format!("{}×{}", self.rows, self.cols)
    }

    /// All numbers, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Row i.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..][..self.cols]
    }

    /// Row i, mutable.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.cols..][..self.cols]
    }

    /// The rows in order.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[f32]> {
        self.data.chunks_exact(self.cols.max(1))
    }

    /// `count` columns of every row, from column `from` on.
    pub fn columns(&self, from: usize, count: usize) -> Self {
        let data = self.iter_rows().flat_map(|row| row[from..from + count].to_vec()).collect();
        Self { rows: self.rows, cols: count, data }
    }

    /// The transpose.
    pub fn transposed(&self) -> Self {
        let at = |i: usize| self.data[i % self.rows * self.cols + i / self.rows];
        Self { rows: self.cols, cols: self.rows, data: (0..self.data.len()).map(at).collect() }
    }

    /// Each number replaced by f(row, column, number): for masking, not for arithmetic.
    pub fn map(&self, f: impl Fn(usize, usize, f32) -> f32) -> Self {
        let at = |(i, x): (usize, &f32)| f(i / self.cols, i % self.cols, *x);
        Self { data: self.data.iter().enumerate().map(at).collect(), ..*self }
    }

    /// self · other.
    #[track_caller]
    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut c = Matrix::filled(self.rows, other.cols, 0.0);
        let (a, b) = (
            Mat::new(&self.data, self.rows, self.cols),
            Mat::new(&other.data, other.rows, other.cols),
        );
        product(MatMut::new(&mut c.data, self.rows, other.cols), a, b, 1.0, Accumulate::Overwrite);
        c
    }

    /// self · otherᵀ.
    #[track_caller]
    pub fn times_transposed(&self, other: &Matrix) -> Matrix {
        let mut c = Matrix::filled(self.rows, other.rows, 0.0);
        let (a, b) = (
            Mat::new(&self.data, self.rows, self.cols),
            Mat::new(&other.data, other.rows, other.cols),
        );
        product(
            MatMut::new(&mut c.data, self.rows, other.rows),
            a,
            b.t(),
            1.0,
            Accumulate::Overwrite,
        );
        c
    }

    /// factor · self.
    pub fn scaled(&self, factor: f32) -> Matrix {
        let mut y = self.clone();
        scale_forward(&mut y.data, &self.data, factor);
        y
    }

    /// self + other.
    #[track_caller]
    pub fn plus(&self, other: &Matrix) -> Matrix {
        let mut y = self.clone();
        add_forward(&mut y.data, &self.data, &other.data);
        y
    }

    /// self + the same row for every row.
    #[track_caller]
    pub fn plus_row(&self, row: &[f32]) -> Matrix {
        let all = Matrix::new(self.rows, self.cols, row.repeat(self.rows));
        self.plus(&all)
    }

    /// Softmax of each row.
    pub fn softmax(&self) -> Matrix {
        let mut y = self.clone();
        if !self.data.is_empty() {
            softmax_forward(&mut y.data, &self.data, self.cols);
        }
        y
    }

    /// φ of each number.
    pub fn activated(&self, phi: Activation) -> Matrix {
        let mut y = self.clone();
        activate(&mut y.data, phi);
        y
    }

    /// The largest difference from another matrix of the same size.
    pub fn distance(&self, other: &Matrix) -> f32 {
        self.data.iter().zip(&other.data).fold(0.0, |worst, (a, b)| worst.max((a - b).abs()))
    }
}

/// Which keys a query may attend to.
#[derive(Clone, Copy)]
pub struct Mask<'a> {
    /// Whether later keys are masked.
    pub causality: Causality,
    /// Which tokens are padding.
    pub padding: Padding<'a>,
}

impl Mask<'_> {
    /// Every query attends to every key.
    pub const FULL: Mask<'static> = Mask { causality: Causality::Full, padding: Padding::None };
    /// A query attends to itself and to earlier keys.
    pub const CAUSAL: Mask<'static> = Mask { causality: Causality::Causal, padding: Padding::None };
}

/// The output of attention, and its weights.
pub struct AttentionOutput {
    /// (t, s) for each head.
    pub weights: Vec<Matrix>,
    /// (t, h·d_v).
    pub z: Matrix,
}

fn view(m: &Matrix, heads: usize, d: usize) -> Heads<'_> {
    Heads::new(&m.data, heads, d)
}

/// Attention with `heads` heads side by side in the columns, by the kernels that training uses.
#[track_caller]
pub fn attend(q: &Matrix, k: &Matrix, v: &Matrix, heads: usize, mask: Mask) -> AttentionOutput {
    let (d_k, d_v) = (q.cols / heads, v.cols / heads);
    let (q_spans, k_spans) = ([Span { start: 0, len: q.rows }], [Span { start: 0, len: k.rows }]);
    let scale = 1.0 / (d_k as f32).sqrt();
    let spec = AttentionSpec {
        padding: mask.padding,
        ..AttentionSpec::new(heads, scale, mask.causality, &q_spans, &k_spans)
    };
    let mut z = Matrix::filled(q.rows, v.cols, 0.0);
    let mut lse = vec![0.0; q.rows * heads];
    let out = HeadsMut::new(&mut z.data, v.cols, 0, d_v);
    attention_forward(
        out,
        &mut lse,
        view(q, heads, d_k),
        view(k, heads, d_k),
        view(v, heads, d_v),
        &spec,
    );
    let weights = (0..heads).map(|head| {
        let mut weights = Matrix::filled(q.rows, k.rows, 0.0);
        attention_weights(
            &mut weights.data,
            view(q, heads, d_k),
            view(k, heads, d_k),
            &spec,
            (0, head, 0..q.rows),
        );
        weights
    });
    AttentionOutput { weights: weights.collect(), z }
}

/// 1 where a query may attend and 0 where it may not, found by asking the kernel: with equal
/// scores, exactly the visible keys have a weight.
pub fn visible(t: usize, s: usize, mask: Mask) -> Matrix {
    let alike = attend(
        &Matrix::filled(t, 1, 0.0),
        &Matrix::filled(s, 1, 0.0),
        &Matrix::filled(s, 1, 0.0),
        1,
        mask,
    );
    alike.weights[0].map(|_, _, w| if w > 0.0 { 1.0 } else { 0.0 })
}

/// The scores, with −∞ where a key is not visible.
pub fn mask_scores(scores: &Matrix, visible: &Matrix) -> Matrix {
    scores.map(|i, j, score| if visible.row(i)[j] == 1.0 { score } else { f32::NEG_INFINITY })
}

/// The output of layer normalization, and its statistics.
pub struct Normalized {
    /// γ·x̂ + β.
    pub y: Matrix,
    /// x, or a + b.
    pub sum: Matrix,
    /// μ of each row.
    pub mean: Vec<f32>,
    /// 1/√(σ² + ε) of each row.
    pub rstd: Vec<f32>,
}

/// Layer norm of x, or of a + b.
#[track_caller]
pub fn layer_norm(
    a: &Matrix,
    b: Option<&Matrix>,
    gamma: &[f32],
    beta: &[f32],
    eps: f32,
) -> Normalized {
    let mut out = Normalized {
        y: a.clone(),
        sum: a.clone(),
        mean: vec![0.0; a.rows],
        rstd: vec![0.0; a.rows],
    };
    let (sum, input) = match b {
        None => (&mut [][..], NormInput::Plain(&a.data)),
        Some(b) => (&mut out.sum.data[..], NormInput::Residual(&a.data, &b.data)),
    };
    layer_norm_forward(&mut out.y.data, sum, &mut out.mean, &mut out.rstd, input, gamma, beta, eps);
    out
}

/// The loss of each row of logits, and its gradient by the logits.
#[track_caller]
pub fn loss(logits: &Matrix, targets: &[u32], smoothing: f32) -> (Vec<f32>, Matrix) {
    let (mut losses, mut gradient) = (vec![0.0; targets.len()], logits.clone());
    cross_entropy(&mut losses, &mut gradient.data, targets, smoothing, 1.0, Gradient::Compute);
    (losses, gradient)
}
