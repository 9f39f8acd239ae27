//! `limpid bench machine`: the limits that other benchmarks are compared with.

use crate::args::BenchMachine;
use crate::error::Result;
use limpid_tensor::machine::{self, LinearShape, Pass};
use limpid_tensor::{simd, team};
use serde_json::json;

/// The linear layers of a model of width c with a vocabulary of v.
fn layers(tokens: usize, c: usize, v: usize) -> [(&'static str, LinearShape); 5] {
    [
        ("q, k, v", c, 3 * c),
        ("attention out", c, c),
        ("feed-forward up", c, 4 * c),
        ("feed-forward down", 4 * c, c),
        ("output", c, v),
    ]
    .map(|(name, inputs, outputs)| (name, LinearShape { rows: tokens, inputs, outputs }))
}

fn name_of(pass: Pass) -> &'static str {
    match pass {
        Pass::Forward => "forward",
        Pass::InputGradient => "input gradient",
        Pass::WeightGradient => "weight gradient",
    }
}

/// The (m,k)·(k,n) that a pass computes.
fn mkn(shape: LinearShape, pass: Pass) -> (usize, usize, usize) {
    let LinearShape { rows, inputs, outputs } = shape;
    match pass {
        Pass::Forward => (rows, inputs, outputs),
        Pass::InputGradient => (rows, outputs, inputs),
        Pass::WeightGradient => (outputs, rows, inputs),
    }
}

/// Measures multiply-adds, memory, and products of the given width and tokens.
pub fn run(args: &BenchMachine) -> Result<()> {
    super::check_seconds(args.seconds)?;
    super::check_positive(&[
        ("width", args.width),
        ("tokens", args.tokens),
        ("vocab", args.vocab),
    ])?;
    // Three limits and fifteen products share the time; a limit gets more of it.
    let (limits, each) = (args.seconds / 8.0, args.seconds * 5.0 / 8.0 / 15.0);
    let peak = machine::fma_peak(limits);
    let (read, update) = (machine::read_bandwidth(limits), machine::update_bandwidth(limits));
    let products: Vec<(&str, LinearShape, Pass, f64)> = layers(args.tokens, args.width, args.vocab)
        .into_iter()
        .flat_map(|(name, shape)| Pass::ALL.map(|pass| (name, shape, pass)))
        .map(|(name, shape, pass)| (name, shape, pass, machine::product_rate(shape, pass, each)))
        .collect();
    if args.json {
        let products: Vec<_> = products
            .iter()
            .map(|(name, shape, pass, rate)| {
                let (m, k, n) = mkn(*shape, *pass);
                let pass = name_of(*pass);
                json!({ "name": name, "pass": pass, "m": m, "k": k, "n": n, "gflops": rate })
            })
            .collect();
        println!(
            "{}",
            json!({
                "instruction_set": format!("{:?}", simd::level()), "threads": team::threads(),
                "fma_peak_gflops": peak,
                "read_gb_per_second": read, "update_gb_per_second": update, "products": products,
            })
        );
        return Ok(());
    }
    println!("instruction set {:>12}", format!("{:?}", simd::level()));
    println!("threads         {:>12}", team::threads());
    if let Some(peak) = peak {
        println!("FMA peak        {peak:>12.1} GFLOP/s");
    }
    println!("memory read     {read:>12.1} GB/s");
    println!("memory update   {update:>12.1} GB/s read and written");
    println!("\n{:<18}{:<18}{:>18}{:>12}{:>10}", "product", "", "m,k,n", "GFLOP/s", "of peak");
    for (name, shape, pass, rate) in products {
        let (m, k, n) = mkn(shape, pass);
        let share = peak.map_or(String::new(), |peak| format!("{:.0}%", 100.0 * rate / peak));
        println!(
            "{name:<18}{:<18}{:>18}{rate:>12.1}{share:>10}",
            name_of(pass),
            format!("{m},{k},{n}")
        );
    }
    Ok(())
}
