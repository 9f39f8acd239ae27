//! Micro-kernels: a tile of rows and panels, with its sums in registers during the loop over k.
//!
//! Each of the bodies is compiled for every instruction set and tile size. The sums of int8 and
//! int4 are integers within a group of 64 or 32 and are added up group by group, rounded after each
//! multiplication and addition. Those of bf16 are one chain of
//! multiply-adds that follows k, fused where the instruction set has it.

#[cfg(target_arch = "x86_64")]
use super::dot::Quads;
use super::dot::{Dot, IntegerDot, Portable, prefetch};
use super::headroom::Headroom;
use super::{GROUP, INT8_GROUP, PANEL};
#[cfg(target_arch = "x86_64")]
use crate::kernels::matmul::vector::{Avx2 as Avx2Floats, Avx512 as Avx512Floats};
use crate::kernels::matmul::vector::{Portable as PortableFloats, Vector};
use crate::simd::{Level, vectorized};
use std::ops::Range;

/// One call of a micro-kernel. The pointers of a panel are those of its first column.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Steps of the loop: fours (int8), groups (int4) or single k's (bf16).
    pub(super) depth: usize,
    /// Bytes of int8 and int4, f32 of bf16: rows `a_stride` bytes apart.
    pub(super) a: *const u8,
    pub(super) a_stride: usize,
    /// Scales of the rows of a, for int8 and int4: rows `a_groups` apart.
    pub(super) a_scales: *const f32,
    pub(super) a_groups: usize,
    /// −8 times the sum of the activations of each group, rows `depth` apart, for int4.
    pub(super) a_sums: *const i32,
    /// Panels `panel_bytes` apart.
    pub(super) w: *const u8,
    pub(super) panel_bytes: usize,
    /// Of the groups' columns, f16.
    pub(super) scales: *const u16,
    /// The sums of the groups' columns, for int8.
    pub(super) sums: *const i16,
    /// Whole panels are written.
    pub(super) c: *mut f32,
    pub(super) c_stride: usize,
}

/// A micro-kernel.
///
/// # Safety
/// The CPU must have its instruction set, and the tile's pointers must be valid for its rows and
/// panels; no other reference to that part of c may be in use.
pub(super) type Kernel = unsafe fn(&Tile);

/// The place of register `v`, of `lanes` columns: its panel, and its first column in it.
#[inline(always)]
fn place(v: usize, lanes: usize) -> (usize, usize) {
    (v * lanes / PANEL, v * lanes % PANEL)
}

/// int8: N registers of columns, R rows.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn int8<D: Dot, const R: usize, const N: usize>(t: &Tile) {
    // SAFETY: every address lies in what the caller promised: fours below `depth` of R rows of a
    // and of N registers of panels.
    unsafe {
        int8_groups::<D, R, N>(t, |sums, fours| {
            for four in fours {
                let w: [D::Int8; N] = std::array::from_fn(|v| {
                    let (panel, col) = place(v, D::LANES);
                    D::int8(t.w.add(panel * t.panel_bytes + 4 * (four * PANEL + col)))
                });
                for r in 0..R {
                    let a = D::activations(t.a.add(r * t.a_stride + 4 * four));
                    for v in 0..N {
                        sums[r][v] = sums[r][v].plus_int8(a, w[v]);
                    }
                }
            }
        });
    }
}

/// Fours of a group of int8.
const FOURS: usize = INT8_GROUP / 4;

/// int8 with `add`, which adds the products of some fours to sums.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn int8_groups<D: Dot, const R: usize, const N: usize>(
    t: &Tile,
    add: impl Fn(&mut [[D; N]; R], Range<usize>),
) {
    // SAFETY: every address lies in what the caller promised: groups of R rows of a and of N
    // registers of panels.
    unsafe {
        let mut totals = [[D::zeros(); N]; R];
        for group in 0..t.a_groups {
            let at: [usize; N] = std::array::from_fn(|v| {
                let (panel, col) = place(v, D::LANES);
                (panel * t.a_groups + group) * PANEL + col
            });
            let mut sums = [std::array::from_fn(|v| D::start(t.sums.add(at[v]))); R];
            add(&mut sums, group * FOURS..t.depth.min((group + 1) * FOURS));
            let scales: [D::Floats; N] = std::array::from_fn(|v| D::scales(t.scales.add(at[v])));
            for r in 0..R {
                let row = *t.a_scales.add(r * t.a_groups + group);
                for v in 0..N {
                    totals[r][v] = sums[r][v].add_int8(scales[v], row, totals[r][v]);
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                D::store(totals[r][v], 1.0, t.c.add(r * t.c_stride + v * D::LANES));
            }
        }
    }
}

/// int8 with two fours per step: N registers of columns, R rows.
///
/// # Safety
/// As for [`Kernel`]; the weights have [`Headroom::Quads`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn int8_quads<D: Quads, const R: usize, const N: usize>(t: &Tile) {
    // SAFETY: every address lies in what the caller promised: fours below `depth` of R rows of a
    // and of N registers of panels.
    unsafe {
        let w_at = |four: usize, v: usize| {
            let (panel, col) = place(v, D::LANES);
            D::int8(t.w.add(panel * t.panel_bytes + 4 * (four * PANEL + col)))
        };
        let a_at = |four: usize, r: usize| D::activations(t.a.add(r * t.a_stride + 4 * four));
        int8_groups::<D, R, N>(t, |sums, fours| {
            let pairs = fours.start..fours.end - fours.len() % 2;
            for four in pairs.step_by(2) {
                if R == 1 {
                    // Few rows wait for memory.
                    let ahead = t.w.wrapping_add(4 * PANEL * four + AHEAD);
                    prefetch(ahead);
                    prefetch(ahead.wrapping_add(64));
                }
                let w: [_; N] = std::array::from_fn(|v| [w_at(four, v), w_at(four + 1, v)]);
                for r in 0..R {
                    let a = [a_at(four, r), a_at(four + 1, r)];
                    for v in 0..N {
                        sums[r][v] = sums[r][v].plus_quads(a, w[v]);
                    }
                }
            }
            if fours.len() % 2 == 1 {
                let last = fours.end - 1;
                for r in 0..R {
                    for v in 0..N {
                        sums[r][v] = sums[r][v].plus_int8(a_at(last, r), w_at(last, v));
                    }
                }
            }
        });
    }
}

/// int4: N registers of columns, R rows.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn int4<D: Dot, const R: usize, const N: usize>(t: &Tile) {
    // SAFETY: every address lies in what the caller promised: lines of the groups below `depth` of
    // N registers of panels.
    unsafe {
        int4_groups::<D, R, N>(t, |group, line, v| {
            let (panel, col) = place(v, D::LANES);
            let at = panel * t.panel_bytes + 4 * ((group * LINES + line) * PANEL + col);
            if R == 1 && col == 0 {
                // Few rows wait for memory.
                prefetch(t.w.wrapping_add(at + AHEAD));
            }
            D::int4(t.w.add(at))
        });
    }
}

/// int4 of a panel that has been unpacked to bytes: N registers of columns, R rows.
///
/// # Safety
/// As for [`Kernel`], with [`unpack`]ed weights.
#[inline(always)]
unsafe fn int4_unpacked<D: Dot, const R: usize, const N: usize>(t: &Tile) {
    // SAFETY: every address lies in what the caller promised: fours of the groups below `depth` of
    // N registers of one panel.
    unsafe {
        int4_groups::<D, R, N>(t, |group, line, v| {
            let four = 2 * (group * LINES + line);
            let at = t.w.add(4 * (four * PANEL + v * D::LANES));
            [D::unpacked_int4(at), D::unpacked_int4(at.add(4 * PANEL))]
        });
    }
}

/// Writes the halves of a panel's bytes as fours, as those of int8 are: k's 0..4 of a line, then
/// k's 4..8.
pub(super) fn unpack(to: &mut [u8], panel: &[u8]) {
    unpack_lines(to.as_chunks_mut().0, panel.as_chunks().0);
}

vectorized! {
    fn unpack_lines(to: &mut [[u8; 128]], panel: &[[u8; 64]]) {
        for (to, line) in to.iter_mut().zip(panel) {
            for i in 0..64 {
                to[i] = line[i] & 15;
                to[64 + i] = line[i] >> 4;
            }
        }
    }
}

/// Lines of a group: 8 k's each.
const LINES: usize = GROUP / 8;
/// Bytes between the weights in use and those that are asked for.
const AHEAD: usize = 2048;

/// int4 with the weights of a group, line and register from `weights`.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn int4_groups<D: Dot, const R: usize, const N: usize>(
    t: &Tile,
    weights: impl Fn(usize, usize, usize) -> [D::Int4; 2],
) {
    // SAFETY: every address lies in what the caller promised: groups below `depth` of R rows of a
    // and of N registers of panels.
    unsafe {
        // One row has too few sums to hide a latency: it uses two for each.
        let split = R == 1 && D::SLOW_SUMS;
        let mut totals = [[D::zeros(); N]; R];
        for group in 0..t.depth {
            let mut sums = [[D::group(); N]; R];
            let mut more = [[D::group(); N]; R];
            for line in 0..LINES {
                let w: [[D::Int4; 2]; N] = std::array::from_fn(|v| weights(group, line, v));
                for r in 0..R {
                    let a = t.a.add(r * t.a_stride + group * GROUP + 8 * line);
                    let a = [D::activations(a), D::activations(a.add(4))];
                    for v in 0..N {
                        sums[r][v] = D::plus_int4(sums[r][v], a[0], w[v][0]);
                        let other = if split { &mut more[r][v] } else { &mut sums[r][v] };
                        *other = D::plus_int4(*other, a[1], w[v][1]);
                    }
                }
            }
            for v in 0..N {
                let (panel, col) = place(v, D::LANES);
                let scale = (panel * t.depth + group) * PANEL + col;
                let scale = t.scales.add(scale);
                for r in 0..R {
                    let start = D::splat(*t.a_sums.add(r * t.depth + group));
                    let sum = start.plus_group(sums[r][v]);
                    let sum = if split { sum.plus_group(more[r][v]) } else { sum };
                    totals[r][v] = sum.add_scaled(scale, totals[r][v]);
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                let to = t.c.add(r * t.c_stride + v * D::LANES);
                D::store(totals[r][v], *t.a_scales.add(r), to);
            }
        }
    }
}

/// bf16: N registers of columns, R rows.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn bf16<V: Vector, const R: usize, const N: usize>(t: &Tile) {
    // SAFETY: every address lies in what the caller promised: k's below `depth` of R rows of a and
    // of N registers of panels.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for k in 0..t.depth {
            let w: [V; N] = std::array::from_fn(|v| {
                let (panel, col) = place(v, V::LANES);
                V::load_bf16(t.w.add(panel * t.panel_bytes + 2 * (k * PANEL + col)).cast())
            });
            for r in 0..R {
                let a = V::splat(*t.a.add(r * t.a_stride).cast::<f32>().add(k));
                for v in 0..N {
                    sums[r][v] = sums[r][v].plus_product(a, w[v]);
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                sums[r][v].store(t.c.add(r * t.c_stride + v * V::LANES));
            }
        }
    }
}

/// The tile sizes of a format and instruction set.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    /// By rows − 1: a tile of one panel.
    single: &'static [Kernel],
    /// By rows − 2: a tile of several panels and how many; none where registers are short.
    wide: (&'static [Kernel], usize),
    /// One row of several panels and how many.
    one: (Kernel, usize),
    /// By rows − 1: a tile of one panel that has been unpacked; none where unpacking costs little.
    unpacked: &'static [Kernel],
}

impl Kernels {
    /// The most rows of a tile.
    pub(super) fn rows(&self) -> usize {
        self.single.len()
    }

    /// Columns of the widest tile of several rows.
    pub(super) fn strip(&self) -> usize {
        PANEL * if self.wide.0.is_empty() { 1 } else { self.wide.1 }
    }

    /// The same for unpacked panels, if so many rows make up for unpacking.
    pub(super) fn for_unpacked(&self, rows: usize) -> Option<Self> {
        let single = self.unpacked;
        let one = (*single.first()?, 1);
        (rows > single.len()).then_some(Self { single, wide: (&[], 1), one, unpacked: &[] })
    }

    /// The kernel of a tile of `rows` rows at a place where `left` panels are left, and the number
    /// of panels it takes.
    pub(super) fn tile(&self, rows: usize, left: usize) -> (Kernel, usize) {
        let (wide, panels) = match rows {
            1 => (Some(&self.one.0), self.one.1),
            _ => (self.wide.0.get(rows - 2), self.wide.1),
        };
        match wide {
            Some(kernel) if left >= panels => (*kernel, panels),
            _ => (self.single[rows - 1], 1),
        }
    }
}

/// A table of kernels by rows, of N registers each.
macro_rules! table {
    ($kernel:ident, $n:literal; $($rows:literal)*) => { &[$($kernel::<$rows, $n>),*] };
}

/// A module with some of the bodies, compiled for one instruction set.
macro_rules! compiled {
    ($name:ident, $register:ty, [$($body:ident)*] $(, $features:tt)?) => {
        mod $name {
            use super::*;
            compiled!(@ $register, [$($body)*] $(, $features)?);
        }
    };
    (@ $register:ty, [$body:ident $($rest:ident)*] $(, $features:tt)?) => {
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn $body<const R: usize, const N: usize>(t: &Tile) {
            // SAFETY: the same promise.
            unsafe { super::$body::<$register, R, N>(t) }
        }
        compiled!(@ $register, [$($rest)*] $(, $features)?);
    };
    (@ $register:ty, [] $(, $features:tt)?) => {};
}

compiled!(portable, Portable, [int8 int4]);
compiled!(portable_floats, PortableFloats, [bf16]);

/// The kernels of int8 weights.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(super) fn int8_kernels(dot: IntegerDot, headroom: Headroom) -> Kernels {
    match dot {
        #[cfg(target_arch = "x86_64")]
        IntegerDot::Avx512Vnni => x86::INT8_AVX512,
        #[cfg(target_arch = "x86_64")]
        IntegerDot::AvxVnni => x86::INT8_AVX_VNNI,
        #[cfg(target_arch = "x86_64")]
        IntegerDot::Maddubs if headroom == Headroom::Quads => x86::INT8_QUADS,
        #[cfg(target_arch = "x86_64")]
        IntegerDot::Maddubs => x86::INT8_AVX2,
        #[cfg(target_arch = "aarch64")]
        IntegerDot::NeonDot => neon::INT8_DOT,
        #[cfg(target_arch = "aarch64")]
        IntegerDot::Neon => neon::INT8,
        _ => {
            use portable::int8;
            Kernels {
                single: table!(int8, 1; 1 2),
                wide: (&[], 1),
                one: (int8::<1, 1>, 1),
                unpacked: &[],
            }
        }
    }
}

/// The kernels of int4 weights.
pub(super) fn int4_kernels(dot: IntegerDot) -> Kernels {
    match dot {
        #[cfg(target_arch = "x86_64")]
        IntegerDot::Avx512Vnni => x86::INT4_AVX512,
        #[cfg(target_arch = "x86_64")]
        IntegerDot::AvxVnni => x86::INT4_AVX_VNNI,
        #[cfg(target_arch = "x86_64")]
        IntegerDot::Maddubs => x86::INT4_AVX2,
        #[cfg(target_arch = "aarch64")]
        IntegerDot::NeonDot => neon::INT4_DOT,
        #[cfg(target_arch = "aarch64")]
        IntegerDot::Neon => neon::INT4,
        _ => {
            use portable::int4;
            Kernels {
                single: table!(int4, 1; 1 2),
                wide: (&[], 1),
                one: (int4::<1, 1>, 1),
                unpacked: &[],
            }
        }
    }
}

/// The kernels of bf16 weights.
pub(super) fn bf16_kernels(level: Level) -> Kernels {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::BF16_AVX512,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::BF16_AVX2,
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::BF16,
        _ => {
            use portable_floats::bf16;
            Kernels {
                single: table!(bf16, 4; 1 2),
                wide: (&[], 1),
                one: (bf16::<1, 4>, 1),
                unpacked: &[],
            }
        }
    }
}

/// NEON has 32 registers of four: a panel takes four of sums.
#[cfg(target_arch = "aarch64")]
mod neon {
    use super::super::neon::{Neon, NeonDot};
    use super::*;
    use crate::kernels::matmul::vector::Neon as NeonFloats;

    compiled!(plain, Neon, [int8 int4 int4_unpacked]);
    compiled!(dot, NeonDot, [int8 int4 int4_unpacked], "neon,dotprod");
    compiled!(floats, NeonFloats, [bf16]);

    pub(super) const INT8: Kernels = {
        use plain::int8;
        let one = (int8::<1, 4> as Kernel, 1);
        Kernels { single: table!(int8, 4; 1 2 3 4), wide: (&[], 1), one, unpacked: &[] }
    };
    pub(super) const INT8_DOT: Kernels = {
        use dot::int8;
        let one = (int8::<1, 8> as Kernel, 2);
        Kernels { single: table!(int8, 4; 1 2 3 4 5 6), wide: (&[], 1), one, unpacked: &[] }
    };
    pub(super) const INT4: Kernels = {
        use plain::{int4, int4_unpacked};
        let one = (int4::<1, 4> as Kernel, 1);
        let unpacked = table!(int4_unpacked, 4; 1 2 3);
        Kernels { single: table!(int4, 4; 1 2 3), wide: (&[], 1), one, unpacked }
    };
    pub(super) const INT4_DOT: Kernels = {
        use dot::{int4, int4_unpacked};
        let one = (int4::<1, 4> as Kernel, 1);
        let unpacked = table!(int4_unpacked, 4; 1 2 3);
        Kernels { single: table!(int4, 4; 1 2 3), wide: (&[], 1), one, unpacked }
    };
    pub(super) const BF16: Kernels = {
        use floats::bf16;
        let one = (bf16::<1, 4> as Kernel, 2);
        Kernels { single: table!(bf16, 2; 1 2 3 4 5 6), wide: (&[], 1), one, unpacked: &[] }
    };
}

/// AVX-512 has 32 registers: 24 sums, for int4 12 of integers and 12 of f32. AVX2 has 16, and a
/// panel takes two: tiles of many rows are one panel wide, a single row takes several.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::dot::{Avx2, Avx2Quads, Avx512Vnni, AvxVnni};
    use super::*;

    compiled!(maddubs, Avx2, [int8 int4 int4_unpacked], "avx2,fma,f16c");
    compiled!(quads, Avx2Quads, [int8_quads], "avx2,fma,f16c");
    compiled!(avx_vnni, AvxVnni, [int8 int4], "avx2,fma,f16c,avxvnni");
    compiled!(
        avx512,
        Avx512Vnni,
        [int8 int4],
        "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni"
    );
    compiled!(avx2_floats, Avx2Floats, [bf16], "avx2,fma");
    compiled!(
        avx512_floats,
        Avx512Floats,
        [bf16],
        "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    );

    pub(super) const INT8_AVX2: Kernels = {
        use maddubs::int8;
        Kernels {
            single: table!(int8, 2; 1 2 3 4),
            wide: (&[], 1),
            one: (int8::<1, 8>, 4),
            unpacked: &[],
        }
    };
    pub(super) const INT8_QUADS: Kernels = {
        use quads::int8_quads;
        Kernels {
            single: table!(int8_quads, 2; 1 2 3 4),
            wide: (&[], 1),
            one: (int8_quads::<1, 2>, 1),
            unpacked: &[],
        }
    };
    pub(super) const INT8_AVX_VNNI: Kernels = {
        use avx_vnni::int8;
        Kernels {
            single: table!(int8, 2; 1 2 3 4 5 6),
            wide: (&[], 1),
            one: (int8::<1, 8>, 4),
            unpacked: &[],
        }
    };
    pub(super) const INT8_AVX512: Kernels = {
        use avx512::int8;
        Kernels {
            single: table!(int8, 1; 1 2 3 4 5 6),
            wide: (table!(int8, 4; 2 3 4 5 6), 4),
            one: (int8::<1, 4>, 4),
            unpacked: &[],
        }
    };
    pub(super) const INT4_AVX2: Kernels = {
        use maddubs::{int4, int4_unpacked};
        Kernels {
            single: table!(int4, 2; 1 2 3),
            wide: (&[], 1),
            one: (int4::<1, 2>, 1),
            unpacked: table!(int4_unpacked, 2; 1 2 3),
        }
    };
    pub(super) const INT4_AVX_VNNI: Kernels = {
        use avx_vnni::int4;
        let one = (int4::<1, 2> as Kernel, 1);
        Kernels { single: table!(int4, 2; 1 2), wide: (&[], 1), one, unpacked: &[] }
    };
    pub(super) const INT4_AVX512: Kernels = {
        use avx512::int4;
        Kernels {
            single: table!(int4, 1; 1 2 3 4 5 6),
            wide: (table!(int4, 2; 2 3 4 5 6), 2),
            one: (int4::<1, 4>, 4),
            unpacked: &[],
        }
    };
    pub(super) const BF16_AVX2: Kernels = {
        use avx2_floats::bf16;
        Kernels {
            single: table!(bf16, 2; 1 2 3 4 5 6),
            wide: (&[], 1),
            one: (bf16::<1, 8>, 4),
            unpacked: &[],
        }
    };
    pub(super) const BF16_AVX512: Kernels = {
        use avx512_floats::bf16;
        Kernels {
            single: table!(bf16, 1; 1 2 3 4 5 6),
            wide: (table!(bf16, 4; 2 3 4 5 6), 4),
            one: (bf16::<1, 4>, 4),
            unpacked: &[],
        }
    };
}
