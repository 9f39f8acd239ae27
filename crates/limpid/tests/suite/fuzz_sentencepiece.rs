//! Mutated SentencePiece models: refused or accepted, never a panic, and what is accepted encodes.

use crate::fuzz::{never_panics, scratch};
use limpid::text::Tokenizer;
use limpid::text::sentencepiece::SentencePiece;
use std::fs;
use std::path::Path;

const CASES: u64 = 10_000;
const TEXT: &str = "  The cat's 🙂 naïve é Kind<sep> x\u{0}\t日本語 aaaaaaaaaaaaaaaaaaaa…</s> ";

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    let read = |name: &str| fs::read(folder.join("sentencepiece").join(name)).unwrap();
    ["unigram.model", "unigram-bytes.model", "bpe.model", "bpe-bytes.model", "char.model"]
        .map(read)
        .to_vec()
}

#[test]
fn sentencepiece_models_survive_any_bytes_and_still_encode_what_they_accept() {
    never_panics("SentencePiece model", &seeds(), CASES, |bytes| {
        let Ok(model) = SentencePiece::from_bytes(Path::new("fuzz"), bytes) else { return };
        let encoded = model.encode(TEXT);
        for piece in &encoded {
            assert!((piece.id as usize) < model.pieces().len());
            assert!(piece.range.start <= piece.range.end && piece.range.end <= TEXT.len());
        }
        let ids: Vec<u32> = encoded.iter().map(|piece| piece.id).collect();
        model.decode(&ids).unwrap();
        let every: Vec<u32> = (0..model.pieces().len() as u32).collect();
        model.decode(&every).unwrap();
    });
}

#[test]
fn folders_with_mutated_models_survive_too() {
    let folder = scratch("spm-folder");
    let config = folder.join("tokenizer_config.json");
    let classes = [("T5Tokenizer", "spiece.model"), ("LlamaTokenizer", "tokenizer.model")];
    for (class, file) in classes {
        fs::write(&config, format!("{{\"tokenizer_class\": \"{class}\"}}")).unwrap();
        never_panics(class, &seeds(), CASES / 10, |bytes| {
            fs::write(folder.join(file), bytes).unwrap();
            if let Ok(tokenizer) = Tokenizer::load(&folder)
                && let Ok(ids) = tokenizer.encode_with_special(TEXT)
            {
                let _ = tokenizer.decode(&ids);
            }
        });
        fs::remove_file(folder.join(file)).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}
