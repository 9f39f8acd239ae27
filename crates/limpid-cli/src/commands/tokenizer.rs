//! `limpid tokenizer`: train, use and describe tokenizers.

use crate::args::{
    Algorithm, For, Tokenizer as Args, TokenizerDecode, TokenizerEncode, TokenizerInfo,
    TokenizerTrain,
};
use crate::error::{Error, Result};
use crate::printer::{self, say};
use limpid::text::train::{Stage, TokenizerSpec, train_files};
use limpid::text::{
    Blocks, Casing, Purpose, TextReader, Tokenizer, TokenizerKind, map_in_order, text_size,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the chosen subcommand.
pub fn run(args: Args) -> Result<()> {
    match args {
        Args::Train(args) => train(&args),
        Args::Encode(args) => encode(&args),
        Args::Decode(args) => decode(&args),
        Args::Info(args) => info(&args),
    }
}

fn spec(args: &TokenizerTrain) -> TokenizerSpec {
    let kind = match args.algorithm {
        Algorithm::Char => TokenizerKind::Character,
        Algorithm::Byte => TokenizerKind::Byte,
        Algorithm::Word => TokenizerKind::Word,
        Algorithm::Bpe => TokenizerKind::Bpe,
        Algorithm::Wordpiece => TokenizerKind::WordPiece,
        Algorithm::Unigram => TokenizerKind::Unigram,
    };
    let purpose = args.purpose.map(|purpose| match purpose {
        For::Gpt => Purpose::LanguageModel,
        For::Translate => Purpose::Translation,
        For::Bert => Purpose::Encoder,
        For::None => Purpose::Bare,
    });
    let defaults = TokenizerSpec::new(kind);
    TokenizerSpec {
        purpose: purpose.unwrap_or(defaults.purpose),
        vocab_size: args.vocab,
        min_frequency: args.min_frequency.unwrap_or(defaults.min_frequency),
        casing: if args.lowercase { Casing::Uncased } else { Casing::Cased },
        ..defaults
    }
}

fn train(args: &TokenizerTrain) -> Result<()> {
    let spec = spec(args);
    if args.out.join("tokenizer.json").exists() {
        return Err(Error::config(format!("{} has a tokenizer already", args.out.display())).hint(
            "give a new folder with --out; a model that knows the old ids would not know the new \
             ones",
        ));
    }
    let started = Instant::now();
    let mut bar = printer::Progress::bytes("counting", text_size(&args.data)?);
    let mut learning = false;
    let trained = train_files(&spec, &args.data, &mut |stage| match stage {
        Stage::Counting(done) => bar.set(done),
        Stage::Learning(done, of) => {
            if !learning {
                learning = true;
                let counting =
                    std::mem::replace(&mut bar, printer::Progress::count("learning", of as u64));
                counting.finish();
            }
            bar.set(done as u64);
        }
    });
    bar.finish();
    let trained = trained?;
    trained.tokenizer.save(&args.out)?;
    if spec.kind == TokenizerKind::Byte && !args.data.is_empty() {
        say("warning: a byte vocabulary needs no text: --data is ignored");
    }
    if trained.counts.words > 0 {
        let (words, distinct) = (trained.counts.words, trained.counts.distinct);
        let what = if spec.kind == TokenizerKind::Character {
            "characters"
        } else {
            "words and punctuation marks"
        };
        say(format_args!("{words} {what}, {distinct} distinct"));
    }
    say(format_args!(
        "{}, {} tokens, trained in {:.1} s",
        spec.kind.name(),
        trained.tokenizer.vocab_size(),
        started.elapsed().as_secs_f64()
    ));
    if args.json {
        let (counts, vocab_size) = (&trained.counts, trained.tokenizer.vocab_size());
        println!(
            "{}",
            json!({
                "folder": args.out, "kind": spec.kind.name(), "vocab_size": vocab_size,
                "bytes": counts.bytes, "words": counts.words, "distinct": counts.distinct,
            })
        );
        return Ok(());
    }
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        println!("{}", args.out.join(file).display());
    }
    Ok(())
}

/// Calls `work` on each argument, or on each line of standard input.
fn for_each_text(
    texts: &[String],
    what: &str,
    mut work: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if !texts.is_empty() {
        return texts.iter().try_for_each(|text| work(text));
    }
    let mut none = true;
    for line in TextReader::from_reader(Path::new("standard input"), std::io::stdin()).lines() {
        none = false;
        work(&line?)?;
    }
    if none {
        return Err(Error::data(format!("standard input has no {what}"))
            .hint("give them as arguments, or pipe a file in"));
    }
    Ok(())
}

fn join(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn encode(args: &TokenizerEncode) -> Result<()> {
    let tokenizer = limpid::hub::load_tokenizer(&args.model)?;
    for_each_text(&args.text, "lines to encode", |text| {
        let ids = if args.special {
            tokenizer.encode_with_special(text)?
        } else {
            tokenizer.encode(text)?
        };
        if args.json {
            let tokens: Vec<String> = ids.iter().map(|id| tokenizer.token(*id)).collect();
            println!("{}", json!({ "text": text, "ids": ids, "tokens": tokens }));
        } else {
            println!("{}", join(&ids));
        }
        Ok(())
    })
}

fn decode(args: &TokenizerDecode) -> Result<()> {
    let tokenizer = limpid::hub::load_tokenizer(&args.model)?;
    let size = tokenizer.vocab_size();
    // `decode DIR 5 3 9` is one sequence, as `decode DIR 5,3,9` is.
    let given = if args.ids.is_empty() { Vec::new() } else { vec![args.ids.join(" ")] };
    for_each_text(&given, "ids to decode", |line| {
        let words = line.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        let id = |word: &str| {
            word.parse::<u32>().ok().filter(|id| tokenizer.has_id(*id)).ok_or_else(|| {
                Error::data(format!("'{word}' is not an id of this tokenizer")).hint(format!(
                    "it has {size} tokens, numbered from 0; `tokenizer encode` gives ids"
                ))
            })
        };
        let ids = words.map(id).collect::<Result<Vec<u32>>>()?;
        let text = if args.special {
            tokenizer.decode_with_special(&ids)?
        } else {
            tokenizer.decode(&ids)?
        };
        if args.json {
            println!("{}", json!({ "ids": ids, "text": text }));
        } else {
            println!("{text}");
        }
        Ok(())
    })
}

/// Statistics of a tokenizer on a text.
#[derive(Default)]
struct Fit {
    bytes: u64,
    /// Words separated by whitespace.
    words: u64,
    tokens: u64,
    unknown: u64,
}

fn measure(tokenizer: &Tokenizer, files: &[PathBuf]) -> Result<Fit> {
    let unknown = tokenizer.unk_id();
    let bar = printer::Progress::bytes("reading", text_size(files)?);
    let mut fit = Fit::default();
    for file in files {
        map_in_order(
            Blocks::new(TextReader::open(file)?),
            |block| {
                let ids = tokenizer.encode(block)?;
                let missing = ids.iter().filter(|id| Some(**id) == unknown).count();
                Ok((block.split_whitespace().count(), ids.len(), missing))
            },
            |(words, tokens, missing), block| {
                fit.bytes += block.len() as u64;
                fit.words += words as u64;
                fit.tokens += tokens as u64;
                fit.unknown += missing as u64;
                bar.set(fit.bytes);
                Ok(())
            },
        )?;
    }
    bar.finish();
    if fit.words == 0 {
        return Err(Error::data("no text found in these files").hint("are they the right files?"));
    }
    Ok(fit)
}

fn info(args: &TokenizerInfo) -> Result<()> {
    let tokenizer = limpid::hub::load_tokenizer(&args.model)?;
    let fit = if args.data.is_empty() { None } else { Some(measure(&tokenizer, &args.data)?) };
    let kind = tokenizer.kind().map_or("BPE", TokenizerKind::name);
    let special = tokenizer.special_tokens();
    if args.json {
        let special: serde_json::Map<String, serde_json::Value> =
            special.into_iter().map(|(id, token)| (token, json!(id))).collect();
        let text = fit.map(|fit| {
            json!({
                "bytes": fit.bytes, "words": fit.words, "tokens": fit.tokens,
                "unknown": fit.unknown,
                "tokens_per_word": fit.tokens as f64 / fit.words as f64,
                "bytes_per_token": fit.bytes as f64 / fit.tokens.max(1) as f64,
                "unknown_fraction": fit.unknown as f64 / fit.tokens.max(1) as f64,
            })
        });
        println!(
            "{}",
            json!({ "kind": kind, "vocab_size": tokenizer.vocab_size(), "special_tokens": special,
                "text": text })
        );
        return Ok(());
    }
    println!("{:<16}{kind}", "kind");
    println!("{:<16}{}", "vocabulary", tokenizer.vocab_size());
    let special: Vec<String> = special.iter().map(|(id, token)| format!("{token} {id}")).collect();
    println!(
        "{:<16}{}",
        "special tokens",
        if special.is_empty() { "none".into() } else { special.join(", ") }
    );
    if let Some(fit) = fit {
        let (words, tokens) = (fit.words as f64, fit.tokens.max(1) as f64);
        println!("{:<16}{} bytes, {} words, {} tokens", "text", fit.bytes, fit.words, fit.tokens);
        println!("{:<16}{:.3}", "tokens per word", fit.tokens as f64 / words);
        println!("{:<16}{:.3}", "bytes per token", fit.bytes as f64 / tokens);
        println!(
            "{:<16}{:.3}%  ({} tokens)",
            "unknown",
            100.0 * fit.unknown as f64 / tokens,
            fit.unknown
        );
    }
    Ok(())
}
