//! Mask filling with a masked language model.

use super::loaded::{Loaded, loaded_accessors, owned};
use crate::data::batch::EncodedText;
use crate::encode::{MaskPredictions, Truncation, fill_mask, fill_mask_tokens, tokenize_masked};
use crate::error::{Result, Task};
use crate::model::Stack;
use std::path::Path;
use std::sync::Arc;

/// An encoder (BERT) with a masked-language-modelling head.
///
/// ```
/// # use limpid::model::{Model, config::EncoderConfig};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-fill-mask-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["the cat sat"], Purpose::Encoder)?;
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let model = limpid::FillMask::load(&folder)?;
/// // For each text, for each [MASK]: the three most likely tokens.
/// let found = model.fill(&["the [MASK] sat"], 3)?;
/// assert_eq!((found[0].len(), found[0][0].len()), (1, 3));
/// assert!(found[0][0][0].probability >= found[0][0][1].probability);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct FillMask {
    loaded: Arc<Loaded>,
}

impl FillMask {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model has no masked-language-modelling head
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits =
            |stack: &Stack| matches!(stack, Stack::Encoder(m) if m.config().head.fills_masks());
        Ok(Self { loaded: Loaded::new(path.as_ref(), Task::FillMask, suits)? })
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded }
    }

    /// The token ids of a text with a mask, for [`FillMask::fill_tokens`].
    /// # Errors
    /// As [`FillMask::fill`].
    pub fn tokenize(&self, text: &str) -> Result<EncodedText> {
        tokenize_masked(&self.loaded.encoder(Truncation::Error), 0, text)
    }

    /// [`FillMask::fill`] of texts that were tokenized before.
    /// # Errors
    /// None, for what [`FillMask::tokenize`] gave.
    pub fn fill_tokens(
        &self,
        texts: &[String],
        encoded: &[EncodedText],
        top: usize,
    ) -> Result<Vec<Vec<MaskPredictions>>> {
        fill_mask_tokens(&self.loaded.encoder(Truncation::Error), texts, encoded, top)
    }

    /// The `top` most likely tokens at each mask of each text.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the text that cannot be used.
    pub fn fill<S: AsRef<str>>(
        &self,
        texts: &[S],
        top: usize,
    ) -> Result<Vec<Vec<MaskPredictions>>> {
        fill_mask(&self.loaded.encoder(Truncation::Error), &owned(texts), top)
    }

    loaded_accessors!();
}
