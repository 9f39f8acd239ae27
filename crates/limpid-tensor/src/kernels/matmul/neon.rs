//! Eight f32 in two NEON registers, which every aarch64 CPU has.
//!
//! A pair, because a tile of 6 rows of 16 columns, of 24 registers of sums, is then written as it
//! is for AVX2; and both registers of a pair are loaded by one instruction.

use super::vector::Vector;
use std::arch::aarch64::*;

/// Eight elements: NEON.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Neon(float32x4_t, float32x4_t);

impl Vector for Neon {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: every aarch64 CPU has the instruction.
        unsafe { Self(vdupq_n_f32(x), vdupq_n_f32(x)) }
    }
    #[inline(always)]
    unsafe fn load(at: *const f32) -> Self {
        // SAFETY: eight elements are valid at `at` by the caller's promise.
        unsafe { Self(vld1q_f32(at), vld1q_f32(at.add(4))) }
    }
    #[inline(always)]
    unsafe fn load_bf16(at: *const u16) -> Self {
        // SAFETY: as in `load`.
        unsafe {
            let halves = vld1q_u16(at);
            let low = vshll_n_u16::<16>(vget_low_u16(halves));
            let high = vshll_n_u16::<16>(vget_high_u16(halves));
            Self(vreinterpretq_f32_u32(low), vreinterpretq_f32_u32(high))
        }
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut f32) {
        // SAFETY: as in `load`.
        unsafe {
            vst1q_f32(at, self.0);
            vst1q_f32(at.add(4), self.1);
        }
    }
    #[inline(always)]
    unsafe fn load_first(at: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 8];
        // SAFETY: n elements are valid at `at` by the caller's promise, and `lanes` has eight.
        unsafe {
            std::ptr::copy_nonoverlapping(at, lanes.as_mut_ptr(), n);
            Self::load(lanes.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn store_first(self, at: *mut f32, n: usize) {
        let mut lanes = [0.0; 8];
        // SAFETY: as in `load_first`.
        unsafe {
            self.store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), at, n);
        }
    }
    #[inline(always)]
    unsafe fn plus_product(self, a: Self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        unsafe { Self(vfmaq_f32(self.0, a.0, b.0), vfmaq_f32(self.1, a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn plus(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        unsafe { Self(vaddq_f32(self.0, b.0), vaddq_f32(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn times(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        unsafe { Self(vmulq_f32(self.0, b.0), vmulq_f32(self.1, b.1)) }
    }
}

/// Transposes eight rows of eight elements: lane j of result p is element p of row j.
///
/// # Safety
/// Row j is 8 valid elements at `from + j·stride`.
#[inline(always)]
pub(super) unsafe fn transpose_8x8(from: *const f32, stride: usize) -> [Neon; 8] {
    // SAFETY: by the caller's promise.
    unsafe {
        let square = |from: *const f32| {
            transpose_4x4([from, from.add(stride), from.add(2 * stride), from.add(3 * stride)])
        };
        let [a, b, c, d] = square(from); // columns 0..4 of rows 0..4
        let [e, f, g, h] = square(from.add(4 * stride));
        let [i, j, k, l] = square(from.add(4));
        let [m, n, o, p] = square(from.add(4 * stride + 4));
        [(a, e), (b, f), (c, g), (d, h), (i, m), (j, n), (k, o), (l, p)]
            .map(|(low, high)| Neon(low, high))
    }
}

/// Transposes four rows of four elements.
///
/// # Safety
/// Each row is 4 valid elements.
#[inline(always)]
pub(in crate::kernels) unsafe fn transpose_4x4(rows: [*const f32; 4]) -> [float32x4_t; 4] {
    // SAFETY: by the caller's promise.
    unsafe {
        let [row0, row1, row2, row3] = rows.map(|row| vld1q_f32(row));
        let wide = |pair: float32x4_t| vreinterpretq_f64_f32(pair);
        let (even01, odd01) = (wide(vtrn1q_f32(row0, row1)), wide(vtrn2q_f32(row0, row1)));
        let (even23, odd23) = (wide(vtrn1q_f32(row2, row3)), wide(vtrn2q_f32(row2, row3)));
        [
            vreinterpretq_f32_f64(vtrn1q_f64(even01, even23)), // k 0 of rows 0 to 3
            vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23)),
            vreinterpretq_f32_f64(vtrn2q_f64(even01, even23)),
            vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23)),
        ]
    }
}
