//! Content hashes, to detect that a file has changed or is damaged; not cryptographic.
//!
//! XXH64 (Collet 2012): fast, well distributed over 64 bits, and the same on every platform, so
//! that files can store it.
//!
//! ```
//! use limpid::hash::Xxh64;
//!
//! let mut hash = Xxh64::default();
//! hash.update(b"ab");
//! hash.update(b"c");
//! assert_eq!(hash.finish(), 0x44bc2cf5ad770999); // XXH64 of "abc"
//! ```

use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// A streaming XXH64 with seed 0: pieces of any size give the hash of their concatenation.
#[derive(Clone)]
pub struct Xxh64 {
    lanes: [u64; 4],
    /// The bytes after the last full block of 32.
    rest: Vec<u8>,
    len: u64,
}

impl Default for Xxh64 {
    fn default() -> Self {
        let lanes = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];
        Self { lanes, rest: Vec::with_capacity(32), len: 0 }
    }
}

fn round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

impl Xxh64 {
    /// Appends bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if !self.rest.is_empty() {
            let missing = (32 - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() < 32 {
                return;
            }
            let block = std::mem::take(&mut self.rest);
            self.block(&block);
        }
        let blocks = bytes.chunks_exact(32);
        self.rest.extend_from_slice(blocks.remainder());
        blocks.for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &[u8]) {
        for (lane, input) in self.lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = round(*lane, number(input));
        }
    }

    /// The hash of all bytes so far.
    pub fn finish(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.len >= 32 {
            let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
            let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
            self.lanes
                .iter()
                .fold(sum, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
        } else {
            P5
        };
        hash = hash.wrapping_add(self.len);
        let mut eights = self.rest.chunks_exact(8);
        for eight in &mut eights {
            hash =
                (hash ^ round(0, number(eight))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        }
        let mut rest = eights.remainder();
        if let Some((four, after)) = rest.split_first_chunk::<4>() {
            let four = u64::from(u32::from_le_bytes(*four));
            hash = (hash ^ four.wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
            rest = after;
        }
        for byte in rest {
            hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
        hash ^ (hash >> 32)
    }
}

/// The hash of some bytes.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = Xxh64::default();
    hash.update(bytes);
    hash.finish()
}

/// Number of bytes and hash of a file from byte `from` on, read in pieces.
/// # Errors
/// If the file cannot be read.
pub fn hash_file(path: &Path, from: u64) -> Result<(u64, u64)> {
    let error = |e: std::io::Error| Error::io("read", path, e);
    let mut file = std::fs::File::open(path).map_err(error)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(from)).map_err(error)?;
    let (mut hash, mut size, mut buffer) = (Xxh64::default(), 0, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(error)? {
            0 => return Ok((size, hash.finish())),
            n => {
                hash.update(&buffer[..n]);
                size += n as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementation (the Python package xxhash, seed 0).
    #[test]
    fn the_hash_gives_the_published_answers() {
        assert_eq!(hash_bytes(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash_bytes(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(hash_bytes(b"abc"), 0x44BC_2CF5_AD77_0999);
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(hash_bytes(&bytes[..4]), 0xFFCE_D860_4453_CC1E);
        assert_eq!(hash_bytes(&bytes[..13]), 0x13D1_7C4C_7797_23A8);
        assert_eq!(hash_bytes(&bytes[..31]), 0xC346_D2B5_9B4D_8EE1);
        assert_eq!(hash_bytes(&bytes[..32]), 0xCBF5_9C51_16FF_32B4);
        assert_eq!(hash_bytes(&bytes[..63]), 0xE26A_A9E2_A95F_8E4F);
        assert_eq!(hash_bytes(&bytes[..256]), 0x1FAC_BE84_06CD_904B);
    }

    #[test]
    fn pieces_of_any_size_give_the_hash_of_the_whole() {
        let bytes: Vec<u8> = (0..1000_u32).map(|i| (i * 7 % 251) as u8).collect();
        for size in [1, 3, 31, 32, 33, 200, 1000] {
            let mut hash = Xxh64::default();
            bytes.chunks(size).for_each(|piece| hash.update(piece));
            assert_eq!(hash.finish(), hash_bytes(&bytes), "{size}");
        }
    }
}
