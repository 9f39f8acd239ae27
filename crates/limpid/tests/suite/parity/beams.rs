//! Beam search: the tokens of `generate` of `transformers`, for every family that writes.

use super::{Fixture, LATER, SEQ2SEQ};
use limpid::generate::{
    BeamSearch, DecoderSession, EarlyStopping, EncoderDecoderSession, LengthPenalty,
    LogitsProcessor, NoObserver, Renormalization, Session, beam_search,
};
use limpid::hub::load_generation_config;
use std::path::Path;

/// The best hypotheses of three beams, without end tokens.
fn best(
    mut session: impl Session,
    prompts: &[Vec<u32>],
    limit: usize,
    eos_token_ids: &[u32],
) -> Vec<Vec<u32>> {
    let beams = BeamSearch {
        num_beams: 3,
        length_penalty: LengthPenalty::Power(1.0),
        early_stopping: EarlyStopping::Heuristic,
        num_return_sequences: 1,
    };
    let processor = LogitsProcessor {
        repetition_penalty: 1.0,
        no_repeat_ngram_size: None,
        bad_words_ids: Vec::new(),
        eos_token_ids: eos_token_ids.to_vec(),
        min_new_tokens: 0,
        min_length: 0,
        forced_bos_token_id: None,
        forced_eos_token_id: None,
        renormalization: Renormalization::Off,
    };
    let limits = vec![limit; prompts.len()];
    let found =
        beam_search(&mut session, prompts, &limits, &beams, &processor, &mut NoObserver).unwrap();
    found.into_iter().map(|mut best| best.swap_remove(0).tokens).collect()
}

/// The end tokens of a fixture's folder.
fn ends(name: &str) -> Vec<u32> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    load_generation_config(&fixtures.join(name)).unwrap().0.eos_token_id
}

/// `transformers` keeps the end token.
fn without_end(tokens: Vec<u32>, ends: &[u32]) -> Vec<u32> {
    tokens.into_iter().take_while(|token| !ends.contains(token)).collect()
}

#[test]
fn beam_search_gives_the_tokens_of_transformers() {
    for name in LATER.into_iter().chain(["gpt2-tiny", "gpt1-tiny"]) {
        let (fixture, ends) = (Fixture::load(name), ends(name));
        let session = DecoderSession::new(fixture.gpt(), &fixture.model.params, 1, 11);
        let found = best(session, &[fixture.ids("prompt")], 8, &ends);
        assert_eq!(found, [without_end(fixture.ids("beam"), &ends)], "{name}");
    }
}

#[test]
fn beam_search_gives_the_translations_of_transformers_in_a_batch_and_alone() {
    for name in SEQ2SEQ.into_iter().chain(["prenorm-seq2seq"]) {
        let (fixture, ends) = (Fixture::load(name), ends(name));
        let (model, params) = (fixture.seq2seq(), &fixture.model.params);
        let sources = fixture.sequences("source_ids", "source_lengths");
        let wanted = fixture.sequences("beam", "beam_lengths").into_iter();
        let wanted: Vec<Vec<u32>> = wanted.map(|tokens| without_end(tokens, &ends)).collect();
        let translate = |sources: &[Vec<u32>]| {
            let starts = vec![vec![model.config().decoder_start_token_id]; sources.len()];
            best(EncoderDecoderSession::new(model, params, sources, 20), &starts, 10, &ends)
        };
        assert_eq!(translate(&sources), wanted, "{name}");
        for (source, wanted) in sources.iter().zip(wanted) {
            assert_eq!(translate(std::slice::from_ref(source)), [wanted], "{name}");
        }
    }
}
