//! Embedding lookup: row `id` of a table for each token.
//!
//! ```text
//! y[i] = scale · table[ids[i]]          ids (n)   table (v, c)   y (n, c)
//! ```
//!
//! The same two functions gather and scatter rows of any matrix: positions, the CLS rows, the
//! masked positions.

use super::matmul::Accumulate;
use super::quantized::QuantizedMatrix;
use crate::simd::vectorized;
use crate::team::{self, Parts, for_each_chunk};

#[track_caller]
fn check(rows: usize, n: usize, c: usize, ids: &[u32], table_rows: usize) {
    assert_eq!(rows, n * c, "embedding: {n} tokens of width {c} are not {rows} elements");
    let worst = ids.iter().copied().max().unwrap_or(0);
    assert!(
        ids.is_empty() || (worst as usize) < table_rows,
        "embedding: row {worst} of a table with {table_rows} rows"
    );
}

/// `y[i] = scale · table[ids[i]]`.
///
/// # Panics
/// If y is not (n, c), or an id is not below the number of rows.
#[track_caller]
pub fn embedding_forward(y: &mut [f32], table: &[f32], ids: &[u32], c: usize, scale: f32) {
    check(y.len(), ids.len(), c, ids, table.len() / c.max(1));
    vectorized! {
        fn part(y: &mut [f32], table: &[f32], ids: &[u32], c: usize, scale: f32) {
            for (y, id) in y.chunks_exact_mut(c).zip(ids) {
                let row = &table[*id as usize * c..][..c];
                y.iter_mut().zip(row).for_each(|(y, x)| *y = scale * x);
            }
        }
    }
    let rows = team::rows_per_task(c);
    for_each_chunk(y, rows * c, |i, y| part(y, table, &ids[i * rows..][..y.len() / c], c, scale));
}

/// The same from a quantised table.
///
/// # Panics
/// As [`embedding_forward`].
#[track_caller]
pub fn embedding_of_quantized(y: &mut [f32], table: &QuantizedMatrix, ids: &[u32], scale: f32) {
    let (table_rows, c) = table.shape();
    check(y.len(), ids.len(), c, ids, table_rows);
    let rows = team::rows_per_task(c);
    for_each_chunk(y, rows * c, |i, y| {
        for (y, id) in y.chunks_exact_mut(c).zip(&ids[i * rows..]) {
            table.row(*id as usize, y);
            y.iter_mut().for_each(|y| *y *= scale);
        }
    });
}

/// `dtable[ids[i]] += scale · dy[i]`; with [`Accumulate::Overwrite`], dtable is zeroed first.
///
/// A token may occur several times, so rows collide: each task owns some columns of the whole table
/// and processes all tokens in order.
///
/// # Panics
/// As [`embedding_forward`].
#[track_caller]
pub fn embedding_backward(
    dtable: &mut [f32],
    accumulate: Accumulate,
    dy: &[f32],
    ids: &[u32],
    c: usize,
    scale: f32,
) {
    check(dy.len(), ids.len(), c, ids, dtable.len() / c.max(1));
    if accumulate == Accumulate::Overwrite {
        for_each_chunk(dtable, 65_536, |_, part| part.fill(0.0));
    }
    vectorized! {
        fn add_scaled(to: &mut [f32], from: &[f32], scale: f32) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += scale * from);
        }
    }
    const COLUMNS: usize = 64;
    let parts = Parts::new(dtable);
    team::run(c.div_ceil(COLUMNS), |task| {
        let (first, width) = (task * COLUMNS, COLUMNS.min(c - task * COLUMNS));
        for (dy, id) in dy.chunks_exact(c).zip(ids) {
            // Forward: y[i] = scale·table[ids[i]]. So dtable[ids[i]] += scale·dy[i].
            // SAFETY: these columns belong to this task alone, and the previous part is not used
            // any more.
            let to = unsafe { parts.part(*id as usize * c + first, width) };
            add_scaled(to, &dy[first..first + width], scale);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::quantized::Format;

    #[test]
    fn the_lookup_equals_the_product_of_one_hot_rows_with_the_table() {
        let table: Vec<f32> = (0..12).map(|x| x as f32).collect();
        let mut y = [f32::NAN; 6];
        embedding_forward(&mut y, &table, &[3, 0], 3, 2.0);
        assert_eq!(y, [18.0, 20.0, 22.0, 0.0, 2.0, 4.0]);
        // The product with a one-hot vector is this row, at v times the cost.
        for id in 0..4_u32 {
            let one_hot: Vec<f32> = (0..4).map(|i| if i == id { 1.0 } else { 0.0 }).collect();
            let product: Vec<f32> =
                (0..3).map(|j| (0..4).map(|i| one_hot[i] * table[i * 3 + j]).sum()).collect();
            let mut y = [0.0; 3];
            embedding_forward(&mut y, &table, &[id], 3, 1.0);
            assert_eq!(product, y);
        }
    }

    #[test]
    fn rows_of_a_quantised_table_are_its_dequantised_rows() {
        let table: Vec<f32> = (0..20 * 32).map(|x| (x % 31) as f32 - 15.0).collect();
        for format in Format::ALL {
            let quantized = QuantizedMatrix::quantize(format, &table, (20, 32)).unwrap();
            let mut y = [f32::NAN; 3 * 32];
            embedding_of_quantized(&mut y, &quantized, &[19, 0, 17], 2.0);
            for (y, id) in y.chunks_exact(32).zip([19, 0, 17]) {
                // Half a step. int8: four weights in a row, here up to 4·15, count at most 128.
                let step = match format {
                    Format::Int4 => 2.0,
                    Format::Int8 => 0.5 * 60.0 / 128.0 + 0.01,
                    Format::Bf16 => 0.13,
                };
                for (y, x) in y.iter().zip(&table[id * 32..]) {
                    assert!((y - 2.0 * x).abs() <= 2.0 * step, "{format}: {y} for {x}");
                }
            }
        }
    }

    #[test]
    fn the_gradient_of_a_repeated_token_is_the_sum_over_its_positions() {
        for (v, c, ids) in
            [(1, 1, vec![0, 0, 0]), (5, 3, vec![4, 1, 4, 4]), (7, 130, vec![6, 0, 6, 3, 2, 6])]
        {
            let dy: Vec<f32> = (0..ids.len() * c).map(|i| (i % 13) as f32 - 6.0).collect();
            let (mut overwritten, mut added) = (vec![f32::NAN; v * c], vec![1.0; v * c]);
            embedding_backward(&mut overwritten, Accumulate::Overwrite, &dy, &ids, c, 0.5);
            embedding_backward(&mut added, Accumulate::Add, &dy, &ids, c, 0.5);
            for at in 0..v * c {
                let places = ids.iter().enumerate().filter(|(_, id)| **id as usize == at / c);
                let want: f32 = places.map(|(i, _)| 0.5 * dy[i * c + at % c]).sum();
                assert_eq!(overwritten[at], want);
                assert_eq!(added[at], 1.0 + want);
            }
        }
    }

    #[test]
    fn no_tokens_give_no_rows_and_a_zero_gradient() {
        embedding_forward(&mut [], &[1.0; 6], &[], 3, 1.0);
        let mut dtable = [f32::NAN; 6];
        embedding_backward(&mut dtable, Accumulate::Overwrite, &[], &[], 3, 1.0);
        assert_eq!(dtable, [0.0; 6]);
    }

    #[test]
    #[should_panic(expected = "embedding: row 4 of a table with 4 rows")]
    fn a_token_beyond_the_table_panics() {
        embedding_forward(&mut [0.0; 3], &[0.0; 12], &[4], 3, 1.0);
    }
}
