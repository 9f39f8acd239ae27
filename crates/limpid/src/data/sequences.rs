//! Texts that are read on their own, one sequence each.

use super::frame::Frame;
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// The token that ends a text.
pub fn end_of(tokenizer: &Tokenizer) -> Result<u32> {
    tokenizer.end().ok_or_else(|| {
        Error::config("the tokenizer has no token that ends a text")
            .hint("limpid tokenizer train … --for gpt makes one that has")
    })
}

/// For a language model: `end text end`. The first tells that something begins, and is what an empty prompt stands for.
pub fn documents<'a>(
    tokenizer: &Tokenizer,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Vec<u32>>> {
    let end = end_of(tokenizer)?;
    let one = |text: &str| Ok([&[end], &tokenizer.encode(text)?[..], &[end]].concat());
    texts.into_iter().map(one).collect()
}

/// A document in parts of `context` predictions at most: each begins with the token that the one before ends with, so that every token but the
/// first is predicted once.
pub fn pieces(document: &[u32], context: usize) -> impl Iterator<Item = &[u32]> {
    piece_starts(0, document.len(), context)
        .map(move |at| &document[at..(at + context + 1).min(document.len())])
}

/// Where such parts of a document of so many tokens begin, if the first begins with token `first`.
pub fn piece_starts(first: usize, tokens: usize, context: usize) -> impl Iterator<Item = usize> {
    (first..tokens.saturating_sub(1)).step_by(context)
}

/// Takes the first token off every other document: a prompt that somebody types has no token before it, and an empty one is that token.
pub fn without_start(documents: &mut [Vec<u32>]) {
    for document in documents.iter_mut().step_by(2) {
        document.remove(0);
    }
}

/// For an encoder: `[CLS] text [SEP]`.
pub fn framed<'a>(tokenizer: &Tokenizer, texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<Read>> {
    let frame = Frame::of(tokenizer)?;
    texts.into_iter().map(|text| Ok(frame.one(&tokenizer.encode(text)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn a_document_stands_between_end_tokens_and_a_framed_text_between_cls_and_sep() {
        let text = "The cat sat.";
        let tokenizer = word_tokenizer_for([text], Purpose::LanguageModel).unwrap();
        let end = tokenizer.id("<|endoftext|>").unwrap();
        let words = tokenizer.encode(text).unwrap();
        assert_eq!(words.len(), 4);
        assert_eq!(documents(&tokenizer, [text]).unwrap(), [[vec![end], words, vec![end]].concat()]);
        assert!(framed(&tokenizer, [text]).is_err(), "there is no [CLS]");
        let cut = |document, context| pieces(document, context).collect::<Vec<&[u32]>>();
        assert_eq!(cut(&[1, 2, 3, 4, 5], 3), [&[1, 2, 3, 4][..], &[4, 5]]);
        assert_eq!(cut(&[1, 2, 3, 4], 3), [[1, 2, 3, 4]]);
        assert!(cut(&[1], 3).is_empty() && cut(&[], 3).is_empty());
        let mut three = vec![vec![9, 1, 9], vec![9, 2, 9], vec![9, 3, 9]];
        without_start(&mut three);
        assert_eq!(three, [vec![1, 9], vec![9, 2, 9], vec![3, 9]]);

        let tokenizer = word_tokenizer_for([text], Purpose::Encoder).unwrap();
        let words = tokenizer.encode(text).unwrap();
        assert_eq!(framed(&tokenizer, [text]).unwrap(), [([vec![2], words, vec![3]].concat(), vec![0; 6])]);
    }
}
