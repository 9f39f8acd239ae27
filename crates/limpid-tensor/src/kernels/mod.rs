//! Slice maths: no tape, no allocation; each forward directly above its backward.
pub mod attention;
pub mod matmul;
pub mod softmax;
