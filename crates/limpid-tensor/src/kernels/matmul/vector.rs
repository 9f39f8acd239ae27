//! One SIMD register of f32 per instruction set: the abstraction that micro-kernels are written in.
//!
//! The methods are `inline(always)`, for use in functions compiled for that instruction set, where
//! each of them is one instruction.

#[cfg(target_arch = "aarch64")]
pub(super) use super::neon::transpose_8x8;
#[cfg(target_arch = "aarch64")]
pub(in crate::kernels) use super::neon::{Neon, transpose_4x4};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Eight elements, for what is written for exactly as many.
#[cfg(target_arch = "x86_64")]
pub(super) type Eight = Avx2;
#[cfg(target_arch = "aarch64")]
pub(super) type Eight = Neon;

/// Asks for the cache line at an address, which need not exist, in the L2 cache.
#[inline(always)]
pub(super) fn prefetch(at: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, for any address; the instruction is part of every x86-64.
    unsafe {
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, for any address; it changes neither registers nor memory.
    unsafe {
        std::arch::asm!(
            "prfm pldl2keep, [{0}]",
            in(reg) at,
            options(readonly, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// A register of [`Vector::LANES`] elements.
///
/// # Safety
/// Every method needs a CPU with the instruction set of the type; `load` and `store` also need
/// `LANES` valid elements at `at`, which may have any alignment a f32 may have.
pub(in crate::kernels) trait Vector: Copy {
    /// Number of elements.
    const LANES: usize;

    /// Broadcasts x to all lanes.
    unsafe fn splat(x: f32) -> Self;
    /// Reads `LANES` elements.
    unsafe fn load(at: *const f32) -> Self;
    /// Reads `LANES` bf16, which are the upper halves of f32.
    unsafe fn load_bf16(at: *const u16) -> Self;
    /// Writes all lanes.
    unsafe fn store(self, at: *mut f32);
    /// Reads the first `n ≤ LANES` elements, and zeros for the rest: memory beyond is not touched.
    unsafe fn load_first(at: *const f32, n: usize) -> Self;
    /// Writes the first `n ≤ LANES` lanes: memory beyond is not touched.
    unsafe fn store_first(self, at: *mut f32, n: usize);
    /// self + a·b, fused (rounded once) where the instruction set has it, rounded twice in
    /// [`Portable`].
    unsafe fn plus_product(self, a: Self, b: Self) -> Self;
    /// self + b.
    unsafe fn plus(self, b: Self) -> Self;
    /// self · b.
    unsafe fn times(self, b: Self) -> Self;
}

/// Four elements in portable Rust, for every CPU.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Portable([f32; 4]);

impl Vector for Portable {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    unsafe fn load(at: *const f32) -> Self {
        // SAFETY: four elements are valid at `at` by the caller's promise.
        Self(unsafe { at.cast::<[f32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_bf16(at: *const u16) -> Self {
        // SAFETY: as in `load`.
        let halves = unsafe { at.cast::<[u16; 4]>().read_unaligned() };
        Self(halves.map(|half| f32::from_bits(u32::from(half) << 16)))
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut f32) {
        // SAFETY: as in `load`.
        unsafe { at.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn load_first(at: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 4];
        // SAFETY: n elements are valid at `at` by the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(at, lanes.as_mut_ptr(), n) };
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn store_first(self, at: *mut f32, n: usize) {
        // SAFETY: as in `load_first`.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), at, n) };
    }
    #[inline(always)]
    unsafe fn plus_product(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] + a.0[l] * b.0[l]))
    }
    #[inline(always)]
    unsafe fn plus(self, b: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] + b.0[l]))
    }
    #[inline(always)]
    unsafe fn times(self, b: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] * b.0[l]))
    }
}

/// A [`Vector`] whose methods are one intrinsic each.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_vector {
    ($(#[$doc:meta])* $name:ident($register:ty), $lanes:literal lanes, first: $first:ident,
     $load_first:ident $store_first:ident $splat:ident $load:ident $store:ident $fma:ident
     $add:ident $mul:ident, bf16: $bf16:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(in crate::kernels) struct $name($register);

        impl Vector for $name {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                // SAFETY: the caller promises the instruction set.
                Self(unsafe { $splat(x) })
            }
            #[inline(always)]
            unsafe fn load(at: *const f32) -> Self {
                // SAFETY: the caller promises the instruction set and the elements.
                Self(unsafe { $load(at) })
            }
            #[inline(always)]
            unsafe fn load_bf16(at: *const u16) -> Self {
                // SAFETY: as in `load`.
                Self(unsafe { $bf16(at) })
            }
            #[inline(always)]
            unsafe fn store(self, at: *mut f32) {
                // SAFETY: as in `load`.
                unsafe { $store(at, self.0) }
            }
            #[inline(always)]
            unsafe fn load_first(at: *const f32, n: usize) -> Self {
                // SAFETY: the caller promises the instruction set and n elements; the other lanes
                // are masked.
                Self(unsafe { $load_first($first(n), at) })
            }
            #[inline(always)]
            unsafe fn store_first(self, at: *mut f32, n: usize) {
                // SAFETY: as in `load_first`.
                unsafe { $store_first(at, $first(n), self.0) }
            }
            #[inline(always)]
            unsafe fn plus_product(self, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fma(a.0, b.0, self.0) })
            }
            #[inline(always)]
            unsafe fn plus(self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $add(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn times(self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $mul(self.0, b.0) })
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86_vector! {
    /// Eight elements: AVX2 with FMA.
    Avx2(__m256), 8 lanes, first: first_of_8, load_first_avx2 _mm256_maskstore_ps
    _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps,
    bf16: load_bf16_avx2
}

#[cfg(target_arch = "x86_64")]
x86_vector! {
    /// Sixteen elements: AVX-512.
    Avx512(__m512), 16 lanes, first: first_of_16, _mm512_maskz_loadu_ps _mm512_mask_storeu_ps
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_add_ps _mm512_mul_ps,
    bf16: load_bf16_avx512
}

/// A mask of the first n of 8 lanes.
///
/// # Safety
/// The CPU must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn first_of_8(n: usize) -> __m256i {
    // SAFETY: by the caller's promise.
    unsafe {
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
    }
}

/// A mask of the first n of 16 lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn first_of_16(n: usize) -> __mmask16 {
    ((1_u32 << n) - 1) as __mmask16
}

/// The mask first, as AVX-512 has it.
///
/// # Safety
/// The CPU must have AVX2; the elements that the mask selects must be valid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load_first_avx2(mask: __m256i, at: *const f32) -> __m256 {
    // SAFETY: by the caller's promise.
    unsafe { _mm256_maskload_ps(at, mask) }
}

/// Eight bf16 as f32.
///
/// # Safety
/// The CPU must have AVX2; eight elements must be valid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load_bf16_avx2(at: *const u16) -> __m256 {
    // SAFETY: by the caller's promise.
    unsafe {
        let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()));
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves))
    }
}

/// Sixteen bf16 as f32.
///
/// # Safety
/// The CPU must have AVX-512; sixteen elements must be valid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load_bf16_avx512(at: *const u16) -> __m512 {
    // SAFETY: by the caller's promise.
    unsafe {
        let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(at.cast()));
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
    }
}

/// Transposes eight rows of eight elements: lane j of result p is element p of row j.
///
/// The upper half of a register is loaded straight from memory (`vinsertf128`), which leaves 16
/// shuffles instead of 24.
///
/// # Safety
/// The CPU must have AVX2; row j is 8 valid elements at `from + j·stride`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn transpose_8x8(from: *const f32, stride: usize) -> [Avx2; 8] {
    // SAFETY: by the caller's promise.
    unsafe {
        let [a, b, c, d] = transpose_two_4x4(from, from.add(4 * stride), stride);
        let [e, f, g, h] = transpose_two_4x4(from.add(4), from.add(4 * stride + 4), stride);
        [a, b, c, d, e, f, g, h]
    }
}

/// Transposes two squares of 4 x 4, one in the lower and one in the upper halves of the registers.
///
/// # Safety
/// As for [`transpose_8x8`], with 4 rows of 4 at `low` and at `high`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose_two_4x4(low: *const f32, high: *const f32, stride: usize) -> [Avx2; 4] {
    // SAFETY: by the caller's promise.
    unsafe {
        let row0 = two_halves(low, high);
        let row1 = two_halves(low.add(stride), high.add(stride));
        let row2 = two_halves(low.add(2 * stride), high.add(2 * stride));
        let row3 = two_halves(low.add(3 * stride), high.add(3 * stride));
        let even01 = _mm256_castps_pd(_mm256_unpacklo_ps(row0, row1)); // k 0 and 1 of rows 0 and 1
        let even23 = _mm256_castps_pd(_mm256_unpacklo_ps(row2, row3));
        let odd01 = _mm256_castps_pd(_mm256_unpackhi_ps(row0, row1)); // k 2 and 3
        let odd23 = _mm256_castps_pd(_mm256_unpackhi_ps(row2, row3));
        [
            Avx2(_mm256_castpd_ps(_mm256_unpacklo_pd(even01, even23))),
            Avx2(_mm256_castpd_ps(_mm256_unpackhi_pd(even01, even23))),
            Avx2(_mm256_castpd_ps(_mm256_unpacklo_pd(odd01, odd23))),
            Avx2(_mm256_castpd_ps(_mm256_unpackhi_pd(odd01, odd23))),
        ]
    }
}

/// Four elements from `low`, four from `high`.
///
/// # Safety
/// As for [`transpose_8x8`], with 4 elements at each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two_halves(low: *const f32, high: *const f32) -> __m256 {
    // SAFETY: by the caller's promise.
    unsafe {
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high))
    }
}
