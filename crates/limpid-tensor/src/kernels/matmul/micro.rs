//! Micro-kernels: a small tile of c is kept in registers during the loop over k.
//!
//! ```text
//! s[r][j] = 0;  for p in 0..depth:  s[r][j] = s[r][j] + a[r][p]·b[p][j]      R rows of N registers
//! c[r][j] = alpha·s[r][j]   or   c[r][j] + alpha·s[r][j]
//! ```
//!
//! At each p, N registers of b are loaded and R elements of a are broadcast to a register each. An
//! edge tile is the same code with fewer rows and a masked store of the last register: every
//! element has the same operations in the same order wherever it is, which makes the bits
//! independent of the split.

use super::Accumulate;
use super::vector::{Portable, Vector};
use crate::simd::Level;

/// How the micro-kernel reads a.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Rows `step` apart, k contiguous: a row-major matrix in place.
    Rows,
    /// For each k, all rows contiguous; k's are `step` apart: a packed panel, or a transposed
    /// matrix in place.
    Interleaved,
}

/// One call of a micro-kernel.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) depth: usize,
    pub(super) a: *const f32,
    pub(super) a_layout: Layout,
    pub(super) a_step: usize,
    /// Whole registers can be read at every k, also past the tile's last column.
    pub(super) b: *const f32,
    pub(super) b_step: usize,
    pub(super) c: *mut f32,
    pub(super) c_stride: usize,
    /// 1 ..= `Size::rows`.
    pub(super) rows: usize,
    /// 1 ..= `Size::cols`.
    pub(super) cols: usize,
    pub(super) alpha: f32,
    pub(super) accumulate: Accumulate,
}

/// The largest tile of a level, and the width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) lanes: usize,
}

/// AVX2 has 16 registers: 12 sums, 2 of b, 1 of a. AVX-512 has 32: 24 sums; so has NEON, whose
/// registers come in pairs. Portable code assumes 16 registers.
pub(super) fn size(level: Level) -> Size {
    match level {
        Level::Scalar => Size { rows: 4, cols: 8, lanes: 4 },
        Level::Avx2 | Level::Neon => Size { rows: 6, cols: 16, lanes: 8 },
        Level::Avx512 => Size { rows: 12, cols: 32, lanes: 16 },
    }
}

/// Computes one tile.
///
/// # Safety
/// The CPU must have `level`; a must be valid for (rows, depth) in its layout, b for whole
/// registers at each of `depth` steps, c for (rows, cols); no other reference to that part of c may
/// be in use.
#[inline]
pub(super) unsafe fn tile(level: Level, tile: &Tile) {
    let size = size(level);
    debug_assert!((1..=size.rows).contains(&tile.rows) && (1..=size.cols).contains(&tile.cols));
    let (row, registers, layout) =
        (tile.rows - 1, tile.cols.div_ceil(size.lanes) - 1, tile.a_layout as usize);
    let kernel = match level {
        Level::Scalar => SCALAR[row][registers][layout],
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::AVX2[row][registers][layout],
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::AVX512[row][registers][layout],
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::NEON[row][registers][layout],
        #[allow(unreachable_patterns)] // Which levels are left depends on the architecture.
        other => unreachable!("{other:?} on another architecture"),
    };
    // SAFETY: by the caller's promise.
    unsafe { kernel(tile) }
}

type Kernel = unsafe fn(&Tile);

/// [`Layout`] as a type, known at compile time.
trait Reads {
    /// Element (r, p) of a.
    unsafe fn at(tile: &Tile, r: usize, p: usize) -> *const f32;
}

struct Rows;
impl Reads for Rows {
    #[inline(always)]
    unsafe fn at(tile: &Tile, r: usize, p: usize) -> *const f32 {
        // SAFETY: (r, p) is an element of the tile.
        unsafe { tile.a.add(r * tile.a_step + p) }
    }
}

struct Interleaved;
impl Reads for Interleaved {
    #[inline(always)]
    unsafe fn at(tile: &Tile, r: usize, p: usize) -> *const f32 {
        // SAFETY: (r, p) is an element of the tile.
        unsafe { tile.a.add(p * tile.a_step + r) }
    }
}

/// The one body of all micro-kernels.
///
/// # Safety
/// As for [`tile`], with `rows` = R and `cols` in N registers.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // r and v count registers
unsafe fn body<V: Vector, const R: usize, const N: usize, A: Reads>(tile: &Tile) {
    // SAFETY: every address is one that the caller promised: (r, p) of a, N registers of b at each
    // p, and of c the columns below `cols`.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; R];
        for p in 0..tile.depth {
            let b: [V; N] =
                std::array::from_fn(|v| V::load(tile.b.add(p * tile.b_step + v * V::LANES)));
            for r in 0..R {
                let a = V::splat(*A::at(tile, r, p));
                for v in 0..N {
                    sums[r][v] = sums[r][v].plus_product(a, b[v]);
                }
            }
        }
        let alpha = V::splat(tile.alpha);
        for row in &mut sums {
            *row = row.map(|s| s.times(alpha));
        }
        // Each branch is short enough to be unrolled; otherwise the sums would spill to memory.
        let last = tile.cols - (N - 1) * V::LANES;
        let c = |r: usize, v: usize| tile.c.add(r * tile.c_stride + v * V::LANES);
        if last < V::LANES {
            for r in 0..R {
                for v in 0..N {
                    let n = if v == N - 1 { last } else { V::LANES };
                    let before = match tile.accumulate {
                        Accumulate::Overwrite => V::splat(-0.0), // −0 + s = s for every s
                        Accumulate::Add => V::load_first(c(r, v), n),
                    };
                    before.plus(sums[r][v]).store_first(c(r, v), n);
                }
            }
        } else if tile.accumulate == Accumulate::Overwrite {
            for r in 0..R {
                for v in 0..N {
                    sums[r][v].store(c(r, v));
                }
            }
        } else {
            for r in 0..R {
                for v in 0..N {
                    V::load(c(r, v)).plus(sums[r][v]).store(c(r, v));
                }
            }
        }
    }
}

/// Kernels by rows − 1, registers − 1 and layout.
macro_rules! table {
    ($kernel:ident; $($rows:literal)*) => {
        [$([
            [$kernel::<$rows, 1, Rows>, $kernel::<$rows, 1, Interleaved>],
            [$kernel::<$rows, 2, Rows>, $kernel::<$rows, 2, Interleaved>],
        ]),*]
    };
}

unsafe fn scalar<const R: usize, const N: usize, A: Reads>(tile: &Tile) {
    // SAFETY: the same promise.
    unsafe { body::<Portable, R, N, A>(tile) }
}
static SCALAR: [[[Kernel; 2]; 2]; 4] = table!(scalar; 1 2 3 4);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::*;

    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const R: usize, const N: usize, A: Reads>(tile: &Tile) {
        // SAFETY: the same promise.
        unsafe { body::<Avx2, R, N, A>(tile) }
    }
    pub(super) static AVX2: [[[Kernel; 2]; 2]; 6] = table!(avx2; 1 2 3 4 5 6);

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    unsafe fn avx512<const R: usize, const N: usize, A: Reads>(tile: &Tile) {
        // SAFETY: the same promise.
        unsafe { body::<Avx512, R, N, A>(tile) }
    }
    pub(super) static AVX512: [[[Kernel; 2]; 2]; 12] = table!(avx512; 1 2 3 4 5 6 7 8 9 10 11 12);
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::super::vector::Neon;
    use super::*;

    unsafe fn neon<const R: usize, const N: usize, A: Reads>(tile: &Tile) {
        // SAFETY: the same promise.
        unsafe { body::<Neon, R, N, A>(tile) }
    }
    pub(super) static NEON: [[[Kernel; 2]; 2]; 6] = table!(neon; 1 2 3 4 5 6);
}
