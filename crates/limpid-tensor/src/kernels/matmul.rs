//! Matrix products: c = a·b, or c += a·b.
//!
//! ```text
//! c[i][j] = Σ_k a[i][k] · b[k][j]            a (m,k)   b (k,n)   c (m,n)
//! ```
//!
//! Transposes are strides, not copies: `w.t()` reads the same memory with rows and columns exchanged.
//! The derivative of a product is two more products: dA = dC·Bᵀ and dB = Aᵀ·dC.

use crate::team;

/// Whether a result replaces what was there or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// What was there is not read: it may be anything, NaN included.
    Overwrite,
    /// The result is added to what is there.
    Add,
}

/// A matrix to read: `rows` x `cols`, element (i, j) at `i·row_stride + j·col_stride`.
#[derive(Clone, Copy)]
pub struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Mat<'a> {
    /// Rows that follow each other without a gap.
    #[track_caller]
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Rows that begin `row_stride` elements apart, as the columns of a wider matrix do.
    #[track_caller]
    pub fn with_stride(data: &'a [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check_fits(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// The transpose, without moving anything.
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// A matrix to write: rows of `cols` elements, `row_stride` apart.
pub struct MatMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a> MatMut<'a> {
    /// Rows that follow each other without a gap.
    #[track_caller]
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Rows that begin `row_stride` elements apart.
    #[track_caller]
    pub fn with_stride(data: &'a mut [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check_fits(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride }
    }
}

#[track_caller]
fn check_fits(len: usize, rows: usize, cols: usize, row_stride: usize) {
    let needed = if rows == 0 || cols == 0 { 0 } else { (rows - 1) * row_stride + cols };
    assert!(
        len >= needed && (row_stride >= cols || rows <= 1),
        "matrix ({rows},{cols}) with rows {row_stride} apart needs {needed} elements, the slice has {len}"
    );
}

#[track_caller]
fn check_shapes(c: (usize, usize), a: Mat, b: Mat) {
    assert!(
        a.cols == b.rows && c == (a.rows, b.cols),
        "product: ({},{})·({},{}) does not give ({},{})",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        c.0,
        c.1
    );
}

/// c = alpha·a·b, or c += alpha·a·b, on the calling thread.
#[track_caller]
pub fn product(c: MatMut, a: Mat, b: Mat, alpha: f32, accumulate: Accumulate) {
    check_shapes((c.rows, c.cols), a, b);
    let start = c.data.as_mut_ptr();
    // SAFETY: `check_fits` made sure that every element of the three matrices lies in its slice, and `c` is borrowed
    // mutably, so it overlaps neither `a` nor `b`.
    unsafe { raw(start, c.row_stride, a, b, 0..c.rows, 0..c.cols, alpha, accumulate) }
}

/// The same on the whole team, then `finish(row, first_column, part)` for each finished part of a row of c (bias, activation)
/// while it is in cache: every element of c is in exactly one part.
///
/// How the product is split depends on its shape alone, so the bits do not depend on the number of threads.
#[track_caller]
pub fn product_on_team(
    c: MatMut,
    a: Mat,
    b: Mat,
    accumulate: Accumulate,
    finish: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    check_shapes((c.rows, c.cols), a, b);
    let (m, n, stride) = (c.rows, c.cols, c.row_stride);
    let parts = team::Parts::new(c.data);
    let (row_block, col_block) = if m >= n { (m.div_ceil(8).max(64), n) } else { (m, n.div_ceil(8).max(64)) };
    let (row_blocks, col_blocks) = (m.div_ceil(row_block.max(1)), n.div_ceil(col_block.max(1)));
    team::run(row_blocks * col_blocks, |task| {
        let (i, j) = (task / col_blocks * row_block, task % col_blocks * col_block);
        let (rows, cols) = (i..m.min(i + row_block), j..n.min(j + col_block));
        // SAFETY: the shapes were checked as in `product`; blocks of different tasks do not overlap.
        unsafe { raw(parts.as_mut_ptr(), stride, a, b, rows.clone(), cols.clone(), 1.0, accumulate) };
        for row in rows {
            // SAFETY: this part of this row belongs to this task alone, and `raw` is done with it.
            finish(row, cols.start, unsafe { parts.part(row * stride + cols.start, cols.len()) });
        }
    });
}

/// Block (rows, cols) of c.
///
/// # Safety
/// `c` with its stride, and `a` and `b`, must be valid for the block; nobody else may use that block of c.
#[allow(clippy::too_many_arguments)]
unsafe fn raw(
    c: *mut f32,
    stride: usize,
    a: Mat,
    b: Mat,
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
    alpha: f32,
    accumulate: Accumulate,
) {
    if rows.is_empty() || cols.is_empty() {
        return;
    }
    if a.cols == 0 {
        if accumulate == Accumulate::Overwrite {
            for i in rows {
                // SAFETY: by the caller's promise.
                unsafe { std::slice::from_raw_parts_mut(c.add(i * stride + cols.start), cols.len()) }
                    .fill(0.0);
            }
        }
        return;
    }
    // SAFETY: by the caller's promise; offsets stay inside the slices that `check_fits` has measured.
    unsafe {
        gemm::gemm(
            rows.len(),
            cols.len(),
            a.cols,
            c.add(rows.start * stride + cols.start),
            1,
            stride as isize,
            accumulate == Accumulate::Add,
            a.data.as_ptr().add(rows.start * a.row_stride),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr().add(cols.start * b.col_stride),
            b.col_stride as isize,
            b.row_stride as isize,
            1.0_f32,
            alpha,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn random(rng: &mut Stream, n: usize) -> Vec<f32> {
        (0..n).map(|_| rng.uniform() * 2.0 - 1.0).collect()
    }

    /// The definition, in f64.
    fn naive(
        m: usize,
        k: usize,
        n: usize,
        a: impl Fn(usize, usize) -> f32,
        b: impl Fn(usize, usize) -> f32,
    ) -> Vec<f64> {
        let element = |i, j| (0..k).map(|p| f64::from(a(i, p)) * f64::from(b(p, j))).sum();
        (0..m * n).map(|at| element(at / n, at % n)).collect()
    }

    const SIZES: [usize; 7] = [1, 2, 3, 7, 17, 64, 131];

    #[test]
    fn product_agrees_with_the_definition_for_every_shape_transpose_and_accumulation() {
        let mut rng = Stream::new(1, 1);
        for m in SIZES {
            for k in SIZES {
                for n in SIZES {
                    let (a, b, before) =
                        (random(&mut rng, m * k), random(&mut rng, k * n), random(&mut rng, m * n));
                    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                        let left = if ta { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
                        let right = if tb { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
                        let want = naive(
                            m,
                            k,
                            n,
                            |i, p| if ta { a[p * m + i] } else { a[i * k + p] },
                            |p, j| if tb { b[j * k + p] } else { b[p * n + j] },
                        );
                        for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                            for team in [false, true] {
                                let mut c = match accumulate {
                                    Accumulate::Overwrite => vec![f32::NAN; m * n],
                                    Accumulate::Add => before.clone(),
                                };
                                let out = MatMut::new(&mut c, m, n);
                                if team {
                                    product_on_team(out, left, right, accumulate, |_, _, part| {
                                        part.iter_mut().for_each(|c| *c *= 2.0)
                                    });
                                } else {
                                    product(out, left, right, 2.0, accumulate);
                                }
                                for (at, (c, want)) in c.iter().zip(&want).enumerate() {
                                    let kept = match (accumulate, team) {
                                        (Accumulate::Overwrite, _) => 0.0,
                                        (Accumulate::Add, true) => 2.0 * f64::from(before[at]),
                                        (Accumulate::Add, false) => f64::from(before[at]),
                                    };
                                    let want = kept + 2.0 * want;
                                    let bound = 1e-6 * (k as f64).sqrt() * 4.0 + 1e-6;
                                    assert!(
                                        (f64::from(*c) - want).abs() < bound,
                                        "({m},{k})·({k},{n}) {ta} {tb} {accumulate:?}: {c} is not {want}"
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn columns_of_a_wider_matrix_are_read_and_written_in_place() {
        let a: Vec<f32> = (0..12).map(|x| x as f32).collect();
        let mut c = vec![-1.0; 3 * 5];
        // Columns 1..3 of a (3,4), times the identity, into columns 2..4 of c (3,5).
        product(
            MatMut::with_stride(&mut c[2..], 3, 2, 5),
            Mat::with_stride(&a[1..], 3, 2, 4),
            Mat::new(&[1.0, 0.0, 0.0, 1.0], 2, 2),
            1.0,
            Accumulate::Overwrite,
        );
        assert_eq!(c, [-1., -1., 1., 2., -1., -1., -1., 5., 6., -1., -1., -1., 9., 10., -1.]);
    }

    #[test]
    #[should_panic(expected = "product: (2,3)·(2,3) does not give (2,3)")]
    fn shapes_that_do_not_fit_panic_and_name_both() {
        let a = [0.0; 6];
        product(
            MatMut::new(&mut [0.0; 6], 2, 3),
            Mat::new(&a, 2, 3),
            Mat::new(&a, 2, 3),
            1.0,
            Accumulate::Add,
        );
    }
}
