//! `limpid explain`: the arithmetic, step by step, on numbers one can follow.

use crate::args::Explain;
use crate::error::{Error, Result};
use crate::printer;
use limpid_learn::explain::{self as worked, Example, Inputs, Style};
use limpid_learn::quiz::ExampleCall;
use serde_json::{Value, json};

/// Shows one example, or the list.
pub fn run(args: Explain) -> Result<()> {
    let style = if printer::colour() { Style::Colour } else { Style::Plain };
    let Parsed { options, json, help } = parse(&args)?;
    let Some(name) = &args.example else {
        match json {
            true => {
                println!("{}", pretty(&worked::examples().iter().map(entry).collect::<Vec<_>>())?)
            }
            false => print!("{}{}", worked::list(style, printer::width()), usage(style)),
        }
        return Ok(());
    };
    if help {
        let example = worked::find(name)?;
        print!("{}", worked::options(example, "--", style, printer::width()));
        return Ok(());
    }
    let inputs = Inputs::parse(name, &options)?;
    let explanation = worked::explain(name, &inputs)?;
    if json {
        println!("{}", pretty(&explanation)?);
    } else {
        print!("{}", worked::render(&explanation, style, printer::width()));
    }
    Ok(())
}

/// An example in the list as JSON.
fn entry(example: &Example) -> Value {
    let options: Vec<&str> = example.options.iter().map(|option| option.name).collect();
    json!({
        "name": example.name,
        "title": example.title,
        "summary": example.summary,
        "options": options,
    })
}

/// The command that shows a worked example.
pub fn command(call: &ExampleCall) -> String {
    let options = call.inputs.iter().map(|(key, text)| format!(" --{key} \"{text}\""));
    format!("limpid explain {}{}", call.example, options.collect::<String>())
}

/// What to type, below the list.
fn usage(style: Style) -> String {
    let inputs = vec![("tokens", "1 0 0 1; 0 1 1 0".to_owned())];
    let with_inputs = command(&ExampleCall { example: "self-attention", inputs });
    let lines = [
        ("limpid explain self-attention", "by its name"),
        ("limpid explain 1", "or its number"),
        (&with_inputs, "with your numbers"),
        ("limpid explain self-attention --options", "what can be set"),
        ("limpid explain self-attention --json", "for a program"),
    ];
    let line = |(command, comment): (&str, &str)| {
        let comment = format!("  # {comment}");
        // A command must stay on one line to be copied; its comment need not be there.
        let fits = 2 + command.chars().count() + comment.chars().count() <= printer::width();
        let comment = match (fits, style) {
            (false, _) => String::new(),
            (true, Style::Plain) => comment,
            (true, Style::Colour) => format!("\x1b[2m{comment}\x1b[0m"),
        };
        format!("  {command}{comment}\n")
    };
    format!("\n{}", lines.map(line).concat())
}

/// What follows the example's name: its own options, and those of every example.
struct Parsed {
    options: Vec<(String, String)>,
    json: bool,
    help: bool,
}

/// Parses `--key value` and `--key=value`; which keys there are depends on the example.
fn parse(args: &Explain) -> Result<Parsed> {
    let mut parsed = Parsed { options: Vec::new(), json: args.json, help: false };
    let mut rest = args.numbers.iter();
    while let Some(word) = rest.next() {
        let Some(key) = word.strip_prefix("--") else {
            return Err(Error::config(format!("'{word}' is not an option: options begin with --"))
                .hint("numbers that belong together go in quotes: --tokens \"1 0 1 0; 0 1 0 1\""));
        };
        match (key, key.split_once('=')) {
            ("json", _) => parsed.json = true,
            ("help" | "options", _) => parsed.help = true,
            (_, Some((key, value))) => parsed.options.push((key.to_string(), value.to_string())),
            (key, None) => {
                let Some(value) = rest.next() else {
                    let name = args.example.as_deref().unwrap_or("NAME");
                    return Err(Error::config(format!("--{key} needs a value after it"))
                        .hint(format!("see what it takes: limpid explain {name} --options")));
                };
                parsed.options.push((key.to_string(), value.clone()));
            }
        }
        // Not the example's, but every command's.
        if let Some((_, value)) = parsed.options.pop_if(|(key, _)| key == "threads") {
            let threads = value.parse().ok().filter(|n| (1..=256).contains(n));
            let threads = threads.ok_or_else(|| {
                Error::config(format!("--threads {value} is not a number of threads"))
                    .hint("use 1 to 256")
            })?;
            limpid_tensor::team::set_threads(threads);
        }
    }
    Ok(parsed)
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map_err(|e| Error::config(format!("cannot be written as JSON: {e}")))
}
