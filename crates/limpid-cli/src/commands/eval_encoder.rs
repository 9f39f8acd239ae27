//! `limpid eval` of an encoder: masked language modelling, and what its head is for.

use super::eval::{names, trained_with, unit};
use crate::args::Eval;
use crate::error::{Error, Result};
use crate::printer::perplexity;
use limpid::data::batch::EncodedText;
use limpid::data::masking::{MaskStream, MaskUnit, Masking};
use limpid::data::next_sentence::NextSentencePairs;
use limpid::data::template::EncoderTemplate;
use limpid::eval::encoder::MaskedScore;
use limpid::model::config::EncoderHead;
use limpid::model::{Encoder, Model};
use limpid::text::{Blocks, TextReader, Tokenizer, each_line, nonblank_lines};
use limpid::train::config::{MaskingConfig, Task, Unit};
use limpid_tensor::rng::Stream;
use serde_json::json;

/// Sequences per forward pass.
const AT_A_TIME: usize = 32;

/// Evaluates the task of the encoder's head.
pub fn run(args: &Eval, bert: &Encoder, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let positions = bert.config().max_position_embeddings;
    let context = args.context.unwrap_or(positions);
    if context < 4 || context > positions {
        return Err(Error::config(format!(
            "--context {context} is not between 4 and the model's maximum of {positions}"
        ))
        .hint(format!("--context {positions}")));
    }
    if tokenizer.vocab_size() > bert.config().vocab_size {
        return Err(Error::data(format!(
            "the tokenizer has {} tokens, the model's vocabulary {}",
            tokenizer.vocab_size(),
            bert.config().vocab_size
        ))
        .hint("the tokenizer and the model do not belong together"));
    }
    match &bert.config().head {
        EncoderHead::Classifier(labels) => {
            super::eval_heads::classes(args, model, tokenizer, labels, context)
        }
        EncoderHead::TokenClassifier(_) => {
            super::eval_heads::tags(args, (bert, model), tokenizer, context)
        }
        EncoderHead::QuestionAnswering => {
            super::eval_heads::answers(args, (bert, model), tokenizer)
        }
        EncoderHead::MaskedLm | EncoderHead::PreTraining => {
            masked(args, (bert, model), tokenizer, context)
        }
        EncoderHead::Bare | EncoderHead::Pooler => Err(Error::config(format!(
            "{} has no head: there is nothing to evaluate",
            args.model.display()
        ))
        .hint("limpid train classify --from MODEL trains one; limpid embed gives its embeddings")),
    }
}

/// Sequences of one forward pass, and for pairs of lines their next-sentence labels.
type Group = (Vec<EncodedText>, Option<Vec<u32>>);

fn masked(
    args: &Eval,
    (bert, model): (&Encoder, &Model),
    tokenizer: &Tokenizer,
    context: usize,
) -> Result<()> {
    let (hide, seed) =
        (if args.whole_words { MaskUnit::WholeWord } else { MaskUnit::Token }, args.mask_seed);
    let trained = trained_with(&args.model);
    let probability = match trained.as_ref().map(|run| &run.task) {
        Some(Task::Bert(task)) => task.masking.probability,
        _ => MaskingConfig::default().probability,
    };
    let share = args.masked.unwrap_or(probability);
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::config(format!("--masked {share} is not between 0 and 1"))
            .hint("the default is 0.15"));
    }
    let masking = Masking::new(tokenizer, share, hide, seed)?;
    let template = EncoderTemplate::new(tokenizer)?;
    let (groups, unit) = match unit(args, trained.as_ref()) {
        Unit::Windows => (singles(&[whole(args, tokenizer)?], &template, context), "windows"),
        Unit::Lines => (singles(&lines(args, tokenizer)?, &template, context), "lines"),
        Unit::Pairs if bert.config().head != EncoderHead::PreTraining => {
            return Err(Error::config(format!(
                "--line-pairs: {} has no head for next-sentence prediction",
                args.model.display()
            ))
            .hint(
                "limpid train bert --set data.unit=pairs trains one; \
                 --lines evaluates single lines",
            ));
        }
        Unit::Pairs => (line_pairs(args, tokenizer, (&template, context))?, "pairs of lines"),
    };
    let sequences: usize = groups.iter().map(|(sequences, _)| sequences.len()).sum();
    if sequences == 0 {
        let hint = if unit == "pairs of lines" {
            "a pair is a line and the next one"
        } else {
            "is it the right file?"
        };
        return Err(Error::data(format!("{}: no text found", names(&args.data))).hint(hint));
    }
    let mut score = MaskedScore::default();
    for (n, (sequences, labels)) in groups.into_iter().enumerate() {
        let batch = masking.apply(MaskStream::Validation(n as u64), sequences, labels);
        score.add((bert, &model.params), &batch);
    }
    if score.loss.tokens == 0 {
        return Err(Error::data(format!("{}: no token of it can be masked", names(&args.data)))
            .hint("is it text?"));
    }
    let (loss, accuracy) = (score.loss.mean(), score.accuracy());
    if args.json {
        println!(
            "{}",
            json!({
                "masked_loss": loss, "perplexity": score.loss.perplexity(), "accuracy": accuracy,
                "pair_accuracy": score.pair_accuracy(), "masked": score.loss.tokens,
                "probability": decimal(share), "sequences": sequences, "unit": unit,
                "context": context, "seed": seed,
            })
        );
        return Ok(());
    }
    println!(
        "masked tokens       {:>12}   ({share} of {sequences} {unit}, seed {seed})",
        score.loss.tokens
    );
    println!("loss                {loss:>12.4}   nats per masked token");
    println!("perplexity          {:>12}", perplexity(score.loss.perplexity()));
    println!("accuracy            {accuracy:>12.4}");
    if let Some(known) = score.pair_accuracy() {
        println!(
            "next sentence       {known:>12.4}   (accuracy; half of the pairs follow each other)"
        );
    }
    Ok(())
}

/// All files as one text.
fn whole(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    for path in &args.data {
        for block in Blocks::new(TextReader::open(path)?) {
            all.extend(tokenizer.encode(&block?)?);
        }
    }
    Ok(all)
}

fn lines(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>> {
    nonblank_lines(&args.data)?.iter().map(|line| Ok(tokenizer.encode(line)?)).collect()
}

/// One sequence per text; long texts in several.
fn singles(texts: &[Vec<u32>], template: &EncoderTemplate, context: usize) -> Vec<Group> {
    let sequences: Vec<EncodedText> = texts
        .iter()
        .flat_map(|text| text.chunks(context.saturating_sub(template.added(1)).max(1)))
        .map(|part| template.single(part))
        .collect();
    sequences.chunks(AT_A_TIME).map(|group| (group.to_vec(), None)).collect()
}

/// Every line that has a successor, with that or a random line.
fn line_pairs(
    args: &Eval,
    tokenizer: &Tokenizer,
    how: (&EncoderTemplate, usize),
) -> Result<Vec<Group>> {
    let mut lines = Vec::new();
    for path in &args.data {
        // Blank lines, too: they end a document.
        lines.extend(each_line(std::slice::from_ref(path)).map(|line| tokenizer.encode(&line?)));
        // The end of a file is the end of a document.
        lines.push(Ok(Vec::new()));
    }
    let lines = lines.into_iter().collect::<Result<Vec<Vec<u32>>, _>>()?;
    let pairs = NextSentencePairs::new(0..lines.len(), |i| lines[i].len());
    let mut rng = Stream::new(args.mask_seed, 0);
    let all: Vec<usize> = (0..pairs.count()).collect();
    let group = |chosen: &[usize]| {
        let (sequences, labels) = pairs.sample(chosen, |i| lines[i].clone(), how, &mut rng);
        (sequences, Some(labels))
    };
    Ok(all.chunks(AT_A_TIME).map(group).collect())
}

/// The shortest decimal: 0.15 as f32 would print as 0.15000000596 as f64.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
