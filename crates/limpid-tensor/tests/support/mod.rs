//! Settings of the tests from the environment: the library itself reads no variable.

use limpid_tensor::{simd, team};

/// Applies `LIMPID_SIMD` (`scalar`, `neon`, `avx2` or `avx512`, if this CPU has it) and
/// `LIMPID_THREADS`, so that `scripts/test` and `scripts/valgrind` can repeat the tests with them.
pub fn apply_environment() {
    if let Ok(name) = std::env::var("LIMPID_SIMD") {
        let requested = simd::Level::from_name(&name).expect("LIMPID_SIMD names a level");
        let available = simd::Level::available();
        let best = *available.last().expect("every CPU has a level");
        let level = if available.contains(&requested) { requested } else { best };
        simd::set_level(level).expect("no kernel has run yet");
    }
    if let Ok(n) = std::env::var("LIMPID_THREADS") {
        team::set_threads(n.parse().expect("LIMPID_THREADS is a number of threads"));
    }
}
