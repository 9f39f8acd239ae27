//! `limpid explain`: the arithmetic, step by step, on numbers one can follow.

use crate::args::Explain;
use crate::printer;
use limpid::error::{Error, Result};
use limpid::inspect::{self, Example, Inputs, Style};
use serde_json::json;

/// Shows one example, or the list.
pub fn run(args: Explain) -> Result<()> {
    let style = if printer::colour() { Style::Colour } else { Style::Plain };
    let Words { options, json, help } = words(&args)?;
    let Some(name) = &args.example else {
        if json {
            let entry = |example: &Example| {
                let options: Vec<&str> = example.options.iter().map(|option| option.name).collect();
                json!({
                    "name": example.name, "title": example.title, "summary": example.summary, "options": options,
                })
            };
            println!("{}", pretty(&inspect::examples().iter().map(entry).collect::<Vec<_>>())?);
        } else {
            print!("{}", inspect::list(style, printer::width()));
        }
        return Ok(());
    };
    if help {
        print!("{}", inspect::options(inspect::find(name)?, style, printer::width()));
        return Ok(());
    }
    let inputs = Inputs::parse(name, &options)?;
    let explanation = inspect::explain(name, &inputs)?;
    if json {
        println!("{}", pretty(&explanation)?);
    } else {
        print!("{}", inspect::render(&explanation, style, printer::width()));
    }
    Ok(())
}

/// What follows the example's name: its own options, and ours.
struct Words {
    options: Vec<(String, String)>,
    json: bool,
    help: bool,
}

/// Reads `--name value` and `--name=value`; which names there are depends on the example.
fn words(args: &Explain) -> Result<Words> {
    let mut read = Words { options: Vec::new(), json: args.json, help: false };
    let mut rest = args.numbers.iter();
    while let Some(word) = rest.next() {
        let Some(name) = word.strip_prefix("--") else {
            return Err(Error::config(format!("'{word}' is not an option: options begin with --"))
                .hint("numbers that belong together go in quotes: --tokens \"1 0 1 0; 0 1 0 1\""));
        };
        match (name, name.split_once('=')) {
            ("json", _) => read.json = true,
            ("help" | "options", _) => read.help = true,
            (_, Some((name, value))) => read.options.push((name.to_string(), value.to_string())),
            (name, None) => {
                let Some(value) = rest.next() else {
                    return Err(Error::config(format!("--{name} needs a value after it")).hint(format!(
                        "see what it takes: limpid explain {} --options",
                        args.example.as_deref().unwrap_or("NAME")
                    )));
                };
                read.options.push((name.to_string(), value.clone()));
            }
        }
        // Not the example's, but every command's.
        if let Some((_, value)) = read.options.pop_if(|(name, _)| name == "threads") {
            let threads = value.parse().ok().filter(|n| (1..=256).contains(n));
            let threads = threads.ok_or_else(|| {
                Error::config(format!("--threads {value} is not a number of threads")).hint("use 1 to 256")
            })?;
            limpid_tensor::team::set_threads(threads);
        }
    }
    Ok(read)
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map_err(|e| Error::config(format!("cannot be written as JSON: {e}")))
}
