//! Speculative decoding: greedily the tokens of plain decoding, by sampling its distribution.

use limpid::generate::sampling::SamplingFilter;
use limpid::generate::{
    ContextOverflow, DecodingConfig, Draft, GenerateOptions, Generated, KvFormat, Sampling,
    Speculation, Strategy, Trace, generate, generate_speculatively,
};
use limpid::model::config::{DecoderConfig, StackConfig};
use limpid::model::{Decoder, Model, Stack};
use limpid::text::{Tokenizer, word_tokenizer};
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::Tape;
use std::collections::HashMap;

const CONTEXT: usize = 24;

fn tokenizer() -> Tokenizer {
    word_tokenizer(["a b c d"]).unwrap()
}

/// A model that is sure of some things, so that drafts are right sometimes.
fn model(config: impl Into<StackConfig>, seed: u64) -> Model {
    let mut model = Model::new(config, seed).unwrap();
    let mut rng = Stream::new(seed, 9);
    model.params.flat_mut().iter_mut().for_each(|x| *x = *x * 3.0 + 0.05 * rng.normal());
    model
}

fn decoder(model: &Model) -> (&Decoder, Weights<'_>) {
    let Stack::Decoder(decoder) = &model.stack else { unreachable!() };
    (decoder, (&model.params).into())
}

fn options(overflow: ContextOverflow) -> GenerateOptions {
    GenerateOptions { bos_token_id: None, overflow, trace: Trace::Off }
}

fn speculate(
    model: &Model,
    speculation: Speculation,
    prompts: &[&str],
    config: &DecodingConfig,
    overflow: ContextOverflow,
) -> Vec<Vec<Generated>> {
    let (tokenizer, options) = (tokenizer(), options(overflow));
    let model = decoder(model);
    generate_speculatively(model, speculation, &tokenizer, prompts, config, &options, &mut |_| {
        Ok(())
    })
    .unwrap()
}

#[test]
fn greedy_tokens_are_those_of_plain_decoding_with_any_draft() {
    let v = tokenizer().vocab_size();
    let prompts = ["a b", "d", "a b c a b c a b"];
    for (m, target) in [
        model(DecoderConfig::gpt2(v, CONTEXT, 2, 2, 16), 3),
        model(DecoderConfig::llama(v, CONTEXT, 2, [4, 2], [32, 48]), 4),
    ]
    .iter()
    .enumerate()
    {
        let other = model(DecoderConfig::gpt2(v, CONTEXT, 1, 1, 8), 5);
        // Half the context: it proposes nothing where it ends.
        let short = model(DecoderConfig::gpt2(v, CONTEXT / 2, 1, 1, 8), 6);
        let drafts = [&other, &short, target].map(|m| Draft::Model(decoder(m).0, decoder(m).1));
        let drafts = drafts.into_iter().chain([Draft::PromptLookup]);
        for (d, draft) in drafts.enumerate() {
            for (num_tokens, overflow, new_tokens, format) in [
                (1, ContextOverflow::Error, 16, KvFormat::F32),
                (3, ContextOverflow::Error, 16, KvFormat::F16),
                (8, ContextOverflow::Slide, 70, KvFormat::Int8),
            ] {
                let mut config = DecodingConfig::greedy(&[]);
                config.length.max_new_tokens = Some(new_tokens);
                config.kv_cache_dtype = format;
                let (tokenizer, options) = (tokenizer(), options(overflow));
                let ignore = &mut |_: limpid::generate::Event| Ok(());
                let plain =
                    generate(decoder(target), &tokenizer, &prompts, &config, &options, ignore);
                let speculation = Speculation { draft, num_tokens };
                let got = speculate(target, speculation, &prompts, &config, overflow);
                assert_eq!(got, plain.unwrap(), "model {m}, draft {d}, {num_tokens} tokens");
            }
        }
    }
}

#[test]
fn an_end_token_and_a_stop_string_end_a_text_where_they_would() {
    let v = tokenizer().vocab_size();
    let target = model(DecoderConfig::gpt2(v, CONTEXT, 2, 2, 16), 3);
    let draft = Draft::Model(decoder(&target).0, decoder(&target).1);
    let ends: Vec<DecodingConfig> = (0..v as u32)
        .map(|eos| DecodingConfig::greedy(&[eos]))
        .chain(["a", "b", "c", "d"].map(|stop| DecodingConfig {
            stop_strings: vec![stop.into()],
            ..DecodingConfig::greedy(&[])
        }))
        .collect();
    let mut reasons = Vec::new();
    for mut config in ends {
        config.length.max_new_tokens = Some(12);
        let (tokenizer, options) = (tokenizer(), options(ContextOverflow::Error));
        let ignore = &mut |_: limpid::generate::Event| Ok(());
        let plain = generate(decoder(&target), &tokenizer, &["a b"], &config, &options, ignore);
        let speculation = Speculation { draft, num_tokens: 5 };
        let got = speculate(&target, speculation, &["a b"], &config, ContextOverflow::Error);
        assert_eq!(got, plain.unwrap());
        reasons.push(got[0][0].finish_reason.name());
    }
    assert!(["eos_token", "stop_string", "length"].iter().all(|reason| reasons.contains(reason)));
}

/// The probability of every text of `count` tokens after a prompt, by its definition.
fn exact(model: &Model, prompt: &[u32], count: usize, filter: &SamplingFilter) -> Outcomes<f64> {
    let mut all = vec![(Vec::new(), 1.0)];
    for _ in 0..count {
        let mut longer = Vec::new();
        for (text, p) in all {
            let (decoder, weights) = decoder(model);
            let ids = [prompt, &text[..]].concat();
            let input = limpid::data::batch::Packed::new(&[&ids]);
            let mut tape = Tape::inference(weights.params);
            let hidden = decoder.hidden(&mut tape, &input, None);
            let logits = decoder.logits(&mut tape, &hidden);
            let mut row = logits.value().row(ids.len() - 1).to_vec();
            filter.apply(&mut row);
            let exps: Vec<f64> = row.iter().map(|z| f64::from(*z).exp()).collect();
            let sum: f64 = exps.iter().sum();
            for (token, e) in exps.iter().enumerate().filter(|(_, e)| **e > 0.0) {
                longer.push(([&text[..], &[token as u32]].concat(), p * e / sum));
            }
        }
        all = longer;
    }
    all.into_iter().collect()
}

type Outcomes<T> = HashMap<Vec<u32>, T>;

/// Pearson's statistic, and the bound that it exceeds once in a million times by chance. Outcomes
/// that are expected less than five times count as one.
fn chi_square(samples: &[Vec<u32>], exact: &Outcomes<f64>) -> (f64, f64) {
    let mut counts: Outcomes<f64> = HashMap::new();
    samples.iter().for_each(|text| *counts.entry(text.clone()).or_default() += 1.0);
    let impossible = samples.iter().filter(|text| !exact.contains_key(*text)).count();
    assert_eq!(impossible, 0, "a text that the filters exclude");
    let (mut statistic, mut cells, mut rare) = (0.0, 0, (0.0, 0.0));
    for (text, p) in exact {
        let (want, got) = (p * samples.len() as f64, counts.get(text).copied().unwrap_or_default());
        if want < 5.0 {
            rare = (rare.0 + want, rare.1 + got);
        } else {
            statistic += (got - want).powi(2) / want;
            cells += 1;
        }
    }
    if rare.0 >= 5.0 {
        statistic += (rare.1 - rare.0).powi(2) / rare.0;
        cells += 1;
    }
    // Wilson and Hilferty: the cube root of χ²/k is normal; 4.75 standard deviations.
    let k = f64::from(cells - 1);
    let bound = k * (1.0 - 2.0 / (9.0 * k) + 4.75 * (2.0 / (9.0 * k)).sqrt()).powi(3);
    (statistic, bound)
}

#[test]
fn samples_have_exactly_the_distribution_of_plain_sampling_whatever_the_draft() {
    const TOKENS: usize = 3;
    const SEEDS: u64 = 8;
    const SAMPLES: usize = 1_500;
    let (tokenizer, v) = (tokenizer(), tokenizer().vocab_size());
    let target = model(DecoderConfig::gpt2(v, CONTEXT, 2, 2, 16), 3);
    let other = model(DecoderConfig::gpt2(v, CONTEXT, 1, 1, 8), 5);
    let [own, other_draft] = [&target, &other].map(|m| Draft::Model(decoder(m).0, decoder(m).1));
    let prompt = "a b c a b";
    let ids = tokenizer.encode(prompt).unwrap();
    for filter in [
        SamplingFilter::default(),
        SamplingFilter { temperature: 1.4, top_k: Some(6), top_p: 0.95 },
    ] {
        let exact_target = exact(&target, &ids, TOKENS, &filter);
        let total: f64 = exact_target.values().sum();
        assert!((total - 1.0).abs() < 1e-6, "{total}");
        let samples = |model: &Model, draft: Draft, num_tokens: usize| -> Vec<Vec<u32>> {
            let of_seed = |seed| {
                let sampling = Sampling { filter, num_return_sequences: SAMPLES, seed };
                let mut config = DecodingConfig::with_strategy(Strategy::Sample(sampling), &[]);
                config.length.max_new_tokens = Some(TOKENS);
                let speculation = Speculation { draft, num_tokens };
                let overflow = ContextOverflow::Error;
                speculate(model, speculation, &[prompt], &config, overflow).swap_remove(0)
            };
            (0..SEEDS).flat_map(of_seed).map(|text| text.tokens).collect()
        };
        for (name, draft) in
            [("itself", own), ("another model", other_draft), ("lookup", Draft::PromptLookup)]
        {
            for num_tokens in [1, 2] {
                let (statistic, bound) =
                    chi_square(&samples(&target, draft, num_tokens), &exact_target);
                assert!(statistic < bound, "{name}, {num_tokens}: {statistic} of {bound}");
            }
        }
        // The test can fail: the draft alone has another distribution.
        let exact_draft = exact(&other, &ids, TOKENS, &filter);
        let drafted = samples(&other, own, 2);
        let (statistic, bound) = chi_square(&drafted, &exact_draft);
        assert!(statistic < bound, "the draft itself: {statistic} of {bound}");
        let possible = |text: &&Vec<u32>| exact_target.contains_key(*text);
        let drafted: Vec<Vec<u32>> = drafted.iter().filter(possible).cloned().collect();
        let (statistic, bound) = chi_square(&drafted, &exact_target);
        assert!(statistic > 3.0 * bound, "what is to be told apart: {statistic} of {bound}");
    }
}

#[test]
fn a_draft_with_another_vocabulary_beam_search_and_no_tokens_are_refused() {
    let (tokenizer, v) = (tokenizer(), tokenizer().vocab_size());
    let target = model(DecoderConfig::gpt2(v, CONTEXT, 1, 1, 8), 3);
    let larger = model(DecoderConfig::gpt2(v + 1, CONTEXT, 1, 1, 8), 3);
    let refused = |draft, num_tokens, config: &DecodingConfig| {
        let (options, speculation) =
            (options(ContextOverflow::Error), Speculation { draft, num_tokens });
        let target = decoder(&target);
        let ignore = &mut |_: limpid::generate::Event| Ok(());
        generate_speculatively(target, speculation, &tokenizer, &["a"], config, &options, ignore)
            .unwrap_err()
            .to_string()
    };
    let greedy = DecodingConfig::greedy(&[]);
    let draft = Draft::Model(decoder(&larger).0, decoder(&larger).1);
    assert!(refused(draft, 2, &greedy).contains("vocabulary"));
    assert!(refused(Draft::PromptLookup, 0, &greedy).contains("prompt_lookup_num_tokens"));
    let beams = limpid::generate::GenerationOptions { num_beams: Some(2), ..Default::default() };
    let beams = beams.resolve(&Default::default(), v).unwrap();
    assert!(refused(Draft::PromptLookup, 2, &beams).contains("beam search"));
}
