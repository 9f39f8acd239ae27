//! What products of int8 weights need to know of them, found once per matrix: the sums of their
//! groups, and whether four products fit 16 bits.

use super::matrix::Format;
use super::{INT8_GROUP, PANEL};
use crate::simd::vectorized;
use crate::team;
use std::sync::Mutex;

/// How many products of int8 weights with activations of 0 ..= 255 fit a sum of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// Perhaps not even two.
    None,
    /// Four. A quad is k's (8i, 8i + 1, 8i + 4, 8i + 5) or (8i + 2, 8i + 3, 8i + 6, 8i + 7) of a
    /// channel: its weights have positive parts of at most 128 together, and negative parts too.
    Quads,
}

impl Headroom {
    /// The largest sum of the positive, or of the negative parts of a quad: 255·128 < 2¹⁵.
    pub(super) const MOST: u32 = 128;
}

/// Which of the two quads of its 8 a k belongs to.
pub(super) fn quad(k: usize) -> usize {
    k / 8 * 2 + k % 4 / 2
}

/// A four of every channel of a panel.
type Line = [u8; 4 * PANEL];

/// The sum of the weights of each group, by panel, group and channel: at most 64·128.
pub(super) fn group_sums(weights: &[u8], cols: usize) -> Vec<i16> {
    let panels = weights.chunks_exact(Format::Int8.panel_bytes(cols).max(1));
    let groups = panels.flat_map(|panel| {
        let (lines, _) = panel.as_chunks::<{ 4 * PANEL }>();
        lines.chunks(INT8_GROUP / 4)
    });
    groups.flat_map(sums_of_a_group).map(|sum| sum as i16).collect()
}

vectorized! {
    fn sums_of_a_group(lines: &[Line]) -> [i32; PANEL] {
        let mut bytes = [0_i32; 4 * PANEL];
        for line in lines {
            for (sum, byte) in bytes.iter_mut().zip(line) {
                *sum += i32::from(*byte as i8);
            }
        }
        std::array::from_fn(|channel| bytes[4 * channel..4 * channel + 4].iter().sum())
    }
}

/// The headroom of a packed matrix.
pub(super) fn headroom(weights: &[u8], cols: usize) -> Headroom {
    let panels: Vec<_> = weights.chunks_exact(Format::Int8.panel_bytes(cols).max(1)).collect();
    let most = Mutex::new(0);
    team::run(panels.len(), |i| {
        let of_panel = most_of_a_quad(panels[i].as_chunks().0);
        let mut most = most.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *most = of_panel.max(*most);
    });
    let most = most.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    if u32::from(most) <= Headroom::MOST { Headroom::Quads } else { Headroom::None }
}

vectorized! {
    /// The largest sum of the positive or of the negative parts of a quad of a panel.
    fn most_of_a_quad(lines: &[Line]) -> u16 {
        let (pairs, rest) = lines.as_chunks::<2>();
        let mut most = [0_u16; 2 * PANEL];
        let mut add = |[first, second]: [&Line; 2]| {
            for sign in [1_i8, -1] {
                let mut parts = [0_u16; 4 * PANEL];
                for i in 0..4 * PANEL {
                    // −128 becomes 128 as an unsigned byte.
                    let part = |byte: u8| match (byte as i8).signum() == sign {
                        true => u16::from((byte as i8).unsigned_abs()),
                        false => 0,
                    };
                    parts[i] = part(first[i]) + part(second[i]);
                }
                for i in 0..2 * PANEL {
                    most[i] = most[i].max(parts[2 * i] + parts[2 * i + 1]);
                }
            }
        };
        pairs.iter().for_each(|[first, second]| add([first, second]));
        rest.iter().for_each(|last| add([last, &[0; 4 * PANEL]]));
        most.into_iter().fold(0, u16::max)
    }
}
