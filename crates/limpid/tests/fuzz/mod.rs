//! Mutated files, the same ones every time: what parses a file must refuse or accept them, and never panic.
//!
//! A harness is a list of valid seeds and a function that parses bytes:
//! ```text
//! mod fuzz;
//! fuzz::never_panics("config.json", &[valid], 10_000, |bytes| drop(read_config(bytes)));
//! ```

use limpid_tensor::rng::Stream;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes that parsers like to trip over.
const NASTY: [&[u8]; 14] = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f",
    "\u{feff}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"\r\n",
    b"\t\t",
    b"\"",
    b"\\u",
    b"1e999",
    b"-0",
    b"[[[[[[[[",
    b"4294967296",
];

/// One case: one to four mutations of a seed.
fn mutate(seeds: &[Vec<u8>], rng: &mut Stream) -> Vec<u8> {
    let mut bytes = rng.pick(seeds).clone();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let end = at + rng.below(bytes.len() - at + 1).min(64);
        match rng.below(8) {
            // A bit, a byte, a number of eight bytes.
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = rng.next_u32() as u8,
            2 if at + 8 <= bytes.len() => {
                let extremes = [0, 1, u64::MAX, u64::MAX >> 1, 1 << 32, rng.next_u64()];
                bytes[at..at + 8].copy_from_slice(&rng.pick(&extremes).to_le_bytes());
            }
            3 => bytes.truncate(at),
            4 => drop(bytes.splice(at..at, rng.pick(&NASTY).iter().copied())),
            5 => drop(bytes.drain(at..end)),
            6 => {
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(end..end, part));
            }
            // The beginning of one, the end of another.
            _ => {
                let other = rng.pick(seeds);
                let from = rng.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes
}

/// Parses `cases` mutations of `seeds`, and the seeds themselves. A panic fails the test with the number of the case and its bytes.
pub fn never_panics(name: &str, seeds: &[Vec<u8>], cases: u64, parse: impl Fn(&[u8])) {
    for (case, bytes) in (0..cases)
        .map(|case| mutate(seeds, &mut Stream::new(2024, case)))
        .chain(seeds.iter().cloned())
        .enumerate()
    {
        // What a parser does must be in proportion to what it is given: mutations add little to a seed.
        let result = catch_unwind(AssertUnwindSafe(|| parse(&bytes)));
        assert!(result.is_ok(), "{name}: case {case} panicked:\n{:?}", String::from_utf8_lossy(&bytes));
    }
}
