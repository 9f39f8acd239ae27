//! Matrix products: every layout, strides, accumulation, `finish`, few and many rows.

use crate::cases::{Inputs, accumulate, check, inputs, length, near};
use crate::exact::Exact;
use crate::memory::Guarded;
use crate::reference;
use limpid_tensor::kernels::activation::{Activation, activate};
use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product, product_on_team};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// A product over k is within this many ULPs of Σ|a·b| (plus |c| before, plus |bias|).
///
/// The worst case of a chain of k additions is k/2 ULPs, reached if every rounding error has the
/// same sign. Errors of random numbers partly cancel: with operands of one sign, the hard case, the
/// error of the chain has a standard deviation of about √k/4, and √k is four of them. The chains
/// end with their block of at most 384 k's.
fn ulps(k: usize) -> f64 {
    2.0 + (k.min(384) as f64).sqrt()
}

/// How an operand is stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Plain,
    Transposed,
}

/// How the product is called.
#[derive(Clone, Copy, Debug)]
enum How {
    /// On the calling thread, times alpha.
    Alone { alpha: f32 },
    /// On the team, with a bias and an activation in `finish`.
    Team(Activation),
}

#[derive(Clone, Copy, Debug)]
struct Case {
    m: usize,
    k: usize,
    n: usize,
    a: Stored,
    b: Stored,
    /// Elements between the rows of a, b and c that belong to no matrix.
    gaps: (usize, usize, usize),
    accumulate: Accumulate,
    how: How,
    inputs: Inputs,
}

fn cases() -> impl Strategy<Value = Case> {
    let stored = || prop_oneof![Just(Stored::Plain), Just(Stored::Transposed)];
    let how = prop_oneof![
        prop_oneof![Just(1.0_f32), Just(-0.3)].prop_map(|alpha| How::Alone { alpha }),
        prop_oneof![Just(Activation::None), Just(Activation::Relu), Just(Activation::GeluTanh)]
            .prop_map(How::Team),
    ];
    let shape = (length(150), length(900), length(400));
    let rest = (accumulate(), how, inputs());
    (shape, stored(), stored(), (0..4_usize, 0..4_usize, 0..4_usize), rest).prop_map(
        |((m, k, n), a, b, gaps, (accumulate, how, inputs))| Case {
            m,
            k,
            n,
            a,
            b,
            gaps,
            accumulate,
            how,
            inputs,
        },
    )
}

/// A matrix whose last element is the last of its memory; NaN between its rows, which must not be
/// read.
struct Matrix {
    memory: Guarded,
    rows: usize,
    cols: usize,
    stride: usize,
    stored: Stored,
}

impl Matrix {
    fn random(
        inputs: &Inputs,
        which: u64,
        (rows, cols): (usize, usize),
        gap: usize,
        stored: Stored,
    ) -> Self {
        let (rows, cols) = match stored {
            Stored::Plain => (rows, cols),
            Stored::Transposed => (cols, rows),
        };
        let stride = cols + gap;
        let mut memory = inputs.guarded(which, (rows - 1) * stride + cols);
        memory
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| at % stride >= cols)
            .for_each(|(_, x)| *x = f32::NAN);
        Self { memory, rows, cols, stride, stored }
    }

    fn mat(&self) -> Mat<'_> {
        let mat = Mat::with_stride(&self.memory, self.rows, self.cols, self.stride);
        match self.stored {
            Stored::Plain => mat,
            Stored::Transposed => mat.t(),
        }
    }

    fn at(&self, i: usize, j: usize) -> Exact {
        match self.stored {
            Stored::Plain => self.memory[i * self.stride + j].into(),
            Stored::Transposed => self.memory[j * self.stride + i].into(),
        }
    }
}

fn property(case: Case) -> TestCaseResult {
    let Case { m, k, n, inputs, .. } = case;
    let a = Matrix::random(&inputs, 1, (m, k), case.gaps.0, case.a);
    let b = Matrix::random(&inputs, 2, (k, n), case.gaps.1, case.b);
    let bias = inputs.guarded(3, n);
    let stride = n + case.gaps.2;
    let before = inputs.plain(4, (m - 1) * stride + n);
    let mut c = match case.accumulate {
        Accumulate::Add => Guarded::new(inputs.edge, &before),
        // The old content is not read; between the rows it must stay.
        Accumulate::Overwrite => {
            let nan = |(at, x): (usize, &f32)| if at % stride < n { f32::NAN } else { *x };
            Guarded::new(inputs.edge, &before.iter().enumerate().map(nan).collect::<Vec<_>>())
        }
    };
    let (out, bias) = (MatMut::with_stride(&mut c, m, n, stride), &bias[..]);
    match case.how {
        How::Alone { alpha } => product(out, a.mat(), b.mat(), alpha, case.accumulate),
        How::Team(phi) => {
            product_on_team(out, a.mat(), b.mat(), case.accumulate, |_, first, part| {
                part.iter_mut().zip(&bias[first..]).for_each(|(c, bias)| *c += bias);
                activate(part, phi);
            })
        }
    }
    for (at, (got, before)) in c.iter().zip(&before).enumerate() {
        let (i, j) = (at / stride, at % stride);
        if j >= n {
            prop_assert!(got.to_bits() == before.to_bits(), "wrote between the rows, at ({i},{j})");
            continue;
        }
        let sum: Exact = (0..k).map(|p| a.at(i, p) * b.at(p, j)).sum();
        let kept = match case.accumulate {
            Accumulate::Add => Exact::from(*before),
            Accumulate::Overwrite => 0.0_f64.into(),
        };
        let want = match case.how {
            How::Alone { alpha } => kept + sum * alpha.into(),
            How::Team(phi) => reference::activation(phi, kept + sum + bias[j].into()).0,
        };
        near("c", at, *got, want, ulps(k))?;
    }
    Ok(())
}

#[test]
fn a_product_is_the_sum_of_its_products_in_every_layout() {
    check(160, cases(), property);
}

/// One to four rows take a path of their own, in strips of 512 columns.
#[test]
fn a_product_with_few_rows_is_the_sum_of_its_products_in_every_layout() {
    let few = (1..=4_usize, 1..60_usize, prop_oneof![1..80_usize, 500..530_usize], cases());
    check(160, few, |(m, k, n, case)| property(Case { m, k, n, ..case }));
}
