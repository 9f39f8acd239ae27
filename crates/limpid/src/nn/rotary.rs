//! Rotary positions: the frequencies of a model, and the angles of a batch.

use limpid_tensor::kernels::rotary::rotary_table;
use limpid_tensor::tensor::Tensor;
use std::f64::consts::TAU;

/// Frequencies of rotary positions, under the names of Hugging Face's `rope_parameters`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotaryOptions {
    /// The base of the wavelengths.
    pub rope_theta: f64,
    /// The share of each head's columns that is turned.
    pub partial_rotary_factor: f64,
    /// How frequencies are changed for longer sequences.
    pub scaling: RopeScaling,
}

/// How frequencies are changed for sequences longer than those a model was first trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// They are not.
    None,
    /// All divided by a factor (Chen et al. 2023).
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Low ones divided by a factor, high ones unchanged, those between interpolated (Llama 3.1).
    Llama3 {
        /// The factor.
        factor: f64,
        /// Wavelengths above `original_max_position_embeddings / low_freq_factor` are low.
        low_freq_factor: f64,
        /// Wavelengths below `original_max_position_embeddings / high_freq_factor` are high.
        high_freq_factor: f64,
        /// The length that the model was first trained on.
        original_max_position_embeddings: f64,
    },
    /// The same by the number of turns within the original length, with a factor on queries and
    /// keys (Peng et al. 2023).
    Yarn {
        /// The factor.
        factor: f64,
        /// Columns that make more turns are unchanged.
        beta_fast: f64,
        /// Columns that make fewer turns are divided.
        beta_slow: f64,
        /// The length that the model was first trained on.
        original_max_position_embeddings: f64,
        /// The factor on queries and keys.
        attention_factor: f64,
        /// Whether the columns between fast and slow begin and end at whole ones.
        truncate: bool,
    },
}

impl RotaryOptions {
    /// All columns, with wavelengths up to 2π·10,000.
    pub const STANDARD: Self =
        Self { rope_theta: 10_000.0, partial_rotary_factor: 1.0, scaling: RopeScaling::None };

    /// r: the columns of a head of width d that are turned.
    pub fn rotated(&self, d: usize) -> usize {
        (d as f64 * self.partial_rotary_factor) as usize
    }

    /// The angle per position of each pair of r columns.
    pub(crate) fn frequencies(&self, r: usize) -> Vec<f32> {
        let theta = self.rope_theta;
        // The exponent and each result are rounded to f32, as in `transformers`.
        let plain = |i: usize| 1.0 / theta.powf(f64::from(2.0 * i as f32 / r as f32)) as f32;
        let all = (0..r / 2).map(plain);
        match self.scaling {
            RopeScaling::None => all.collect(),
            RopeScaling::Linear { factor } => all.map(|w| w / factor as f32).collect(),
            RopeScaling::Llama3 {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_max_position_embeddings: length,
            } => all
                .map(|w| {
                    let wavelength = TAU / f64::from(w);
                    let smooth = (length / wavelength - low_freq_factor)
                        / (high_freq_factor - low_freq_factor);
                    let smooth = smooth.clamp(0.0, 1.0) as f32;
                    (1.0 - smooth) * w / factor as f32 + smooth * w
                })
                .collect(),
            RopeScaling::Yarn {
                factor,
                beta_fast,
                beta_slow,
                original_max_position_embeddings: length,
                truncate,
                ..
            } => {
                // The column that makes this many turns within the original length.
                let column =
                    |turns: f64| r as f64 * (length / (turns * TAU)).ln() / (2.0 * theta.ln());
                let (mut low, mut high) = (column(beta_fast), column(beta_slow));
                if truncate {
                    (low, high) = (low.floor(), high.ceil());
                }
                let (low, mut high) = (low.max(0.0), high.min(r as f64 - 1.0));
                if low == high {
                    high += 0.001;
                }
                all.enumerate()
                    .map(|(i, w)| {
                        let slow = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0) as f32;
                        w / factor as f32 * slow + w * (1.0 - slow)
                    })
                    .collect()
            }
        }
    }

    /// Cosines and sines of the angles at these positions, for heads of width d: (n, r).
    pub fn table(&self, positions: &[u32], d: usize) -> Tensor {
        let r = self.rotated(d);
        let factor = match self.scaling {
            RopeScaling::Yarn { attention_factor, .. } => attention_factor as f32,
            _ => 1.0,
        };
        let mut table = Tensor::uninit([positions.len(), r]);
        rotary_table(table.data_mut(), positions, &self.frequencies(r), factor);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wavelengths_grow_from_two_pi_to_two_pi_theta() {
        let plain = RotaryOptions::STANDARD.frequencies(4);
        assert_eq!(plain, [1.0, 0.01]);
        let linear = RotaryOptions {
            scaling: RopeScaling::Linear { factor: 4.0 },
            ..RotaryOptions::STANDARD
        };
        assert_eq!(linear.frequencies(4), [0.25, 0.0025]);
    }

    #[test]
    fn llama3_keeps_high_frequencies_and_divides_low_ones() {
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 64.0,
        };
        let (scaled, plain) = (
            RotaryOptions { scaling, ..RotaryOptions::STANDARD }.frequencies(16),
            RotaryOptions::STANDARD.frequencies(16),
        );
        for (scaled, plain) in scaled.iter().zip(plain) {
            let wavelength = TAU as f32 / plain;
            match wavelength {
                short if short < 16.0 => assert_eq!(*scaled, plain),
                long if long > 64.0 => assert_eq!(*scaled, plain / 8.0),
                _ => assert!(*scaled < plain && *scaled > plain / 8.0),
            }
        }
    }
}
