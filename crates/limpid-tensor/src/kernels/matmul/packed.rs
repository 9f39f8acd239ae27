//! A right operand that is packed once for many products: the recurrent weights, which are
//! multiplied with the states of every time step.
//!
//! A recurrent layer multiplies some dozen rows by the same matrix at each step. Packing it each
//! time would take about a third of the time of the product itself; here it is packed once. The
//! order of additions, and so the bits, are those of [`super::product_on_team`].

use super::block::{CHUNK, Packed, Product, depth_block};
use super::{Accumulate, Mat, MatMut, check_shapes, micro, pack};
use crate::simd::level;
use crate::team::{self, Parts};

/// The panels of a right operand (k, n).
#[derive(Clone, Copy)]
pub struct PackedOperand<'a> {
    panels: &'a [f32],
    k: usize,
    n: usize,
}

impl<'a> PackedOperand<'a> {
    /// Number of elements of the panels of a matrix (k, n).
    pub fn packed_len(k: usize, n: usize) -> usize {
        k * n.next_multiple_of(micro::size(level()).cols)
    }

    /// Packs b into `buffer`, on the team.
    ///
    /// # Panics
    /// If `buffer` does not have [`PackedOperand::packed_len`] elements.
    #[track_caller]
    pub fn new(buffer: &'a mut [f32], b: Mat) -> Self {
        let (k, n, level) = (b.rows, b.cols, level());
        assert_eq!(
            buffer.len(),
            Self::packed_len(k, n),
            "packing: buffer length for the panels of ({k},{n})"
        );
        let width = micro::size(level).cols;
        let (panels, depth_block) = (n.div_ceil(width), depth_block(k));
        let parts = Parts::new(buffer);
        team::run(panels * k.div_ceil(depth_block.max(1)), |task| {
            let first = task / panels * depth_block;
            let depth = first..k.min(first + depth_block);
            let col = task % panels * width;
            let offset = first * panels * width + col * depth.len();
            // SAFETY: every task has its own panel: `panels · width` columns for each k before,
            // then the panels to its left.
            let to = unsafe { parts.part(offset, depth.len() * width) };
            // SAFETY: `to` has room for depth · width elements, and the ranges lie in b.
            unsafe {
                pack::panel(level, to.as_mut_ptr(), b, depth, col..n.min(col + width), width)
            };
        });
        Self { panels: buffer, k, n }
    }
}

impl<'a> PackedOperand<'a> {
    /// A matrix (k, n) whose panels [`PackedOperand::new`] wrote into `panels`.
    ///
    /// # Panics
    /// If there are not [`PackedOperand::packed_len`] elements.
    #[track_caller]
    pub fn of_panels(panels: &'a [f32], k: usize, n: usize) -> Self {
        assert_eq!(panels.len(), Self::packed_len(k, n), "length of the panels of ({k},{n})");
        Self { panels, k, n }
    }
}

impl PackedOperand<'_> {
    /// c = a·b, or c += a·b, on the team; `finish` as for [`super::product_on_team`].
    ///
    /// # Panics
    /// If the shapes do not fit, naming all three.
    #[track_caller]
    pub fn product_on_team(
        &self,
        c: MatMut,
        a: Mat,
        accumulate: Accumulate,
        finish: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        let (m, n, k) = (a.rows, self.n, self.k);
        // Only the shape of b is used: its elements are read from the panels.
        let b = Mat { data: &[], rows: k, cols: n, row_stride: n, col_stride: 1 };
        check_shapes((c.rows, c.cols), a, b);
        if m == 0 || n == 0 {
            return;
        }
        let size = micro::size(level());
        let product = Product::new(level(), c, a, b, 1.0, accumulate, Some(&finish));
        // Read only from here on; the pointer is mutable because packing uses the same type.
        let start = self.panels.as_ptr().cast_mut();
        let shared =
            Packed { start, first_k: 0, first_col: 0, width: n.next_multiple_of(size.cols) };
        // By the shape alone: a dozen tasks of all rows, or as many for each hundred rows.
        let whole = m * n * k / 45 < 20_000;
        let rows = if whole { m } else { m.div_ceil(m.div_ceil(8 * size.rows)) };
        let cols = if whole {
            n
        } else {
            (n / 12).next_multiple_of(size.cols).clamp(2 * size.cols, CHUNK)
        };
        let row_blocks = m.div_ceil(rows);
        team::run(row_blocks * n.div_ceil(cols), |task| {
            let (i, j) = (task % row_blocks * rows, task / row_blocks * cols);
            // SAFETY: `check_shapes` and the matrices' own checks keep every element inside its
            // slice; `c` is borrowed mutably and blocks of different tasks do not overlap; all
            // panels were packed for this shape and this CPU.
            unsafe { product.compute(i..m.min(i + rows), j..n.min(j + cols), 0..k, Some(&shared)) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::product_on_team;
    use super::*;
    use crate::rng::Stream;

    fn random(len: usize, stream: u64) -> Vec<f32> {
        let mut rng = Stream::new(5, stream);
        (0..len).map(|_| rng.uniform() - 0.5).collect()
    }

    #[test]
    fn a_packed_operand_gives_the_bits_of_the_plain_product_transposed_or_not_for_every_shape() {
        for (m, k, n) in
            [(1, 1, 1), (1, 5, 7), (3, 33, 65), (64, 100, 200), (13, 400, 33), (130, 770, 97)]
        {
            let (a, b) = (random(m * k, 1), random(k * n, 2));
            for transposed in [false, true] {
                let right = if transposed { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
                for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                    let (mut want, mut got) = (vec![0.25; m * n], vec![0.25; m * n]);
                    let finish = |_: usize, first: usize, part: &mut [f32]| {
                        part.iter_mut().enumerate().for_each(|(j, c)| *c += (first + j) as f32)
                    };
                    product_on_team(
                        MatMut::new(&mut want, m, n),
                        Mat::new(&a, m, k),
                        right,
                        accumulate,
                        finish,
                    );
                    let mut buffer = vec![f32::NAN; PackedOperand::packed_len(k, n)];
                    let packed = PackedOperand::new(&mut buffer, right);
                    packed.product_on_team(
                        MatMut::new(&mut got, m, n),
                        Mat::new(&a, m, k),
                        accumulate,
                        finish,
                    );
                    assert_eq!(got, want, "({m},{k})·({k},{n})");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "product: (2,3)·(4,5) does not give (2,5)")]
    fn shapes_that_do_not_fit_panic_and_name_all_three() {
        let mut buffer = vec![0.0; PackedOperand::packed_len(4, 5)];
        let right = PackedOperand::new(&mut buffer, Mat::new(&[0.0; 20], 4, 5));
        right.product_on_team(
            MatMut::new(&mut [0.0; 10], 2, 5),
            Mat::new(&[0.0; 6], 2, 3),
            Accumulate::Overwrite,
            |_, _, _| {},
        );
    }
}
