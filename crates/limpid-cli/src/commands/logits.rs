//! `limpid logits`: logits for given ids, to compare with any other implementation.

use crate::args::Logits;
use crate::error::{Error, Result};
use crate::printer;
use limpid::data::batch::{EncoderInput, Packed};
use limpid::hub;
use limpid::model::config::EncoderHead;
use limpid::model::{Encoder, Model, Stack};
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// Prints a row of logits over the vocabulary for each id (of a classifier one row over its labels,
/// of a head per token a row over its outputs for each id).
pub fn run(args: Logits) -> Result<()> {
    let (model, warnings) = hub::load_mapped(&args.model)?;
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
    if let Stack::Encoder(bert) = &model.stack {
        return encoder_logits(bert, model, args);
    }
    if args.type_ids.is_some() {
        return Err(Error::config(format!("{} has no token types", model.stack.kind()))
            .hint("leave out --type-ids"));
    }
    let mut tape = Tape::inference(&model.params);
    let input = Packed::new(&[ids]);
    match (&model.stack, source_ids) {
        (Stack::Decoder(gpt), None) => {
            check("--ids", ids, gpt.config().vocab_size, gpt.config().max_position_embeddings)?;
            let hidden = gpt.hidden(&mut tape, &input, None);
            let logits = match gpt.labels() {
                Some(_) => gpt.class_logits(&mut tape, &hidden, &input),
                None => gpt.logits(&mut tape, &hidden),
            };
            Ok(logits.value().clone())
        }
        (Stack::EncoderDecoder(_) | Stack::Recurrent(_), Some(source_ids)) => {
            let translator = model.stack.translator().expect("both kinds translate");
            check("--ids", ids, translator.decoder_vocab_size(), translator.longest())?;
            check("--source-ids", source_ids, translator.vocab_size(), translator.longest())?;
            Ok(translator.scores(&mut tape, &Packed::new(&[source_ids]), &input).value().clone())
        }
        (Stack::Decoder(_), Some(_)) => {
            Err(Error::config("a language model has no source").hint("leave out --source-ids"))
        }
        (Stack::EncoderDecoder(_) | Stack::Recurrent(_), None) => Err(Error::config(
            "an encoder-decoder needs a source",
        )
        .hint("give --source-ids 5,3,9,1 and, with --ids, the decoder's input, start token first")),
        (Stack::Encoder(_), _) => unreachable!("it has returned"),
    }
}

/// A row of logits over the vocabulary for each id; of a classifier, one row over its labels.
fn encoder_logits(bert: &Encoder, model: &Model, args: &Logits) -> Result<Tensor> {
    if args.source_ids.is_some() {
        return Err(Error::config("an encoder has no second sequence").hint(
            "leave out --source-ids; a pair of texts is one sequence with --type-ids 0,0,1,1",
        ));
    }
    let (config, ids) = (bert.config(), &args.ids);
    check("--ids", ids, config.vocab_size, config.max_position_embeddings)?;
    let types = args.type_ids.clone().unwrap_or_else(|| vec![0; ids.len()]);
    if let Some(token_types) = config.type_vocab_size {
        check("--type-ids", &types, token_types, config.max_position_embeddings)?;
    }
    if types.len() != ids.len() {
        let (types, ids) = (types.len(), ids.len());
        return Err(
            Error::data(format!("{types} types for {ids} ids")).hint("give one for each, 0 or 1")
        );
    }
    let input = EncoderInput::new(&[(ids, types)]);
    let mut tape = Tape::inference(&model.params);
    let hidden = bert.hidden(&mut tape, &input);
    match &config.head {
        EncoderHead::MaskedLm | EncoderHead::PreTraining => {
            let all: Vec<u32> = (0..ids.len() as u32).collect();
            Ok(bert.word_logits(&mut tape, &hidden, &all.into()).value().clone())
        }
        EncoderHead::Classifier(_) => {
            Ok(bert.class_logits(&mut tape, &hidden, &input).value().clone())
        }
        EncoderHead::TokenClassifier(_) | EncoderHead::QuestionAnswering => {
            Ok(bert.token_logits(&mut tape, &hidden).value().clone())
        }
        EncoderHead::Bare | EncoderHead::Pooler => Err(Error::config(format!(
            "{} is an encoder without a head: it has no logits",
            args.model.display()
        ))
        .hint(format!("limpid embed {} \"…\" gives its embeddings", args.model.display()))),
    }
}

fn check(option: &str, ids: &[u32], vocabulary: usize, positions: usize) -> Result<()> {
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(Error::data(format!(
            "{option}: {id} is beyond the model's vocabulary of {vocabulary}"
        ))
        .hint(format!("they are 0 to {}", vocabulary - 1)));
    }
    if ids.len() > positions {
        return Err(Error::data(format!(
            "{option}: {} ids exceed the model's maximum of {positions}",
            ids.len()
        ))
        .hint("give fewer"));
    }
    Ok(())
}
