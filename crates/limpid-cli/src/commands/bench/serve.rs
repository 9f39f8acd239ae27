//! `limpid bench serve`: load on an HTTP server.

use super::check_seconds;
use crate::args::BenchServe;
use crate::error::{Error, Result};
use limpid_server::ServeError;
use limpid_server::load::{Arrivals, Load, LoadRequest};
use std::time::Duration;

/// Sends the requests of a file, and prints what became of them as JSON.
pub fn run(args: &BenchServe) -> Result<()> {
    check_seconds(args.seconds)?;
    for (flag, fraction) in [("leaving", args.leaving), ("slow", args.slow)] {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(
                Error::config(format!("--{flag} {fraction} is not a fraction")).hint("use 0 to 1")
            );
        }
    }
    if args.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e6)) {
        return Err(Error::config("--rate is out of range").hint("--rate 100"));
    }
    let load = Load {
        address: args.address.clone(),
        key: std::env::var("LIMPID_API_KEY").ok(),
        requests: requests(args)?,
        arrivals: match args.rate {
            Some(rate) => Arrivals::PerSecond(rate),
            None => Arrivals::Clients(args.clients as usize),
        },
        duration: Duration::from_secs_f64(args.seconds),
        leaving: args.leaving,
        slow: args.slow,
        dripping: args.dripping,
        seed: args.seed,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime.map_err(ServeError::from)?.block_on(load.run());
    println!("{}", report.json());
    match report.sent {
        0 => Err(Error::data("no request was sent").hint("a longer --seconds or a larger --rate")),
        _ => Ok(()),
    }
}

fn requests(args: &BenchServe) -> Result<Vec<LoadRequest>> {
    let path = &args.requests;
    let fail = |message: String| Error::data(format!("{}: {message}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let request = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            fail(format!("line {}: {error}", i + 1))
                .hint(r#"a line is {"path": "/embed", "body": {"inputs": "a text"}}"#)
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let requests: Vec<LoadRequest> = lines.map(request).collect::<Result<_>>()?;
    match requests.is_empty() {
        true => Err(fail("there are no requests in it".into())),
        false => Ok(requests),
    }
}
