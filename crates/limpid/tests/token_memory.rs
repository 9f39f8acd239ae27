//! A corpus is tokenized in blocks: peak memory does not depend on the length of the text. The only
//! test of its binary, because all memory of the process is counted.

use limpid::data::tokens::TokenFile;
use limpid::text::TokenizerKind;
use limpid::text::train::{TokenizerSpec, train, train_files};
use limpid_tensor::counting::CountingAllocator;
use std::io::Write;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

#[test]
fn peak_memory_does_not_grow_with_the_length_of_the_text() {
    let folder = std::env::temp_dir().join(format!("limpid-token-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    limpid_tensor::team::set_threads(2);
    let bytes = train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer;
    let spec = TokenizerSpec { vocab_size: Some(300), ..TokenizerSpec::new(TokenizerKind::Bpe) };
    let peak = |megabytes: usize| {
        let source = folder.join(format!("{megabytes}.txt"));
        let mut file = std::io::BufWriter::new(std::fs::File::create(&source).unwrap());
        let mut written = 0;
        for i in 0.. {
            let line =
                format!("line {} of a text that repeats its words, here and there\n", i % 1000);
            file.write_all(line.as_bytes()).unwrap();
            written += line.len();
            if written > megabytes << 20 {
                break;
            }
        }
        drop(file);
        let sources = [source];
        let before = {
            ALLOCATOR.reset_peak();
            ALLOCATOR.bytes()
        };
        train_files(&spec, &sources, &mut |_| {}).unwrap();
        let counted = ALLOCATOR.peak_bytes() - before;
        let before = {
            ALLOCATOR.reset_peak();
            ALLOCATOR.bytes()
        };
        let cache = folder.join("cache");
        let tokens = TokenFile::build(&cache, &bytes, &sources, None, &mut |_| {}).unwrap();
        assert_eq!(tokens.len(), written);
        assert_eq!(tokens.slice(0..4), [109, 106, 111, 102]);
        (counted, ALLOCATOR.peak_bytes() - before)
    };
    // A warm-up allocates what stays (threads, compiled patterns).
    peak(1);
    let (short, long) = (peak(4), peak(16));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(long.0 < short.0 + short.0 / 4, "counting words: {} and {} bytes", short.0, long.0);
    assert!(long.1 < short.1 + short.1 / 4, "tokenizing: {} and {} bytes", short.1, long.1);
}
