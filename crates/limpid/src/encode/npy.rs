//! NumPy's `.npy` format, version 1.0: a header with type and shape, then the numbers.

/// The bytes of a file with a matrix of f32, a row each.
/// # Panics
/// If rows differ in length.
pub fn npy(rows: &[Vec<f32>]) -> Vec<u8> {
    let width = rows.first().map_or(0, Vec::len);
    assert!(rows.iter().all(|row| row.len() == width), "npy: rows of different lengths");
    let shape =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {width}), }}", rows.len());
    // Six bytes of magic, two of version, two of length, the dictionary, spaces and a line end:
    // together a multiple of 64.
    let spaces = (64 - (10 + shape.len() + 1) % 64) % 64;
    let header = format!("{shape}{:spaces$}\n", "");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_what_numpy_writes() {
        // np.save of np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32), NumPy 2.
        let rows = [vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]];
        let mut want =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
                .to_vec();
        want.resize(127, b' ');
        want.push(b'\n');
        want.extend([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()));
        assert_eq!(npy(&rows), want);
    }
}
