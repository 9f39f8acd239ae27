//! Layers: which parameters they have, under which names files know them, and how they are composed.

mod attention;
mod builder;
mod layers;
mod positions;
mod stream;

pub use attention::{CrossAttention, KvCache, SelfAttention};
pub use builder::{Builder, FileForm, FileTensor};
pub use layers::{FeedForward, Linear, Norm};
pub use positions::PositionEncoding;
pub use stream::Stream;
