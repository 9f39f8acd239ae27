//! Tokenizers: `tokenizer train` has flags, `train` has keys.

use super::Verb;
use limpid::error::{TokenPurpose, TokenizerError, VocabContent};

pub(super) fn hint(error: &TokenizerError, verb: Verb) -> Option<String> {
    Some(match error {
        TokenizerError::NoLanguages { .. } => {
            "leave --source-lang and --target-lang out: they are for mBART, NLLB and M2M-100".into()
        }
        TokenizerError::LacksLanguage { nearest: Some(nearest), known, .. } => {
            format!("did you mean {nearest}? It has: {}", known.join(", "))
        }
        TokenizerError::LacksLanguage { known, .. } => format!("it has: {}", known.join(", ")),
        TokenizerError::Unreadable { .. } => {
            "text needs a tokenizer: a tokenizer.json as Hugging Face's library writes it".into()
        }
        TokenizerError::NotFound { .. } => {
            "text needs a tokenizer: copy tokenizer.json, or the SentencePiece model, vocab.txt, \
             or vocab.json and merges.txt with tokenizer_config.json, beside the weights"
                .into()
        }
        TokenizerError::UnknownClass { .. } => {
            "copy its tokenizer.json; with transformers, AutoTokenizer's save_pretrained writes one"
                .into()
        }
        TokenizerError::Incomplete { missing, .. } => {
            format!("copy {missing} from the same model, or its tokenizer.json")
        }
        TokenizerError::Algorithm { .. } | TokenizerError::AddedTokenId { .. } => {
            "do the files belong together? copy them again, or tokenizer.json instead".into()
        }
        TokenizerError::UnknownLanguage { .. } => {
            "src_lang of tokenizer_config.json must be one of the model's language codes".into()
        }
        TokenizerError::Invalid { .. } | TokenizerError::SentencePiece { .. } => {
            "is the file complete? copy it again".into()
        }
        TokenizerError::MissingToken { purpose, .. } => special_token(*purpose)?.into(),
        TokenizerError::OnlySpecialTokens => "is it the right tokenizer?".into(),
        TokenizerError::NoWordBoundaries => match verb {
            Verb::Train => {
                "--set tokenizer.kind=wordpiece, or --set masking.whole_words=false".into()
            }
            _ => {
                "leave --whole-words out; WordPiece and word tokenizers mark word boundaries".into()
            }
        },
        TokenizerError::NoText => "name a text file: --data text.txt".into(),
        TokenizerError::BlankText { .. } => "is it the right file?".into(),
        TokenizerError::ShortText { minimum, .. } => format!(
            "give the text itself, some thousand sentences, one per line (a text of one line needs \
             at least {minimum} bytes)"
        ),
        TokenizerError::NoVocabSize { .. } => format!("for example {}", vocab(8000, verb)),
        TokenizerError::VocabTooLarge { available, .. } => match verb {
            Verb::Tokenizer => format!(
                "use {}, give more text, or a lower --min-frequency",
                vocab(*available, verb)
            ),
            _ => format!("use {}, or give more text", vocab(*available, verb)),
        },
        TokenizerError::VocabTooSmall { minimum, content, .. } => {
            too_small(*minimum, *content, verb)
        }
        TokenizerError::ByteVocab { size, .. } => {
            format!("use {}, or leave it out", vocab(*size, verb))
        }
        _ => return None,
    })
}

/// How a vocabulary size is set.
fn vocab(size: usize, verb: Verb) -> String {
    match verb {
        Verb::Tokenizer => format!("--vocab {size}"),
        _ => format!("--set tokenizer.vocab_size={size}"),
    }
}

fn too_small(minimum: usize, content: VocabContent, verb: Verb) -> String {
    let rare = match verb {
        Verb::Tokenizer => ", or --min-frequency to leave rare characters out",
        _ => "",
    };
    match content {
        VocabContent::AllCharacters => format!("use {}{rare}", vocab(minimum, verb)),
        VocabContent::OneWord { all } => format!("use {} for all words", vocab(all, verb)),
        VocabContent::Characters => format!("use {} or more{rare}", vocab(minimum, verb)),
        _ => format!("use {} or more", vocab(minimum, verb)),
    }
}

fn special_token(purpose: TokenPurpose) -> Option<&'static str> {
    Some(match purpose {
        TokenPurpose::EncoderInput | TokenPurpose::Masking => {
            "`limpid tokenizer train … --for bert` trains one that has it; `limpid train bert` \
             trains one if it is given none"
        }
        TokenPurpose::EndOfText => "`limpid tokenizer train … --for gpt` trains one that has it",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_size_is_a_flag_of_tokenizer_and_a_key_of_train() {
        let error = TokenizerError::VocabTooLarge { requested: 9000, available: 4321 };
        let flag = hint(&error, Verb::Tokenizer).unwrap();
        assert_eq!(flag, "use --vocab 4321, give more text, or a lower --min-frequency");
        let key = hint(&error, Verb::Train).unwrap();
        assert_eq!(key, "use --set tokenizer.vocab_size=4321, or give more text");
    }

    #[test]
    fn a_missing_special_token_names_the_command_that_trains_one() {
        let purpose = TokenPurpose::Masking;
        let error = TokenizerError::MissingToken { token: "[MASK]", purpose };
        assert!(hint(&error, Verb::Train).unwrap().contains("--for bert"));
    }
}
