//! f16 and bf16 as bits: sixteen-bit numbers in which scales and weights are stored.
//!
//! ```text
//! f16   1 sign, 5 exponent, 10 mantissa bits        bf16   the upper half of an f32
//! ```

/// The f32 with the value of an f16.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    // The exponent of an f16 is 112 less than that of an f32. Moving its bits up and multiplying
    // by 2^112 corrects it, for subnormal numbers too.
    let magnitude = f32::from_bits(rest << 13) * f32::from_bits((112 + 127) << 23);
    let special = f32::from_bits(0x7f80_0000 | (rest & 0x3ff) << 13);
    let magnitude = if rest >= 0x7c00 { special } else { magnitude };
    f32::from_bits(sign | magnitude.to_bits())
}

/// The f16 nearest to a number, ties to even; ±∞ beyond the largest.
pub fn f32_to_f16(x: f32) -> u16 {
    let (sign, magnitude) = ((x.to_bits() >> 16) as u16 & 0x8000, x.abs());
    if x.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65_520.0 {
        return sign | 0x7c00;
    }
    // A number in [2^e, 2^(e+1)) has 10 mantissa bits below 2^e, and below 2^-14 all have the
    // step 2^-24: adding 2^13 such steps rounds to it, ties to even.
    let exponent = (magnitude.to_bits() >> 23).max(127 - 14);
    let step = f32::from_bits((exponent + 13) << 23);
    let rounded = (magnitude + step) - step;
    let scaled = rounded * f32::from_bits((127 - 112) << 23); // exact: f16's bits at the top
    sign | (scaled.to_bits() >> 13) as u16
}

/// The f32 with the value of a bf16.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bf16 nearest to a number, ties to even; NaN stays NaN.
pub fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of an f16 by its definition, in f64.
    fn definition(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
        let magnitude = match exponent {
            0 => mantissa * 2_f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + mantissa) * 2_f64.powi(exponent - 25),
        };
        if bits & 0x8000 != 0 { -magnitude } else { magnitude }
    }

    #[test]
    fn every_f16_has_the_value_of_its_definition_and_comes_back() {
        for bits in 0..=u16::MAX {
            let (value, want) = (f16_to_f32(bits), definition(bits));
            assert!(f64::from(value) == want || (value.is_nan() && want.is_nan()), "{bits:#x}");
            if !want.is_nan() {
                assert_eq!(f32_to_f16(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn rounding_to_f16_takes_the_nearest_and_the_even_one_of_two() {
        for bits in 0..0x7bff_u16 {
            let (below, above) = (f16_to_f32(bits), f16_to_f32(bits + 1));
            let middle = 0.5 * (below + above);
            assert_eq!(f32_to_f16(middle), bits + (bits & 1), "{middle}");
            assert_eq!(f32_to_f16(f32::from_bits(middle.to_bits() - 1)), bits);
            assert_eq!(f32_to_f16(-f32::from_bits(middle.to_bits() + 1)), 0x8000 | (bits + 1));
        }
        assert_eq!(f32_to_f16(65_519.0), 0x7bff);
        assert_eq!(f32_to_f16(65_520.0), 0x7c00);
        assert_eq!(f32_to_f16(f32::NEG_INFINITY), 0xfc00);
        assert!(f16_to_f32(f32_to_f16(f32::NAN)).is_nan());
    }

    #[test]
    fn rounding_to_bf16_takes_the_nearest_and_the_even_one_of_two() {
        for bits in (0..0x7f7f_u16).step_by(7) {
            let low = bf16_to_f32(bits).to_bits();
            assert_eq!(f32_to_bf16(f32::from_bits(low)), bits);
            assert_eq!(f32_to_bf16(f32::from_bits(low + 0x7fff)), bits);
            assert_eq!(f32_to_bf16(f32::from_bits(low + 0x8000)), bits + (bits & 1));
            assert_eq!(f32_to_bf16(-f32::from_bits(low + 0x8001)), 0x8000 | (bits + 1));
        }
        assert!(bf16_to_f32(f32_to_bf16(f32::NAN)).is_nan());
    }
}
