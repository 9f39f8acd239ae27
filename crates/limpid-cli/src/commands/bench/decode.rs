//! `limpid bench decode`: tokens per second with a key-value cache.

use super::interactive::{About, Timed, memory_mb, repeat, serve};
use super::{check_memory, check_positive, check_seconds, median_and_best, quantize, random_ids};
use crate::args::BenchDecode;
use crate::error::{Error, Result};
use limpid::generate::{DecoderSession, Session, argmax};
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid_tensor::machine::read_bandwidth_of;
use limpid_tensor::rng::Stream;
use limpid_tensor::team;
use serde_json::json;
use std::time::Instant;

/// Generates `tokens` tokens after a prompt, repeatedly.
pub fn run(args: &BenchDecode) -> Result<()> {
    check_seconds(args.seconds)?;
    check_positive(&[("prompt", args.prompt), ("streams", args.streams)])?;
    if args.prompt + args.tokens > args.context {
        return Err(Error::config(format!(
            "a prompt of {} and {} tokens after it do not fit a context of {}",
            args.prompt, args.tokens, args.context
        ))
        .hint(format!("--context {}", args.prompt + args.tokens)));
    }
    let config = DecoderConfig::gpt2(args.vocab, args.context, args.layers, args.heads, args.width);
    config.validate()?;
    check_memory(config.parameters_about() / 4.0)?;
    let own_mb = memory_mb("VmRSS");
    let mut model = Model::new(&config, 1)?;
    quantize(&mut model, args.quantize)?;
    let gpt = model.decoder().expect("a decoder");
    let mut rng = Stream::new(1, 0);
    let prompts: Vec<Vec<u32>> =
        (0..args.streams).map(|_| random_ids(&mut rng, args.prompt, args.vocab)).collect();
    let generate = || {
        let session = DecoderSession::new(gpt, &model.params, args.streams, args.context);
        generate_after(session, &prompts, args.tokens)
    };
    if args.interactive {
        generate();
        let about = About { parameters: model.params.count(), own_mb };
        return serve(about, |seconds| {
            Ok(Timed { step_ms: repeat(seconds, || generate().steps()), loss: None })
        });
    }
    let mut prompt_ms = Vec::new();
    let token_ms = repeat(args.seconds, || {
        let generated = generate();
        prompt_ms.push(generated.prompt_ms);
        generated.steps()
    });
    if args.tokens == 0 {
        return print_prompt(args, token_ms);
    }
    let ((prompt, _), (median, best)) = (median_and_best(prompt_ms), median_and_best(token_ms));
    let rate = |ms: f64| args.streams as f64 / ms * 1e3;
    // Every weight is read once per token, for any number of streams; of the tables of tokens
    // (unless tied to the output layer) and positions only some rows.
    let bytes = model.params.bytes();
    let bandwidth = bytes as f64 / median / 1e6;
    let limit = read_bandwidth_of(bytes, args.seconds.min(0.5));
    if args.json {
        println!(
            "{}",
            json!({
                "tokens_per_second": rate(median), "best_tokens_per_second": rate(best),
                "prompt_ms": prompt, "weights_gb_per_second": bandwidth,
                "bytes_per_token": bytes, "read_gb_per_second": limit,
                "threads": team::threads(), "streams": args.streams,
                "parameters": model.params.count(),
            })
        );
        return Ok(());
    }
    println!("parameters      {:>12}", model.params.count());
    println!("threads         {:>12}", team::threads());
    println!(
        "decoding        {:>12.1} tokens/s   (best {:.1}; {} streams)",
        rate(median),
        rate(best),
        args.streams
    );
    println!("weights         {:>12.1} MB", bytes as f64 * 1e-6);
    println!("weights read    {bandwidth:>12.1} GB/s   (a buffer of that size: {limit:.1} GB/s)");
    println!("prompt          {prompt:>12.2} ms for {} tokens per stream", args.prompt);
    Ok(())
}

/// The prompts alone.
fn print_prompt(args: &BenchDecode, prompt_ms: Vec<f64>) -> Result<()> {
    let (median, best) = median_and_best(prompt_ms);
    let rate = |ms: f64| (args.streams * args.prompt) as f64 / ms * 1e3;
    if args.json {
        let figures = json!({
            "prompt_ms": median, "prompt_tokens_per_second": rate(median),
            "threads": team::threads(), "streams": args.streams,
        });
        println!("{figures}");
        return Ok(());
    }
    println!("prompt          {median:>12.2} ms for {} tokens per stream", args.prompt);
    println!("rate            {:>12.1} tokens/s   (best {:.1})", rate(median), rate(best));
    Ok(())
}

struct Generated {
    prompt_ms: f64,
    token_ms: Vec<f64>,
}

impl Generated {
    /// Milliseconds of each token, or of the prompt if nothing follows it.
    fn steps(self) -> Vec<f64> {
        if self.token_ms.is_empty() { vec![self.prompt_ms] } else { self.token_ms }
    }
}

/// Processes the prompts, then appends the most likely token of each sequence `tokens` times.
fn generate_after(mut session: DecoderSession, prompts: &[Vec<u32>], tokens: usize) -> Generated {
    let before = Instant::now();
    let mut scores = session.advance(prompts);
    let prompt_ms = before.elapsed().as_secs_f64() * 1e3;
    let mut token_ms = Vec::new();
    for _ in 0..tokens {
        let before = Instant::now();
        let next: Vec<Vec<u32>> =
            (0..prompts.len()).map(|i| vec![argmax(scores.row(i)) as u32]).collect();
        scores = session.advance(&next);
        token_ms.push(before.elapsed().as_secs_f64() * 1e3);
    }
    Generated { prompt_ms, token_ms }
}
