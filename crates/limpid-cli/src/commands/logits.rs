//! `limpid logits`: raw scores for given ids, to compare with any other implementation.

use crate::args::Logits;
use crate::printer;
use limpid::config::BertHead;
use limpid::data::batch::{Packed, Typed};
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Bert, Model};
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// Prints a row of scores over the vocabulary for each id (of a classifier, one row over its labels).
pub fn run(args: Logits) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let logits = logits(&model, &args)?;
    let rows: Vec<&[f32]> = (0..logits.rows_cols().0).map(|i| logits.row(i)).collect();
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

fn logits(model: &Model, args: &Logits) -> Result<Tensor> {
    let (ids, source_ids) = (&args.ids[..], args.source_ids.as_deref());
    if let Architecture::Bert(bert) = &model.architecture {
        return encoder_logits(bert, model, args);
    }
    if args.type_ids.is_some() {
        return Err(Error::config(format!("{} has no types of tokens", model.architecture.kind()))
            .hint("leave out --type-ids"));
    }
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
        (Architecture::Bert(_), _) => unreachable!("it has returned"),
    }
}

/// A row of scores over the vocabulary for each id; of a classifier, one row over its labels.
fn encoder_logits(bert: &Bert, model: &Model, args: &Logits) -> Result<Tensor> {
    if args.source_ids.is_some() {
        return Err(Error::config("an encoder has no second sequence to read")
            .hint("leave out --source-ids; a pair of texts is one sequence with --type-ids 0,0,1,1"));
    }
    let (config, ids) = (bert.config(), &args.ids);
    check("--ids", ids, config.vocab_size, config.max_position_embeddings)?;
    let types = args.type_ids.clone().unwrap_or_else(|| vec![0; ids.len()]);
    check("--type-ids", &types, config.type_vocab_size, config.max_position_embeddings)?;
    if types.len() != ids.len() {
        let (types, ids) = (types.len(), ids.len());
        return Err(Error::data(format!("{types} types for {ids} ids")).hint("give one for each, 0 or 1"));
    }
    let input = Typed::new(&[(ids, types)]);
    let mut tape = Tape::inference(&model.params);
    let hidden = bert.hidden(&mut tape, &input);
    match &config.head {
        BertHead::MaskedLm | BertHead::PreTraining => {
            let all: Vec<u32> = (0..ids.len() as u32).collect();
            Ok(bert.word_logits(&mut tape, &hidden, &all.into()).value().clone())
        }
        BertHead::Classifier(_) => Ok(bert.class_logits(&mut tape, &hidden, &input).value().clone()),
        BertHead::Bare | BertHead::Pooler => Err(Error::config(format!(
            "{} is an encoder without a head: it has no scores",
            args.model.display()
        ))
        .hint(format!("limpid embed {} \"…\" gives its vectors", args.model.display()))),
    }
}

fn check(option: &str, ids: &[u32], vocabulary: usize, positions: usize) -> Result<()> {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(Error::data(format!("{option}: {id} is beyond the {vocabulary} that the model knows"))
            .hint(format!("they are 0 to {}", vocabulary - 1)));
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
