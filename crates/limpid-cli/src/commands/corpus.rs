//! `limpid corpus`: the built-in corpora as files.

use crate::args::Corpus;
use crate::printer;
use limpid::data::corpus::{Pair, generate};
use limpid::error::{Error, Result};
use limpid::files::{create_folder, write_aside};

/// Writes `train.en`, `train.fr`, `validation.*`, `test.*`: line n of one file translates line n of the other.
pub fn run(args: Corpus) -> Result<()> {
    let Corpus::Translate { out, pairs, seed } = args;
    if pairs == 0 {
        return Err(Error::config("--pairs 0 asks for an empty corpus").hint("use --pairs 50000"));
    }
    create_folder(&out)?;
    let corpus = generate(pairs, seed);
    for (name, pairs) in
        [("train", &corpus.train), ("validation", &corpus.validation), ("test", &corpus.test)]
    {
        let side =
            |text: fn(&Pair) -> &str| pairs.iter().flat_map(|pair| [text(pair), "\n"]).collect::<String>();
        for (language, text) in [("en", side(|pair| &pair.english)), ("fr", side(|pair| &pair.french))] {
            let path = out.join(format!("{name}.{language}"));
            write_aside(&path, text.as_bytes())?;
            println!("{}", path.display());
        }
        printer::say(format_args!("{name}: {} pairs", pairs.len()));
    }
    Ok(())
}
