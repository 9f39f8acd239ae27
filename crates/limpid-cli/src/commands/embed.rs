//! `limpid embed` and `limpid similarity`: texts as vectors, and how near they are to each other.

use super::encoder::{Opened, each_text};
use crate::args::{Embed, Pool, Similarity, Vectors};
use limpid::encode::{Encoder, Length, Overlong, Pooling, cosine, embed, npy};
use limpid::error::{Error, Result};
use limpid::files::write_aside;
use limpid::hub::{self, Letters};
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;

const CANNOT: &str = "has no vectors of texts";
const HINT: &str =
    "an encoder (BERT) has: limpid train bert --data text.txt, or a folder with \"model_type\": \"bert\"";

/// How a folder and the flags say that vectors are made.
struct How {
    pooling: Pooling,
    overlong: Overlong,
    letters: Letters,
}

impl How {
    fn new(folder: &Path, flags: &Vectors) -> Result<Self> {
        let pooling = match flags.pool {
            // What the folder asks for does not matter where a flag says otherwise.
            Some(Pool::Cls) => Pooling::Cls,
            Some(Pool::Mean) => Pooling::Mean,
            None => hub::load_pooling(folder)?.unwrap_or(Pooling::Mean),
        };
        let file = hub::load_sentence_settings(folder)?;
        let overlong = match flags.truncate {
            true => Overlong::Cut(file.max_seq_length.unwrap_or(usize::MAX)),
            false => Overlong::Refuse,
        };
        Ok(Self { pooling, overlong, letters: file.letters })
    }

    fn embed(&self, encoder: &Encoder, texts: &[String], length: Length) -> Result<Vec<Vec<f32>>> {
        embed(encoder, &self.read(texts), self.pooling, length)
    }

    /// The texts as the model reads them.
    fn read<'a>(&self, texts: &'a [String]) -> Cow<'a, [String]> {
        match self.letters {
            Letters::AsWritten => Cow::Borrowed(texts),
            Letters::Small => Cow::Owned(texts.iter().map(|text| text.to_lowercase()).collect()),
        }
    }
}

/// Where vectors go.
enum Out<'a> {
    Lines(Option<&'a Path>),
    Npy(&'a Path),
}

impl<'a> Out<'a> {
    fn of(path: Option<&'a Path>) -> Result<Self> {
        match path.map(|path| (path, path.extension().and_then(|end| end.to_str()))) {
            None => Ok(Self::Lines(None)),
            Some((path, Some("npy"))) => Ok(Self::Npy(path)),
            Some((path, Some("jsonl"))) => Ok(Self::Lines(Some(path))),
            Some((path, _)) => {
                Err(Error::config(format!("--out {}: not a kind of file for vectors", path.display()))
                    .hint("name it .npy or .jsonl"))
            }
        }
    }
}

/// Writes a vector for each text.
pub fn run(args: &Embed) -> Result<()> {
    let out = Out::of(args.out.as_deref())?;
    let opened = Opened::new(&args.model, CANNOT, HINT)?;
    let how = How::new(&args.model, &args.how)?;
    let encoder = opened.encoder(how.overlong);
    let length = if args.no_normalize { Length::AsIs } else { Length::One };
    let (mut lines, mut rows) = (String::new(), Vec::new());
    each_text(&args.text, "embed", &mut |texts, origin| {
        let vectors = how.embed(&encoder, texts, length)?;
        opened.warn_of_unknown(&how.read(texts), origin)?;
        match out {
            Out::Npy(_) => rows.extend(vectors),
            Out::Lines(path) => {
                for (text, vector) in texts.iter().zip(vectors) {
                    let line = json!({ "text": text, "embedding": vector });
                    match path {
                        Some(_) => lines += &format!("{line}\n"),
                        None => println!("{line}"),
                    }
                }
            }
        }
        Ok(())
    })?;
    match out {
        Out::Npy(path) => write_aside(path, &npy(&rows)),
        Out::Lines(Some(path)) => write_aside(path, lines.as_bytes()),
        Out::Lines(None) => Ok(()),
    }
}

/// Prints the cosine of every two texts.
pub fn similarity(args: &Similarity) -> Result<()> {
    let opened = Opened::new(&args.model, CANNOT, HINT)?;
    let how = How::new(&args.model, &args.how)?;
    let encoder = opened.encoder(how.overlong);
    let (mut texts, mut vectors, mut first) = (Vec::new(), Vec::new(), None);
    each_text(&args.text, "similarity", &mut |some, origin| {
        vectors.extend(how.embed(&encoder, some, Length::AsIs)?);
        texts.extend_from_slice(some);
        first.get_or_insert(origin);
        Ok(())
    })?;
    if texts.len() < 2 {
        return Err(Error::data("one text has nothing to be compared with")
            .hint(format!("limpid similarity {} \"a cat\" \"a dog\"", args.model.display())));
    }
    // What came first is where the counting begins.
    first.map_or(Ok(()), |origin| opened.warn_of_unknown(&how.read(&texts), origin))?;
    let matrix: Vec<Vec<f64>> =
        vectors.iter().map(|a| vectors.iter().map(|b| cosine(a, b)).collect()).collect();
    if args.json {
        println!("{}", json!({ "texts": texts, "cosine": matrix }));
        return Ok(());
    }
    for (i, text) in texts.iter().enumerate() {
        let row: Vec<String> = matrix[i].iter().map(|x| format!("{x:>7.4}")).collect();
        println!("{:>3} {}  {text}", i + 1, row.join(" "));
    }
    Ok(())
}
