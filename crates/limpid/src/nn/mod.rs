//! Layers: which parameters they have, under which names files know them, and how they are composed.

mod attention;
mod builder;
mod layers;
mod stream;

pub use attention::{CrossAttention, KvCache, SelfAttention};
pub use builder::{Builder, FileForm, FileTensor};
pub use layers::{FeedForward, Linear, Norm};
pub use stream::Stream;
