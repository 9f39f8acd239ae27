//! Heads: sequence classification of every problem type, token classification, question answering,
//! and sequence classification on decoders.

use super::encoder::{LossOf, bert, gradients_of_loss_agree, input, scratch};
use super::*;
use limpid::data::batch::{AnswerBatch, EncoderInput, LabelledBatch, TaggedBatch, Targets};
use limpid::model::config::{EncoderHead, ProblemType};
use limpid_tensor::kernels::cross_entropy::IGNORE;

const ENCODERS: &[&str] = &[
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "mpnet",
    "modernbert",
];
/// Sequence classifiers on encoders, and what their labels are.
const SEQUENCES: &[(&str, ProblemType)] = &[
    ("bert-regression", ProblemType::Regression),
    ("bert-values", ProblemType::Regression),
    ("bert-labels", ProblemType::MultiLabel),
    ("roberta-regression", ProblemType::Regression),
    ("distilbert-labels", ProblemType::MultiLabel),
    ("electra-regression", ProblemType::Regression),
    ("mpnet-labels", ProblemType::MultiLabel),
    ("modernbert-labels", ProblemType::MultiLabel),
    ("modernbert-mean", ProblemType::SingleLabel),
];
const DECODERS: &[(&str, ProblemType)] = &[
    ("gpt2-classifier", ProblemType::SingleLabel),
    ("gpt1-classifier", ProblemType::SingleLabel),
    ("llama-classifier", ProblemType::SingleLabel),
    ("mistral-classifier", ProblemType::Regression),
    ("qwen2-classifier", ProblemType::MultiLabel),
    ("qwen3-classifier", ProblemType::SingleLabel),
    ("gemma-classifier", ProblemType::SingleLabel),
    ("neox-classifier", ProblemType::SingleLabel),
    ("phi-classifier", ProblemType::SingleLabel),
    ("opt-classifier", ProblemType::SingleLabel),
];

fn names(ending: &str) -> Vec<String> {
    ENCODERS.iter().map(|family| format!("{family}-{ending}")).collect()
}

/// Every fixture of a head.
fn all() -> Vec<String> {
    let sequences = SEQUENCES.iter().chain(DECODERS).map(|(name, _)| name.to_string());
    [names("tags"), names("answers"), sequences.collect()].concat()
}

fn has(fixture: &Fixture, name: &str) -> bool {
    SafeTensors::deserialize(&fixture.expected).unwrap().tensor(name).is_ok()
}

/// Texts of an encoder or of a decoder.
fn texts(fixture: &Fixture) -> EncoderInput {
    match has(fixture, "types") {
        true => input(fixture),
        false => EncoderInput::single(&fixture.sequences("ids", "lengths")),
    }
}

/// The loss of a fixture, as its head has it.
fn loss_of(fixture: &Fixture) -> LossOf {
    let input = texts(fixture);
    let mean = |count: usize| LossSpec { smoothing: 0.0, weight: 1.0 / count as f32 };
    let count = input.tokens.sequences();
    if has(fixture, "tags") {
        let tags = fixture.ids("tags");
        let labels: Vec<u32> =
            tags.iter().map(|tag| if *tag == -100_i32 as u32 { IGNORE } else { *tag }).collect();
        let count = labels.iter().filter(|label| **label != IGNORE).count();
        let batch = TaggedBatch { input, labels };
        return Box::new(move |stack, tape| bert(stack).token_loss(tape, &batch, mean(count)));
    }
    if has(fixture, "starts") {
        let ends = fixture.ids("ends");
        let lengths = fixture.ids("lengths");
        let inside = |(at, length): (&u32, &u32)| if at < length { *at } else { IGNORE };
        let ends = ends.iter().zip(&lengths).map(inside);
        let answers = fixture.ids("starts").into_iter().zip(ends).map(|(a, b)| [a, b]).collect();
        let batch = AnswerBatch { input, answers };
        let weight = 1.0 / count as f32;
        return Box::new(move |stack, tape| bert(stack).answer_loss(tape, &batch, weight));
    }
    let labels = match has(fixture, "values") {
        true => Targets::Values(fixture.floats("values")),
        false => Targets::Labels(fixture.ids("classes")),
    };
    let batch = LabelledBatch { input, labels };
    Box::new(move |stack, tape| match stack {
        Stack::Decoder(gpt) => gpt.class_loss(tape, &batch, mean(count)),
        stack => bert(stack).class_loss(tape, &batch, mean(count)),
    })
}

fn logits_loss_and_gradients_agree(name: &str) -> Fixture {
    let fixture = Fixture::load(name);
    let input = texts(&fixture);
    let mut tape = Tape::inference(&fixture.model.params);
    let logits = match &fixture.model.stack {
        Stack::Decoder(gpt) => {
            let hidden = gpt.hidden(&mut tape, &input.tokens, None);
            gpt.class_logits(&mut tape, &hidden, &input.tokens)
        }
        stack => {
            let hidden = bert(stack).hidden(&mut tape, &input);
            match bert(stack).config().head.is_per_token() {
                true => bert(stack).token_logits(&mut tape, &hidden),
                false => bert(stack).class_logits(&mut tape, &hidden, &input),
            }
        }
    };
    rows_agree(name, logits.data(), &fixture.floats("logits"), logits.rows_cols().1, 1e-5);
    gradients_of_loss_agree(&fixture, &loss_of(&fixture));
    fixture
}

#[test]
fn token_classification_is_that_of_transformers_in_every_family() {
    for name in names("tags") {
        let fixture = logits_loss_and_gradients_agree(&name);
        let tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"];
        assert_eq!(bert(&fixture.model.stack).token_labels().unwrap(), tags);
    }
}

#[test]
fn question_answering_is_that_of_transformers_in_every_family() {
    for name in names("answers") {
        let fixture = logits_loss_and_gradients_agree(&name);
        let head = &bert(&fixture.model.stack).config().head;
        assert_eq!(*head, EncoderHead::QuestionAnswering);
    }
}

#[test]
fn regression_and_several_labels_are_those_of_transformers() {
    for (name, problem) in SEQUENCES {
        let fixture = logits_loss_and_gradients_agree(name);
        assert_eq!(fixture.model.stack.labels().unwrap().problem(), *problem, "{name}");
    }
}

#[test]
fn classification_on_decoders_is_that_of_transformers_and_skips_padding() {
    for (name, problem) in DECODERS {
        let fixture = logits_loss_and_gradients_agree(name);
        assert_eq!(fixture.model.stack.labels().unwrap().problem(), *problem, "{name}");
        assert!(fixture.model.stack.language_model().is_none());
    }
}

#[test]
fn ten_adamw_losses_of_heads_are_those_of_transformers() {
    for name in all() {
        let mut fixture = Fixture::load(&name);
        let loss = loss_of(&fixture);
        let (losses, norms) = ten_losses(&mut fixture.model, loss);
        losses_agree(&name, &losses, &fixture.floats("adamw_losses"));
        losses_agree(&name, &norms, &fixture.floats("adamw_grad_norms"));
    }
}

#[test]
fn a_saved_head_is_byte_for_byte_the_loaded_one() {
    for name in all() {
        let fixture = Fixture::load(&name);
        let folder = scratch(&name);
        hub::save(&fixture.model, &folder).unwrap();
        let theirs =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(&name);
        let weights = |folder: &PathBuf| std::fs::read(folder.join("model.safetensors")).unwrap();
        assert!(weights(&folder) == weights(&theirs), "{name}");
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(again.stack.config(), fixture.model.stack.config());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
