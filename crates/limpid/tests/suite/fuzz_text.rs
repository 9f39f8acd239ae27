//! Mutated text files, tables, token caches and tokenizers: refused or accepted, never a panic.

use crate::fuzz::{never_panics, scratch};
use limpid::data::parallel::parallel;
use limpid::data::table::{Column, Header, Row, TableFormat, rows_of};
use limpid::data::tokens::TokenFile;
use limpid::text::train::{TokenizerSpec, train};
use limpid::text::{Blocks, TextReader, Tokenizer, TokenizerKind};
use std::path::{Path, PathBuf};

const CASES: u64 = 10_000;

fn text(bytes: &[u8]) -> TextReader {
    TextReader::from_reader(Path::new("fuzz"), std::io::Cursor::new(bytes.to_vec()))
}

fn seeds() -> Vec<Vec<u8>> {
    let seeds = [
        "\u{feff}label\ttext\n1\tgut, ja\r\n0\tnaïve 🙂\n\n",
        "a,b\n1,\"x, \"\"y\"\"\nz\"\n2,w\n",
        "{\"text\": \"a\\u00e9\", \"label\": 1}\n{\"text\": \"b\", \"label\": true}\n",
        "one line without an end",
    ];
    seeds.map(|seed| seed.as_bytes().to_vec()).to_vec()
}

#[test]
fn lines_blocks_pairs_and_tables_survive_any_bytes() {
    never_panics("text", &seeds(), CASES, |bytes| {
        let lines: Vec<_> = text(bytes).lines().collect();
        // Nothing is made up: lines are no longer than the file.
        let length: usize = lines.iter().flatten().map(String::len).sum();
        assert!(length <= bytes.len());
        let blocks: Result<String, _> = Blocks::new(text(bytes)).collect();
        assert_eq!(blocks.is_ok(), lines.iter().all(Result::is_ok));
        let _: Result<Vec<_>, _> = parallel(text(bytes), text(b"x\ny\n")).collect();
        for format in [TableFormat::Tsv, TableFormat::Csv, TableFormat::JsonLines] {
            for columns in [["text", "label"], ["2", "1"]] {
                let columns = columns.map(Column::parse);
                for header in [Header::First, Header::Missing] {
                    let rows = rows_of(text(bytes), Path::new("fuzz"), format, header, &columns);
                    if let Ok(rows) = rows.and_then(|rows| rows.collect::<Result<Vec<Row>, _>>()) {
                        assert!(rows.iter().all(|row| row.fields.len() == 2));
                        assert!(rows.len() <= bytes.len() + 1);
                    }
                }
            }
        }
    });
}

#[test]
fn token_caches_survive_any_bytes_and_give_what_was_written_or_an_error() {
    let folder = scratch("cache");
    let (source, cache): (PathBuf, PathBuf) = (folder.join("text"), folder.join("cache"));
    std::fs::write(&source, "some words\nmore words\n").unwrap();
    let bytes = train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer;
    let file = TokenFile::build(&cache, &bytes, &[source], None, &mut |_| {}).unwrap();
    let ids = file.slice(0..file.len());
    let valid = std::fs::read(&cache).unwrap();
    never_panics("token cache", std::slice::from_ref(&valid), CASES, |bytes| {
        std::fs::write(&cache, bytes).unwrap();
        if let Ok(file) = TokenFile::open(&cache) {
            assert_eq!(file.slice(0..file.len()), ids);
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tokenizers_survive_any_bytes_and_still_encode_what_they_accept() {
    let corpus = "low lower lowest new newer\nnewest wide wider widest été\n".repeat(20);
    let learn = |(kind, vocab_size): (TokenizerKind, Option<usize>)| {
        let spec = TokenizerSpec { vocab_size, ..TokenizerSpec::new(kind) };
        let json = train(&spec, [Ok(corpus.clone())]).unwrap().tokenizer.to_json().unwrap();
        // Without spaces: mutations hit what matters.
        serde_json::from_str::<serde_json::Value>(&json).unwrap().to_string().into_bytes()
    };
    let kinds = [
        (TokenizerKind::Character, None),
        (TokenizerKind::Word, None),
        (TokenizerKind::WordPiece, Some(40)),
        (TokenizerKind::Unigram, Some(24)),
        (TokenizerKind::Bpe, Some(262)),
    ];
    let seeds: Vec<Vec<u8>> = kinds.into_iter().map(learn).collect();
    never_panics("tokenizer.json", &seeds, CASES, |bytes| {
        let Ok(json) = std::str::from_utf8(bytes) else { return };
        if let Ok(tokenizer) = Tokenizer::from_json(Path::new("fuzz"), json) {
            if let Ok(ids) = tokenizer.encode_with_special("Newest été 🙂  low") {
                let _ = tokenizer.decode(&ids);
            }
            let _ = (
                tokenizer.kind(),
                tokenizer.special_tokens(),
                tokenizer.to_json(),
                tokenizer.vocab_size(),
            );
        }
    });
}
