//! Numbers as bytes, in the machine's own order: what is sent to another process of one kind.
//!
//! ```
//! use limpid_tensor::bytes;
//!
//! let mut received = [0.0_f32; 2];
//! bytes::of_mut(&mut received).copy_from_slice(bytes::of(&[1.5, -2.0]));
//! assert_eq!(received, [1.5, -2.0]);
//! ```

/// The bytes of some numbers.
pub fn of(numbers: &[f32]) -> &[u8] {
    // SAFETY: f32 has no padding, u8 has no alignment, and the slice covers the same memory.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of some numbers, to be received into.
pub fn of_mut(numbers: &mut [f32]) -> &mut [u8] {
    // SAFETY: as above, and every pattern of bits is an f32.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_each_number_in_turn() {
        let numbers = [1.0_f32, -0.0, f32::NAN, f32::MIN_POSITIVE / 4.0];
        let want: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(of(&numbers), want);
        let mut back = [7.0_f32; 4];
        of_mut(&mut back).copy_from_slice(&want);
        assert_eq!(back.map(f32::to_bits), numbers.map(f32::to_bits));
        assert!(of(&[]).is_empty());
    }
}
