//! Dot products of four bytes at a time: the instruction that integer products are made of.
//!
//! ```text
//! sum[j] += Σ_{b<4} a[b] · w[j][b]          four activations, and four weights of each column j
//! ```
//!
//! | | instruction | how it is exact |
//! |---|---|---|
//! | `Avx512Vnni`, `AvxVnni` | `vpdpbusd` | it adds four products to 32 bits |
//! | `Maddubs` | `vpmaddubsw` | it adds two to 16 bits: see below |
//! | `NeonDot` | `sdot` | it adds four products to 32 bits |
//! | `Neon` | `smull`, `sadalp` | 16 bits hold two products |
//! | `Plain` | none in particular | 32-bit integers |
//!
//! `vpdpbusd` and `vpmaddubsw` multiply an unsigned with a signed byte. int8 weights get the
//! activations plus 128, and sums start with −128 times the sum of the column's weights.
//! int4 weights are stored plus 8, and 8 times the sum of the activations is subtracted.
//!
//! 16 bits end at 32,767. Activations plus 128 are at most 255: where four weights that meet in a
//! 16-bit sum have positive parts of at most 128 together, and negative parts too ([`Headroom`]),
//! two results of `vpmaddubsw` are added before they become 32 bits (`Avx2Quads`), at most 255·128
//! = 32,640. Other int8 weights get |w| and the activation with the sign of w, one result at a
//! time, at most 2·128·127 = 32,512 (`Avx2`). For int4 eight results are added, those of a group:
//! at most 16·15·127 = 30,480. The sums are integers, so each gives the same.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::half::f16_to_f32;
use super::headroom::Headroom;
use crate::simd::{Level, level};

/// The instructions that integer products use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerDot {
    /// Portable code.
    Plain,
    /// NEON.
    Neon,
    /// NEON with dot products, from ARMv8.2 on.
    NeonDot,
    /// AVX2, with F16C.
    Maddubs,
    /// AVX-VNNI: 256-bit dot products, on CPUs without AVX-512.
    AvxVnni,
    /// AVX-512 VNNI.
    Avx512Vnni,
}

impl IntegerDot {
    /// Every one that this CPU has, at any level.
    pub fn available() -> Vec<Self> {
        let x86 = [Self::Maddubs, Self::AvxVnni, Self::Avx512Vnni];
        let all = [Self::Plain, Self::Neon, Self::NeonDot].into_iter().chain(x86);
        let levels = Level::available();
        all.filter(|dot| levels.contains(&dot.level()) && dot.is_detected()).collect()
    }

    /// The best one of the instruction-set level in use.
    pub fn current() -> Self {
        let all = [Self::Avx512Vnni, Self::AvxVnni, Self::Maddubs, Self::NeonDot, Self::Neon];
        let best = all.into_iter().find(|dot| dot.level() <= level() && dot.is_detected());
        best.unwrap_or(Self::Plain)
    }

    /// The name in lower case, such as `avx512-vnni`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Neon => "neon",
            Self::NeonDot => "neon-dotprod",
            Self::Maddubs => "avx2",
            Self::AvxVnni => "avx-vnni",
            Self::Avx512Vnni => "avx512-vnni",
        }
    }

    /// The level it belongs to.
    pub fn level(self) -> Level {
        match self {
            Self::Plain => Level::Scalar,
            Self::Neon | Self::NeonDot => Level::Neon,
            Self::Maddubs | Self::AvxVnni => Level::Avx2,
            Self::Avx512Vnni => Level::Avx512,
        }
    }

    /// Whether the CPU has the instructions beyond those of the level.
    fn is_detected(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Plain => true,
            Self::Neon | Self::NeonDot => false,
            Self::Maddubs => is_x86_feature_detected!("f16c"),
            Self::AvxVnni => {
                is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avxvnni")
            }
            Self::Avx512Vnni => is_x86_feature_detected!("avx512vnni"),
        };
        #[cfg(target_arch = "aarch64")]
        return match self {
            Self::Plain | Self::Neon => true,
            Self::NeonDot => std::arch::is_aarch64_feature_detected!("dotprod"),
            Self::Maddubs | Self::AvxVnni | Self::Avx512Vnni => false,
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        return self == Self::Plain;
    }

    /// What is added to an activation before it is stored as a byte, for int8 weights.
    pub(super) fn offset(self, headroom: Headroom) -> u8 {
        match (self, headroom) {
            (Self::Plain | Self::Neon | Self::NeonDot, _) | (Self::Maddubs, Headroom::None) => 0,
            (Self::Maddubs, Headroom::Quads) | (Self::AvxVnni | Self::Avx512Vnni, _) => 128,
        }
    }
}

/// A register of [`Dot::LANES`] 32-bit sums, one per column.
///
/// # Safety
/// Every method needs a CPU with the instruction set of the type, and the elements it reads or
/// writes at its addresses, which may have any alignment: `4·LANES` bytes of weights, four bytes of
/// activations, `LANES` scales, shifts or results.
pub(super) trait Dot: Copy {
    /// Number of sums.
    const LANES: usize;
    /// Four int8 weights of each column.
    type Int8: Copy;
    /// Four int4 weights of each column, plus 8: 0 ..= 15.
    type Int4: Copy;
    /// Four activations in every lane.
    type Activations: Copy;
    /// Sums within a group of int4 weights.
    type Group: Copy;
    /// A register of f32.
    type Floats: Copy;
    /// Whether an addition of products has a latency that few sums cannot hide.
    const SLOW_SUMS: bool;

    /// x in all lanes.
    unsafe fn splat(x: i32) -> Self;
    /// Reads four activations.
    unsafe fn activations(at: *const u8) -> Self::Activations;
    /// Reads int8 weights.
    unsafe fn int8(at: *const u8) -> Self::Int8;
    /// Reads int4 weights: those of the low and those of the high halves of the bytes.
    unsafe fn int4(at: *const u8) -> [Self::Int4; 2];
    /// self + a·w. With an offset, a is an activation plus 128.
    unsafe fn plus_int8(self, a: Self::Activations, w: Self::Int8) -> Self;
    /// Reads int4 weights plus 8 that have been unpacked to bytes.
    unsafe fn unpacked_int4(at: *const u8) -> Self::Int4;
    /// A sum of 0.
    unsafe fn group() -> Self::Group;
    /// group + a·w, for at most a group of each.
    unsafe fn plus_int4(group: Self::Group, a: Self::Activations, w: Self::Int4) -> Self::Group;
    /// self + group.
    unsafe fn plus_group(self, group: Self::Group) -> Self;
    /// What a sum of int8 products starts with: −128 times the sum of the weights, if activations
    /// have the offset, otherwise 0.
    unsafe fn start(weights: *const i16) -> Self;
    /// Reads scales, which are f16.
    unsafe fn scales(at: *const u16) -> Self::Floats;
    /// sums + (self · scale) · row, rounded three times.
    unsafe fn add_int8(self, scale: Self::Floats, row: f32, sums: Self::Floats) -> Self::Floats;
    /// Zeros.
    unsafe fn zeros() -> Self::Floats;
    /// sums + self · scale, rounded twice; `scale` are f16.
    unsafe fn add_scaled(self, scale: *const u16, sums: Self::Floats) -> Self::Floats;
    /// to = sums · row.
    unsafe fn store(sums: Self::Floats, row: f32, to: *mut f32);
}

/// Two fours at once, for int8 weights with [`Headroom::Quads`].
///
/// # Safety
/// As for [`Dot`].
#[cfg(target_arch = "x86_64")]
pub(super) trait Quads: Dot {
    /// self + a₀·w₀ + a₁·w₁.
    unsafe fn plus_quads(self, a: [Self::Activations; 2], w: [Self::Int8; 2]) -> Self;
}

/// Asks for the cache line at an address, which need not exist.
#[inline(always)]
pub(super) fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, for any address; the instruction is part of every x86-64.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Sixteen sums in portable Rust.
#[derive(Clone, Copy)]
pub(super) struct Portable([i32; 16]);

impl Portable {
    #[inline(always)]
    fn plus_dot(self, a: [i8; 4], w: [[i8; 4]; 16]) -> Self {
        let dot = |w: [i8; 4]| (0..4).map(|b| i32::from(a[b]) * i32::from(w[b])).sum::<i32>();
        Self(std::array::from_fn(|j| self.0[j] + dot(w[j])))
    }
}

impl Dot for Portable {
    const LANES: usize = 16;
    type Int8 = [[i8; 4]; 16];
    type Int4 = [[i8; 4]; 16];
    type Activations = [i8; 4];
    type Group = Self;
    type Floats = [f32; 16];
    const SLOW_SUMS: bool = false;

    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        Self([x; 16])
    }
    #[inline(always)]
    unsafe fn activations(at: *const u8) -> [i8; 4] {
        // SAFETY: the caller promises four bytes.
        unsafe { at.cast::<[i8; 4]>().read() }
    }
    #[inline(always)]
    unsafe fn int8(at: *const u8) -> [[i8; 4]; 16] {
        // SAFETY: the caller promises 64 bytes.
        unsafe { at.cast::<[[i8; 4]; 16]>().read() }
    }
    #[inline(always)]
    unsafe fn int4(at: *const u8) -> [[[i8; 4]; 16]; 2] {
        // SAFETY: the caller promises 64 bytes.
        let bytes = unsafe { at.cast::<[[u8; 4]; 16]>().read() };
        [bytes.map(|w| w.map(|w| (w & 15) as i8)), bytes.map(|w| w.map(|w| (w >> 4) as i8))]
    }
    #[inline(always)]
    unsafe fn plus_int8(self, a: [i8; 4], w: [[i8; 4]; 16]) -> Self {
        self.plus_dot(a, w)
    }
    #[inline(always)]
    unsafe fn unpacked_int4(at: *const u8) -> [[i8; 4]; 16] {
        // SAFETY: the caller promises 64 bytes.
        unsafe { Self::int8(at) }
    }
    #[inline(always)]
    unsafe fn group() -> Self {
        Self([0; 16])
    }
    #[inline(always)]
    unsafe fn plus_int4(group: Self, a: [i8; 4], w: [[i8; 4]; 16]) -> Self {
        group.plus_dot(a, w)
    }
    #[inline(always)]
    unsafe fn plus_group(self, group: Self) -> Self {
        Self(std::array::from_fn(|j| self.0[j] + group.0[j]))
    }
    #[inline(always)]
    unsafe fn start(_: *const i16) -> Self {
        Self([0; 16])
    }
    #[inline(always)]
    unsafe fn scales(at: *const u16) -> [f32; 16] {
        // SAFETY: the caller promises 16 scales.
        std::array::from_fn(|j| f16_to_f32(unsafe { at.add(j).read_unaligned() }))
    }
    #[inline(always)]
    unsafe fn add_int8(self, scale: [f32; 16], row: f32, sums: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|j| sums[j] + self.0[j] as f32 * scale[j] * row)
    }
    #[inline(always)]
    unsafe fn zeros() -> [f32; 16] {
        [0.0; 16]
    }
    #[inline(always)]
    unsafe fn add_scaled(self, scale: *const u16, sums: [f32; 16]) -> [f32; 16] {
        // SAFETY: the caller promises 16 scales.
        let scale = unsafe { Self::scales(scale) };
        std::array::from_fn(|j| sums[j] + self.0[j] as f32 * scale[j])
    }
    #[inline(always)]
    unsafe fn store(sums: [f32; 16], row: f32, to: *mut f32) {
        for (j, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller promises 16 results.
            unsafe { *to.add(j) = sum * row };
        }
    }
}

/// The methods that all x86 types share, one or two intrinsics each.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_dot {
    ($lanes:literal $ints:ty, $floats:ty; $splat:ident $load:ident $and:ident $shift:ident
     $subtract:ident $left:ident $widen:ident $convert:ident $splat_f32:ident $store_f32:ident
     $multiply:ident $add:ident $half:ident $load_half:ident) => {
        const LANES: usize = $lanes;
        type Int4 = $ints;
        type Activations = $ints;
        type Floats = $floats;

        #[inline(always)]
        unsafe fn splat(x: i32) -> Self {
            // SAFETY: the caller promises the instruction set.
            Self(unsafe { $splat(x) })
        }
        #[inline(always)]
        unsafe fn activations(at: *const u8) -> $ints {
            // SAFETY: the caller promises the instruction set and four bytes.
            unsafe { $splat(at.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn int4(at: *const u8) -> [$ints; 2] {
            // SAFETY: the caller promises the instruction set and a register of bytes.
            unsafe {
                let (both, low) = ($load(at.cast()), $splat(0x0f0f_0f0f));
                [$and(both, low), $and($shift::<4>(both), low)]
            }
        }
        #[inline(always)]
        unsafe fn unpacked_int4(at: *const u8) -> $ints {
            // SAFETY: the caller promises the instruction set and a register of bytes.
            unsafe { $load(at.cast()) }
        }
        #[inline(always)]
        unsafe fn start(weights: *const i16) -> Self {
            // SAFETY: the caller promises the instruction set and a register of sums.
            Self(unsafe {
                match Self::SHIFTED {
                    true => $subtract($splat(0), $left::<7>($widen($load_half(weights.cast())))),
                    false => $splat(0),
                }
            })
        }
        #[inline(always)]
        unsafe fn scales(at: *const u16) -> $floats {
            // SAFETY: the caller promises the instruction set and a register of scales.
            unsafe { $half($load_half(at.cast())) }
        }
        #[inline(always)]
        unsafe fn add_int8(self, scale: $floats, row: f32, sums: $floats) -> $floats {
            // SAFETY: the caller promises the instruction set.
            unsafe {
                let scaled = $multiply($convert(self.0), scale);
                $add(sums, $multiply(scaled, $splat_f32(row)))
            }
        }
        #[inline(always)]
        unsafe fn zeros() -> $floats {
            // SAFETY: the caller promises the instruction set.
            unsafe { $splat_f32(0.0) }
        }
        #[inline(always)]
        unsafe fn add_scaled(self, scale: *const u16, sums: $floats) -> $floats {
            // SAFETY: the caller promises the instruction set and a register of scales.
            unsafe { $add(sums, $multiply($convert(self.0), Self::scales(scale))) }
        }
        #[inline(always)]
        unsafe fn store(sums: $floats, row: f32, to: *mut f32) {
            // SAFETY: the caller promises the instruction set and a register of results.
            unsafe { $store_f32(to, $multiply(sums, $splat_f32(row))) }
        }
    };
}

/// The shared methods with 256-bit registers.
#[cfg(target_arch = "x86_64")]
macro_rules! avx2_dot {
    () => {
        x86_dot!(8 __m256i, __m256; _mm256_set1_epi32 _mm256_loadu_si256 _mm256_and_si256
            _mm256_srli_epi16 _mm256_sub_epi32 _mm256_slli_epi32 _mm256_cvtepi16_epi32
            _mm256_cvtepi32_ps _mm256_set1_ps _mm256_storeu_ps _mm256_mul_ps
            _mm256_add_ps _mm256_cvtph_ps _mm_loadu_si128);
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx2Quads, Avx512Vnni, AvxVnni};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;

    /// Adds neighbouring 16-bit sums to those of 32 bits.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn plus_pairs(sums: __m256i, pairs: __m256i) -> __m256i {
        // SAFETY: the caller promises the instruction set.
        unsafe { _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))) }
    }

    /// int4 with `vpmaddubsw`: the sums of a group fit 16 bits.
    macro_rules! maddubs_int4 {
        () => {
            type Group = __m256i;
            const SLOW_SUMS: bool = false;

            #[inline(always)]
            unsafe fn group() -> __m256i {
                // SAFETY: the caller promises the instruction set.
                unsafe { _mm256_setzero_si256() }
            }
            #[inline(always)]
            unsafe fn plus_int4(group: __m256i, a: __m256i, w: __m256i) -> __m256i {
                // SAFETY: the caller promises the instruction set.
                unsafe { _mm256_add_epi16(group, _mm256_maddubs_epi16(w, a)) }
            }
            #[inline(always)]
            unsafe fn plus_group(self, group: __m256i) -> Self {
                // SAFETY: the caller promises the instruction set.
                Self(unsafe { plus_pairs(self.0, group) })
            }
        };
    }

    /// Eight sums, `vpmaddubsw` of magnitudes: any weights.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256i);

    impl Avx2 {
        const SHIFTED: bool = false;
    }

    impl Dot for Avx2 {
        /// w and |w|.
        type Int8 = (__m256i, __m256i);
        avx2_dot!();
        maddubs_int4!();

        #[inline(always)]
        unsafe fn int8(at: *const u8) -> (__m256i, __m256i) {
            // SAFETY: the caller promises the instruction set and 32 bytes.
            unsafe {
                let w = _mm256_loadu_si256(at.cast());
                (w, _mm256_abs_epi8(w))
            }
        }
        #[inline(always)]
        unsafe fn plus_int8(self, a: __m256i, (w, magnitude): (__m256i, __m256i)) -> Self {
            // SAFETY: the caller promises the instruction set.
            unsafe {
                let pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(a, w));
                Self(plus_pairs(self.0, pairs))
            }
        }
    }

    /// Eight sums, `vpmaddubsw` of weights with [`Headroom::Quads`].
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Quads(__m256i);

    impl Avx2Quads {
        const SHIFTED: bool = true;
    }

    impl Quads for Avx2Quads {
        #[inline(always)]
        unsafe fn plus_quads(self, a: [__m256i; 2], w: [__m256i; 2]) -> Self {
            // SAFETY: the caller promises the instruction set.
            unsafe {
                let pairs = _mm256_add_epi16(
                    _mm256_maddubs_epi16(a[0], w[0]),
                    _mm256_maddubs_epi16(a[1], w[1]),
                );
                Self(plus_pairs(self.0, pairs))
            }
        }
    }

    impl Dot for Avx2Quads {
        type Int8 = __m256i;
        avx2_dot!();
        maddubs_int4!();

        #[inline(always)]
        unsafe fn int8(at: *const u8) -> __m256i {
            // SAFETY: the caller promises the instruction set and 32 bytes.
            unsafe { _mm256_loadu_si256(at.cast()) }
        }
        #[inline(always)]
        unsafe fn plus_int8(self, a: __m256i, w: __m256i) -> Self {
            // SAFETY: the caller promises the instruction set.
            Self(unsafe { plus_pairs(self.0, _mm256_maddubs_epi16(a, w)) })
        }
    }

    /// int4 with `vpdpbusd`: the sums of a group are those of a register.
    macro_rules! vnni_int4 {
        ($add:ident $dot:ident) => {
            type Group = Self;
            const SLOW_SUMS: bool = true;

            #[inline(always)]
            unsafe fn group() -> Self {
                // SAFETY: the caller promises the instruction set.
                unsafe { Self::splat(0) }
            }
            #[inline(always)]
            unsafe fn plus_int4(group: Self, a: Self::Activations, w: Self::Int4) -> Self {
                // SAFETY: the caller promises the instruction set.
                Self(unsafe { $dot(group.0, w, a) })
            }
            #[inline(always)]
            unsafe fn plus_group(self, group: Self) -> Self {
                // SAFETY: the caller promises the instruction set.
                Self(unsafe { $add(self.0, group.0) })
            }
        };
    }

    /// Eight sums, `vpdpbusd` of 256 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct AvxVnni(__m256i);

    impl AvxVnni {
        const SHIFTED: bool = true;
    }

    impl Dot for AvxVnni {
        type Int8 = __m256i;
        avx2_dot!();
        vnni_int4!(_mm256_add_epi32 _mm256_dpbusd_avx_epi32);

        #[inline(always)]
        unsafe fn int8(at: *const u8) -> __m256i {
            // SAFETY: the caller promises the instruction set and 32 bytes.
            unsafe { _mm256_loadu_si256(at.cast()) }
        }
        #[inline(always)]
        unsafe fn plus_int8(self, a: __m256i, w: __m256i) -> Self {
            // SAFETY: the caller promises the instruction set.
            Self(unsafe { _mm256_dpbusd_avx_epi32(self.0, a, w) })
        }
    }

    /// Sixteen sums, `vpdpbusd` of 512 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512Vnni(__m512i);

    impl Avx512Vnni {
        const SHIFTED: bool = true;
    }

    impl Dot for Avx512Vnni {
        type Int8 = __m512i;
        x86_dot!(16 __m512i, __m512; _mm512_set1_epi32 _mm512_loadu_si512 _mm512_and_si512
            _mm512_srli_epi16 _mm512_sub_epi32 _mm512_slli_epi32 _mm512_cvtepi16_epi32
            _mm512_cvtepi32_ps _mm512_set1_ps _mm512_storeu_ps _mm512_mul_ps
            _mm512_add_ps _mm512_cvtph_ps _mm256_loadu_si256);
        vnni_int4!(_mm512_add_epi32 _mm512_dpbusd_epi32);

        #[inline(always)]
        unsafe fn int8(at: *const u8) -> __m512i {
            // SAFETY: the caller promises the instruction set and 64 bytes.
            unsafe { _mm512_loadu_si512(at.cast()) }
        }
        #[inline(always)]
        unsafe fn plus_int8(self, a: __m512i, w: __m512i) -> Self {
            // SAFETY: the caller promises the instruction set.
            Self(unsafe { _mm512_dpbusd_epi32(self.0, a, w) })
        }
    }
}
