//! What `limpid --version` says: version, commit, and the instruction sets of this CPU.

use limpid_tensor::kernels::quantized::IntegerDot;
use limpid_tensor::simd::Level;

/// Three lines: `-V` prints the version alone.
pub fn long() -> String {
    let levels: Vec<_> = Level::available().into_iter().map(Level::name).collect();
    let dots: Vec<_> = IntegerDot::available().into_iter().map(IntegerDot::name).collect();
    format!(
        "{} ({}, {}-{})\ninstruction sets: {}\ninteger dot products: {}",
        env!("CARGO_PKG_VERSION"),
        env!("LIMPID_COMMIT"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        levels.join(", "),
        dots.join(", "),
    )
}
