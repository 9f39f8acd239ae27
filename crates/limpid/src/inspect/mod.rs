//! Looking inside a model: where any number of a forward pass comes from ([`Explainer`]), the
//! cross-attention of a translation and the word alignment that follows from it, the attention of
//! every layer and head, and the logit lens of a decoder.
//!
//! ```
//! use limpid::inspect::translation_attention;
//! use limpid::model::config::EncoderDecoderConfig;
//! use limpid::model::Model;
//! use limpid::text::word_tokenizer;
//!
//! let tokenizer = word_tokenizer(["Il dort.", "He sleeps."])?;
//! let model = Model::new(EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 8, 8), 1)?;
//! let translator = model.encoder_decoder().expect("an encoder-decoder");
//! let found = translation_attention(translator, &model.params, &tokenizer, "Il dort.")?;
//! // A row for each target token, a column for each source token; rows sum to 1.
//! assert_eq!(found.weights.len(), found.target.len());
//! assert!((found.weights[0].iter().sum::<f32>() - 1.0).abs() < 1e-5);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod align;
mod attention;
mod explain;
mod layers;
mod lens;
mod pass;
mod pooling;

pub use align::{Alignment, align};
pub use attention::{TranslationAttention, attention_of, check_attends, translation_attention};
pub use explain::operation_name;
pub use explain::{Element, Explainer, Explanation, Factor, Origin, RecurrentPart, Term};
pub use layers::{
    LayerAttention, LogProbability, decoder_attention, encoder_attention, logit_lens,
    prompt_scores, seq2seq_attention,
};
pub use lens::{LensRow, PassLens, pass_lens};
pub use pass::{
    AttentionPlace, AttentionSite, ForwardPass, PassInput, Prediction, Ranked, Reading,
    Replacement, Role, Site, SiteEdit, StackName, StreamPlace, TensorPlace,
};
pub use pooling::{Grid, HeadChoice, HeadRole, HeadSummary, head_summary, thumbnails, tile};
