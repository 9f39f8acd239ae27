//! `limpid bench decode`: tokens a second, one after another, with cached keys and values.

use super::interactive::{About, Timed, memory_mb, repeat, serve};
use super::{check_memory, check_positive, check_seconds, median_and_best, random_ids};
use crate::args::BenchDecode;
use limpid::config::GptConfig;
use limpid::decode::{GptSession, Session, argmax};
use limpid::error::{Error, Result};
use limpid::model::{Architecture, Model};
use limpid_tensor::rng::Stream;
use limpid_tensor::team;
use serde_json::json;
use std::time::Instant;

/// Writes `tokens` tokens after a prompt, again and again.
pub fn run(args: &BenchDecode) -> Result<()> {
    check_seconds(args.seconds)?;
    check_positive(&[("prompt", args.prompt), ("tokens", args.tokens), ("streams", args.streams)])?;
    if args.prompt + args.tokens > args.context {
        return Err(Error::config(format!(
            "a prompt of {} and {} tokens after it do not fit a context of {}",
            args.prompt, args.tokens, args.context
        ))
        .hint(format!("--context {}", args.prompt + args.tokens)));
    }
    let config = GptConfig::gpt2(args.vocab, args.context, args.layers, args.heads, args.width);
    config.validate()?;
    check_memory(config.parameters_about() / 4.0)?;
    let own_mb = memory_mb("VmRSS");
    let model = Model::gpt(&config, 1)?;
    let Architecture::Gpt(gpt) = &model.architecture else { unreachable!("a GPT was made") };
    let mut rng = Stream::new(1, 0);
    let prompts: Vec<Vec<u32>> =
        (0..args.streams).map(|_| random_ids(&mut rng, args.prompt, args.vocab)).collect();
    let write = || {
        let session = GptSession::new(gpt, &model.params, args.streams, args.context);
        write_after(session, &prompts, args.tokens)
    };
    if args.interactive {
        write();
        let about = About { parameters: model.params.count(), own_mb };
        return serve(about, |seconds| {
            Ok(Timed { step_ms: repeat(seconds, || write().token_ms), loss: None })
        });
    }
    let mut prompt_ms = Vec::new();
    let token_ms = repeat(args.seconds, || {
        let written = write();
        prompt_ms.push(written.prompt_ms);
        written.token_ms
    });
    let ((prompt, _), (median, best)) = (median_and_best(prompt_ms), median_and_best(token_ms));
    let rate = |ms: f64| args.streams as f64 / ms * 1e3;
    // Every weight is read once a token, whatever the number of streams.
    let bandwidth = 4.0 * model.params.count() as f64 / median / 1e6;
    if args.json {
        println!(
            "{}",
            json!({
                "tokens_per_second": rate(median), "best_tokens_per_second": rate(best), "prompt_ms": prompt,
                "weights_gb_per_second": bandwidth, "threads": team::threads(), "streams": args.streams,
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
    println!("weights read    {bandwidth:>12.1} GB/s");
    println!("prompt          {prompt:>12.2} ms for {} tokens a stream", args.prompt);
    Ok(())
}

struct Written {
    prompt_ms: f64,
    token_ms: Vec<f64>,
}

/// The prompts, and then the likeliest token of each again and again.
fn write_after(mut session: GptSession, prompts: &[Vec<u32>], tokens: usize) -> Written {
    let before = Instant::now();
    let mut scores = session.advance(prompts);
    let prompt_ms = before.elapsed().as_secs_f64() * 1e3;
    let mut token_ms = Vec::new();
    for _ in 0..tokens {
        let before = Instant::now();
        let next: Vec<Vec<u32>> = (0..prompts.len()).map(|i| vec![argmax(scores.row(i)) as u32]).collect();
        scores = session.advance(&next);
        token_ms.push(before.elapsed().as_secs_f64() * 1e3);
    }
    Written { prompt_ms, token_ms }
}
