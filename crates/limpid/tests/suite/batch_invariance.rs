//! The bits of a model's output do not depend on what else is in the batch, on how a text is cut
//! into chunks, or on the number of threads: for every stack, at every instruction set.

use limpid::data::batch::{EncoderInput, Packed, PairBatch};
use limpid::generate::{
    Batch, DecoderSession, DecoderSlots, EncoderDecoderSession, EncoderDecoderSlots, KvFormat,
    RecurrentSession, Session,
};
use limpid::model::config::{
    Cell, ClassifierPooling, DecoderConfig, Directions, EncoderConfig, EncoderDecoderConfig,
    ModernLayers, RecurrentAttention, RecurrentConfig, StackConfig,
};
use limpid::model::{Model, Stack};
use limpid::nn::{Bias, HeadNorm, NormPlacement, Positions, RotaryOptions, Windows};
use limpid_tensor::rng::Stream;
use limpid_tensor::simd::{self, Level};
use limpid_tensor::tape::Tape;
use limpid_tensor::team;
use limpid_tensor::tensor::Tensor;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

const VOCAB: usize = 131;

/// The number of threads is global: tests that set it take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The level that `every_instruction_set_keeps_the_bits` asks for, if this is its process.
const LEVEL: &str = "BATCH_INVARIANCE_SIMD";

fn turn() -> MutexGuard<'static, ()> {
    if let Ok(name) = std::env::var(LEVEL) {
        simd::set_level(Level::from_name(&name).unwrap()).unwrap();
    }
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A model whose attention is not flat, so that a wrong bit is not lost in rounding.
fn model(config: impl Into<StackConfig>) -> Model {
    let mut model = Model::new(config, 5).unwrap();
    let mut rng = Stream::new(9, 9);
    model.params.flat_mut().iter_mut().for_each(|x| *x = *x * 2.0 + 0.05 * rng.normal());
    model
}

/// Learned and rotary positions, windows, grouped heads, heads that are no whole registers, and one
/// wide enough that its products are split into tasks.
fn decoders() -> Vec<Model> {
    let gpt2 = DecoderConfig::gpt2(VOCAB, 96, 2, 3, 24);
    let wide = DecoderConfig::gpt2(VOCAB, 96, 2, 2, 256);
    let llama = DecoderConfig::llama(VOCAB, 96, 2, [4, 2], [64, 96]);
    let mut windows = DecoderConfig::llama(VOCAB, 96, 2, [4, 1], [40, 96]);
    windows.variant.attention.head_norm = HeadNorm::Rms;
    windows.variant.attention.head_dim = Some(18);
    windows.variant.attention.windows = Windows::From { layer: 1, tokens: 21 };
    let mut relative = gpt2.clone();
    relative.options.positions = Positions::Relative;
    [gpt2, wide, llama, windows, relative].iter().map(model).collect()
}

fn encoder_decoders() -> Vec<Model> {
    let post = EncoderDecoderConfig {
        max_position_embeddings: 96,
        ..EncoderDecoderConfig::new(VOCAB, 2, 4, 64, 96)
    };
    let pre = EncoderDecoderConfig { norm: NormPlacement::Pre, ..post.clone() };
    let mut relative = pre.clone();
    relative.options.positions = Positions::Relative;
    [post, pre, relative].iter().map(model).collect()
}

fn encoders() -> Vec<Model> {
    let bert = EncoderConfig::new(VOCAB, 96, 2, 3, 24);
    let rotary = RotaryOptions::STANDARD;
    let modern = ModernLayers {
        rotary,
        window_rotary: RotaryOptions { rope_theta: 100.0, ..rotary },
        windows: Windows::Between { every: 2, tokens: 5 },
        norm_bias: Bias::None,
        attention_bias: Bias::None,
        ffn_bias: Bias::None,
        head_bias: Bias::None,
        lm_bias: Bias::Added,
        classifier_pooling: ClassifierPooling::Cls,
    };
    let windows = EncoderConfig {
        modern: Some(modern),
        type_vocab_size: None,
        ..EncoderConfig::new(VOCAB, 96, 3, 2, 256)
    };
    [bert, windows].iter().map(model).collect()
}

fn recurrents() -> Vec<Model> {
    let config = |cell, attention, layers, directions| RecurrentConfig {
        max_length: 96,
        directions,
        ..RecurrentConfig::new(VOCAB, cell, attention, layers, 40)
    };
    use RecurrentAttention::{Additive, Dot, None};
    let all = [
        config(Cell::Lstm, None, 2, Directions::Forward),
        config(Cell::Gru, Dot, 1, Directions::Bidirectional),
        config(Cell::Lstm, Additive, 2, Directions::Bidirectional),
    ];
    all.iter().map(model).collect()
}

fn texts(seed: u64, lengths: &[usize]) -> Vec<Vec<u32>> {
    let mut rng = Stream::new(seed, 1);
    lengths.iter().map(|len| (0..*len).map(|_| rng.below(VOCAB) as u32).collect()).collect()
}

/// More rows than a tile has, and one, two and a few tokens.
const LENGTHS: [usize; 7] = [70, 1, 17, 3, 2, 33, 16];

fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|x| x.to_bits()).collect()
}

/// The rows of a matrix that begin with row `first`.
#[track_caller]
fn same_rows(whole: &Tensor, first: usize, part: &Tensor, what: &str) {
    for i in 0..part.rows_cols().0 {
        assert_eq!(bits(whole.row(first + i)), bits(part.row(i)), "{what}, row {i}");
    }
}

/// Logits after every token of targets of these sources; the sources of a decoder are not used.
fn logits(model: &Model, sources: &[Vec<u32>], targets: &[Vec<u32>]) -> Tensor {
    let mut tape = Tape::inference(&model.params);
    let t = &mut tape;
    let (source, target) = (Packed::new(sources), Packed::new(targets));
    let logits = match &model.stack {
        Stack::Decoder(decoder) => {
            let hidden = decoder.hidden(t, &target, None);
            decoder.logits(t, &hidden)
        }
        Stack::Encoder(encoder) => {
            let typed: Vec<_> = targets.iter().map(|ids| (ids, vec![0; ids.len()])).collect();
            encoder.hidden(t, &EncoderInput::new(&typed))
        }
        stack => stack.translator().unwrap().scores(t, &source, &target),
    };
    logits.value().clone()
}

/// A session with keys and values in another format than f32.
fn stored_session<'a>(
    model: &'a Model,
    sources: &[Vec<u32>],
    format: KvFormat,
) -> Box<dyn Session + 'a> {
    let params = &model.params;
    match &model.stack {
        Stack::Decoder(decoder) => {
            let slots = DecoderSlots::new(decoder, params, 96).with_kv_format(format);
            Box::new(Batch::over(slots, sources))
        }
        Stack::EncoderDecoder(m) => {
            let slots = EncoderDecoderSlots::new(m, params, 96).with_kv_format(format);
            Box::new(Batch::over(slots, sources))
        }
        _ => unreachable!("no keys and values"),
    }
}

fn session<'a>(model: &'a Model, sources: &[Vec<u32>]) -> Box<dyn Session + 'a> {
    let params = &model.params;
    match &model.stack {
        Stack::Decoder(decoder) => {
            Box::new(DecoderSession::new(decoder, params, sources.len(), 96))
        }
        Stack::EncoderDecoder(m) => Box::new(EncoderDecoderSession::new(m, params, sources, 96)),
        Stack::Recurrent(m) => Box::new(RecurrentSession::new(m, params, sources, 96)),
        Stack::Encoder(_) => unreachable!("an encoder generates nothing"),
    }
}

fn every_stack() -> Vec<Model> {
    [decoders(), encoder_decoders(), encoders(), recurrents()].into_iter().flatten().collect()
}

fn generating() -> Vec<Model> {
    [decoders(), encoder_decoders(), recurrents()].into_iter().flatten().collect()
}

#[test]
fn a_text_has_the_same_bits_alone_and_in_a_batch_on_any_number_of_threads() {
    let _turn = turn();
    for (m, model) in every_stack().iter().enumerate() {
        let (sources, targets) = (texts(3, &[5, 40, 1, 9, 17, 2, 30]), texts(4, &LENGTHS));
        team::set_threads(1);
        let together = logits(model, &sources, &targets);
        for threads in 1..=4 {
            team::set_threads(threads);
            let mut first = 0;
            for (i, (source, target)) in sources.iter().zip(&targets).enumerate() {
                let one = std::slice::from_ref;
                let alone = logits(model, one(source), one(target));
                let what = format!("model {m}, text {i}, {threads} threads");
                same_rows(&together, first, &alone, &what);
                first += target.len();
            }
            let again = logits(model, &sources, &targets);
            same_rows(&together, 0, &again, &format!("model {m}, {threads} threads"));
        }
    }
    team::set_threads(2);
}

#[test]
fn a_text_in_chunks_with_a_cache_has_the_bits_of_the_full_forward_pass() {
    let _turn = turn();
    for (m, model) in generating().iter().enumerate() {
        let (source, target) = (texts(5, &[13]), texts(6, &[70]));
        team::set_threads(1);
        let whole = logits(model, &source, &target);
        let mut rng = Stream::new(11, m as u64);
        for round in 0..8 {
            team::set_threads(1 + round % 4);
            let mut session = session(model, &source);
            let mut at = 0;
            while at < target[0].len() {
                // Token by token in the first round; then single tokens between longer chunks.
                let longest = target[0].len() - at;
                let single = round == 0 || rng.below(2) == 0;
                let len = if single { 1 } else { 1 + rng.below(longest) };
                let next = session.advance(&[target[0][at..at + len].to_vec()]);
                at += len;
                let what = format!("model {m}, round {round}, {len} tokens up to {at}");
                same_rows(&whole, at - 1, &next, &what);
            }
        }
    }
    team::set_threads(2);
}

/// Logits after every token, one token at a time, alone.
fn one_by_one(model: &Model, source: &[u32], target: &[u32], format: KvFormat) -> Vec<Vec<u32>> {
    let mut session = stored_session(model, &[source.to_vec()], format);
    target.iter().map(|token| bits(session.advance(&[vec![*token]]).row(0))).collect()
}

#[test]
fn stored_keys_and_values_keep_the_bits_in_any_chunks_batch_and_number_of_threads() {
    let _turn = turn();
    for (m, model) in [decoders(), encoder_decoders()].iter().flatten().enumerate() {
        let (sources, targets) = (texts(7, &[13, 2, 30]), texts(8, &[70, 41, 55]));
        for format in [KvFormat::F16, KvFormat::Int8] {
            team::set_threads(1);
            let alone: Vec<_> =
                (0..3).map(|i| one_by_one(model, &sources[i], &targets[i], format)).collect();
            let exact = logits(model, &sources[..1], &targets[..1]);
            assert_ne!(bits(exact.row(69)), alone[0][69], "model {m}: {format} rounds something");
            let mut rng = Stream::new(12, m as u64);
            for threads in 1..=4 {
                team::set_threads(threads);
                let (mut session, mut at) = (stored_session(model, &sources, format), [0; 3]);
                while (0..3).all(|i| at[i] < targets[i].len()) {
                    let mut chunk = |i: usize| {
                        let len = (1 + rng.below(3) * rng.below(9)).min(targets[i].len() - at[i]);
                        at[i] += len;
                        targets[i][at[i] - len..at[i]].to_vec()
                    };
                    let next = session.advance(&[chunk(0), chunk(1), chunk(2)]);
                    for i in 0..3 {
                        let what = format!("model {m}, {format}, text {i} at {}", at[i]);
                        assert_eq!(bits(next.row(i)), alone[i][at[i] - 1], "{what}");
                    }
                }
            }
        }
    }
    team::set_threads(2);
}

#[test]
fn a_chunk_has_the_same_bits_whatever_other_chunks_are_in_the_batch() {
    let _turn = turn();
    for (m, model) in generating().iter().enumerate() {
        let (sources, targets) = (texts(7, &[13, 2, 30, 8]), texts(8, &[70; 4]));
        let alone: Vec<Tensor> =
            (0..4).map(|i| logits(model, &sources[i..=i], &targets[i..=i])).collect();
        let mut rng = Stream::new(12, m as u64);
        for threads in 1..=4 {
            team::set_threads(threads);
            let (mut session, mut order, mut at) =
                (session(model, &sources), vec![0, 1, 2, 3], [0; 4]);
            while order.iter().all(|i| at[*i] < 70) {
                let mut chunk = |i: usize| {
                    let len = (1 + rng.below(3) * rng.below(9)).min(70 - at[i]);
                    at[i] += len;
                    targets[i][at[i] - len..at[i]].to_vec()
                };
                let chunks: Vec<Vec<u32>> = order.iter().map(|i| chunk(*i)).collect();
                let next = session.advance(&chunks);
                for (row, i) in order.iter().enumerate() {
                    let what = format!("model {m}, text {i} at {}", at[*i]);
                    assert_eq!(bits(next.row(row)), bits(alone[*i].row(at[*i] - 1)), "{what}");
                }
                // Sequences change places, and one leaves early.
                let rows = if order.len() == 4 && at[order[0]] > 30 {
                    vec![3, 1, 2]
                } else {
                    (0..order.len()).rev().collect()
                };
                session.select(&rows);
                order = rows.iter().map(|row| order[*row]).collect();
            }
        }
    }
    team::set_threads(2);
}

/// The pairs of a batch as a loss sees them: not part of the promise, but of the same kernels.
#[test]
fn teacher_forcing_sees_the_bits_of_decoding() {
    let _turn = turn();
    let model = &encoder_decoders()[0];
    let pairs: Vec<_> = texts(1, &[9, 4]).into_iter().zip(texts(2, &[11, 6])).collect();
    let batch = PairBatch::new(&pairs, 0);
    let m = model.encoder_decoder().expect("an encoder-decoder");
    let mut tape = Tape::inference(&model.params);
    let encoded = m.encode(&mut tape, &batch.source);
    let source = limpid::model::encoder_decoder::Source::Encoded(&encoded, &batch.source.spans);
    let hidden = m.decode(&mut tape, &batch.input, source, None);
    let forced = m.logits(&mut tape, &hidden).value().clone();
    let mut session = session(model, &[pairs[1].0.clone()]);
    let input = [vec![0], pairs[1].1.clone()].concat();
    for (i, token) in input[..6].iter().enumerate() {
        let next = session.advance(&[vec![*token]]);
        assert_eq!(bits(next.row(0)), bits(forced.row(11 + i)), "token {i}");
    }
}

#[test]
fn every_instruction_set_keeps_the_bits() {
    if std::env::var(LEVEL).is_ok() {
        return;
    }
    for level in Level::available() {
        let output = Command::new(std::env::current_exe().unwrap())
            .arg("batch_invariance::")
            .env(LEVEL, level.name())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{level}:\n{text}");
        assert!(text.contains("6 passed"), "{level} ran other tests:\n{text}");
    }
}
