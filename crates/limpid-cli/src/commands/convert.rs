//! `limpid convert`: a model folder with other weights, or a GGUF file.

use crate::args::{Convert, ConvertTarget, WeightType};
use crate::error::{Error, Result};
use crate::printer::{counted, size, thousands};
use limpid::hub::{self, ConvertOptions, GgufType, Precision, TokenizerForm};
use std::path::{Path, PathBuf};

/// Writes the folder or the file.
pub fn run(args: &Convert) -> Result<()> {
    let folder = source(&args.model);
    match args.to {
        ConvertTarget::Folder => to_folder(&folder, args),
        ConvertTarget::Gguf => to_gguf(&folder, args),
    }
}

/// The model of a run folder, or the folder itself: one of sentence-transformers is converted
/// whole.
fn source(path: &Path) -> PathBuf {
    let has = |name: &str| path.join(name).is_file();
    match has("config.json") || has("modules.json") {
        true => path.to_path_buf(),
        false => limpid::pipeline::model_folder(path),
    }
}

fn to_folder(folder: &Path, args: &Convert) -> Result<()> {
    let precision = match args.dtype {
        None => None,
        Some(WeightType::F32) => Some(Precision::F32),
        Some(WeightType::F16) => Some(Precision::F16),
        Some(WeightType::Bf16) => Some(Precision::Bf16),
        Some(WeightType::Q8) => {
            return Err(Error::config("a model folder has no weights of type q8_0")
                .hint("use --dtype f32, f16 or bf16, or --to gguf"));
        }
    };
    let tokenizer = match args.tokenizer_json {
        true => TokenizerForm::Json,
        false => TokenizerForm::Keep,
    };
    let options = ConvertOptions { precision, max_shard_size: args.max_shard_size, tokenizer };
    let done = hub::convert(folder, &args.out, &options)?;
    let (tensors, bytes) = (thousands(done.tensors), size(done.bytes as f64));
    let files = counted(done.files, "weight file");
    println!("{}: {tensors} tensors, {bytes} in {files}", args.out.display());
    Ok(())
}

fn to_gguf(folder: &Path, args: &Convert) -> Result<()> {
    if args.max_shard_size.is_some() || args.tokenizer_json {
        return Err(Error::config("a GGUF file has no shards and holds its tokenizer")
            .hint("leave --max-shard-size and --tokenizer-json out"));
    }
    let kind = match args.dtype {
        Some(WeightType::F32) => GgufType::Plain(Precision::F32),
        Some(WeightType::F16) | None => GgufType::Plain(Precision::F16),
        Some(WeightType::Bf16) => GgufType::Plain(Precision::Bf16),
        Some(WeightType::Q8) => GgufType::Q8_0,
    };
    let done = hub::export_gguf(folder, &args.out, kind)?;
    println!(
        "{}: {}, {} tensors, {}, context {}",
        args.out.display(),
        done.architecture,
        thousands(done.tensors),
        size(done.bytes as f64),
        thousands(done.context_length)
    );
    Ok(())
}
