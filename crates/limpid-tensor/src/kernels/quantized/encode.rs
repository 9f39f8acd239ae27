//! From f32 weights to a quantised matrix.
//!
//! ```text
//! int8   scale = max |w| / 127 of the group as f16, or as much more as headroom needs,
//!        q = round(w / scale)
//! int4   scale: the f16 with the smallest squared error of the group among some near max |w| / 8
//! bf16   the nearest
//! ```
//!
//! Without VNNI, products of int8 add four products in 16 bits, which is 1.6 times as fast as two
//! of them exactly ([`Headroom`]). For weights with a normal distribution that makes the scale of a
//! group as large as that of a whole row would be without it, for those with outliers smaller.

use super::PANEL;
use super::half::{f16_to_f32, f32_to_bf16, f32_to_f16};
use super::headroom::{Headroom, quad};
use super::matrix::{Format, QuantizeError, QuantizedMatrix, check_shape};

impl QuantizedMatrix {
    /// Quantises a row-major matrix (rows, cols) = (out, in).
    ///
    /// # Errors
    /// If a weight is not finite, or the format cannot hold this number of inputs.
    ///
    /// # Panics
    /// If `w` does not have rows · cols elements.
    #[track_caller]
    pub fn quantize(
        format: Format,
        w: &[f32],
        (rows, cols): (usize, usize),
    ) -> Result<Self, QuantizeError> {
        assert_eq!(w.len(), rows * cols, "quantize: a matrix ({rows},{cols})");
        check_shape(format, cols)?;
        if let Some(at) = w.iter().position(|w| !w.is_finite()) {
            return Err(QuantizeError::NotFinite { row: at / cols, col: at % cols });
        }
        let mut weights = vec![0; format.weight_bytes(rows, cols)];
        let mut scales = vec![0; format.scale_bytes(rows, cols)];
        let panel_bytes = format.panel_bytes(cols);
        for (row, w) in w.chunks_exact(cols.max(1)).enumerate() {
            let (panel, lane) = (row / PANEL, row % PANEL);
            let bytes = &mut weights[panel * panel_bytes..][..panel_bytes];
            match format {
                Format::Int8 | Format::Int4 => {
                    let (groups, len) = (format.groups(cols), format.group_len());
                    for (group, w) in w.chunks(len).enumerate() {
                        let scale = match format {
                            Format::Int8 => int8_group(&mut bytes[group * PANEL * len..], w, lane),
                            _ => int4_group(&mut bytes[group * PANEL * len / 2..], w, lane),
                        };
                        let at = 2 * ((panel * groups + group) * PANEL + lane);
                        scales[at..at + 2].copy_from_slice(&scale.to_le_bytes());
                    }
                }
                Format::Bf16 => {
                    for (k, w) in w.iter().enumerate() {
                        let at = 2 * (k * PANEL + lane);
                        bytes[at..at + 2].copy_from_slice(&f32_to_bf16(*w).to_le_bytes());
                    }
                }
            }
        }
        Self::from_parts(format, (rows, cols), &weights, &scales)
    }
}

fn largest(w: &[f32]) -> f32 {
    w.iter().fold(0.0, |largest, w| w.abs().max(largest))
}

/// Writes a group of a channel, and returns its scale as f16.
fn int8_group(lines: &mut [u8], w: &[f32], lane: usize) -> u16 {
    const LARGEST: u16 = 0x7bff;
    let mut half = f32_to_f16(largest(w) / 127.0).min(LARGEST);
    // Weights that are too small for a scale count as 0.
    while half > 0 && half < LARGEST {
        let (scale, most) = (f16_to_f32(half), Headroom::MOST);
        let found = most_of_a_quad(w, scale);
        if found <= most {
            break;
        }
        let larger = f32_to_f16(scale * found as f32 / most as f32);
        half = larger.clamp(half + 1, LARGEST);
    }
    for (k, w) in w.iter().enumerate().filter(|_| half > 0) {
        lines[4 * (k / 4 * PANEL + lane) + k % 4] = int8(*w, f16_to_f32(half)) as i8 as u8;
    }
    half
}

/// The nearest of −127 ..= 127.
fn int8(w: f32, scale: f32) -> f32 {
    (w / scale).round_ties_even().clamp(-127.0, 127.0)
}

/// The largest sum of the positive or of the negative parts of a quad.
fn most_of_a_quad(w: &[f32], scale: f32) -> u32 {
    let mut most = 0.0_f32;
    for eight in w.chunks(8) {
        let mut parts = [[0.0; 2]; 2];
        for (k, w) in eight.iter().enumerate() {
            let q = int8(*w, scale);
            parts[quad(k)][usize::from(q < 0.0)] += q.abs();
        }
        most = parts.as_flattened().iter().fold(most, |most, part| most.max(*part));
    }
    most as u32
}

/// Writes a group of a channel, and returns its scale as f16.
fn int4_group(lines: &mut [u8], w: &[f32], lane: usize) -> u16 {
    let half = best_int4_scale(w);
    let scale = f16_to_f32(half);
    for (k, w) in w.iter().enumerate() {
        let nibble = (int4(*w, scale) + 8.0) as u8;
        let byte = &mut lines[4 * (k / 8 * PANEL + lane) + k % 4];
        *byte |= if k % 8 < 4 { nibble } else { nibble << 4 };
    }
    half
}

/// The nearest of −8 ..= 7.
fn int4(w: f32, scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { (w / scale).round_ties_even().clamp(-8.0, 7.0) }
}

/// The scale with the smallest squared error: a smaller one clips the largest weight but is finer
/// for the others.
fn best_int4_scale(w: &[f32]) -> u16 {
    let error = |half: u16| {
        let scale = f16_to_f32(half);
        let square = |w: &f32| f64::from(w - int4(*w, scale) * scale).powi(2);
        w.iter().map(square).sum::<f64>()
    };
    // Divisors around 7 and 8, at which the largest weight is just not clipped.
    let candidates = (0..=20).map(|i| f32_to_f16(largest(w) / (6.8 + 0.16 * i as f32)));
    let finite = candidates.filter(|half| f16_to_f32(*half).is_finite());
    let best = finite.map(|half| (error(half), half)).min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(0x7bff, |(_, half)| half)
}
