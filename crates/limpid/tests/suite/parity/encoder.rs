//! Encoders: masked language modelling, classification, both, and the encoder alone.

use super::*;
use limpid::data::batch::{EncoderInput, LabelledBatch, MaskedBatch};
use limpid::model::Encoder;
use serde_json::json;

/// The fixtures of each kind.
const MASKED_LM: &[&str] = &[
    "bert-mlm",
    "bert-pretraining",
    "roberta-mlm",
    "distilbert-mlm",
    "xlm-roberta-mlm",
    "camembert-mlm",
    "electra-mlm",
    "mpnet-mlm",
    "modernbert-mlm",
];
/// With their number of labels.
const CLASSIFIERS: &[(&str, usize)] = &[
    ("bert-classifier", 3),
    ("bert-pretraining", 2),
    ("roberta-classifier", 3),
    ("distilbert-classifier", 3),
    ("xlm-roberta-classifier", 3),
    ("camembert-classifier", 3),
    ("electra-classifier", 3),
    ("mpnet-classifier", 3),
    ("modernbert-classifier", 3),
];
const BARE: &[&str] = &[
    "bert-bare",
    "roberta-bare",
    "distilbert-bare",
    "xlm-roberta-bare",
    "electra-bare",
    "mpnet-bare",
    "modernbert-bare",
];
/// Those with ten losses of AdamW.
const TRAINED: &[&str] = &[
    "bert-mlm",
    "bert-classifier",
    "roberta-mlm",
    "roberta-classifier",
    "distilbert-mlm",
    "distilbert-classifier",
    "xlm-roberta-mlm",
    "xlm-roberta-classifier",
    "camembert-mlm",
    "camembert-classifier",
    "electra-mlm",
    "electra-classifier",
    "mpnet-mlm",
    "mpnet-classifier",
    "modernbert-mlm",
    "modernbert-classifier",
];

/// All of them.
fn all() -> impl Iterator<Item = &'static str> {
    [MASKED_LM, TRAINED, BARE].concat().into_iter()
}

/// −100 as the fixtures' u32.
const NOTHING: u32 = -100_i32 as u32;

pub(super) fn bert(stack: &Stack) -> &Encoder {
    stack.encoder().expect("an encoder")
}

pub(super) fn input(fixture: &Fixture) -> EncoderInput {
    let ids = fixture.sequences("ids", "lengths");
    let types = fixture.sequences("types", "lengths");
    EncoderInput::new(&ids.into_iter().zip(types).collect::<Vec<_>>())
}

fn masked_batch(fixture: &Fixture, next_sentence_labels: Option<Vec<u32>>) -> MaskedBatch {
    let masked = fixture.ids("masked");
    let rows: Vec<u32> =
        (0..masked.len() as u32).filter(|row| masked[*row as usize] != NOTHING).collect();
    let targets = rows.iter().map(|row| masked[*row as usize]).collect();
    MaskedBatch {
        input: input(fixture),
        rows: rows.into(),
        targets,
        next_sentence_labels,
        targets_per_sequence: None,
    }
}

fn labelled_batch(fixture: &Fixture) -> LabelledBatch {
    LabelledBatch { input: input(fixture), labels: fixture.ids("classes").into() }
}

pub(super) type LossOf = Box<dyn Fn(&Stack, &mut Tape) -> Var>;

/// The loss of a fixture, as its kind has it.
fn loss_of(fixture: &Fixture) -> LossOf {
    let mean = |count: usize| LossSpec { smoothing: 0.0, weight: 1.0 / count as f32 };
    let has =
        |name: &str| SafeTensors::deserialize(&fixture.expected).unwrap().tensor(name).is_ok();
    if has("masked") {
        let batch = masked_batch(fixture, has("classes").then(|| fixture.ids("classes")));
        return Box::new(move |model, tape| {
            bert(model).masked_loss(tape, &batch, mean(batch.targets.len()))
        });
    }
    let batch = labelled_batch(fixture);
    let count = batch.input.tokens.sequences();
    Box::new(move |model, tape| bert(model).class_loss(tape, &batch, mean(count)))
}

fn loss_and_gradients_agree(fixture: &Fixture) {
    gradients_of_loss_agree(fixture, &loss_of(fixture));
}

pub(super) fn gradients_of_loss_agree(fixture: &Fixture, loss_of: &LossOf) {
    let params = &fixture.model.params;
    let mut gradients = Gradients::new(params);
    let mut tape = Tape::training(params, &mut gradients);
    let loss = loss_of(&fixture.model.stack, &mut tape);
    let want = fixture.floats("loss")[0];
    assert!((loss.data()[0] - want).abs() <= 1e-5 * want, "loss {} is not {want}", loss.data()[0]);
    tape.backward(&loss);
    gradients_agree(fixture, &gradients, &[]);
}

#[test]
fn masked_lm_logits_loss_and_gradients_are_those_of_pytorch() {
    for &name in MASKED_LM {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.stack), input(&fixture));
        let mut tape = Tape::inference(&fixture.model.params);
        let hidden = bert.hidden(&mut tape, &input);
        let all: Vec<u32> = (0..input.tokens.tokens() as u32).collect();
        let logits = bert.word_logits(&mut tape, &hidden, &all.into());
        rows_agree("logits", logits.data(), &fixture.floats("logits"), 37, 1e-5);
        // Only where something is asked: the same rows.
        let batch = masked_batch(&fixture, None);
        let some = bert.word_logits(&mut tape, &hidden, &batch.rows);
        for (i, row) in batch.rows.iter().enumerate() {
            rows_agree("row", some.value().row(i), logits.value().row(*row as usize), 37, 1e-6);
        }
        loss_and_gradients_agree(&fixture);
    }
}

#[test]
fn classification_logits_loss_and_gradients_are_those_of_pytorch() {
    for &(name, classes) in CLASSIFIERS {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.stack), input(&fixture));
        let mut tape = Tape::inference(&fixture.model.params);
        let hidden = bert.hidden(&mut tape, &input);
        let logits = bert.class_logits(&mut tape, &hidden, &input);
        rows_agree("class logits", logits.data(), &fixture.floats("class_logits"), classes, 1e-5);
        loss_and_gradients_agree(&fixture);
    }
    let labels = ["against", "for", "neither"].map(String::from);
    assert_eq!(bert(&Fixture::load("bert-classifier").model.stack).labels().unwrap(), labels);
}

#[test]
fn hidden_states_and_pooler_output_of_a_base_model_are_those_of_pytorch() {
    for &name in BARE {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.stack), input(&fixture));
        let mut tape = Tape::inference(&fixture.model.params);
        let hidden = bert.hidden(&mut tape, &input);
        rows_agree("hidden", hidden.data(), &fixture.floats("hidden"), 24, 1e-5);
        if bert.config().head.has_pooler() {
            let pooled = bert.pooled(&mut tape, &hidden, &input);
            rows_agree("pooled", pooled.data(), &fixture.floats("pooled"), 24, 1e-5);
        }
    }
}

#[test]
fn hidden_states_by_layer_are_those_of_transformers() {
    for &name in BARE {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.stack), input(&fixture));
        let mut tape = Tape::inference(&fixture.model.params);
        let states = bert.hidden_by_layer(&mut tape, &input);
        let all: Vec<f32> = states.iter().flat_map(|state| state.data()).copied().collect();
        rows_agree(name, &all, &fixture.floats("hidden_states"), 24, 1e-5);
    }
}

#[test]
fn ten_adamw_losses_of_encoders_are_those_of_pytorch() {
    for &name in TRAINED {
        let mut fixture = Fixture::load(name);
        let loss = loss_of(&fixture);
        let (losses, norms) = ten_losses(&mut fixture.model, loss);
        losses_agree(name, &losses, &fixture.floats("adamw_losses"));
        losses_agree(name, &norms, &fixture.floats("adamw_grad_norms"));
    }
}

pub(super) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("limpid-parity-{name}-{}", std::process::id()))
}

#[test]
fn a_saved_encoder_is_byte_for_byte_the_loaded_one() {
    for name in all() {
        let fixture = Fixture::load(name);
        let folder = scratch(name);
        hub::save(&fixture.model, &folder).unwrap();
        let theirs =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
        let weights = |folder: &PathBuf| std::fs::read(folder.join("model.safetensors")).unwrap();
        assert!(weights(&folder) == weights(&theirs), "{name}");
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(bert(&again.stack).config(), bert(&fixture.model.stack).config());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// The weights of a fixture under other names, or without some of them.
fn renamed(name: &str, rename: impl Fn(&str) -> Option<String>) -> (Model, Vec<hub::Warning>) {
    let theirs =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
    let bytes = std::fs::read(theirs.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let kept =
        tensors.tensors().into_iter().filter_map(|(name, view)| Some((rename(&name)?, view)));
    let folder = scratch(&format!("{name}-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("model.safetensors"), safetensors::serialize(kept, None).unwrap())
        .unwrap();
    std::fs::copy(theirs.join("config.json"), folder.join("config.json")).unwrap();
    let loaded = hub::load(&folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    loaded
}

#[test]
fn names_with_and_without_a_prefix_and_old_names_of_norms_are_the_same_model() {
    let same = |name: &str, rename: &dyn Fn(&str) -> Option<String>| {
        let (model, warnings) = renamed(name, rename);
        assert_eq!(warnings, [], "{name}");
        assert!(model.params.flat() == Fixture::load(name).model.params.flat(), "{name}");
    };
    same("bert-bare", &|name| Some(format!("bert.{name}")));
    same("bert-mlm", &|name| Some(name.strip_prefix("bert.").unwrap_or(name).to_string()));
    let old = |name: &str| {
        name.replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta")
    };
    same("bert-mlm", &|name| Some(old(name)));
}

#[test]
fn an_encoder_without_a_pooler_opens_as_one() {
    let (model, warnings) =
        renamed("bert-bare", |name| (!name.contains("pooler")).then(|| name.to_string()));
    assert_eq!(warnings, []);
    assert_eq!(bert(&model.stack).config().head, limpid::model::config::EncoderHead::Bare);
}

/// The `config.json` of a fixture with one key changed.
fn read_changed(
    name: &str,
    key: &str,
    value: serde_json::Value,
) -> limpid::error::Result<Vec<String>> {
    let theirs =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
    let text = std::fs::read_to_string(theirs.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config[key] = value;
    let path = scratch(&format!("{name}-{key}.json"));
    std::fs::write(&path, config.to_string()).unwrap();
    let read = hub::read_config(&path);
    std::fs::remove_file(&path).unwrap();
    read.map(|(_, warnings)| warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn what_a_family_does_not_have_is_refused_by_name_and_unknown_keys_are_named() {
    for (fixture, key, value, named) in [
        (
            "distilbert-mlm",
            "architectures",
            json!(["DistilBertForMultipleChoice"]),
            "ForMultipleChoice",
        ),
        ("distilbert-mlm", "tie_word_embeddings", json!(false), "tie_word_embeddings"),
        ("distilbert-mlm", "n_heads", json!(5), "5 heads"),
        ("distilbert-classifier", "problem_type", json!("ranking"), "problem_type"),
        ("camembert-mlm", "architectures", json!(["RobertaForMaskedLM"]), "RobertaForMaskedLM"),
        ("xlm-roberta-mlm", "is_decoder", json!(true), "is_decoder"),
        ("xlm-roberta-mlm", "type_vocab_size", json!(0), "type_vocab_size"),
        (
            "electra-bare",
            "architectures",
            json!(["ElectraForPreTraining"]),
            "ElectraForPreTraining",
        ),
        ("electra-mlm", "embedding_size", json!(0), "embedding_size"),
        ("mpnet-mlm", "relative_attention_num_buckets", json!(16), "relative_attention_num"),
        ("mpnet-mlm", "max_position_embeddings", json!(2), "max_position_embeddings"),
        ("modernbert-mlm", "layer_types", json!(["sliding_attention"]), "layer_types"),
        ("modernbert-mlm", "rope_scaling", json!({"rope_type": "linear"}), "rope_scaling"),
        ("modernbert-classifier", "classifier_pooling", json!("max"), "classifier_pooling"),
    ] {
        let error = read_changed(fixture, key, value).unwrap_err().to_string();
        assert!(error.contains(named), "{fixture}, {key}: {error}");
    }
    for name in all() {
        let warnings = read_changed(name, "colour", json!("red")).unwrap();
        assert_eq!(warnings, ["config.json: unknown key colour is ignored"], "{name}");
    }
}
