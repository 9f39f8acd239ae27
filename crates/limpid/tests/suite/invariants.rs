//! Invariants of every model, whatever its numbers.

use limpid::data::batch::{EncoderInput, LabelledBatch, LmBatch, MaskedBatch, Packed, PairBatch};
use limpid::data::masking::{MaskStream, MaskUnit, Masking};
use limpid::error::{Error, RunError};
use limpid::generate::{DecoderSession, EncoderDecoderSession, Session, argmax, greedy};
use limpid::model::config::{DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead, Tie};
use limpid::model::{Decoder, Encoder, EncoderDecoder, Model};
use limpid::nn::{Bias, Block, HeadNorm, NormPlacement, Positions, Windows};
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid::text::train::{TokenizerSpec, train};
use limpid::text::{Purpose, TokenizerKind};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Role;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::{Gradients, Tape, Var};
use limpid_tensor::tensor::Tensor;

/// GPT-1, GPT-2 and later decoders of a size that shows every index mistake.
fn gpts() -> Vec<Model> {
    let tied = DecoderConfig::gpt2(53, 40, 2, 3, 24);
    let untied = DecoderConfig { tie_word_embeddings: Tie::Separate, ..tied.clone() };
    let post_norm = DecoderConfig { norm: NormPlacement::Post, ..tied.clone() };
    let llama = DecoderConfig::llama(53, 40, 2, [4, 2], [24, 40]);
    let mut qwen = llama.clone();
    qwen.variant.attention.head_norm = HeadNorm::Rms;
    qwen.variant.attention.head_dim = Some(10);
    qwen.variant.attention.windows = Windows::From { layer: 1, tokens: 4 };
    let mut neox = tied.clone();
    neox.options.positions = Positions::Rotary;
    neox.variant.attention.rotary.partial_rotary_factor = 0.5;
    neox.variant.block = Block::Parallel;
    let mut phi = neox.clone();
    (phi.variant.block, phi.output_bias) = (Block::ParallelOneNorm, Bias::Added);
    let all = [tied, untied, post_norm, llama, qwen, neox, phi];
    all.iter().map(|c| spread(Model::new(c, 5).unwrap(), 3.0)).collect()
}

/// Post-norm, pre-norm, and separate embeddings.
fn translators() -> Vec<Model> {
    let shared = EncoderDecoderConfig {
        max_position_embeddings: 40,
        ..EncoderDecoderConfig::new(53, 2, 3, 24, 40)
    };
    let pre = EncoderDecoderConfig { norm: NormPlacement::Pre, ..shared.clone() };
    let separate = EncoderDecoderConfig {
        share_encoder_decoder_embeddings: Tie::Separate,
        tie_word_embeddings: Tie::Separate,
        decoder_vocab_size: 47,
        ..shared.clone()
    };
    [shared, pre, separate].iter().map(|c| spread(Model::new(c, 5).unwrap(), 3.0)).collect()
}

/// Encoders with every head that is trained.
fn encoders() -> Vec<Model> {
    let labels = ["a", "b", "c"].map(String::from).to_vec();
    let heads =
        [EncoderHead::MaskedLm, EncoderHead::PreTraining, EncoderHead::Classifier(labels.into())];
    let config = |head| EncoderConfig { head, ..EncoderConfig::new(53, 40, 2, 3, 24) };
    heads.into_iter().map(|head| spread(Model::new(config(head), 5).unwrap(), 1.0)).collect()
}

fn encoder(model: &Model) -> &Encoder {
    model.encoder().expect("an encoder")
}

/// Sequences of two halves.
fn typed(sequences: &[Vec<u32>]) -> EncoderInput {
    let halves =
        |ids: &Vec<u32>| (0..ids.len()).map(|i| u32::from(i > ids.len() / 2)).collect::<Vec<u32>>();
    EncoderInput::new(&sequences.iter().map(|ids| (ids.clone(), halves(ids))).collect::<Vec<_>>())
}

/// The loss that a head is trained with.
fn encoder_loss(bert: &Encoder, tape: &mut Tape, sequences: &[Vec<u32>], weight: f32) -> Var {
    let (input, spec) = (typed(sequences), LossSpec { smoothing: 0.0, weight });
    let count = sequences.len() as u32;
    match bert.config().head {
        EncoderHead::Classifier(_) => {
            let labels = Vec::from_iter((0..count).map(|i| i % 3)).into();
            let batch = LabelledBatch { input, labels };
            bert.class_loss(tape, &batch, spec)
        }
        _ => {
            let middle =
                |span: &limpid_tensor::kernels::attention::Span| (span.start + span.len / 2) as u32;
            let rows: Vec<u32> = input.tokens.spans.iter().map(middle).collect();
            let targets = rows.iter().map(|row| (row * 7 + 3) % 53).collect();
            let next_sentence_labels = Some((0..count).map(|i| i % 2).collect());
            bert.masked_loss(
                tape,
                &MaskedBatch {
                    input,
                    rows: rows.into(),
                    targets,
                    next_sentence_labels,
                    targets_per_sequence: None,
                },
                spec,
            )
        }
    }
}

#[test]
fn every_token_of_an_encoder_sees_all_of_its_sequence_and_nothing_of_the_others() {
    for model in encoders() {
        let hidden = |sequences: &[Vec<u32>]| {
            encoder(&model)
                .hidden(&mut Tape::inference(&model.params), &typed(sequences))
                .value()
                .clone()
        };
        let mut all = sequences(3, &[5, 1, 17, 3], 53);
        let together = hidden(&all);
        let mut row = 0;
        for sequence in &all {
            let alone = hidden(std::slice::from_ref(sequence));
            (0..sequence.len()).for_each(|i| same_row(together.row(row + i), alone.row(i)));
            row += sequence.len();
        }
        // The last token of the third sequence changes all of it, the first one too, and nothing
        // else.
        all[2][16] = (all[2][16] + 1) % 53;
        let after = hidden(&all);
        (0..26).for_each(|row| {
            assert_eq!(after.row(row) != together.row(row), (6..23).contains(&row), "row {row}")
        });
    }
}

/// Other weights than a fresh model has, so that attention is not flat and effects are not lost in
/// rounding; not so large for encoders that a token sees one other alone.
fn spread(mut model: Model, times: f32) -> Model {
    let mut rng = Stream::new(9, 9);
    model.params.flat_mut().iter_mut().for_each(|x| *x = *x * times + 0.1 * rng.normal());
    model
}

fn gpt(model: &Model) -> &Decoder {
    model.decoder().expect("a decoder")
}

fn translator(model: &Model) -> &EncoderDecoder {
    model.encoder_decoder().expect("an encoder-decoder")
}

fn sequences(seed: u64, lengths: &[usize], vocab: usize) -> Vec<Vec<u32>> {
    let mut rng = Stream::new(seed, 1);
    lengths.iter().map(|len| (0..*len).map(|_| rng.below(vocab) as u32).collect()).collect()
}

fn gpt_logits(model: &Model, sequences: &[Vec<u32>]) -> Tensor {
    let mut tape = Tape::inference(&model.params);
    let hidden = gpt(model).hidden(&mut tape, &Packed::new(sequences), None);
    gpt(model).logits(&mut tape, &hidden).value().clone()
}

fn translator_logits(model: &Model, pairs: &[(Vec<u32>, Vec<u32>)]) -> Tensor {
    let (m, batch) = (translator(model), PairBatch::new(pairs, 0));
    let mut tape = Tape::inference(&model.params);
    let encoded = m.encode(&mut tape, &batch.source);
    let memory = m.memory(&mut tape, &encoded, &batch.source);
    let hidden = m.decode(&mut tape, &batch.input, &memory, None);
    m.logits(&mut tape, &hidden).value().clone()
}

/// |Δ| ≤ 1e-5 · max|row|.
#[track_caller]
fn same_row(got: &[f32], want: &[f32]) {
    let largest = want.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(
        worst <= 1e-5 * largest && got.len() == want.len(),
        "rows differ by {worst} of {largest}"
    );
}

#[test]
fn the_future_cannot_change_the_past() {
    for model in gpts() {
        let mut tokens = sequences(1, &[17], 53);
        let before = gpt_logits(&model, &tokens);
        for changed in [1, 8, 16] {
            let token = tokens[0][changed];
            tokens[0][changed] = (token + 1) % 53;
            let after = gpt_logits(&model, &tokens);
            tokens[0][changed] = token;
            (0..changed).for_each(|row| {
                assert_eq!(after.row(row), before.row(row), "token {changed} changed row {row}")
            });
            // Nor is the test blind: the changed token itself and what follows do see it.
            (changed..17).for_each(|row| {
                assert_ne!(after.row(row), before.row(row), "row {row} did not see {changed}")
            });
        }
    }
    for model in translators() {
        let pair = (sequences(1, &[9], 47).remove(0), sequences(2, &[11], 47).remove(0));
        let before = translator_logits(&model, std::slice::from_ref(&pair));
        let mut changed = pair.clone();
        changed.1[5] = (changed.1[5] + 1) % 47;
        let after = translator_logits(&model, &[changed]);
        // Target token 5 is decoder input 6.
        (0..6).for_each(|row| assert_eq!(after.row(row), before.row(row)));
        (6..11).for_each(|row| assert_ne!(after.row(row), before.row(row)));
        // The whole source is seen from the first target position on.
        let mut changed = pair.clone();
        changed.0[8] = (changed.0[8] + 1) % 47;
        assert_ne!(translator_logits(&model, &[changed]).row(0), before.row(0));
    }
}

#[test]
fn more_sequences_in_the_batch_change_no_output() {
    let lengths = [5, 1, 17, 3];
    for model in gpts() {
        let all = sequences(3, &lengths, 53);
        let together = gpt_logits(&model, &all);
        let mut row = 0;
        for sequence in &all {
            let alone = gpt_logits(&model, std::slice::from_ref(sequence));
            (0..sequence.len()).for_each(|i| same_row(together.row(row + i), alone.row(i)));
            row += sequence.len();
        }
    }
    for model in translators() {
        let pairs: Vec<_> =
            sequences(3, &lengths, 47).into_iter().zip(sequences(4, &[2, 9, 4, 13], 47)).collect();
        let together = translator_logits(&model, &pairs);
        let mut row = 0;
        for pair in &pairs {
            let alone = translator_logits(&model, std::slice::from_ref(pair));
            (0..pair.1.len()).for_each(|i| same_row(together.row(row + i), alone.row(i)));
            row += pair.1.len();
        }
    }
}

#[test]
fn cached_decoding_gives_the_tokens_of_the_full_forward() {
    for model in gpts() {
        let prompts = sequences(6, &[3, 7, 1], 53);
        let mut session = DecoderSession::new(gpt(&model), &model.params, 3, 40);
        let cached = greedy(&mut session, &prompts, None, &[], &[20; 3]).unwrap();
        for (prompt, cached) in prompts.iter().zip(&cached) {
            let mut whole = prompt.clone();
            for _ in 0..20 {
                let logits = gpt_logits(&model, std::slice::from_ref(&whole));
                whole.push(argmax(logits.row(whole.len() - 1)) as u32);
            }
            assert_eq!(&whole[prompt.len()..], cached);
        }
    }
    for model in translators() {
        let sources = sequences(6, &[3, 11, 1], 47);
        let mut session =
            EncoderDecoderSession::new(translator(&model), &model.params, &sources, 30);
        let cached = greedy(&mut session, &vec![vec![0]; 3], None, &[], &[20; 3]).unwrap();
        for (source, cached) in sources.iter().zip(&cached) {
            let mut written: Vec<u32> = Vec::new();
            for _ in 0..20 {
                // The last target does not matter: it is what is asked for.
                let pair = (source.clone(), written.iter().copied().chain([0]).collect());
                let logits = translator_logits(&model, &[pair]);
                written.push(argmax(logits.row(written.len())) as u32);
            }
            assert_eq!(&written, cached);
        }
    }
}

#[test]
fn a_prompt_in_one_pass_or_token_by_token_gives_the_same_scores() {
    for model in gpts() {
        let prompt = sequences(7, &[9], 53).remove(0);
        let mut at_once = DecoderSession::new(gpt(&model), &model.params, 1, 9);
        let mut one_by_one = DecoderSession::new(gpt(&model), &model.params, 1, 9);
        let want = at_once.advance(std::slice::from_ref(&prompt));
        let got = prompt.iter().map(|token| one_by_one.advance(&[vec![*token]])).last().unwrap();
        same_row(got.row(0), want.row(0));
    }
}

#[test]
fn sequences_can_be_dropped_doubled_and_reordered_while_decoding() {
    let model = &translators()[0];
    let sources = sequences(6, &[3, 11, 5], 47);
    let session = || EncoderDecoderSession::new(translator(model), &model.params, &sources, 30);
    let (mut plain, mut selected) = (session(), session());
    let tokens = [vec![0, 4], vec![0, 9, 2], vec![0]];
    plain.advance(&tokens);
    selected.advance(&tokens);
    selected.select(&[2, 0, 2]);
    let want = plain.advance(&[vec![7], vec![8], vec![9]]);
    let got = selected.advance(&[vec![9], vec![7], vec![9]]);
    same_row(got.row(0), want.row(2));
    same_row(got.row(1), want.row(0));
    same_row(got.row(2), want.row(2));
}

#[test]
fn every_trained_parameter_receives_a_gradient() {
    let reached = |model: &Model, gradients: &Gradients| {
        for (id, spec) in model.params.iter() {
            let gradient = gradients.get(&model.params, id);
            match spec.role {
                Role::Fixed => assert!(gradient.is_none(), "{} is fixed", spec.name),
                Role::Trained | Role::Statistic => {
                    let gradient =
                        gradient.unwrap_or_else(|| panic!("no gradient reached {}", spec.name));
                    assert!(
                        gradient.iter().any(|g| *g != 0.0),
                        "the gradient of {} is all 0",
                        spec.name
                    );
                    assert!(
                        gradient.iter().all(|g| g.is_finite()),
                        "the gradient of {} is not finite",
                        spec.name
                    );
                }
            }
        }
    };
    for model in gpts() {
        let batch = LmBatch::new(&sequences(8, &[9, 4], 53));
        let mut gradients = Gradients::new(&model.params);
        let mut tape = Tape::training(&model.params, &mut gradients);
        let loss = gpt(&model).loss(&mut tape, &batch, LossSpec { smoothing: 0.1, weight: 0.1 });
        tape.backward(&loss);
        reached(&model, &gradients);
    }
    for model in translators() {
        let pairs: Vec<_> =
            sequences(3, &[5, 8], 47).into_iter().zip(sequences(4, &[7, 4], 47)).collect();
        let batch = PairBatch::new(&pairs, 0);
        let mut gradients = Gradients::new(&model.params);
        let mut tape = Tape::training(&model.params, &mut gradients);
        let loss =
            translator(&model).loss(&mut tape, &batch, LossSpec { smoothing: 0.1, weight: 0.1 });
        tape.backward(&loss);
        reached(&model, &gradients);
    }
}

#[test]
fn every_trained_parameter_of_an_encoder_receives_a_gradient() {
    for model in encoders() {
        let mut gradients = Gradients::new(&model.params);
        let mut tape = Tape::training(&model.params, &mut gradients);
        let loss = encoder_loss(encoder(&model), &mut tape, &sequences(8, &[9, 4, 6], 53), 0.1);
        tape.backward(&loss);
        for (id, spec) in model.params.iter() {
            let gradient = gradients.get(&model.params, id);
            let gradient = gradient.unwrap_or_else(|| panic!("no gradient reached {}", spec.name));
            assert!(gradient.iter().any(|g| *g != 0.0), "the gradient of {} is all 0", spec.name);
        }
    }
}

#[test]
fn an_encoder_trained_with_dropout_has_the_same_bits_at_any_number_of_threads() {
    let bits = |threads: usize, head: EncoderHead| {
        limpid_tensor::team::set_threads(threads);
        let config = EncoderConfig { dropout: 0.1, head, ..EncoderConfig::new(53, 40, 2, 3, 24) };
        let mut model = Model::new(&config, 3).unwrap();
        let bert = encoder(&model).clone();
        let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 11);
        for step in 0..5 {
            let lengths: Vec<usize> = (0..17).map(|i| 1 + (i * 7 + step) % 23).collect();
            let ids = sequences(step as u64, &lengths, 53);
            optimizer
                .step(&mut model.params, 1e-3, None, |tape| encoder_loss(&bert, tape, &ids, 0.05))
                .unwrap();
        }
        model.params.flat().iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
    };
    for head in [
        EncoderHead::PreTraining,
        EncoderHead::Classifier(vec!["a".into(), "b".into(), "c".into()].into()),
    ] {
        let one = bits(1, head.clone());
        for threads in [2, 3] {
            assert!(
                bits(threads, head.clone()) == one,
                "{threads} threads gave other bits than one"
            );
        }
    }
    limpid_tensor::team::set_threads(2);
}

#[test]
fn two_micro_batches_add_up_to_the_gradient_of_one_batch() {
    for model in gpts() {
        let all = sequences(8, &[9, 4, 6, 2], 53);
        let gradient = |parts: &[&[Vec<u32>]]| {
            let total: usize = parts.iter().map(|part| LmBatch::new(part).targets.len()).sum();
            let spec = LossSpec { smoothing: 0.0, weight: 1.0 / total as f32 };
            let mut gradients = Gradients::new(&model.params);
            for part in parts {
                let mut tape = Tape::training(&model.params, &mut gradients);
                let loss = gpt(&model).loss(&mut tape, &LmBatch::new(part), spec);
                tape.backward(&loss);
            }
            gradients
        };
        same_gradients(&model, &gradient(&[&all]), &gradient(&[&all[..2], &all[2..]]));
    }
}

/// Within what the order of a sum changes.
fn same_gradients(model: &Model, one: &Gradients, two: &Gradients) {
    for (id, spec) in model.params.iter() {
        let (one, two) = (one.get(&model.params, id).unwrap(), two.get(&model.params, id).unwrap());
        let largest = one.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
        let close = one.iter().zip(two).all(|(a, b)| (a - b).abs() <= 1e-5 * largest);
        assert!(close, "gradient of {}", spec.name);
    }
}

#[test]
fn micro_batches_of_hidden_words_and_pairs_add_up_to_the_gradient_of_one_batch() {
    let text = "the player played and others were playing many songs\n".repeat(30);
    let spec =
        TokenizerSpec { purpose: Purpose::Encoder, ..TokenizerSpec::new(TokenizerKind::Word) };
    let tokenizer = train(&spec, [Ok(text)]).unwrap().tokenizer;
    let masking = Masking::new(&tokenizer, 0.3, MaskUnit::Token, 5).unwrap();
    let lines =
        ["the player played", "and others were playing many songs", "many", "others played songs"];
    let read = |i: usize| tokenizer.encode_with_types(lines[i], Some(lines[(i + 1) % 4])).unwrap();
    let (sequences, follows): (Vec<_>, Vec<u32>) = (0..4).map(|i| (read(i), i as u32 % 2)).unzip();
    let whole = masking.apply(MaskStream::Training(3), sequences.clone(), Some(follows.clone()));
    let parts =
        masking.apply_in_micro_batches(MaskStream::Training(3), sequences, Some(follows), 1);
    let asked: Vec<usize> = parts.iter().map(|part| part.targets.len()).collect();
    assert!(asked.iter().any(|n| *n != asked[0]), "parts of one size would hide a wrong weight");
    let config = EncoderConfig {
        head: EncoderHead::PreTraining,
        ..EncoderConfig::new(tokenizer.vocab_size(), 40, 2, 3, 24)
    };
    let model = spread(Model::new(&config, 5).unwrap(), 1.0);
    let gradient = |batches: &[MaskedBatch]| {
        let total: usize = batches.iter().map(|batch| batch.targets.len()).sum();
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / total as f32 };
        let mut gradients = Gradients::new(&model.params);
        for batch in batches {
            let mut tape = Tape::training(&model.params, &mut gradients);
            let loss = encoder(&model).masked_loss(&mut tape, batch, spec);
            tape.backward(&loss);
        }
        gradients
    };
    same_gradients(&model, &gradient(&[whole]), &gradient(&parts));
}

/// Weights after fifty steps of training with dropout, on batches of changing size.
fn trained_bits() -> Vec<u32> {
    let config = EncoderDecoderConfig {
        dropout: 0.1,
        max_position_embeddings: 40,
        ..EncoderDecoderConfig::new(211, 2, 4, 64, 128)
    };
    let mut model = Model::new(&config, 3).unwrap();
    let seq2seq = translator(&model).clone();
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 11);
    for step in 0..50 {
        let lengths: Vec<usize> = (0..37).map(|i| 1 + (i * 7 + step) % 23).collect();
        let sources = sequences(step as u64, &lengths, 211);
        let pairs: Vec<_> =
            sources.into_iter().zip(sequences(100 + step as u64, &lengths, 211)).collect();
        let batch = PairBatch::new(&pairs, 0);
        let spec = LossSpec { smoothing: 0.1, weight: 1.0 / batch.targets.len() as f32 };
        optimizer
            .step(&mut model.params, 1e-3, None, |tape| seq2seq.loss(tape, &batch, spec))
            .unwrap();
    }
    model.params.flat().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bits_at_any_number_of_threads() {
    limpid_tensor::team::set_threads(1);
    let one = trained_bits();
    for threads in [2, 3, 4] {
        limpid_tensor::team::set_threads(threads);
        assert!(trained_bits() == one, "{threads} threads gave other bits than one");
    }
    limpid_tensor::team::set_threads(2);
}

#[test]
fn a_loss_that_is_not_finite_is_an_error_and_changes_nothing() {
    let mut model = translators().remove(0);
    let seq2seq = translator(&model).clone();
    let batch = PairBatch::new(&[(vec![3, 4], vec![5, 6])], 0);
    let spec = LossSpec { smoothing: 0.0, weight: f32::NAN };
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let before = model.params.flat().to_vec();
    let error = optimizer
        .step(&mut model.params, 1e-3, None, |tape| seq2seq.loss(tape, &batch, spec))
        .unwrap_err();
    assert!(error.to_string().contains("the loss of step 1 is NaN"), "{error}");
    assert!(matches!(error, Error::Run(RunError::Diverged { .. })), "{error:?}");
    assert_eq!(model.params.flat(), before);
}
