//! Mutated files, the same ones every time: what parses a file must refuse or accept them, and
//! never panic.
//!
//! A harness is a list of valid seeds and a function that parses bytes:
//! ```text
//! use crate::fuzz;
//! fuzz::never_panics("config.json", &[valid], 10_000, |bytes| drop(read_config(bytes)));
//! ```
//! `FUZZ_CASES=10000` mutates every file so often, `FUZZ_SEED=7` in another way.

use limpid_tensor::rng::Stream;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// A number that the environment sets: for longer runs, and for other mutations.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The most memory the process has had, in MiB, where the system tells.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// Memory that all cases together may add to the most there was: seeds are some kilobytes, and a
/// number in a file must not be believed before it is compared with the file. (A caught panic that
/// prints its backtrace reads the program's symbols, 150 MiB.)
const MOST_MIB: u64 = 512;

/// What one case may take, on a machine that does other things too.
const LONGEST: Duration = Duration::from_secs(60);

/// Ends the process when a case takes too long: what hangs cannot fail a test by itself.
struct Watchdog(AtomicU64);

impl Watchdog {
    const ENDED: u64 = u64::MAX;

    fn watch(&self, name: &str) {
        let (mut case, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(20));
            match self.0.load(Ordering::Relaxed) {
                Self::ENDED => return,
                same if same == case && since.elapsed() > LONGEST => {
                    eprintln!("{name}: case {case} takes more than {LONGEST:?}");
                    std::process::exit(1);
                }
                same if same == case => {}
                other => (case, since) = (other, Instant::now()),
            }
        }
    }
}

/// Parses `cases` mutations of `seeds`, and the seeds themselves. A panic fails the test with the
/// number of the case and its bytes, and so does memory or time that is out of proportion.
pub fn never_panics(name: &str, seeds: &[Vec<u8>], cases: u64, parse: impl Fn(&[u8])) {
    let watchdog = Watchdog(AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog.watch(name));
        let all = catch_unwind(AssertUnwindSafe(|| {
            parse_all(name, seeds, cases, parse, &watchdog);
        }));
        watchdog.0.store(Watchdog::ENDED, Ordering::Relaxed);
        if let Err(panic) = all {
            std::panic::resume_unwind(panic);
        }
    });
}

fn parse_all(
    name: &str,
    seeds: &[Vec<u8>],
    cases: u64,
    parse: impl Fn(&[u8]),
    watchdog: &Watchdog,
) {
    let before = peak_mib();
    let (seed, cases) =
        (number("FUZZ_SEED").unwrap_or(2024), number("FUZZ_CASES").unwrap_or(cases));
    let mutations = (0..cases).map(|case| mutate(seeds, &mut Stream::new(seed, case)));
    for (case, bytes) in mutations.chain(seeds.iter().cloned()).enumerate() {
        watchdog.0.store(case as u64, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| parse(&bytes)));
        assert!(
            result.is_ok(),
            "{name}: case {case} panicked:\n{:?}",
            String::from_utf8_lossy(&bytes)
        );
        if case % 100 == 0
            && let (Some(before), Some(now)) = (before, peak_mib())
        {
            assert!(
                now < before + MOST_MIB,
                "{name}: {before} MiB before, {now} MiB by case {case}"
            );
        }
    }
}

/// A folder of a harness, in memory where the system has such: ten thousand files that are written
/// and flushed would take minutes elsewhere.
pub fn scratch(name: &str) -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    let base = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let folder = base.join(format!("limpid-fuzz-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
