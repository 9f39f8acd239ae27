//! Scores of one query, as in decoding, without a transpose in memory.
//!
//! ```text
//! score[j] = Σ_p q[p] · (scale·k[j][p])          one chain of multiply-adds over p for each key j
//! ```
//!
//! These are the bits of the product with the scaled, transposed keys that a block of queries uses.
//! Sixteen keys are transposed in registers, four columns at a time, and multiplied at once.

use super::scratch::transposed;
use super::tile;
use super::views::Rows;
use crate::simd::LANES;
#[cfg(target_arch = "x86_64")]
use crate::simd::{self, Level};

/// Number of keys that one query is multiplied with at a time where keys are transposed in memory:
/// 64 x 64 elements of a head of width 64 stay in the L1 cache.
const STRIP: usize = 4 * LANES;

/// Keys that are multiplied together in registers.
#[cfg(target_arch = "x86_64")]
const KEYS: usize = 16;

/// Elements of scratch that [`scores`] needs for keys of width d, besides those of the scores.
pub(super) fn scratch_len(d: usize) -> usize {
    d * STRIP
}

/// Number of elements that [`scores`] writes for `count` keys, more than there are.
pub(super) fn scores_len(count: usize) -> usize {
    count.next_multiple_of(STRIP)
}

/// Scores of the first `count` keys.
pub(super) fn scores(
    scores: &mut [f32],
    q: &[f32],
    k: Rows,
    count: usize,
    scale: f32,
    scratch: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if simd::level() >= Level::Avx2 {
        for (first, scores) in (0..count).step_by(KEYS).zip(scores.chunks_exact_mut(KEYS)) {
            // A last group that is not whole repeats its last key, in places that are never read.
            let rows = std::array::from_fn(|j| k.row((first + j).min(count - 1)));
            let scores = scores.first_chunk_mut().expect("a whole group");
            // SAFETY: this CPU has AVX2 and FMA.
            unsafe { sixteen_scores(scores, q, &rows, scale) };
        }
        return;
    }
    for at in (0..count).step_by(STRIP) {
        let keys = STRIP.min(count - at);
        let k_t = transposed(k.from(at), keys, scale, STRIP, scratch);
        tile::row_product(&mut scores[at..at + STRIP], q, k_t, keys);
    }
}

/// The scores of sixteen keys: two registers of sums, whose chains hide each other's latency.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn sixteen_scores(scores: &mut [f32; KEYS], q: &[f32], rows: &[&[f32]; KEYS], scale: f32) {
    use std::arch::x86_64::*;
    let d = q.len();
    assert!(rows.iter().all(|row| row.len() >= d), "keys are as wide as the query");
    let factor = _mm256_set1_ps(scale);
    let mut sums = [_mm256_setzero_ps(); 2];
    let fours = d / 4 * 4;
    for p in (0..fours).step_by(4) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // Four columns of rows i and i + 4, in the two halves of a register.
            let r: [__m256; 4] = std::array::from_fn(|i| {
                // SAFETY: every row has at least d ≥ p + 4 elements.
                let [low, high] = [8 * half + i, 8 * half + i + 4]
                    .map(|i| unsafe { _mm_loadu_ps(rows[i].as_ptr().add(p)) });
                _mm256_mul_ps(factor, _mm256_set_m128(high, low))
            });
            let pairs = [
                _mm256_unpacklo_ps(r[0], r[1]),
                _mm256_unpackhi_ps(r[0], r[1]),
                _mm256_unpacklo_ps(r[2], r[3]),
                _mm256_unpackhi_ps(r[2], r[3]),
            ];
            let columns = [
                _mm256_shuffle_ps::<0x44>(pairs[0], pairs[2]),
                _mm256_shuffle_ps::<0xee>(pairs[0], pairs[2]),
                _mm256_shuffle_ps::<0x44>(pairs[1], pairs[3]),
                _mm256_shuffle_ps::<0xee>(pairs[1], pairs[3]),
            ];
            for (column, x) in columns.into_iter().zip(&q[p..p + 4]) {
                *sum = _mm256_fmadd_ps(_mm256_set1_ps(*x), column, *sum);
            }
        }
    }
    for (to, sum) in scores.as_chunks_mut::<8>().0.iter_mut().zip(sums) {
        // SAFETY: `to` is eight f32.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sum) };
    }
    for p in fours..d {
        for (score, row) in scores.iter_mut().zip(rows) {
            *score = q[p].mul_add(scale * row[p], *score);
        }
    }
}

/// Asks for the rows of one head in the caches, as far as there are a few: they lie apart, so the
/// CPU does not foresee them.
pub(super) fn prefetch(rows: Rows) {
    #[cfg(target_arch = "x86_64")]
    if let Some(numbers) = rows.numbers {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const MOST: usize = 48;
        for number in numbers.iter().take(MOST) {
            let row = rows.data.as_ptr().wrapping_add(*number as usize * rows.stride);
            for line in (0..rows.width).step_by(LANES) {
                // SAFETY: a prefetch of any address is allowed.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(line).cast()) };
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rows;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn scores_have_the_bits_of_the_product_with_transposed_keys() {
        let mut rng = Stream::new(8, 3);
        for d in [1, 3, 4, 7, 8, 18, 32, 64, 80] {
            for count in [1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 130] {
                let mut random = |n: usize| (0..n).map(|_| rng.normal()).collect::<Vec<f32>>();
                let (stride, scale) = (d + 5, 0.37);
                let (q, data) = (random(d), random(count * stride));
                let numbers: Vec<u32> = (0..count as u32).rev().collect();
                for numbers in [None, Some(&numbers[..])] {
                    let k = Rows { data: &data, stride, width: d, numbers };
                    let mut scratch = vec![f32::NAN; scratch_len(d)];
                    let mut got = vec![f32::NAN; scores_len(count)];
                    prefetch(k);
                    scores(&mut got, &q, k, count, scale, &mut scratch);
                    let width = count.next_multiple_of(LANES);
                    let mut k_t = vec![0.0; d * width];
                    let mut want = vec![f32::NAN; width];
                    let k_t = transposed(k, count, scale, width, &mut k_t);
                    tile::row_product(&mut want, &q, k_t, count);
                    assert_eq!(got[..count], want[..count], "{count} keys of width {d}");
                }
            }
        }
    }
}
