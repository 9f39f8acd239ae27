//! Sinusoidal position encodings: one frequency per pair of columns.
//!
//! ```text
//! angle(p, i) = p / 10000^(2i/c)          i counts pairs of columns, 0 ≤ i < c/2
//! interleaved:  PE(p, 2i) = sin angle,  PE(p, 2i+1) = cos angle          (as the paper writes it)
//! split:        PE(p, i)  = sin angle,  PE(p, ⌈c/2⌉+i) = cos angle       (as Marian stores it)
//! tensor2tensor: split, with angle(p, i) = p / 10000^(i/(⌊c/2⌋−1))       (as M2M100 computes it)
//! ```
//!
//! The dot product PE(p)·PE(p+k) = Σ_i cos(k / 10000^(2i/c)) depends on the distance k alone, so
//! attention scores can express distance; one-hot positions cannot.

/// The order of sines and cosines in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinusoidLayout {
    /// sin, cos, sin, cos, …
    Interleaved,
    /// All sines, then all cosines.
    Split,
    /// The same, with wavelengths up to exactly 10000·2π, as in tensor2tensor; the last of an odd
    /// number of columns is 0.
    Tensor2Tensor,
}

/// Writes the encoding of position `position` to `row` (c).
pub fn sinusoid(row: &mut [f32], position: usize, layout: SinusoidLayout) {
    let c = row.len();
    for (j, out) in row.iter_mut().enumerate() {
        let (pair, is_sine) = match layout {
            SinusoidLayout::Interleaved => (j / 2, j % 2 == 0),
            SinusoidLayout::Split => (j % c.div_ceil(2), j < c.div_ceil(2)),
            SinusoidLayout::Tensor2Tensor if j == c / 2 * 2 => {
                *out = 0.0;
                continue;
            }
            SinusoidLayout::Tensor2Tensor => (j % (c / 2), j < c / 2),
        };
        let exponent = match layout {
            SinusoidLayout::Tensor2Tensor => pair as f64 / (c / 2).saturating_sub(1).max(1) as f64,
            _ => 2.0 * pair as f64 / c as f64,
        };
        let angle = position as f64 / 10_000_f64.powf(exponent);
        *out = if is_sine { angle.sin() } else { angle.cos() } as f32;
    }
}

/// Writes positions 0..n to `table` (n, c).
pub fn sinusoid_table(table: &mut [f32], c: usize, layout: SinusoidLayout) {
    table
        .chunks_exact_mut(c)
        .enumerate()
        .for_each(|(position, row)| sinusoid(row, position, layout));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: &[f32], want: &[f32]) {
        assert!(
            got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-6) && got.len() == want.len(),
            "{got:?} {want:?}"
        );
    }

    #[test]
    fn the_worked_example_of_width_four() {
        let mut table = [0.0; 12];
        sinusoid_table(&mut table, 4, SinusoidLayout::Interleaved);
        near(&table[..4], &[0.0, 1.0, 0.0, 1.0]);
        near(&table[4..8], &[0.841_471, 0.540_302, 0.01, 0.999_95]);
        near(&table[8..], &[0.909_297, -0.416_147, 0.019_999, 0.999_8]);
    }

    #[test]
    fn embedding_plus_position_of_the_worked_example() {
        for (embedding, position, want) in [
            ([0.1, 0.2, 0.3, 0.4], 0, [0.1, 1.2, 0.3, 1.4]),
            ([0.5, 0.6, 0.7, 0.8], 1, [1.341_471, 1.140_302, 0.71, 1.799_95]),
        ] {
            let mut row = [0.0; 4];
            sinusoid(&mut row, position, SinusoidLayout::Interleaved);
            let sum: Vec<f32> = row.iter().zip(embedding).map(|(p, e)| p + e).collect();
            near(&sum, &want);
        }
    }

    #[test]
    fn the_product_of_two_positions_depends_on_their_distance_alone() {
        let row = |p| {
            let mut row = [0.0; 4];
            sinusoid(&mut row, p, SinusoidLayout::Interleaved);
            row
        };
        let dot = |a: [f32; 4], b: [f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        for (k, want) in [(0, 2.0), (1, 1.540_252), (2, 0.583_653), (3, 0.009_558)] {
            for p in [0, 1, 7, 100] {
                assert!((dot(row(p), row(p + k)) - want).abs() < 1e-5, "p = {p}, k = {k}");
            }
        }
    }

    #[test]
    fn the_split_layout_is_the_interleaved_one_with_its_columns_sorted() {
        let (mut split, mut interleaved) = ([0.0; 6], [0.0; 6]);
        sinusoid(&mut split, 5, SinusoidLayout::Split);
        sinusoid(&mut interleaved, 5, SinusoidLayout::Interleaved);
        assert_eq!(split[..3], [interleaved[0], interleaved[2], interleaved[4]]);
        assert_eq!(split[3..], [interleaved[1], interleaved[3], interleaved[5]]);
    }
}
