//! A tokenizer for models without one: a text is token ids with spaces between them.

use super::Tokenizer;
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The tokenizer whose token of each id is the id: `"2 0 1"` is `[2, 0, 1]`.
///
/// ```
/// let tokenizer = limpid::text::number_tokenizer(5)?;
/// assert_eq!(tokenizer.encode("2 0 4")?, [2, 0, 4]);
/// assert_eq!(tokenizer.decode(&[2, 0])?, "2 0");
/// assert!(tokenizer.encode("5").is_err());
/// # Ok::<(), limpid::error::Error>(())
/// ```
///
/// # Errors
/// If the library refuses it.
pub fn number_tokenizer(vocab_size: usize) -> Result<Tokenizer> {
    let vocabulary: Map<String, Value> =
        (0..vocab_size).map(|id| (id.to_string(), id.into())).collect();
    let json = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null, "decoder": null,
        // No token stands for a word that is none of them: it is an error.
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "not a token id"},
    });
    Tokenizer::from_json(Path::new("token ids"), &json.to_string())
}
