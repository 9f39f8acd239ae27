//! `limpid bench machine`: the limits everything else is measured against.

use crate::args::BenchMachine;
use limpid::error::Result;
use limpid_tensor::{machine, simd, team};
use serde_json::json;

/// Products of a model's shape: rows are tokens.
const SHAPES: [(&str, f64); 4] =
    [("q, k, v", 3.0), ("attention out", 1.0), ("feed-forward up", 4.0), ("output", 0.0)];

/// Measures multiply-adds, memory, and products of the given width and tokens.
pub fn run(args: &BenchMachine) -> Result<()> {
    super::check_seconds(args.seconds)?;
    super::check_positive(&[("width", args.width), ("tokens", args.tokens), ("vocab", args.vocab)])?;
    let seconds = args.seconds / 8.0;
    let peak = machine::fma_peak(seconds);
    let (read, update) = (machine::read_bandwidth(seconds), machine::update_bandwidth(seconds));
    let products: Vec<(&str, usize, f64)> = SHAPES
        .iter()
        .map(|(name, factor)| {
            let out = if *factor > 0.0 { (*factor * args.width as f64) as usize } else { args.vocab };
            (*name, out, machine::product_rate(args.tokens, args.width, out, seconds))
        })
        .collect();
    if args.json {
        let products: Vec<_> = products
            .iter()
            .map(|(name, out, rate)| json!({ "name": name, "m": args.tokens, "k": args.width, "n": out, "gflops": rate }))
            .collect();
        println!(
            "{}",
            json!({
                "instruction_set": format!("{:?}", simd::level()), "threads": team::threads(), "fma_peak_gflops": peak,
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
    println!("\n{:<18}{:>18}{:>12}{:>10}", "product", "m,k,n", "GFLOP/s", "of peak");
    for (name, out, rate) in products {
        let shape = format!("{},{},{out}", args.tokens, args.width);
        let share = peak.map_or(String::new(), |peak| format!("{:.0}%", 100.0 * rate / peak));
        println!("{name:<18}{shape:>18}{rate:>12.1}{share:>10}");
    }
    Ok(())
}
