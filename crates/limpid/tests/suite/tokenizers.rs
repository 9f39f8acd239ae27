//! Tokenizers of other programs: SentencePiece models against the `sentencepiece` package, folders
//! without `tokenizer.json` against `transformers` (`reference/make_tokenizers.py`).

use limpid::error::{Error, SentencePieceProblem, TokenizerError};
use limpid::hub;
use limpid::text::Tokenizer;
use limpid::text::sentencepiece::SentencePiece;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn cases(path: &Path) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}

/// An empty folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("limpid-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in files {
            fs::write(folder.join(name), content).unwrap();
        }
        Self(folder)
    }

    fn error(&self) -> TokenizerError {
        match hub::load_tokenizer(&self.0) {
            Err(Error::Tokenizer(error)) => error,
            other => panic!("{:?}", other.err()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MODELS: [&str; 8] = [
    "unigram",
    "unigram-bytes",
    "unigram-identity",
    "unigram-suffix",
    "bpe",
    "bpe-bytes",
    "char",
    "word",
];

#[test]
fn sentencepiece_models_encode_and_decode_as_the_package_does() {
    for name in MODELS {
        let path = fixtures("sentencepiece").join(format!("{name}.model"));
        let model = SentencePiece::load(&path).unwrap();
        let cases = cases(&path.with_extension("json"));
        assert_eq!(cases.len(), 200);
        for case in &cases {
            let input = text(case, "text");
            let encoded = model.encode(input);
            let found: Vec<u32> = encoded.iter().map(|piece| piece.id).collect();
            assert_eq!(found, ids(&case["ids"]), "{name}: {input:?}");
            let pieces: Vec<&str> = encoded.iter().map(|piece| piece.piece.as_str()).collect();
            assert_eq!(serde_json::json!(pieces), case["pieces"], "{name}: {input:?}");
            let offsets: Vec<[usize; 2]> =
                encoded.iter().map(|piece| [piece.range.start, piece.range.end]).collect();
            assert_eq!(serde_json::json!(offsets), case["offsets"], "{name}: {input:?}");
            assert_eq!(model.decode(&found).unwrap(), text(case, "decoded"), "{name}: {input:?}");
            let half: Vec<u32> = found.iter().copied().skip(1).step_by(2).collect();
            let half = model.decode(&half).unwrap();
            assert_eq!(half, text(case, "decoded_half"), "{name}: {input:?}");
        }
    }
}

#[test]
fn folders_without_tokenizer_json_encode_and_decode_as_transformers_does() {
    let mut seen = 0;
    for entry in fs::read_dir(fixtures("tokenizers")).unwrap() {
        let folder = entry.unwrap().path();
        let tokenizer = hub::load_tokenizer(&folder).unwrap();
        for case in cases(&folder.join("expected.json")) {
            let input = text(&case, "text");
            let found = tokenizer.encode(input).unwrap();
            let name = folder.display();
            assert_eq!(found, ids(&case["ids"]), "{name}: {input:?}");
            let special = tokenizer.encode_with_special(input).unwrap();
            assert_eq!(special, ids(&case["special"]), "{name}: {input:?}");
            assert_eq!(tokenizer.encode_with_types(input, None).unwrap().0, special);
            assert_eq!(tokenizer.encode_with_offsets(input).unwrap().0, found);
            let decoded = tokenizer.decode(&found).unwrap();
            assert_eq!(decoded, text(&case, "decoded"), "{name}: {input:?}");
            if let Some(target) = case.get("target") {
                let found = tokenizer.encode_target(input).unwrap();
                assert_eq!(found, ids(target), "{name}: target {input:?}");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn a_loaded_tokenizer_is_the_same_after_it_was_saved() {
    for name in ["t5", "llama", "mbart", "bert", "gpt2", "marian", "m2m_100"] {
        let folder = fixtures("tokenizers").join(name);
        let tokenizer = hub::load_tokenizer(&folder).unwrap();
        let scratch = Scratch::new(&format!("saved-{name}"), &[]);
        tokenizer.save(&scratch.0).unwrap();
        let again = Tokenizer::load(&scratch.0).unwrap();
        assert!(again.fingerprint().unwrap() == tokenizer.fingerprint().unwrap(), "{name}");
        for case in cases(&folder.join("expected.json")) {
            let special = again.encode_with_special(text(&case, "text")).unwrap();
            assert_eq!(special, ids(&case["special"]), "{name}");
        }
    }
}

#[test]
fn a_bare_model_has_the_ids_of_its_pieces_and_becomes_a_tokenizer_json() {
    for name in ["unigram-identity", "bpe-bytes"] {
        let path = fixtures("sentencepiece").join(format!("{name}.model"));
        let scratch = Scratch::new(&format!("bare-{name}"), &[]);
        fs::copy(&path, scratch.0.join("tokenizer.model")).unwrap();
        let tokenizer = Tokenizer::load(&scratch.0).unwrap();
        let json = tokenizer.to_json().unwrap();
        let library = Tokenizer::from_json(Path::new("tokenizer.json"), &json).unwrap();
        assert_eq!(library.vocab_size(), tokenizer.vocab_size());
        for case in cases(&path.with_extension("json")) {
            let input = text(&case, "text");
            assert_eq!(tokenizer.encode(input).unwrap(), ids(&case["ids"]), "{name}: {input:?}");
        }
        for input in ["the cat sees la forêt", "Das Kind läuft über the blue house."] {
            let expected = tokenizer.encode(input).unwrap();
            assert_eq!(library.encode(input).unwrap(), expected, "{name}: {input:?}");
        }
    }
}

#[test]
fn marian_with_two_vocabularies_encodes_the_target_by_its_own() {
    let folder = fixtures("tokenizers").join("marian");
    let scratch = Scratch::new("two-sided", &[]);
    for file in ["source.spm", "target.spm", "vocab.json"] {
        fs::copy(folder.join(file), scratch.0.join(file)).unwrap();
    }
    let config = "{\"tokenizer_class\": \"MarianTokenizer\", \"separate_vocabs\": true}";
    fs::write(scratch.0.join("tokenizer_config.json"), config).unwrap();
    let error = scratch.error();
    let TokenizerError::Incomplete { missing, .. } = &error else { panic!("{error}") };
    assert_eq!(*missing, "target_vocab.json");
    let target =
        "{\"</s>\": 0, \"<unk>\": 1, \"▁\": 2, \"c\": 3, \"a\": 4, \"t\": 5, \"<pad>\": 6}";
    fs::write(scratch.0.join("target_vocab.json"), target).unwrap();
    let tokenizer = Tokenizer::load(&scratch.0).unwrap();
    assert_eq!(tokenizer.target_vocab_size(), 7);
    assert!(tokenizer.vocab_size() > 7);
    assert_eq!(tokenizer.decode(&[2, 3, 4, 5, 0]).unwrap(), "cat");
    assert!(tokenizer.encode_target("the cat").unwrap().iter().all(|id| *id < 7));
}

#[test]
fn folders_that_cannot_be_opened_say_what_they_have_and_lack() {
    let error = Scratch::new("nothing", &[("config.json", "{}")]).error();
    assert!(error.to_string().contains("none of its files is one"), "{error}");
    let vocab = [("vocab.json", "{}"), ("config.json", "{\"model_type\": \"gpt2\"}")];
    let error = Scratch::new("half", &vocab).error();
    assert!(error.to_string().contains("merges.txt is missing beside vocab.json"), "{error}");
    let alone = [("vocab.json", "{}"), ("merges.txt", "")];
    let error = Scratch::new("alone", &alone).error();
    assert!(matches!(&error, TokenizerError::NotFound { found, .. } if found.len() == 2));
    let class = "{\"tokenizer_class\": \"XLNetTokenizer\"}";
    let error =
        Scratch::new("class", &[("spiece.model", "x"), ("tokenizer_config.json", class)]).error();
    assert!(
        matches!(&error, TokenizerError::UnknownClass { class, .. } if class == "XLNetTokenizer")
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let error = Scratch::new("pointer", &[("tokenizer.model", pointer)]).error();
    assert!(matches!(&error, TokenizerError::SentencePiece { .. }), "{error}");
    let merges = [
        ("vocab.json", "{\"a\": 0}"),
        ("merges.txt", "#version: 0.2\na b c\n"),
        ("config.json", "{\"model_type\": \"gpt2\"}"),
    ];
    let error = Scratch::new("merges", &merges).error();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn a_model_of_another_algorithm_or_an_added_token_out_of_place_is_refused() {
    let class = "{\"tokenizer_class\": \"T5Tokenizer\"}";
    let scratch = Scratch::new("algorithm", &[("tokenizer_config.json", class)]);
    let model = fixtures("sentencepiece").join("bpe.model");
    fs::copy(model, scratch.0.join("spiece.model")).unwrap();
    let error = scratch.error();
    assert!(error.to_string().contains("a BPE model, but its tokenizer class is unigram"));
    let added = "{\"tokenizer_class\": \"GPT2Tokenizer\", \"added_tokens_decoder\": \
                 {\"9\": {\"content\": \"<x>\", \"special\": true}}}";
    let files =
        [("tokenizer_config.json", added), ("vocab.json", "{\"a\": 0}"), ("merges.txt", "")];
    let error = Scratch::new("added", &files).error();
    assert!(matches!(&error, TokenizerError::AddedTokenId { id: 9, .. }), "{error}");
}

#[test]
fn models_that_sentencepiece_refuses_are_refused_by_name() {
    let parse = |bytes: &[u8]| match SentencePiece::from_bytes(Path::new("x"), bytes) {
        Err(Error::Tokenizer(TokenizerError::SentencePiece { problem, .. })) => problem,
        other => panic!("{:?}", other.is_ok()),
    };
    // Pieces by hand: field 1, length; in it piece (1), score (2), type (3).
    let piece = |text: &str, kind: u8| {
        let mut inner = vec![0x0a, text.len() as u8];
        inner.extend(text.bytes());
        inner.extend([0x18, kind]);
        [&[0x0a, inner.len() as u8][..], &inner].concat()
    };
    let unknown = piece("<unk>", 2);
    let problem = |pieces: &[Vec<u8>]| parse(&pieces.concat());
    assert_eq!(parse(&[]), SentencePieceProblem::NoUnknown);
    assert_eq!(problem(std::slice::from_ref(&unknown)), SentencePieceProblem::NoPieces);
    let twice = [unknown.clone(), piece("a", 1), piece("a", 4)];
    assert_eq!(problem(&twice), SentencePieceProblem::DuplicatePiece { piece: "a".into() });
    let two = [unknown.clone(), piece("?", 2)];
    assert_eq!(problem(&two), SentencePieceProblem::UnknownTwice);
    let empty = [unknown.clone(), piece("", 1)];
    assert_eq!(problem(&empty), SentencePieceProblem::BadPiece { id: 1 });
    let kind = [unknown.clone(), piece("a", 9)];
    assert_eq!(problem(&kind), SentencePieceProblem::PieceType { id: 1, value: 9 });
    // A byte piece without byte_fallback; byte_fallback (field 35 of field 2) without bytes.
    let byte = [unknown.clone(), piece("<0x41>", 6)];
    assert_eq!(problem(&byte), SentencePieceProblem::BadPiece { id: 1 });
    let fallback = [unknown, piece("a", 1), vec![0x12, 3, 0x98, 0x02, 1]];
    assert_eq!(problem(&fallback), SentencePieceProblem::MissingBytes);
}

#[test]
fn a_language_that_a_tokenizer_lacks_is_refused_with_those_it_has() {
    for (name, has) in [("mbart", ["ar_AR", "zh_CN"]), ("m2m_100", ["af", "zu"])] {
        let folder = Scratch::new(&format!("language-{name}"), &[]);
        for entry in fs::read_dir(fixtures("tokenizers").join(name)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.0.join(path.file_name().unwrap())).unwrap();
        }
        let settings = folder.0.join("tokenizer_config.json");
        let text = fs::read_to_string(&settings).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["src_lang"] = "xx_YY".into();
        fs::write(&settings, config.to_string()).unwrap();
        let error = Tokenizer::load(&folder.0).err().expect("no such language").to_string();
        for word in ["no language 'xx_YY'", has[0], has[1]] {
            assert!(error.contains(word), "{name}: {error}");
        }
    }
}

#[test]
fn texts_of_multilingual_translators_have_the_tokens_of_their_languages() {
    let path = fixtures("score/languages.json");
    let all: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for (name, cases) in all["families"].as_object().unwrap() {
        let mut tokenizer = hub::load_tokenizer(&fixtures("tokenizers").join(name)).unwrap();
        let end = tokenizer.id("</s>").unwrap();
        for case in cases.as_array().unwrap() {
            let (source, target) = (text(case, "source"), text(case, "target"));
            let languages = tokenizer.set_languages(Some(source), Some(target)).unwrap();
            assert_eq!(
                languages.target.map(u64::from),
                case["forced_bos_token_id"].as_u64(),
                "{name}: {target}"
            );
            let sentence = text(&all, "text");
            let found = tokenizer.source_sentence(sentence, end).unwrap();
            assert_eq!(found, ids(&case["source_ids"]), "{name}: from {source}");
            let found = tokenizer.target_sentence(sentence, end).unwrap();
            assert_eq!(found, ids(&case["target_ids"]), "{name}: into {target}");
        }
        let error = tokenizer.set_languages(Some("tlh"), None).unwrap_err();
        let Error::Tokenizer(TokenizerError::LacksLanguage { known, .. }) = error else {
            panic!("{error}")
        };
        assert!(known.len() > 20, "{known:?}");
    }
    for case in all["others"].as_array().unwrap() {
        let name = text(case, "name");
        let tokenizer = hub::load_tokenizer(&fixtures("tokenizers").join(name)).unwrap();
        let end = tokenizer.id("</s>").unwrap();
        let found = tokenizer.source_sentence(text(&all, "text"), end).unwrap();
        assert_eq!(found, ids(&case["source_ids"]), "{name}: source");
        let found = tokenizer.target_sentence(text(&all, "text"), end).unwrap();
        assert_eq!(found, ids(&case["target_ids"]), "{name}: target");
    }
    let mut other = hub::load_tokenizer(&fixtures("tokenizers/marian")).unwrap();
    let error = other.set_languages(None, Some("de")).unwrap_err();
    assert!(matches!(error, Error::Tokenizer(TokenizerError::NoLanguages { .. })), "{error}");
}
