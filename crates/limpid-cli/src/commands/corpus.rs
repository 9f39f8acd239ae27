//! `limpid corpus`: the built-in corpora as files.

use crate::args::Corpus;
use crate::printer;
use limpid::data::corpus::{Pair, generate};
use limpid::error::{Error, Result};
use limpid::files::{create_folder, write_aside};

const NAMES: [&str; 3] = ["train", "validation", "test"];
const LANGUAGES: [&str; 2] = ["en", "fr"];
const MOST_PAIRS: usize = 1_000_000;

/// Writes `train.en`, `train.fr`, `validation.*`, `test.*`: line n of one file translates line n of the other.
pub fn run(args: Corpus) -> Result<()> {
    let Corpus::Translate { out, pairs, seed } = args;
    if pairs == 0 {
        return Err(Error::config("--pairs 0 asks for an empty corpus").hint("use --pairs 50000"));
    }
    if pairs > MOST_PAIRS {
        return Err(Error::config(format!(
            "--pairs {pairs} is more than {MOST_PAIRS}, which already takes minutes and gigabytes"
        ))
        .hint(format!("use --pairs {MOST_PAIRS}, or several seeds")));
    }
    let files = NAMES.map(|name| LANGUAGES.map(|language| out.join(format!("{name}.{language}"))));
    if let Some(file) = files.as_flattened().iter().find(|file| file.exists()) {
        return Err(Error::config(format!("{} exists already", file.display()))
            .hint("give a new folder with --out, or remove the old corpus"));
    }
    create_folder(&out)?;
    let corpus = generate(pairs, seed);
    let sets = [&corpus.train, &corpus.validation, &corpus.test];
    for (pairs, files) in sets.iter().zip(&files) {
        let side =
            |text: fn(&Pair) -> &str| pairs.iter().flat_map(|pair| [text(pair), "\n"]).collect::<String>();
        write_aside(&files[0], side(|pair| &pair.english).as_bytes())?;
        write_aside(&files[1], side(|pair| &pair.french).as_bytes())?;
    }
    // Said only when all is done: a reader that closes the pipe does not stop the work.
    for ((name, pairs), files) in NAMES.iter().zip(sets).zip(&files) {
        printer::say(format_args!("{name}: {} pairs", pairs.len()));
        files.iter().for_each(|file| println!("{}", file.display()));
    }
    Ok(())
}
