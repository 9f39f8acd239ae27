//! Samples: what a model makes of the first validation examples, for people.

use crate::data::batch::MaskedBatch;
use crate::error::Result;
use crate::generate::sampling::SamplingFilter;
use crate::generate::{
    ContextOverflow, DecodingConfig, GenerateOptions, Sampling, Strategy, Trace, argmax, generate,
    translate,
};
use crate::model::{Decoder, Encoder, Model, Stack};
use crate::report::Sample;
use crate::text::{Tokenizer, TokenizerKind};
use crate::train::dataset::{
    Examples, LabelledExamples, MaskedExamples, PairExamples, RunDataset, TextExamples,
};
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// Sampling temperature of a language model.
const TEMPERATURE: f32 = 0.8;
/// New tokens of a sample at most.
const MAX_NEW_TOKENS: usize = 200;

/// `count` samples of `model` after `step` steps: continuations, translations, filled masks or
/// labels.
///
/// # Panics
/// If the model is of another task than the dataset.
pub(in crate::train) fn samples(
    dataset: &RunDataset,
    model: &Model,
    tokenizer: &Tokenizer,
    count: usize,
    step: u64,
) -> Result<Vec<Sample>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let made = match (&dataset.examples, &model.stack) {
        (Examples::Text(text), Stack::Decoder(gpt)) => {
            continuations(text, (gpt, &model.params), tokenizer, count, step)
        }
        (Examples::Pairs(pairs), _) => translations(pairs, model, tokenizer, count),
        (Examples::Masked(masked), Stack::Encoder(bert)) => {
            filled_masks(masked, (bert, &model.params), tokenizer, count)
        }
        (Examples::Labelled(labelled), Stack::Encoder(bert)) => {
            Ok(predicted_labels(labelled, (bert, &model.params)))
        }
        _ => panic!("the dataset is of another task than the model"),
    }?;
    let sample = |(prompt, text, reference)| Sample { step, prompt, text, reference };
    Ok(made.into_iter().map(sample).collect())
}

/// Prompt, generated text, reference.
type Made = (String, String, Option<String>);

/// Continuations of the beginning of the validation split.
fn continuations(
    text: &TextExamples,
    model: (&Decoder, &Params),
    tokenizer: &Tokenizer,
    count: usize,
    step: u64,
) -> Result<Vec<Made>> {
    let beginning = text.validation_prompt();
    let prompt = tokenizer.decode(&beginning)?;
    let filter = SamplingFilter { temperature: TEMPERATURE, ..SamplingFilter::default() };
    let (num_return_sequences, seed) = (count, text.seed ^ step);
    let sampling = Strategy::Sample(Sampling { filter, num_return_sequences, seed });
    let mut decoding = DecodingConfig::with_strategy(sampling, &Vec::from_iter(tokenizer.eos_id()));
    let new_tokens = (text.context - beginning.len()).clamp(1, MAX_NEW_TOKENS);
    decoding.length.max_new_tokens = Some(new_tokens);
    let options = GenerateOptions {
        bos_token_id: tokenizer.eos_id(),
        overflow: ContextOverflow::Slide,
        trace: Trace::Off,
    };
    let generated = generate(model, tokenizer, &[&prompt], &decoding, &options, &mut |_| Ok(()))?;
    Ok(generated.into_iter().flatten().map(|one| (prompt.clone(), one.text, None)).collect())
}

/// Greedy translations of the first validation pairs.
fn translations(
    pairs: &PairExamples,
    model: &Model,
    tokenizer: &Tokenizer,
    count: usize,
) -> Result<Vec<Made>> {
    let translator = model.stack.translator().expect("pairs are for an encoder-decoder");
    let chosen = &pairs.validation_texts[..count.min(pairs.validation_texts.len())];
    let sources: Vec<&str> = chosen.iter().map(|(source, _)| source.as_str()).collect();
    let texts = translate(translator, &model.params, tokenizer, &sources)?;
    let made = |((source, target), text): (&(String, String), String)| {
        (source.clone(), text, Some(target.clone()))
    };
    Ok(chosen.iter().zip(texts).map(made).collect())
}

/// The first validation sequences with masks, with the predicted tokens, and as they were.
fn filled_masks(
    masked: &MaskedExamples,
    (bert, params): (&Encoder, &Params),
    tokenizer: &Tokenizer,
    count: usize,
) -> Result<Vec<Made>> {
    let Some(batch) = masked.validation_batches().next() else { return Ok(Vec::new()) };
    let mut tape = Tape::inference(params);
    let hidden = bert.hidden(&mut tape, &batch.input);
    let MaskedBatch { input, rows, targets, .. } = &batch;
    let mut shown = input.tokens.ids.to_vec();
    let (mut predicted, mut original) = (shown.clone(), shown.clone());
    let spans = &input.tokens.spans;
    let spans = &spans[..count.min(spans.len())];
    let last = spans.last().map_or(0, |span| span.start + span.len);
    let rows: Vec<u32> = rows.iter().copied().filter(|row| (*row as usize) < last).collect();
    let logits = bert.word_logits(&mut tape, &hidden, &rows.clone().into());
    let (mask, mask_text) = tokenizer.mask_token().expect("masking needs a mask token");
    for (i, row) in rows.iter().enumerate() {
        // Also where a random token or the original was put: every predicted position is shown as
        // a mask.
        shown[*row as usize] = mask;
        predicted[*row as usize] = argmax(logits.value().row(i)) as u32;
        original[*row as usize] = targets[i];
    }
    spans
        .iter()
        .map(|span| {
            let inside = span.start + 1..(span.start + span.len).max(span.start + 2) - 1;
            let text = |ids: &[u32]| tokenizer.decode_with_special(&ids[inside.clone()]);
            let mut masks = text(&shown)?;
            if tokenizer.kind() == Some(TokenizerKind::Word) {
                // The space before a word is decoded with the word, and a mask hides it.
                masks = masks.replace(mask_text, &format!(" {mask_text} "));
                masks = masks.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            Ok((masks, text(&predicted)?, Some(text(&original)?)))
        })
        .collect()
}

/// The first validation texts with their predicted and their true label.
fn predicted_labels(labelled: &LabelledExamples, (bert, params): (&Encoder, &Params)) -> Vec<Made> {
    let Some((examples, batch)) = labelled.validation_samples() else { return Vec::new() };
    let mut tape = Tape::inference(params);
    let hidden = bert.hidden(&mut tape, &batch.input);
    let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
    let labels = labelled.labels();
    let made = |(i, example): (usize, &crate::data::labelled::Example)| {
        let predicted = labels[argmax(logits.value().row(i))].clone();
        (example.texts.join(" | "), predicted, Some(example.label.clone()))
    };
    examples.iter().enumerate().map(made).collect()
}
