//! Dot products of bytes with NEON: four sums, one per column, in a register.
//!
//! `sdot` (ARMv8.2, detected at run time) adds four products of signed bytes to each sum:
//! `NeonDot`. Without it, `Neon` multiplies to 16 bits, adds neighbours, at most 2·127·128 =
//! 32,512, and adds those to 32 bits. Both take the activations as they are: sums start with 0.

use super::dot::Dot;
use std::arch::aarch64::*;

/// Four sums, any aarch64 CPU.
#[derive(Clone, Copy)]
pub(super) struct Neon(int32x4_t);

impl Neon {
    /// # Safety
    /// None: every aarch64 CPU has the instructions.
    #[inline(always)]
    unsafe fn plus_dot(self, a: int8x16_t, w: int8x16_t) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let low = vmull_s8(vget_low_s8(a), vget_low_s8(w));
            Self(vpadalq_s16(self.0, vpaddq_s16(low, vmull_high_s8(a, w))))
        }
    }
}

/// Four sums with `sdot`.
#[derive(Clone, Copy)]
pub(super) struct NeonDot(int32x4_t);

impl NeonDot {
    /// # Safety
    /// The CPU has the dot product instructions.
    #[inline(always)]
    unsafe fn plus_dot(self, a: int8x16_t, w: int8x16_t) -> Self {
        let mut sums = self.0;
        // SAFETY: the caller promises the instruction, which reads and writes registers only. (Its
        // intrinsic is not stable.)
        unsafe {
            std::arch::asm!(
                "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
                inout(vreg) sums,
                in(vreg) a,
                in(vreg) w,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(sums)
    }
}

/// Everything but the product is the same.
macro_rules! neon_dot {
    ($register:ident) => {
        impl Dot for $register {
            const LANES: usize = 4;
            type Int8 = int8x16_t;
            type Int4 = int8x16_t;
            type Activations = int8x16_t;
            type Group = Self;
            type Floats = float32x4_t;
            const SLOW_SUMS: bool = true;

            #[inline(always)]
            unsafe fn splat(x: i32) -> Self {
                // SAFETY: every aarch64 CPU has the instruction.
                Self(unsafe { vdupq_n_s32(x) })
            }
            #[inline(always)]
            unsafe fn activations(at: *const u8) -> int8x16_t {
                // SAFETY: the caller promises four bytes.
                unsafe { vreinterpretq_s8_s32(vdupq_n_s32(at.cast::<i32>().read_unaligned())) }
            }
            #[inline(always)]
            unsafe fn int8(at: *const u8) -> int8x16_t {
                // SAFETY: the caller promises 16 bytes.
                unsafe { vld1q_s8(at.cast()) }
            }
            #[inline(always)]
            unsafe fn int4(at: *const u8) -> [int8x16_t; 2] {
                // SAFETY: the caller promises 16 bytes.
                unsafe {
                    let both = vld1q_u8(at);
                    let (low, high) = (vandq_u8(both, vdupq_n_u8(15)), vshrq_n_u8::<4>(both));
                    [vreinterpretq_s8_u8(low), vreinterpretq_s8_u8(high)]
                }
            }
            #[inline(always)]
            unsafe fn plus_int8(self, a: int8x16_t, w: int8x16_t) -> Self {
                // SAFETY: the caller promises the instruction set.
                unsafe { self.plus_dot(a, w) }
            }
            #[inline(always)]
            unsafe fn unpacked_int4(at: *const u8) -> int8x16_t {
                // SAFETY: the caller promises 16 bytes.
                unsafe { Self::int8(at) }
            }
            #[inline(always)]
            unsafe fn group() -> Self {
                // SAFETY: every aarch64 CPU has the instruction.
                unsafe { Self::splat(0) }
            }
            #[inline(always)]
            unsafe fn plus_int4(group: Self, a: int8x16_t, w: int8x16_t) -> Self {
                // SAFETY: the caller promises the instruction set.
                unsafe { group.plus_dot(a, w) }
            }
            #[inline(always)]
            unsafe fn plus_group(self, group: Self) -> Self {
                // SAFETY: every aarch64 CPU has the instruction.
                Self(unsafe { vaddq_s32(self.0, group.0) })
            }
            #[inline(always)]
            unsafe fn start(_: *const i16) -> Self {
                // SAFETY: every aarch64 CPU has the instruction.
                unsafe { Self::splat(0) }
            }
            #[inline(always)]
            unsafe fn scales(at: *const u16) -> float32x4_t {
                // SAFETY: the caller promises four scales.
                unsafe { vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at))) }
            }
            #[inline(always)]
            unsafe fn add_int8(
                self,
                scale: float32x4_t,
                row: f32,
                sums: float32x4_t,
            ) -> float32x4_t {
                // SAFETY: every aarch64 CPU has the instructions.
                unsafe {
                    let scaled = vmulq_f32(vcvtq_f32_s32(self.0), scale);
                    vaddq_f32(sums, vmulq_f32(scaled, vdupq_n_f32(row)))
                }
            }
            #[inline(always)]
            unsafe fn zeros() -> float32x4_t {
                // SAFETY: every aarch64 CPU has the instruction.
                unsafe { vdupq_n_f32(0.0) }
            }
            #[inline(always)]
            unsafe fn add_scaled(self, scale: *const u16, sums: float32x4_t) -> float32x4_t {
                // SAFETY: the caller promises four scales.
                unsafe { vaddq_f32(sums, vmulq_f32(vcvtq_f32_s32(self.0), Self::scales(scale))) }
            }
            #[inline(always)]
            unsafe fn store(sums: float32x4_t, row: f32, to: *mut f32) {
                // SAFETY: the caller promises four results.
                unsafe { vst1q_f32(to, vmulq_f32(sums, vdupq_n_f32(row))) }
            }
        }
    };
}
neon_dot!(Neon);
neon_dot!(NeonDot);
