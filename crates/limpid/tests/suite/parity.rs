//! The same numbers as PyTorch: fixtures under `reference/` hold what `transformers` computed on
//! tiny models.
//!
//! Logits agree within 1e-5 of the largest of their row, gradients within 1e-4 of the largest of
//! their tensor.

mod beams;
mod encoder;
mod heads;

use limpid::data::batch::{LmBatch, Packed, PairBatch};
use limpid::generate::{DecoderSession, EncoderDecoderSession, greedy};
use limpid::hub;
use limpid::model::{Decoder, EncoderDecoder, Model, Stack};
use limpid::optim::{Adam, AdamConfig};
use limpid_tensor::kernels::adam::DecayMode;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{Gradients, Tape, Var};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::path::PathBuf;

struct Fixture {
    model: Model,
    expected: Vec<u8>,
}

impl Fixture {
    fn load(name: &str) -> Self {
        let folder =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
        let (model, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, [], "every key of a fixture's config.json is known");
        Self { model, expected: std::fs::read(folder.join("expected.safetensors")).unwrap() }
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let tensors = SafeTensors::deserialize(&self.expected).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        let tensors = SafeTensors::deserialize(&self.expected).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        view.data().as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as u32).collect()
    }

    /// Packed ids and lengths as sequences.
    fn sequences(&self, ids: &str, lengths: &str) -> Vec<Vec<u32>> {
        let (ids, mut start) = (self.ids(ids), 0);
        let cut = |len: u32| {
            start += len as usize;
            ids[start - len as usize..start].to_vec()
        };
        self.ids(lengths).into_iter().map(cut).collect()
    }

    fn gpt(&self) -> &Decoder {
        self.model.decoder().expect("a decoder")
    }

    fn seq2seq(&self) -> &EncoderDecoder {
        self.model.encoder_decoder().expect("an encoder-decoder")
    }

    fn pairs(&self) -> PairBatch {
        let sources = self.sequences("source_ids", "source_lengths");
        let targets = self.sequences("target_ids", "target_lengths");
        let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
        PairBatch::new(&pairs, self.seq2seq().config().decoder_start_token_id)
    }
}

/// Each row within `bound` of the largest of that row.
#[track_caller]
fn rows_agree(what: &str, got: &[f32], want: &[f32], width: usize, bound: f32) {
    assert_eq!(got.len(), want.len(), "{what}: number of values");
    for (i, (got, want)) in got.chunks(width).zip(want.chunks(width)).enumerate() {
        let largest = want.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        for (j, (got, want)) in got.iter().zip(want).enumerate() {
            assert!(
                (got - want).abs() <= bound * largest,
                "{what}[{i}][{j}] is {got}, PyTorch has {want}"
            );
        }
    }
}

/// The gradient of every tensor of the file, within 1e-4 of the largest of its tensor.
///
/// `renamed` gives another name for the expected gradient of a tensor, where PyTorch leaves a row
/// out.
fn gradients_agree(fixture: &Fixture, gradients: &Gradients, renamed: &[(&str, &str)]) {
    let params = &fixture.model.params;
    let mut compared = 0;
    for file in &hub::file_tensors(&fixture.model).unwrap() {
        let Some(all) = gradients.get(params, file.param) else {
            assert_eq!(file.name, "final_logits_bias", "{} received no gradient", file.name);
            continue;
        };
        let spec = params.spec(file.param);
        let row: usize = spec.shape.dims().skip(1).product();
        let ours = &all[file.rows.start * row..file.rows.end * row];
        let name = renamed
            .iter()
            .find(|(from, _)| *from == file.name)
            .map_or(file.name.as_str(), |(_, to)| to);
        let name =
            if name.starts_with("all_rows.") { name.to_string() } else { format!("grad.{name}") };
        let (stored, mut want) = (fixture.floats(&name), vec![f32::NAN; ours.len()]);
        file.to_memory(&mut want, &stored);
        // The gradient of a key's bias is 0 in exact arithmetic (softmax does not see a constant):
        // only noise to compare, so the scale has a floor.
        let largest = want.iter().fold(1e-2_f32, |m, x| m.max(x.abs()));
        for (i, (got, want)) in ours.iter().zip(&want).enumerate() {
            assert!(
                (got - want).abs() <= 1e-4 * largest,
                "d {}[{i}] is {got}, PyTorch has {want}",
                file.name
            );
        }
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} gradients were compared");
}

fn decoder_forward(name: &str) -> Fixture {
    let fixture = Fixture::load(name);
    let (gpt, params) = (fixture.gpt(), &fixture.model.params);
    let sequences = fixture.sequences("ids", "lengths");
    let mut tape = Tape::inference(params);
    let hidden = gpt.hidden(&mut tape, &Packed::new(&sequences), None);
    let logits = gpt.logits(&mut tape, &hidden);
    rows_agree(name, logits.data(), &fixture.floats("logits"), gpt.config().vocab_size, 1e-5);
    fixture
}

fn gpt_forward_and_gradients(name: &str) {
    let fixture = decoder_forward(name);
    let (gpt, params) = (fixture.gpt(), &fixture.model.params);
    let sequences = fixture.sequences("ids", "lengths");
    let batch = LmBatch::new(&sequences);
    let mut gradients = Gradients::new(params);
    let mut tape = Tape::training(params, &mut gradients);
    let loss = gpt.loss(
        &mut tape,
        &batch,
        LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 },
    );
    let want = fixture.floats("loss")[0];
    assert!((loss.data()[0] - want).abs() <= 1e-5 * want, "loss {} is not {want}", loss.data()[0]);
    tape.backward(&loss);
    // GPT-NeoX's output layer has another name in memory than in files.
    gradients_agree(&fixture, &gradients, &[("embed_out.weight", "lm_head.weight")]);
}

#[test]
fn gpt2_gives_pytorchs_logits_loss_and_gradients() {
    gpt_forward_and_gradients("gpt2-tiny");
}

#[test]
fn gpt2_with_its_own_output_layer_gives_pytorchs_logits_loss_and_gradients() {
    gpt_forward_and_gradients("gpt2-untied");
}

#[test]
fn gpt1_gives_pytorchs_logits_loss_and_gradients() {
    gpt_forward_and_gradients("gpt1-tiny");
}

#[test]
fn gpt2_with_scores_divided_by_layer_gives_pytorchs_logits_loss_and_gradients() {
    gpt_forward_and_gradients("gpt2-by-layer");
}

/// Rotary positions, RMS norms, gates, grouped heads, windows, parallel blocks.
#[test]
fn later_decoders_give_pytorchs_logits_loss_and_gradients() {
    let more = ["llama-options", "qwen2-window", "neox-sequential", "opt-post-norm"];
    for name in LATER.into_iter().chain(more) {
        gpt_forward_and_gradients(name);
    }
}

#[test]
fn rotary_scalings_give_pytorchs_logits() {
    for name in ["llama-linear", "llama-yarn"] {
        decoder_forward(name);
    }
}

/// The later decoders with every quantity.
const LATER: [&str; 8] = [
    "llama-tiny",
    "mistral-tiny",
    "qwen2-tiny",
    "qwen3-tiny",
    "gemma-tiny",
    "neox-tiny",
    "phi-tiny",
    "opt-tiny",
];

fn adamw() -> AdamConfig {
    AdamConfig {
        beta1: 0.9,
        beta2: 0.98,
        eps: 1e-8,
        weight_decay: 0.1,
        decay_mode: DecayMode::Decoupled,
        clip_norm: Some(1.0),
    }
}

/// Ten steps of AdamW on one batch: the loss before each step.
fn ten_losses(
    model: &mut Model,
    loss_of: impl Fn(&Stack, &mut Tape) -> Var,
) -> (Vec<f32>, Vec<f32>) {
    let mut adam = Adam::new(&model.params, adamw());
    let mut gradients = Gradients::new(&model.params);
    (0..10)
        .map(|_| {
            gradients.clear();
            let mut tape = Tape::training(&model.params, &mut gradients);
            let loss = loss_of(&model.stack, &mut tape);
            tape.backward(&loss);
            (loss.data()[0], adam.step(&mut model.params, &gradients, 1e-2))
        })
        .unzip()
}

#[track_caller]
fn losses_agree(what: &str, got: &[f32], want: &[f32]) {
    for (step, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (got - want).abs() <= 1e-4 * want.abs().max(1.0),
            "{what} {step} is {got}, PyTorch has {want}"
        );
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn ten_steps_of_adamw_give_pytorchs_losses_for_decoders() {
    for name in LATER.into_iter().chain(["gpt2-tiny", "gpt1-tiny"]) {
        let mut fixture = Fixture::load(name);
        let batch = LmBatch::new(&fixture.sequences("ids", "lengths"));
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 };
        let (losses, norms) = ten_losses(&mut fixture.model, |stack, tape| {
            let gpt = stack.decoder().expect("a decoder");
            gpt.loss(tape, &batch, spec)
        });
        losses_agree(name, &losses, &fixture.floats("adamw_losses"));
        losses_agree(name, &norms, &fixture.floats("adamw_grad_norms"));
    }
}

#[test]
fn greedy_continuation_gives_pytorchs_tokens() {
    for name in LATER.into_iter().chain(["gpt2-tiny", "gpt1-tiny"]) {
        let fixture = Fixture::load(name);
        let mut session = DecoderSession::new(fixture.gpt(), &fixture.model.params, 1, 11);
        assert_eq!(
            greedy(&mut session, &[fixture.ids("prompt")], None, &[], &[8]).unwrap(),
            [fixture.ids("greedy")],
            "{name}"
        );
    }
}

fn seq2seq_forward(name: &str) -> Fixture {
    let fixture = Fixture::load(name);
    let (model, params, batch) = (fixture.seq2seq(), &fixture.model.params, fixture.pairs());
    let mut tape = Tape::inference(params);
    let encoded = model.encode(&mut tape, &batch.source);
    let memory = model.memory(&mut tape, &encoded, &batch.source);
    let hidden = model.decode(&mut tape, &batch.input, &memory, None);
    let logits = model.logits(&mut tape, &hidden);
    rows_agree(
        "logits",
        logits.data(),
        &fixture.floats("logits"),
        model.config().decoder_vocab_size,
        1e-5,
    );
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 };
    let loss = model.loss(&mut tape, &batch, spec);
    let want = fixture.floats("loss")[0];
    assert!((loss.data()[0] - want).abs() <= 1e-5 * want, "loss {} is not {want}", loss.data()[0]);
    fixture
}

#[test]
fn marian_with_relu_gives_pytorchs_logits_and_loss() {
    seq2seq_forward("marian-relu");
}

/// Marian's embedding has a padding row that PyTorch gives no gradient, though the decoder starts
/// with it; we do not know of padding, so ours is the whole derivative.
const WHOLE: &[(&str, &str)] = &[
    ("model.shared.weight", "all_rows.grad.model.shared.weight"),
    ("shared.weight", "all_rows.grad.shared.weight"),
];

/// The encoder-decoders with every quantity.
const SEQ2SEQ: [&str; 6] =
    ["marian-tiny", "bart-tiny", "mbart-tiny", "m2m-tiny", "t5-tiny", "t5-gated"];

#[test]
fn encoder_decoders_give_pytorchs_gradients_of_the_smoothed_loss() {
    for name in SEQ2SEQ.into_iter().chain(["prenorm-seq2seq"]) {
        let fixture = seq2seq_forward(name);
        let (params, batch) = (&fixture.model.params, fixture.pairs());
        let mut gradients = Gradients::new(params);
        let mut tape = Tape::training(params, &mut gradients);
        let spec = LossSpec { smoothing: 0.1, weight: 1.0 / batch.targets.len() as f32 };
        let loss = fixture.seq2seq().loss(&mut tape, &batch, spec);
        let want = fixture.floats("loss_smoothed")[0];
        assert!(
            (loss.data()[0] - want).abs() <= 1e-5 * want,
            "loss {} is not {want}",
            loss.data()[0]
        );
        tape.backward(&loss);
        gradients_agree(&fixture, &gradients, WHOLE);
    }
}

#[test]
fn the_encoder_gives_pytorchs_hidden_states() {
    for name in SEQ2SEQ.into_iter().chain(["prenorm-seq2seq"]) {
        let fixture = Fixture::load(name);
        let mut tape = Tape::inference(&fixture.model.params);
        let encoded = fixture.seq2seq().encode(&mut tape, &fixture.pairs().source);
        rows_agree("encoder", encoded.data(), &fixture.floats("encoder_hidden"), 24, 1e-5);
    }
}

#[test]
fn ten_steps_of_adamw_give_pytorchs_losses_for_encoder_decoders() {
    for name in SEQ2SEQ {
        let mut fixture = Fixture::load(name);
        let batch = fixture.pairs();
        let spec = LossSpec { smoothing: 0.1, weight: 1.0 / batch.targets.len() as f32 };
        let (losses, norms) = ten_losses(&mut fixture.model, |stack, tape| {
            let model = stack.encoder_decoder().expect("an encoder-decoder");
            model.loss(tape, &batch, spec)
        });
        losses_agree(name, &losses, &fixture.floats("all_rows.adamw_losses"));
        losses_agree(name, &norms, &fixture.floats("all_rows.adamw_grad_norms"));
    }
}

#[test]
fn greedy_translation_gives_pytorchs_tokens_in_a_batch_and_alone() {
    for name in SEQ2SEQ.into_iter().chain(["prenorm-seq2seq"]) {
        let fixture = Fixture::load(name);
        let (model, params) = (fixture.seq2seq(), &fixture.model.params);
        let sources = fixture.sequences("source_ids", "source_lengths");
        let (start, end) = (model.config().decoder_start_token_id, model.config().eos_token_id);
        // The fixture keeps the end token where it came; ours leaves it out.
        let want: Vec<Vec<u32>> = fixture
            .sequences("greedy", "greedy_lengths")
            .into_iter()
            .map(|tokens| tokens.into_iter().take_while(|t| *t != end).collect())
            .collect();
        let translate = |sources: &[Vec<u32>]| {
            let mut session = EncoderDecoderSession::new(model, params, sources, 20);
            let (starts, limits) = (vec![vec![start]; sources.len()], vec![10; sources.len()]);
            greedy(&mut session, &starts, Some(end), &[], &limits).unwrap()
        };
        assert_eq!(translate(&sources), want, "{name}");
        for (source, want) in sources.iter().zip(want) {
            assert_eq!(translate(std::slice::from_ref(source)), [want], "{name}");
        }
    }
}

#[test]
fn a_saved_model_is_byte_for_byte_the_loaded_one() {
    let others = ["gpt2-tiny", "gpt2-untied", "gpt2-by-layer", "gpt1-tiny"];
    let options = ["prenorm-seq2seq", "llama-options", "llama-yarn", "llama-linear"];
    let more = ["qwen2-window", "neox-sequential"];
    for name in LATER.into_iter().chain(SEQ2SEQ).chain(others).chain(options).chain(more) {
        let fixture = Fixture::load(name);
        let folder =
            std::env::temp_dir().join(format!("limpid-parity-{name}-{}", std::process::id()));
        hub::save(&fixture.model, &folder).unwrap();
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(again.params.flat(), fixture.model.params.flat(), "{name}");
        assert_eq!(again.stack.config(), fixture.model.stack.config(), "{name}");
        assert_eq!(again.model_type, fixture.model.model_type, "{name}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// A fixture's folder with its weights in bf16, changed by `change`.
fn in_bf16(name: &str, change: impl Fn(&str, &mut [half::bf16])) -> PathBuf {
    let from =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
    let to = std::env::temp_dir().join(format!("limpid-bf16-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(from.join("config.json"), to.join("config.json")).unwrap();
    let bytes = std::fs::read(from.join("model.safetensors")).unwrap();
    let all: Vec<_> = SafeTensors::deserialize(&bytes)
        .unwrap()
        .tensors()
        .into_iter()
        .map(|(name, view)| {
            let floats = view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            let mut halves: Vec<_> = floats.map(half::bf16::from_f32).collect();
            change(&name, &mut halves);
            let bytes: Vec<u8> = halves.iter().flat_map(|x| x.to_le_bytes()).collect();
            (name, view.shape().to_vec(), bytes)
        })
        .collect();
    let views = all.iter().map(|(name, shape, bytes)| {
        (name, TensorView::new(Dtype::BF16, shape.clone(), bytes).unwrap())
    });
    std::fs::write(to.join("model.safetensors"), safetensors::serialize(views, None).unwrap())
        .unwrap();
    to
}

#[test]
fn stored_positions_in_bf16_are_sinusoidal_and_others_are_refused() {
    let folder = in_bf16("prenorm-seq2seq", |_, _| ());
    assert_eq!(hub::load(&folder).unwrap().1, []);
    in_bf16("prenorm-seq2seq", |name, values| {
        if name.contains("embed_positions") {
            values[7] = half::bf16::from_f32(values[7].to_f32() + 0.01);
        }
    });
    let error = hub::load(&folder).err().unwrap().to_string();
    assert!(error.contains("embed_positions"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
