//! Samples: what a model makes of the first validation examples, for people.

use crate::data::batch::MaskedBatch;
use crate::data::questions::Question;
use crate::data::tagged::Sentence;
use crate::encode::{Answer, TextEncoder, Truncation, answers};
use crate::error::Result;
use crate::generate::sampling::SamplingFilter;
use crate::generate::{
    ContextOverflow, DecodingConfig, GenerateOptions, Sampling, Strategy, Trace, TranslateOptions,
    argmax, generate, translate_with,
};
use crate::model::config::ProblemType;
use crate::model::{Decoder, Encoder, Model, Stack};
use crate::report::Sample;
use crate::text::{Tokenizer, TokenizerKind};
use crate::train::dataset::{
    Examples, LabelledExamples, MaskedExamples, PairExamples, QuestionExamples, RunDataset,
    TaggedExamples, TextExamples,
};
use limpid_tensor::kernels::cross_entropy::IGNORE;
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
        (Examples::Labelled(labelled), _) => Ok(predicted_labels(labelled, model)),
        (Examples::Tagged(tagged), Stack::Encoder(bert)) => {
            Ok(predicted_tags(tagged, (bert, &model.params)))
        }
        (Examples::Questions(questions), Stack::Encoder(bert)) => {
            predicted_answers(questions, (bert, &model.params), tokenizer, count)
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
    let mut config = DecodingConfig::greedy(&[translator.end()]);
    if tokenizer.target_language_behind(translator.end())?.is_none() {
        config.processor.forced_bos_token_id = tokenizer.target_language();
    }
    let (options, model) = (TranslateOptions::default(), (translator, &model.params));
    let found = translate_with(model, tokenizer, &sources, &config, &options, None)?;
    let texts = found.into_iter().map(|mut best| best.swap_remove(0).text);
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

/// The first validation texts with their predicted and their true labels.
fn predicted_labels(labelled: &LabelledExamples, model: &Model) -> Vec<Made> {
    let Some((examples, batch)) = labelled.validation_samples() else { return Vec::new() };
    let mut tape = Tape::inference(&model.params);
    let logits = model.stack.class_logits(&mut tape, &batch.input);
    let (labels, problem) = (labelled.labels(), labelled.problem());
    let made = |(i, example): (usize, &crate::data::labelled::Example)| {
        let row = logits.value().row(i);
        let (predicted, expected) = match problem {
            ProblemType::SingleLabel => (labels[argmax(row)].clone(), example.label.clone()),
            ProblemType::Regression => (format!("{:.3}", row[0]), example.label.clone()),
            ProblemType::MultiLabel => {
                let likely = labels.iter().zip(row).filter(|(_, logit)| **logit > 0.0);
                let likely: Vec<&str> = likely.map(|(label, _)| label.as_str()).collect();
                (likely.join(", "), example.names().join(", "))
            }
        };
        (example.texts.join(" | "), predicted, Some(expected))
    };
    examples.iter().enumerate().map(made).collect()
}

/// The first validation sentences with predicted and true labels behind their words; those of
/// label `O` are words alone.
fn predicted_tags(tagged: &TaggedExamples, (bert, params): (&Encoder, &Params)) -> Vec<Made> {
    let Some((sentences, batch)) = tagged.validation_samples() else { return Vec::new() };
    let mut tape = Tape::inference(params);
    let hidden = bert.hidden(&mut tape, &batch.input);
    let logits = bert.token_logits(&mut tape, &hidden);
    let made = |(i, sentence): (usize, &Sentence)| {
        let span = batch.input.tokens.spans[i];
        let rows = (span.start..span.start + span.len).filter(|row| batch.labels[*row] != IGNORE);
        let label = |row| tagged.labels()[argmax(logits.value().row(row))].as_str();
        let predicted: Vec<&str> = rows.map(label).collect();
        let correct: Vec<&str> = sentence.labels().iter().map(String::as_str).collect();
        let with = |labels: &[&str]| {
            // A sentence that was truncated has labels for its first words.
            let labels = labels.iter().copied().chain(std::iter::repeat("O"));
            let word = |(word, label): (&str, &str)| match label {
                "O" => word.to_string(),
                label => format!("{word}/{label}"),
            };
            sentence.words().zip(labels).map(word).collect::<Vec<_>>().join(" ")
        };
        (sentence.text().to_string(), with(&predicted), Some(with(&correct)))
    };
    sentences.iter().enumerate().map(made).collect()
}

/// The first validation questions with the best answer.
fn predicted_answers(
    questions: &QuestionExamples,
    (model, params): (&Encoder, &Params),
    tokenizer: &Tokenizer,
    count: usize,
) -> Result<Vec<Made>> {
    let truncation = Truncation::Error;
    let encoder = TextEncoder { model, weights: params.into(), tokenizer, truncation };
    let chosen = &questions.questions()[..count.min(questions.questions().len())];
    let texts: Vec<(&str, &str)> =
        chosen.iter().map(|one| (one.question.as_str(), &*one.context)).collect();
    let found = answers(&encoder, &texts, questions.options())?;
    let made = |(question, found): (&Question, Vec<Answer>)| {
        let best = found.into_iter().next().map_or(String::new(), |answer| answer.answer);
        let correct = question.answers().first().map(|(text, _)| text.clone());
        (question.question.clone(), best, Some(correct.unwrap_or_default()))
    };
    Ok(chosen.iter().zip(found).map(made).collect())
}
