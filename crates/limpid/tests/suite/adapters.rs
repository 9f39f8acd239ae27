//! LoRA adapters: the same numbers as PEFT, which has made `reference/fixtures/adapter-*`; and
//! adapters that do not fit.

use limpid::data::batch::{EncoderInput, LabelledBatch, LmBatch, Packed, PairBatch, Targets};
use limpid::error::{Error, ModelError};
use limpid::hub::{self, AdapterConfig};
use limpid::model::{Model, Stack};
use limpid::optim::{Adam, AdamConfig};
use limpid_tensor::kernels::adam::DecayMode;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Role;
use limpid_tensor::tape::{Gradients, Tape, Var};
use safetensors::SafeTensors;
use std::path::{Path, PathBuf};

const BASES: [&str; 6] =
    ["llama-tiny", "gpt2-tiny", "neox-tiny", "bert-classifier", "marian-tiny", "t5-tiny"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("limpid-adapter-{name}-{}", std::process::id()))
}

/// What PEFT has computed.
struct Expected(Vec<u8>);

impl Expected {
    fn of(base: &str) -> Self {
        Self(
            std::fs::read(fixture(&format!("adapter-{base}")).join("expected.safetensors"))
                .unwrap(),
        )
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    fn names(&self, prefix: &str) -> Vec<String> {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let names = tensors.names().into_iter();
        names.filter_map(|name| name.strip_prefix(prefix).map(String::from)).collect()
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        view.data().as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as u32).collect()
    }

    fn sequences(&self, ids: &str, lengths: &str) -> Vec<Vec<u32>> {
        let (ids, mut start) = (self.ids(ids), 0);
        let cut = |len: u32| {
            start += len as usize;
            ids[start - len as usize..start].to_vec()
        };
        self.ids(lengths).into_iter().map(cut).collect()
    }

    /// The pairs of an encoder-decoder.
    fn pairs(&self, start: u32) -> PairBatch {
        let sources = self.sequences("source_ids", "source_lengths");
        let targets = self.sequences("target_ids", "target_lengths");
        let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
        PairBatch::new(&pairs, start)
    }

    /// The texts of a classifier.
    fn texts(&self) -> EncoderInput {
        let ids = self.sequences("ids", "lengths");
        let types = self.sequences("types", "lengths");
        EncoderInput::new(&ids.into_iter().zip(types).collect::<Vec<_>>())
    }

    fn logits(&self, model: &Model) -> Vec<f32> {
        let mut t = Tape::inference(&model.params);
        match &model.stack {
            Stack::Decoder(decoder) => {
                let packed = Packed::new(&self.sequences("ids", "lengths"));
                let hidden = decoder.hidden(&mut t, &packed, None);
                decoder.logits(&mut t, &hidden).data().to_vec()
            }
            Stack::EncoderDecoder(seq2seq) => {
                let batch = self.pairs(seq2seq.config().decoder_start_token_id);
                let encoded = seq2seq.encode(&mut t, &batch.source);
                let memory = seq2seq.memory(&mut t, &encoded, &batch.source);
                let hidden = seq2seq.decode(&mut t, &batch.input, &memory, None);
                seq2seq.logits(&mut t, &hidden).data().to_vec()
            }
            Stack::Encoder(encoder) => {
                let hidden = encoder.hidden(&mut t, &self.texts());
                encoder.class_logits(&mut t, &hidden, &self.texts()).data().to_vec()
            }
            Stack::Recurrent(_) => unreachable!(),
        }
    }

    fn loss(&self, stack: &Stack, t: &mut Tape) -> Var {
        let mean = |count: usize| LossSpec { smoothing: 0.0, weight: 1.0 / count as f32 };
        match stack {
            Stack::Decoder(decoder) => {
                let batch = LmBatch::new(&self.sequences("ids", "lengths"));
                decoder.loss(t, &batch, mean(batch.targets.len()))
            }
            Stack::EncoderDecoder(seq2seq) => {
                let batch = self.pairs(seq2seq.config().decoder_start_token_id);
                seq2seq.loss(t, &batch, mean(batch.targets.len()))
            }
            Stack::Encoder(encoder) => {
                let labels = self.ids("classes");
                let spec = mean(labels.len());
                let labels = Targets::Labels(labels);
                encoder.class_loss(t, &LabelledBatch { input: self.texts(), labels }, spec)
            }
            Stack::Recurrent(_) => unreachable!(),
        }
    }
}

#[track_caller]
fn agree(what: &str, got: &[f32], want: &[f32], bound: f32) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1e-2_f32, |m, x| m.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= bound * largest, "{what}[{i}] is {got}, PEFT has {want}");
    }
}

/// The adapted model with its base frozen, as PEFT trains it.
fn adapted(base: &str) -> Model {
    let (mut model, _) = hub::load(&fixture(&format!("adapter-{base}"))).unwrap();
    let names: Vec<String> = model
        .params
        .all_adapters()
        .flat_map(|(_, adapter)| [adapter.a, adapter.b])
        .map(|id| model.params.spec(id).name.clone())
        .collect();
    model.params.set_roles(|spec| {
        let is_trained = names.contains(&spec.name) || spec.name.starts_with("classifier.");
        if is_trained { Role::Trained } else { Role::Fixed }
    });
    model
}

#[test]
fn logits_and_merged_weights_are_pefts() {
    for base in BASES {
        let expected = Expected::of(base);
        let (mut model, warnings) = hub::load_mapped(&fixture(&format!("adapter-{base}"))).unwrap();
        assert_eq!(warnings, [], "{base}");
        let want = expected.floats("logits");
        agree(base, &expected.logits(&model), &want, 1e-5);
        hub::merge_adapters(&mut model);
        agree(base, &expected.logits(&model), &expected.floats("merged_logits"), 1e-5);
        let folder = temporary(base);
        hub::save(&model, &folder).unwrap();
        let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
        let saved = SafeTensors::deserialize(&bytes).unwrap();
        let names = expected.names("merged.");
        assert!(!names.is_empty());
        for name in names {
            let Ok(view) = saved.tensor(&name) else { panic!("{base}: {name}") };
            let got: Vec<f32> =
                view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            agree(&name, &got, &expected.floats(&format!("merged.{name}")), 1e-6);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn gradients_and_ten_steps_of_adamw_are_pefts() {
    for base in BASES {
        let (expected, mut model) = (Expected::of(base), adapted(base));
        let config = AdamConfig {
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-8,
            weight_decay: 0.1,
            decay_mode: DecayMode::Decoupled,
            clip_norm: Some(1.0),
        };
        let mut adam = Adam::new(&model.params, config);
        let mut gradients = Gradients::new(&model.params);
        let losses: Vec<f32> = (0..10)
            .map(|step| {
                gradients.clear();
                let mut tape = Tape::training(&model.params, &mut gradients);
                let loss = expected.loss(&model.stack, &mut tape);
                tape.backward(&loss);
                if step == 0 {
                    compare_gradients(base, &expected, &model, &gradients);
                }
                adam.step(&mut model.params, &gradients, 1e-2);
                loss.data()[0]
            })
            .collect();
        agree(base, &losses, &expected.floats("adamw_losses"), 1e-4);
    }
}

fn compare_gradients(base: &str, expected: &Expected, model: &Model, gradients: &Gradients) {
    let mut compared = 0;
    for (_, adapter) in model.params.all_adapters() {
        for id in [adapter.a, adapter.b] {
            let name = &model.params.spec(id).name;
            // GPT-NeoX stores the rows of B head by head.
            if base == "neox-tiny" && id == adapter.b {
                continue;
            }
            let got = gradients.get(&model.params, id).unwrap();
            agree(name, got, &expected.floats(&format!("grad.{name}")), 1e-4);
            compared += 1;
        }
    }
    assert!(compared > 0, "{base}");
}

#[test]
fn an_adapter_is_saved_as_it_was_read_and_a_new_one_changes_nothing_at_first() {
    for base in BASES {
        let (folder, original) =
            (temporary(&format!("saved-{base}")), fixture(&format!("adapter-{base}")));
        let model = adapted(base);
        let config = AdapterConfig::read(&original).unwrap();
        hub::save_adapter(&model, &config, &fixture(base), &folder).unwrap();
        let read = |folder: &Path| std::fs::read(folder.join("adapter_model.safetensors")).unwrap();
        let (saved, theirs) = (read(&folder), read(&original));
        let (saved, theirs) =
            (SafeTensors::deserialize(&saved).unwrap(), SafeTensors::deserialize(&theirs).unwrap());
        assert_eq!(saved.len(), theirs.len(), "{base}");
        for (name, view) in theirs.tensors() {
            let ours = saved.tensor(&name).unwrap_or_else(|e| panic!("{base}: {name}: {e}"));
            assert!(ours.shape() == view.shape() && ours.data() == view.data(), "{base}: {name}");
        }
        let (again, _) = hub::load_mapped(&folder).unwrap();
        let expected = Expected::of(base);
        assert_eq!(expected.logits(&again), expected.logits(&model));
        std::fs::remove_dir_all(&folder).unwrap();

        let (mut plain, _) = hub::load(&fixture(base)).unwrap();
        let before = expected.logits(&plain);
        let targets = vec![hub::ALL_LINEAR.to_string()];
        AdapterConfig::new(2, 4.0, targets).attach(&mut plain, 1, |_| false).unwrap();
        assert!(plain.params.all_adapters().count() > 4);
        assert_eq!(expected.logits(&plain), before);
    }
}

fn problem(result: limpid::error::Result<impl Sized>) -> ModelError {
    match result.err().expect("an error") {
        Error::Model(error) => error,
        Error::InFile { source, .. } => match *source {
            Error::Model(error) => error,
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn adapters_that_do_not_fit_are_refused_with_what_would() {
    let attach = |rank, targets: &[&str]| {
        let (mut model, _) = hub::load(&fixture("llama-tiny")).unwrap();
        let targets = targets.iter().map(|target| target.to_string()).collect();
        AdapterConfig::new(rank, 8.0, targets).attach(&mut model, 1, |_| false)
    };
    match problem(attach(2, &["c_attn"])) {
        ModelError::AdapterTarget { target, available } => {
            assert_eq!(target, "c_attn");
            assert!(available.contains(&"q_proj".to_string()), "{available:?}");
        }
        other => panic!("{other}"),
    }
    assert!(matches!(problem(attach(1000, &["q_proj"])), ModelError::AdapterRank { .. }));
    let error = problem(attach(2, &["embed_tokens"]));
    assert!(matches!(error, ModelError::AdapterNotLinear { .. }), "{error}");
    let other = problem(hub::load_adapted(&fixture("gpt2-tiny"), &fixture("adapter-llama-tiny")));
    assert!(matches!(other, ModelError::AdapterOfAnother { .. }), "{other}");
}

#[test]
fn a_rank_in_the_settings_that_the_matrices_do_not_have_is_refused() {
    let folder = temporary("rank");
    std::fs::create_dir_all(&folder).unwrap();
    let from = fixture("adapter-llama-tiny");
    let weights = "adapter_model.safetensors";
    std::fs::copy(from.join(weights), folder.join(weights)).unwrap();
    let text = std::fs::read_to_string(from.join("adapter_config.json")).unwrap();
    let load = |rank: usize| {
        let mut keys: serde_json::Value = serde_json::from_str(&text).unwrap();
        (keys["r"], keys["rank_pattern"]) = (rank.into(), serde_json::json!({}));
        std::fs::write(folder.join("adapter_config.json"), keys.to_string()).unwrap();
        hub::load_adapted(&fixture("llama-tiny"), &folder)
    };
    // The scale of the update depends on it.
    assert!(matches!(problem(load(1)), ModelError::WrongShape { .. }));
    assert!(matches!(problem(load(1000)), ModelError::AdapterRank { .. }));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn keys_that_would_change_the_result_are_refused_by_name() {
    let folder = temporary("keys");
    std::fs::create_dir_all(&folder).unwrap();
    for (key, value) in [("use_dora", "true"), ("bias", "\"all\""), ("peft_type", "\"LOHA\"")] {
        let text =
            std::fs::read_to_string(fixture("adapter-llama-tiny").join("adapter_config.json"));
        let mut keys: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        keys[key] = serde_json::from_str(value).unwrap();
        std::fs::write(folder.join("adapter_config.json"), keys.to_string()).unwrap();
        match problem(AdapterConfig::read(&folder)) {
            ModelError::UnsupportedValue { key: found, .. } => assert_eq!(found, key),
            other => panic!("{other}"),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
