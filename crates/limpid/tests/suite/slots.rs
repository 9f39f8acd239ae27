//! Slots: sequences share their past, give back what none has, and are refilled while others run.

use limpid::generate::{
    BeamSearch, DecoderSlots, DecodingConfig, EarlyStopping, EncoderDecoderSlots, LengthPenalty,
    RecurrentSlots, Sampling, Slot, Slots, Strategy, TranslateOptions, sampling::SamplingFilter,
    translate_with,
};
use limpid::model::Model;
use limpid::model::config::{
    Cell, DecoderConfig, EncoderDecoderConfig, RecurrentAttention, RecurrentConfig,
};
use limpid::text::word_tokenizer;
use limpid_tensor::rng::Stream;
use limpid_tensor::team;

fn model(config: impl Into<limpid::model::config::StackConfig>) -> Model {
    let mut model = Model::new(config, 5).unwrap();
    let mut rng = Stream::new(9, 9);
    model.params.flat_mut().iter_mut().for_each(|x| *x = *x * 3.0 + 0.1 * rng.normal());
    model
}

/// A fork continues like the sequence itself, and neither sees what the other does.
fn forks_part(slots: &mut dyn Slots, source: &[u32]) {
    let [a]: [Slot; 1] = slots.open(&[source]).try_into().unwrap();
    slots.advance(&[(a, &[3, 1, 4])]);
    let b = slots.fork(a);
    assert_eq!((slots.len(a), slots.len(b)), (3, 3));
    let both = slots.advance(&[(a, &[7]), (b, &[9, 2])]);
    let [c, d]: [Slot; 2] = slots.open(&[source, source]).try_into().unwrap();
    let alone = [slots.advance(&[(c, &[3, 1, 4, 7])]), slots.advance(&[(d, &[3, 1, 4, 9, 2])])];
    assert_eq!(both.row(0), alone[0].row(0));
    assert_eq!(both.row(1), alone[1].row(0));
    // What is left goes on when the other is gone.
    slots.close(a);
    let (left, same) = (slots.advance(&[(b, &[5])]), slots.advance(&[(d, &[5])]));
    assert_eq!(left.data(), same.data());
    [b, c, d].into_iter().for_each(|slot| slots.close(slot));
}

#[test]
fn a_fork_shares_the_past_and_nothing_that_follows_for_every_stack() {
    let gpt = model(DecoderConfig::gpt2(23, 16, 2, 2, 16));
    let decoder = gpt.decoder().expect("a decoder");
    let mut slots = DecoderSlots::new(decoder, &gpt.params, 16);
    forks_part(&mut slots, &[]);
    assert_eq!(slots.tokens_in_use(), 0);
    let translator = model(EncoderDecoderConfig::new(23, 2, 2, 16, 32));
    let m = translator.encoder_decoder().expect("an encoder-decoder");
    let mut slots = EncoderDecoderSlots::new(m, &translator.params, 16);
    forks_part(&mut slots, &[5, 6, 7, 1]);
    assert_eq!(slots.tokens_in_use(), [0, 0]);
    for attention in
        [RecurrentAttention::None, RecurrentAttention::Dot, RecurrentAttention::Additive]
    {
        let rnn = model(RecurrentConfig::new(23, Cell::Lstm, attention, 2, 16));
        let m = rnn.recurrent().expect("a recurrent model");
        forks_part(&mut RecurrentSlots::new(m, &rnn.params, 16), &[5, 6, 7, 1]);
    }
}

#[test]
fn memory_is_one_row_per_token_and_a_shared_token_counts_once() {
    let translator = model(EncoderDecoderConfig::new(23, 1, 2, 16, 32));
    let m = translator.encoder_decoder().expect("an encoder-decoder");
    let mut slots = EncoderDecoderSlots::new(m, &translator.params, 16);
    let open = slots.open(&[&[5, 6, 1], &[7, 1]]);
    assert_eq!(slots.tokens_in_use(), [5, 0]);
    slots.advance(&[(open[0], &[0, 2]), (open[1], &[0])]);
    let fork = slots.fork(open[0]);
    assert_eq!(slots.tokens_in_use(), [5, 3]);
    slots.advance(&[(open[0], &[4]), (fork, &[4])]);
    assert_eq!(slots.tokens_in_use(), [5, 5]);
    slots.close(open[0]);
    assert_eq!(slots.tokens_in_use(), [5, 4], "the fork keeps the source and the past");
    slots.close(fork);
    assert_eq!(slots.tokens_in_use(), [2, 1]);
}

#[test]
#[should_panic(expected = "is closed")]
fn a_closed_slot_cannot_advance() {
    let gpt = model(DecoderConfig::gpt2(23, 16, 1, 2, 16));
    let decoder = gpt.decoder().expect("a decoder");
    let mut slots = DecoderSlots::new(decoder, &gpt.params, 16);
    let slot = slots.open(&[&[]])[0];
    slots.close(slot);
    slots.advance(&[(slot, &[1])]);
}

#[test]
#[should_panic(expected = "outgrows its capacity of 4 tokens")]
fn a_sequence_cannot_outgrow_its_capacity() {
    let gpt = model(DecoderConfig::gpt2(23, 16, 1, 2, 16));
    let decoder = gpt.decoder().expect("a decoder");
    let mut slots = DecoderSlots::new(decoder, &gpt.params, 4);
    let slot = slots.open(&[&[]])[0];
    slots.advance(&[(slot, &[1, 2, 3])]);
    slots.advance(&[(slot, &[1, 2])]);
}

/// More texts than a batch holds, so that it is filled again, on one core and on several.
#[test]
fn a_translation_is_the_same_alone_and_among_hundreds_for_every_strategy() {
    let words = "a b c d e f g h i j k l m n o p";
    let tokenizer = word_tokenizer([words]).unwrap();
    let config = EncoderDecoderConfig {
        max_position_embeddings: 40,
        ..EncoderDecoderConfig::new(tokenizer.vocab_size(), 2, 2, 16, 32)
    };
    let translator = model(config);
    let m = translator.stack.translator().unwrap();
    let words: Vec<&str> = words.split(' ').collect();
    let mut rng = Stream::new(2, 2);
    let text = |rng: &mut Stream| {
        let text: Vec<&str> = (0..rng.below(9)).map(|_| words[rng.below(16)]).collect();
        text.join(" ")
    };
    let texts: Vec<String> = (0..300).map(|_| text(&mut rng)).collect();
    let beams = BeamSearch {
        num_beams: 3,
        length_penalty: LengthPenalty::Power(1.0),
        early_stopping: EarlyStopping::Heuristic,
        num_return_sequences: 2,
    };
    let samples = Sampling { filter: SamplingFilter::default(), num_return_sequences: 2, seed: 4 };
    let strategies = [Strategy::Greedy, Strategy::BeamSearch(beams), Strategy::Sample(samples)];
    for strategy in strategies {
        let config = DecodingConfig::with_strategy(strategy, &[m.end()]);
        let run = |texts: &[String]| {
            let options = TranslateOptions::default();
            translate_with((m, &translator.params), &tokenizer, texts, &config, &options, None)
                .unwrap()
        };
        team::set_threads(1);
        let one = run(&texts);
        for threads in [2, 3] {
            team::set_threads(threads);
            assert_eq!(run(&texts), one, "{strategy:?}, {threads} threads");
        }
        for i in (0..300).step_by(37) {
            assert_eq!(run(&texts[i..=i])[0], one[i], "{strategy:?}, text {i} alone");
        }
        // Somebody who listens gets the same texts.
        let mut seen = 0;
        let mut listen = |_: limpid::generate::Event| {
            seen += 1;
            Ok(())
        };
        let options = TranslateOptions::default();
        let model = (m, &translator.params);
        let heard = translate_with(model, &tokenizer, &texts, &config, &options, Some(&mut listen));
        assert_eq!(heard.unwrap(), one);
        assert_eq!(seen > 0, !matches!(strategy, Strategy::BeamSearch(_)));
    }
    team::set_threads(2);
}
