//! What a smaller cache of keys and values costs: the perplexity of a text, a token at a time, with
//! keys and values in f32, f16 and int8.
//!
//! `cargo run --release --example kv_cache_perplexity -- FOLDER TEXT` with the model folder of a
//! GPT and a file; without arguments it trains a small one first.

use limpid::error::{Error, Result};
use limpid::generate::{DecoderSlots, KvFormat, Slots};
use limpid::model::{Model, config::DecoderConfig};
use limpid::text::word_tokenizer;
use limpid::{Generator, hub};
use limpid_tensor::kernels::softmax::log_softmax;
use std::path::Path;

/// Windows that advance together, and the most that are read.
const TOGETHER: usize = 16;
const MOST: usize = 128;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match (args.next(), args.next()) {
        (Some(folder), Some(file)) => {
            let path = Path::new(&file);
            let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
            measure(folder.as_ref(), &text).map(|_| ())
        }
        _ => run("cache-example".as_ref()).map(|_| ()),
    }
}

/// Measures a model that knows nothing yet; gives the perplexities.
pub fn run(folder: &Path) -> Result<Vec<f64>> {
    let text = "one two three four five six seven eight nine ten ".repeat(8);
    let tokenizer = word_tokenizer([text.as_str()])?;
    let model = Model::new(DecoderConfig::gpt2(tokenizer.vocab_size(), 16, 1, 2, 16), 1)?;
    hub::save(&model, folder)?;
    tokenizer.save(folder)?;
    measure(folder, &text)
}

/// The perplexity with each format.
fn measure(folder: &Path, text: &str) -> Result<Vec<f64>> {
    let generator = Generator::load(folder)?;
    let decoder = generator.model().decoder().expect("a language model");
    let context = decoder.config().max_position_embeddings;
    let ids = generator.tokenizer().encode(text)?;
    // A window has one token more than it reads.
    let windows: Vec<&[u32]> = ids.chunks_exact(context + 1).take(MOST).collect();
    let mut found = Vec::new();
    for format in KvFormat::ALL {
        let slots = DecoderSlots::new(decoder, generator.weights(), context);
        let mut slots = slots.with_kv_format(format);
        let (mut loss, mut count) = (0.0, 0);
        for windows in windows.chunks(TOGETHER) {
            let open = slots.open(&vec![&[][..]; windows.len()]);
            for at in 0..context {
                let next: Vec<_> =
                    open.iter().zip(windows).map(|(slot, ids)| (*slot, &ids[at..=at])).collect();
                let logits = slots.advance(&next);
                for (row, window) in windows.iter().enumerate() {
                    let mut scores = logits.row(row).to_vec();
                    log_softmax(&mut scores);
                    loss -= f64::from(scores[window[at + 1] as usize]);
                    count += 1;
                }
            }
            open.into_iter().for_each(|slot| slots.close(slot));
        }
        let perplexity = (loss / f64::from(count)).exp();
        println!("{format:?}: perplexity {perplexity:.5} of {count} tokens");
        found.push(perplexity);
    }
    Ok(found)
}
