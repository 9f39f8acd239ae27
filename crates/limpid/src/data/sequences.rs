//! Texts as sequences of their own, one per text.
//!
//! ```
//! use limpid::data::sequences::chunks;
//!
//! // A document of six tokens for a model with a context of four: five predictions.
//! let document = [0, 5, 6, 7, 8, 0];
//! let parts: Vec<&[u32]> = chunks(&document, 4).collect();
//! assert_eq!(parts, [&[0, 5, 6, 7, 8][..], &[8, 0]]);
//! ```

use super::template::EncoderTemplate;
use crate::data::batch::EncodedText;
use crate::error::{Result, TokenPurpose, TokenizerError};
use crate::text::Tokenizer;

/// The end-of-text token of a tokenizer.
/// # Errors
/// [`TokenizerError::MissingToken`] if it has none.
pub fn end_token(tokenizer: &Tokenizer) -> Result<u32> {
    let (token, purpose) = ("end-of-text token", TokenPurpose::EndOfText);
    Ok(tokenizer.eos_id().ok_or(TokenizerError::MissingToken { token, purpose })?)
}

/// For a language model: `end text end`. The leading end token marks the start of a text, and is
/// what an empty prompt becomes.
/// # Errors
/// If the tokenizer has no end-of-text token or cannot tokenize a text.
pub fn documents<'a>(
    tokenizer: &Tokenizer,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Vec<u32>>> {
    let end = end_token(tokenizer)?;
    let one = |text: &str| Ok([&[end], &tokenizer.encode(text)?[..], &[end]].concat());
    texts.into_iter().map(one).collect()
}

/// A document in chunks of at most `context` predictions: each starts with the last token of the
/// one before, so that every token but the first is predicted once.
pub fn chunks(document: &[u32], context: usize) -> impl Iterator<Item = &[u32]> {
    chunk_starts(0, document.len(), context)
        .map(move |at| &document[at..(at + context + 1).min(document.len())])
}

/// Where the chunks of a document of `tokens` tokens start, the first one at token `first`.
pub fn chunk_starts(first: usize, tokens: usize, context: usize) -> impl Iterator<Item = usize> {
    (first..tokens.saturating_sub(1)).step_by(context)
}

/// Removes the first token of every other document, so that a model learns both: prompts without a
/// leading end token, and the empty prompt, which is that token.
pub fn drop_alternate_starts(documents: &mut [Vec<u32>]) {
    for document in documents.iter_mut().step_by(2) {
        document.remove(0);
    }
}

/// For an encoder: `[CLS] text [SEP]`.
/// # Errors
/// If the tokenizer lacks one of those tokens or cannot tokenize a text.
pub fn encode_each<'a>(
    tokenizer: &Tokenizer,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<EncodedText>> {
    let template = EncoderTemplate::new(tokenizer)?;
    texts.into_iter().map(|text| Ok(template.single(&tokenizer.encode(text)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn a_document_is_between_end_tokens_and_an_encoder_input_between_cls_and_sep() {
        let text = "The cat sat.";
        let tokenizer = word_tokenizer_for([text], Purpose::LanguageModel).unwrap();
        let end = tokenizer.id("<|endoftext|>").unwrap();
        let words = tokenizer.encode(text).unwrap();
        assert_eq!(words.len(), 4);
        assert_eq!(
            documents(&tokenizer, [text]).unwrap(),
            [[vec![end], words, vec![end]].concat()]
        );
        assert!(encode_each(&tokenizer, [text]).is_err(), "there is no [CLS]");
        let divided = |document, context| chunks(document, context).collect::<Vec<&[u32]>>();
        assert_eq!(divided(&[1, 2, 3, 4, 5], 3), [&[1, 2, 3, 4][..], &[4, 5]]);
        assert_eq!(divided(&[1, 2, 3, 4], 3), [[1, 2, 3, 4]]);
        assert!(divided(&[1], 3).is_empty() && divided(&[], 3).is_empty());
        let mut three = vec![vec![9, 1, 9], vec![9, 2, 9], vec![9, 3, 9]];
        drop_alternate_starts(&mut three);
        assert_eq!(three, [vec![1, 9], vec![9, 2, 9], vec![3, 9]]);

        let tokenizer = word_tokenizer_for([text], Purpose::Encoder).unwrap();
        let words = tokenizer.encode(text).unwrap();
        assert_eq!(
            encode_each(&tokenizer, [text]).unwrap(),
            [([vec![2], words, vec![3]].concat(), vec![0; 6])]
        );
    }
}
