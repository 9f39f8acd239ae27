//! Keys and values of a cache in f32, f16 or int8.
//!
//! A row is what one token has: the keys of g heads, then their values, d elements each.
//!
//! ```text
//! f32    2g·d f32                     as they are
//! f16    2g·d f16                     rounded to the nearest
//! int8   2g f32, then 2g·d i8         x ≈ scale·q with scale = max |x| / 127, for each head
//! ```
//!
//! A row depends on its own token alone: the bits that are read do not depend on when it was
//! written, or with what else. What is not a number stays none.

use super::quantized::half::{f16_to_f32, f32_to_f16};
use crate::simd::vectorized;
use std::fmt;

/// How a cache stores keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KvFormat {
    /// As they are computed.
    #[default]
    F32,
    /// Half the memory.
    F16,
    /// About a quarter of the memory.
    Int8,
}

impl KvFormat {
    /// All formats, the most precise first.
    pub const ALL: [KvFormat; 3] = [KvFormat::F32, KvFormat::F16, KvFormat::Int8];

    /// Its name, as a user types it.
    pub fn name(self) -> &'static str {
        match self {
            KvFormat::F32 => "f32",
            KvFormat::F16 => "f16",
            KvFormat::Int8 => "int8",
        }
    }

    /// Bytes of a row with `heads` (2g) heads of `d` elements.
    pub fn row_bytes(self, heads: usize, d: usize) -> usize {
        match self {
            KvFormat::F32 => 4 * heads * d,
            KvFormat::F16 => 2 * heads * d,
            KvFormat::Int8 => 4 * heads + heads * d,
        }
    }

    /// Writes a row; its heads have `d` elements.
    ///
    /// # Panics
    /// If `row` does not have the bytes of `x`.
    #[track_caller]
    pub fn encode(self, row: &mut [u8], x: &[f32], d: usize) {
        let heads = x.len() / d.max(1);
        let bytes = self.row_bytes(heads, d);
        assert!(row.len() == bytes, "a row of {} bytes for {bytes}", row.len());
        match self {
            KvFormat::F32 => encode_f32(row, x),
            KvFormat::F16 => encode_f16(row, x),
            KvFormat::Int8 => {
                let (scales, bytes) = row.split_at_mut(4 * heads);
                let (scales, _) = scales.as_chunks_mut::<4>();
                for ((scale, to), x) in
                    scales.iter_mut().zip(bytes.chunks_exact_mut(d)).zip(x.chunks_exact(d))
                {
                    *scale = encode_int8(to, x).to_le_bytes();
                }
            }
        }
    }

    /// Reads one of the `heads` (2g) heads of a row.
    ///
    /// # Panics
    /// If the row is too short.
    #[inline(always)]
    pub(crate) fn decode(self, to: &mut [f32], row: &[u8], head: usize, heads: usize) {
        let d = to.len();
        match self {
            KvFormat::F32 => {
                let (from, _) = row[4 * head * d..][..4 * d].as_chunks::<4>();
                to.iter_mut().zip(from).for_each(|(to, x)| *to = f32::from_le_bytes(*x));
            }
            KvFormat::F16 => {
                let (from, _) = row[2 * head * d..][..2 * d].as_chunks::<2>();
                for (to, x) in to.iter_mut().zip(from) {
                    *to = f16_to_f32(u16::from_le_bytes(*x));
                }
            }
            KvFormat::Int8 => {
                let scale = *row[4 * head..].first_chunk::<4>().expect("a scale per head");
                let scale = f32::from_le_bytes(scale);
                let from = &row[4 * heads + head * d..][..d];
                for (to, x) in to.iter_mut().zip(from) {
                    *to = scale * f32::from(*x as i8);
                }
            }
        }
    }
}

impl fmt::Display for KvFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn encode_f32(row: &mut [u8], x: &[f32]) {
    let (to, _) = row.as_chunks_mut::<4>();
    to.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_le_bytes());
}

vectorized! {
    fn encode_f16(row: &mut [u8], x: &[f32]) {
        let (to, _) = row.as_chunks_mut::<2>();
        to.iter_mut().zip(x).for_each(|(to, x)| *to = f32_to_f16(*x).to_le_bytes());
    }
}

/// Magnitudes below this one are 0: their scale would be subnormal.
const SMALLEST: f32 = 1e-30;

vectorized! {
    /// The elements of a head as bytes, and their scale: NaN if one is not finite.
    fn encode_int8(to: &mut [u8], x: &[f32]) -> f32 {
        // Compared as bits, NaN is the largest.
        let largest = x.iter().fold(0, |most: u32, x| most.max(x.to_bits() & 0x7fff_ffff));
        let largest = f32::from_bits(largest);
        if !largest.is_finite() || largest < SMALLEST {
            to.fill(1);
            return if largest.is_finite() { 0.0 } else { f32::NAN };
        }
        let inverse = 127.0 / largest;
        // 1.5·2²³ more leaves the nearest integer, ties to even, in the low bits.
        const MAGIC: f32 = 12_582_912.0;
        for (to, x) in to.iter_mut().zip(x) {
            let bits = (x * inverse + MAGIC).to_bits();
            *to = (bits as i32).wrapping_sub(MAGIC.to_bits() as i32) as u8;
        }
        largest / 127.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn decoded(format: KvFormat, x: &[f32], d: usize) -> Vec<f32> {
        let heads = x.len() / d;
        let mut row = vec![7; format.row_bytes(heads, d)];
        format.encode(&mut row, x, d);
        let mut got = vec![f32::NAN; x.len()];
        for (head, got) in got.chunks_exact_mut(d).enumerate() {
            format.decode(got, &row, head, heads);
        }
        got
    }

    #[test]
    fn every_element_comes_back_within_the_rounding_of_its_format() {
        let mut rng = Stream::new(4, 4);
        for (heads, d) in [(2, 1), (4, 7), (6, 16), (2, 64), (8, 33)] {
            for spread in [1e-3, 1.0, 300.0] {
                let x: Vec<f32> = (0..heads * d).map(|_| spread * rng.normal()).collect();
                assert_eq!(decoded(KvFormat::F32, &x, d), x);
                for (got, x) in decoded(KvFormat::F16, &x, d).iter().zip(&x) {
                    // Half of the last of ten bits; 2⁻²⁵ where numbers are subnormal.
                    assert!((got - x).abs() <= x.abs() / 2048.0 + 3e-8, "{got} for {x}");
                }
                let got = decoded(KvFormat::Int8, &x, d);
                for (got, x) in got.chunks_exact(d).zip(x.chunks_exact(d)) {
                    let largest = x.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    for (got, x) in got.iter().zip(x) {
                        let bound = 0.5 * largest / 127.0 * 1.001;
                        assert!((got - x).abs() <= bound, "{got} for {x}, {bound}");
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_stay_zeros_and_what_is_not_a_number_stays_none() {
        assert_eq!(decoded(KvFormat::Int8, &[0.0, -0.0, 1e-35, 2.0], 2), [0.0, 0.0, 0.0, 2.0]);
        for format in KvFormat::ALL {
            let got = decoded(format, &[f32::NAN, 1.0, 2.0, 3.0], 2);
            assert!(got[0].is_nan() && got[2..] == [2.0, 3.0][..] || format == KvFormat::Int8);
            assert!(got[0].is_nan() && (got[2] - 2.0).abs() < 0.02 && got[3] == 3.0, "{got:?}");
        }
    }

    #[test]
    fn memory_is_half_and_about_a_quarter() {
        assert_eq!(KvFormat::F32.row_bytes(24, 64), 6_144);
        assert_eq!(KvFormat::F16.row_bytes(24, 64), 3_072);
        assert_eq!(KvFormat::Int8.row_bytes(24, 64), 1_536 + 96);
    }
}
