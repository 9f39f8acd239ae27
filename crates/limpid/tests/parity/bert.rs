//! BERT: masked words, classes, both, and the encoder alone.

use super::*;
use limpid::data::batch::{LabelledBatch, MaskedBatch, Typed};
use limpid::model::Bert;

/// −100 as the fixtures' u32.
const NOTHING: u32 = -100_i32 as u32;

fn bert(architecture: &Architecture) -> &Bert {
    let Architecture::Bert(bert) = architecture else { panic!("a BERT was expected") };
    bert
}

fn input(fixture: &Fixture) -> Typed {
    let ids = fixture.sequences("ids", "lengths");
    let types = fixture.sequences("types", "lengths");
    Typed::new(&ids.into_iter().zip(types).collect::<Vec<_>>())
}

fn masked_batch(fixture: &Fixture, follows: Option<Vec<u32>>) -> MaskedBatch {
    let masked = fixture.ids("masked");
    let rows: Vec<u32> = (0..masked.len() as u32).filter(|row| masked[*row as usize] != NOTHING).collect();
    let targets = rows.iter().map(|row| masked[*row as usize]).collect();
    MaskedBatch { input: input(fixture), rows: rows.into(), targets, follows, asked_a_sequence: None }
}

fn labelled_batch(fixture: &Fixture) -> LabelledBatch {
    LabelledBatch { input: input(fixture), labels: fixture.ids("classes") }
}

type LossOf = Box<dyn Fn(&Architecture, &mut Tape) -> Var>;

/// The loss of a fixture, as its kind has it.
fn loss_of(fixture: &Fixture) -> LossOf {
    let mean = |count: usize| LossSpec { smoothing: 0.0, weight: 1.0 / count as f32 };
    let has = |name: &str| SafeTensors::deserialize(&fixture.expected).unwrap().tensor(name).is_ok();
    if has("masked") {
        let batch = masked_batch(fixture, has("classes").then(|| fixture.ids("classes")));
        return Box::new(move |model, tape| bert(model).masked_loss(tape, &batch, mean(batch.targets.len())));
    }
    let batch = labelled_batch(fixture);
    Box::new(move |model, tape| bert(model).class_loss(tape, &batch, mean(batch.labels.len())))
}

fn loss_and_gradients_agree(fixture: &Fixture) {
    let params = &fixture.model.params;
    let mut gradients = Gradients::new(params);
    let mut tape = Tape::training(params, &mut gradients);
    let loss = loss_of(fixture)(&fixture.model.architecture, &mut tape);
    let want = fixture.floats("loss")[0];
    assert!((loss.data()[0] - want).abs() <= 1e-5 * want, "loss {} is not {want}", loss.data()[0]);
    tape.backward(&loss);
    gradients_agree(fixture, &gradients, &[]);
}

#[test]
fn bert_gives_pytorchs_logits_of_words_loss_and_gradients() {
    for name in ["bert-mlm", "bert-pretraining"] {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.architecture), input(&fixture));
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
fn bert_gives_pytorchs_logits_of_classes_loss_and_gradients() {
    for (name, classes) in [("bert-classifier", 3), ("bert-pretraining", 2)] {
        let fixture = Fixture::load(name);
        let (bert, input) = (bert(&fixture.model.architecture), input(&fixture));
        let mut tape = Tape::inference(&fixture.model.params);
        let hidden = bert.hidden(&mut tape, &input);
        let logits = bert.class_logits(&mut tape, &hidden, &input);
        rows_agree("class logits", logits.data(), &fixture.floats("class_logits"), classes, 1e-5);
        loss_and_gradients_agree(&fixture);
    }
    let labels = ["against", "for", "neither"].map(String::from);
    assert_eq!(bert(&Fixture::load("bert-classifier").model.architecture).labels().unwrap(), labels);
}

#[test]
fn the_bare_encoder_gives_pytorchs_hidden_and_pooled_states() {
    let fixture = Fixture::load("bert-bare");
    let (bert, input) = (bert(&fixture.model.architecture), input(&fixture));
    let mut tape = Tape::inference(&fixture.model.params);
    let hidden = bert.hidden(&mut tape, &input);
    rows_agree("hidden", hidden.data(), &fixture.floats("hidden"), 24, 1e-5);
    let pooled = bert.pooled(&mut tape, &hidden, &input);
    rows_agree("pooled", pooled.data(), &fixture.floats("pooled"), 24, 1e-5);
}

#[test]
fn ten_steps_of_adamw_give_pytorchs_losses_for_bert() {
    for name in ["bert-mlm", "bert-classifier"] {
        let mut fixture = Fixture::load(name);
        let loss = loss_of(&fixture);
        let (losses, norms) = ten_losses(&mut fixture.model, loss);
        losses_agree(name, &losses, &fixture.floats("adamw_losses"));
        losses_agree(name, &norms, &fixture.floats("adamw_grad_norms"));
    }
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("limpid-parity-{name}-{}", std::process::id()))
}

#[test]
fn a_saved_bert_is_byte_for_byte_the_loaded_one() {
    for name in ["bert-mlm", "bert-pretraining", "bert-classifier", "bert-bare"] {
        let fixture = Fixture::load(name);
        let folder = scratch(name);
        hub::save(&fixture.model, &folder).unwrap();
        let theirs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
        let weights = |folder: &PathBuf| std::fs::read(folder.join("model.safetensors")).unwrap();
        assert!(weights(&folder) == weights(&theirs), "{name}");
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(bert(&again.architecture).config(), bert(&fixture.model.architecture).config());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// The weights of a fixture under other names, or without some of them.
fn renamed(name: &str, rename: impl Fn(&str) -> Option<String>) -> (Model, Vec<hub::Warning>) {
    let theirs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
    let bytes = std::fs::read(theirs.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let kept = tensors.tensors().into_iter().filter_map(|(name, view)| Some((rename(&name)?, view)));
    let folder = scratch(&format!("{name}-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("model.safetensors"), safetensors::serialize(kept, None).unwrap()).unwrap();
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
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    };
    same("bert-mlm", &|name| Some(old(name)));
}

#[test]
fn an_encoder_without_a_pooler_opens_as_one() {
    let (model, warnings) = renamed("bert-bare", |name| (!name.contains("pooler")).then(|| name.to_string()));
    assert_eq!(warnings, []);
    assert_eq!(bert(&model.architecture).config().head, limpid::config::BertHead::Bare);
}
