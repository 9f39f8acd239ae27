//! `limpid logits`: raw scores for given ids, to compare with any other implementation.

use crate::args::Logits;
use crate::printer;
use limpid::data::batch::Packed;
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Model};
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// Prints a row of scores over the vocabulary for each id.
pub fn run(args: Logits) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let logits = logits(&model, &args.ids, args.source_ids.as_deref())?;
    let rows: Vec<&[f32]> = (0..args.ids.len()).map(|i| logits.row(i)).collect();
    if args.json {
        println!("{}", serde_json::json!({ "logits": rows }));
        return Ok(());
    }
    for row in rows {
        let row: Vec<String> = row.iter().map(f32::to_string).collect();
        println!("{}", row.join(" "));
    }
    Ok(())
}

fn logits(model: &Model, ids: &[u32], source_ids: Option<&[u32]>) -> Result<Tensor> {
    let mut tape = Tape::inference(&model.params);
    let input = Packed::new(&[ids]);
    match (&model.architecture, source_ids) {
        (Architecture::Gpt(gpt), None) => {
            check("--ids", ids, gpt.config().vocab_size, gpt.config().n_positions)?;
            let hidden = gpt.hidden(&mut tape, &input, None);
            Ok(gpt.logits(&mut tape, &hidden).value().clone())
        }
        (Architecture::Seq2Seq(_) | Architecture::Rnn(_), Some(source_ids)) => {
            let translator = model.architecture.translator().expect("both kinds translate");
            check("--ids", ids, translator.decoder_vocab_size(), translator.longest())?;
            check("--source-ids", source_ids, translator.vocab_size(), translator.longest())?;
            Ok(translator.scores(&mut tape, &Packed::new(&[source_ids]), &input).value().clone())
        }
        (Architecture::Gpt(_), Some(_)) => {
            Err(Error::config("a language model has no source to read").hint("leave out --source-ids"))
        }
        (Architecture::Seq2Seq(_) | Architecture::Rnn(_), None) => Err(Error::config(
            "an encoder-decoder needs a source to read",
        )
        .hint("give --source-ids 5,3,9,1 and, with --ids, what the decoder is given, the start token first")),
    }
}

fn check(option: &str, ids: &[u32], vocabulary: usize, positions: usize) -> Result<()> {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(Error::data(format!("{option}: {id} is beyond the vocabulary of {vocabulary} tokens"))
            .hint(format!("ids are 0 to {}", vocabulary - 1)));
    }
    if ids.len() > positions {
        return Err(Error::data(format!(
            "{option}: {} ids, the model has positions for {positions}",
            ids.len()
        ))
        .hint("give fewer"));
    }
    Ok(())
}
