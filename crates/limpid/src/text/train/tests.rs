use super::*;
use crate::sample_text::sentences;
use std::collections::HashMap;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::{ModelWrapper, Trainer};

fn corpus() -> Vec<String> {
    sentences(1600, 1)
}

fn spec(kind: TokenizerKind, vocab_size: usize) -> TokenizerSpec {
    TokenizerSpec { vocab_size: Some(vocab_size), ..TokenizerSpec::new(kind) }
}

fn trained(spec: &TokenizerSpec, texts: &[String]) -> Tokenizer {
    train(spec, texts.iter().cloned().map(Ok)).unwrap().tokenizer
}

fn model(tokenizer: &Tokenizer) -> Value {
    serde_json::from_str::<Value>(&tokenizer.to_json().unwrap()).unwrap()["model"].take()
}

/// Merges by the definition: all pairs counted anew in each round.
fn naive_merges(
    counts: &[(String, u64)],
    first: &[String],
    prefix: &str,
    size: usize,
    least: u64,
) -> Vec<(String, String)> {
    let mut tokens: Vec<String> = first.to_vec();
    let symbols = |word: &str| -> Vec<String> {
        word.chars()
            .enumerate()
            .map(|(i, c)| if i > 0 { format!("{prefix}{c}") } else { c.to_string() })
            .collect()
    };
    let mut words: Vec<(Vec<String>, u64)> =
        counts.iter().map(|(word, count)| (symbols(word), *count)).collect();
    let mut merges = Vec::new();
    while tokens.len() < size {
        let mut pairs: HashMap<(String, String), u64> = HashMap::new();
        for (word, count) in &words {
            word.windows(2)
                .for_each(|p| *pairs.entry((p[0].clone(), p[1].clone())).or_default() += count);
        }
        let id = |token: &String| tokens.iter().position(|t| t == token).unwrap();
        let best = pairs
            .into_iter()
            .max_by_key(|((a, b), count)| (*count, std::cmp::Reverse((id(a), id(b)))));
        let Some(((a, b), count)) = best else { break };
        if count < least {
            break;
        }
        let new = format!("{a}{}", b.strip_prefix(prefix).unwrap_or(&b));
        for (word, _) in &mut words {
            let mut i = 0;
            while i + 1 < word.len() {
                if word[i] == a && word[i + 1] == b {
                    word.splice(i..i + 2, [new.clone()]);
                }
                i += 1;
            }
        }
        if !tokens.contains(&new) {
            tokens.push(new);
        }
        merges.push((a, b));
    }
    merges
}

#[test]
fn merges_agree_with_the_definition_for_bpe_and_wordpiece() {
    // Many ties, overlaps of a symbol with itself, and characters that are too rare.
    let texts = [
        "abab abab baba aaaa aaaaa aaa",
        "low lower lowest new newer newest",
        "ab ab ba ba cd cd dc dc zq",
    ];
    let texts: Vec<String> = texts.map(String::from).to_vec();
    for (kind, alphabet_of, prefix) in
        [(TokenizerKind::Bpe, "bytes", ""), (TokenizerKind::WordPiece, "text", "##")]
    {
        let spec = TokenizerSpec::new(kind);
        let words = Words::count(&spec, texts.iter().cloned().map(Ok), &mut |_| {}).unwrap();
        let alphabet = match alphabet_of {
            "bytes" => Alphabet::bytes(),
            _ => Alphabet::with_prefix("##", &words, 1),
        };
        for size in [alphabet.symbols.len() + 3, 400] {
            let learned = learn_merges(&words.words, &[], &alphabet, size, 2, &mut |_| {});
            let naive = naive_merges(&words.words, &alphabet.symbols, prefix, size, 2);
            assert!(!naive.is_empty());
            assert_eq!(learned.merges, naive, "{kind:?} {size}");
        }
    }
}

#[test]
fn byte_level_merges_and_ids_are_those_of_the_tokenizers_crate() {
    let texts = corpus();
    let ours =
        trained(&TokenizerSpec { purpose: Purpose::Bare, ..spec(TokenizerKind::Bpe, 600) }, &texts);
    let pre_tokenizer = crate::text::layout::untrained(&TokenizerSpec {
        purpose: Purpose::Bare,
        ..TokenizerSpec::new(TokenizerKind::Bpe)
    })
    .unwrap();
    let mut trainer = BpeTrainer::builder()
        .vocab_size(600)
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet((0..=255).map(bpe::byte_symbol).collect())
        .build();
    trainer
        .feed(texts.iter(), |text| {
            let mut words = Vec::new();
            pre_tokenizer.pre_tokenize(text, |word| words.push(word.to_string())).unwrap();
            Ok(words)
        })
        .unwrap();
    let mut theirs = BPE::default();
    trainer.train(&mut theirs).unwrap();
    let theirs = serde_json::to_value(ModelWrapper::BPE(theirs)).unwrap();
    let ours = model(&ours);
    assert_eq!(ours["vocab"], theirs["vocab"]);
    assert_eq!(ours["merges"].as_array().unwrap().len(), 600 - 256);
    assert_eq!(ours["merges"], theirs["merges"]);
}

#[test]
fn unigram_needs_no_more_tokens_than_the_tokenizers_crate() {
    use tokenizers::models::unigram::{Unigram, UnigramTrainer};
    let texts = corpus();
    let size = 500;
    let ours = trained(&spec(TokenizerKind::Unigram, size), &texts);
    let words = Words::count(
        &TokenizerSpec::new(TokenizerKind::Unigram),
        texts.iter().cloned().map(Ok),
        &mut |_| {},
    )
    .unwrap();
    let trainer = UnigramTrainer::builder()
        .vocab_size(size as u32)
        .show_progress(false)
        .unk_token(Some("<unk>".into()))
        .build()
        .unwrap();
    let mut theirs = Unigram::default();
    let counts = words.words.iter().map(|(word, count)| (word.clone(), *count as u32)).collect();
    trainer.do_train(counts, &mut theirs).unwrap();
    let theirs: usize = words
        .words
        .iter()
        .map(|(word, count)| theirs.encode(word).unwrap().len() * *count as usize)
        .sum();
    let ours: usize = texts.iter().map(|text| ours.encode(text).unwrap().len()).sum();
    assert!(ours as f64 <= 1.02 * theirs as f64, "{ours} tokens, the crate's trainer {theirs}");
}

#[test]
fn lossless_kinds_decode_every_text_to_itself() {
    let texts = ["a b\n", "naïve — 🙂👩‍👩‍👧  \t x\r\n", "e\u{301}", "<|endoftext|"];
    let texts: Vec<String> = texts.map(String::from).to_vec();
    let specs = [
        TokenizerSpec::new(TokenizerKind::Character),
        TokenizerSpec::new(TokenizerKind::Byte),
        TokenizerSpec { min_frequency: 1, ..spec(TokenizerKind::Bpe, 257) },
        TokenizerSpec { purpose: Purpose::Bare, ..TokenizerSpec::new(TokenizerKind::Byte) },
    ];
    for spec in specs {
        let tokenizer = trained(&spec, &texts);
        assert_eq!(
            tokenizer.kind(),
            Some(if spec.vocab_size.is_some() { TokenizerKind::Byte } else { spec.kind })
        );
        for text in &texts {
            let ids = tokenizer.encode(text).unwrap();
            assert_eq!(&tokenizer.decode(&ids).unwrap(), text, "{:?}", spec.kind);
        }
        assert!(tokenizer.encode("").unwrap().is_empty());
    }
    let bytes = trained(
        &TokenizerSpec { purpose: Purpose::Bare, ..TokenizerSpec::new(TokenizerKind::Byte) },
        &[],
    );
    assert_eq!(bytes.encode("Aé\n").unwrap(), [65, 0xC3, 0xA9, 10]);
}

#[test]
fn special_tokens_come_first_and_surround_the_text() {
    let texts = corpus();
    let bert = trained(
        &TokenizerSpec { casing: Casing::Uncased, ..spec(TokenizerKind::WordPiece, 300) },
        &texts,
    );
    let names: Vec<String> = bert.special_tokens().into_iter().map(|(_, token)| token).collect();
    assert_eq!(names, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
    let ids = bert.encode_with_special("The DOG.").unwrap();
    assert_eq!((ids[0], *ids.last().unwrap()), (2, 3));
    assert_eq!(ids, bert.encode_with_special("the dog.").unwrap());
    assert_eq!(bert.encode("\u{4e00}").unwrap(), [1]);
    let gpt = trained(&spec(TokenizerKind::Bpe, 300), &texts);
    assert_eq!(gpt.encode("a<|endoftext|>").unwrap().last(), Some(&0));
    assert_eq!(gpt.encode_with_special("dog").unwrap(), gpt.encode("dog").unwrap());
    let marian = trained(&spec(TokenizerKind::Unigram, 300), &texts);
    assert_eq!(marian.encode_with_special("dog").unwrap().last(), Some(&1));
    assert_eq!(
        marian.decode(&marian.encode(" The  dog sleeps.").unwrap()).unwrap(),
        "The dog sleeps."
    );
}

#[test]
fn a_special_token_spelt_out_in_the_training_text_stays_one_token() {
    let texts: Vec<String> = vec!["a<pad>b <unk> </s> [CLS] [CLS] <pad> <pad> <pad>\n".repeat(50)];
    for kind in TokenizerKind::ALL {
        let least = TokenizerSpec { purpose: Purpose::Translation, ..TokenizerSpec::new(kind) };
        let size = match kind {
            TokenizerKind::Bpe => Some(264),
            TokenizerKind::WordPiece => Some(28),
            TokenizerKind::Unigram => Some(24),
            _ => None,
        };
        let tokenizer = trained(&TokenizerSpec { vocab_size: size, ..least }, &texts);
        assert_eq!(tokenizer.encode("<pad></s>").unwrap(), [0, 1], "{kind:?}");
        assert_eq!(tokenizer.special_tokens().len(), 3);
        assert_eq!(size.unwrap_or(tokenizer.vocab_size()), tokenizer.vocab_size());
    }
}

/// The vocabulary size that the error of a training names.
fn suggested_size(spec: &TokenizerSpec, texts: &[String]) -> usize {
    match train(spec, texts.iter().cloned().map(Ok)) {
        Err(Error::Tokenizer(TokenizerError::VocabTooLarge { available, .. })) => available,
        Err(Error::Tokenizer(TokenizerError::VocabTooSmall { minimum, .. })) => minimum,
        _ => panic!("{spec:?} was not refused for its vocabulary size"),
    }
}

#[test]
fn the_vocabulary_size_that_an_error_names_works() {
    let texts = corpus();
    for kind in [
        TokenizerKind::Word,
        TokenizerKind::Character,
        TokenizerKind::Bpe,
        TokenizerKind::WordPiece,
        TokenizerKind::Unigram,
    ] {
        let most = suggested_size(&spec(kind, 1_000_000), &texts);
        assert_eq!(trained(&spec(kind, most), &texts).vocab_size(), most, "{kind:?}");
        assert!(train(&spec(kind, most + 1), texts.iter().cloned().map(Ok)).is_err(), "{kind:?}");
        let least = suggested_size(&spec(kind, 3), &texts);
        assert_eq!(trained(&spec(kind, least), &texts).vocab_size(), least, "{kind:?}");
    }
    let error = train(&spec(TokenizerKind::Byte, 300), []).err().unwrap();
    let Error::Tokenizer(TokenizerError::ByteVocab { size, .. }) = error else { panic!("{error}") };
    assert_eq!(trained(&spec(TokenizerKind::Byte, size), &[]).vocab_size(), size);
    let error = train(&TokenizerSpec::new(TokenizerKind::Bpe), []).err().unwrap();
    assert!(matches!(error, Error::Tokenizer(TokenizerError::NoVocabSize { .. })), "{error}");
}

#[test]
fn how_a_text_is_divided_changes_nothing() {
    let texts = corpus();
    let whole = vec![texts.join("\n") + "\n"];
    for (kind, size) in
        [(TokenizerKind::Bpe, 400), (TokenizerKind::WordPiece, 300), (TokenizerKind::Unigram, 300)]
    {
        let lines: Vec<String> = texts.iter().map(|text| format!("{text}\n")).collect();
        let one = trained(&spec(kind, size), &lines).to_json().unwrap();
        assert_eq!(one, trained(&spec(kind, size), &whole).to_json().unwrap(), "{kind:?}");
    }
}
