//! The types in which weights are stored, and conversion to them.

use crate::error::{ModelError, Result};
use safetensors::tensor::Dtype;

/// A type of stored weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 16 bits, of which 5 are the exponent's: up to 65,504.
    F16,
    /// The upper half of an f32.
    Bf16,
}

impl Precision {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// Its name in a `config.json`.
    pub(super) fn torch_name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }

    pub(super) fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }

    /// Bytes per number.
    pub fn bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 2 }
    }

    /// Appends finite numbers, rounded to the nearest; `first` is the index of the first of them in
    /// `tensor`.
    /// # Errors
    /// [`ModelError::Overflow`] for a number that it cannot hold.
    pub(super) fn append(
        self,
        to: &mut Vec<u8>,
        values: &[f32],
        tensor: &str,
        first: usize,
    ) -> Result<()> {
        let overflow = |i: usize| {
            let (tensor, index, value) = (tensor.to_string(), first + i, values[i]);
            ModelError::Overflow { tensor, index, value, dtype: self.name() }
        };
        match self {
            Self::F32 => to.extend(values.iter().flat_map(|x| x.to_le_bytes())),
            Self::F16 => {
                for (i, x) in values.iter().enumerate() {
                    let half = half::f16::from_f32(*x);
                    if half.is_infinite() {
                        return Err(overflow(i).into());
                    }
                    to.extend(half.to_le_bytes());
                }
            }
            Self::Bf16 => {
                for (i, x) in values.iter().enumerate() {
                    let half = half::bf16::from_f32(*x);
                    if half.is_infinite() {
                        return Err(overflow(i).into());
                    }
                    to.extend(half.to_le_bytes());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest_and_an_overflow_names_the_tensor() {
        let bytes = |precision: Precision, x: f32| {
            let mut to = Vec::new();
            precision.append(&mut to, &[0.0, x], "w", 10).map(|()| to.split_off(precision.bytes()))
        };
        assert_eq!(bytes(Precision::F32, 1.5).unwrap(), [0, 0, 0xc0, 0x3f]);
        // 1 + 2^-11 is halfway between two f16, of which the even one is 1.
        assert_eq!(bytes(Precision::F16, 1.0 + 0.5_f32.powi(11)).unwrap(), [0x00, 0x3c]);
        assert_eq!(bytes(Precision::F16, 65_504.0).unwrap(), [0xff, 0x7b]);
        assert_eq!(bytes(Precision::Bf16, -1.0).unwrap(), [0x80, 0xbf]);
        let error = bytes(Precision::F16, 65_520.0).unwrap_err().to_string();
        assert_eq!(error, "tensor w has 65520 at element 11, which overflows f16");
        assert!(bytes(Precision::Bf16, f32::MAX).is_err());
        assert!(bytes(Precision::Bf16, 1e38).is_ok());
    }
}
