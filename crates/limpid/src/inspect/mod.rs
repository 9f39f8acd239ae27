//! Looking inside: what a model attends to.

mod attention;

pub use attention::{TranslationAttention, heat_map, translation_attention};
