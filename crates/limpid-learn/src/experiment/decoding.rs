//! Greedy search or sampling? A story GPT continues the first sentence of test stories with every
//! strategy.
//!
//! Coherence is measured twice: by the perplexity of the text under the model itself, and,
//! because the built-in grammar knows its stories, by the share of texts that are a story of it
//! from the first word to the last. Diversity is distinct-n over the first [`COMPARED`] words of
//! all continuations (it falls as texts grow longer, so long ones are cut), repetition the share of
//! 4-grams that stood in the same text before.
//!
//! The rule: each part of the claim is a difference between two decoding strategies, model by model
//! (three seeds of training and sampling); it is confirmed if the 95% interval of the difference is
//! above 0. Determinism is a fact, and must hold without exception.

use super::lines::{SHARE, line};
use super::stories::{LONGEST, Size, StoryWords};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::corpus::stories::log_probability;
use crate::error::Result;
use limpid::eval::diversity::{distinct, repeated};
use limpid::eval::loss::sequences_loss;
use limpid::generate::sampling::SamplingFilter;
use limpid::generate::{
    DecoderSession, FinishReason, LogitsProcessor, NoObserver, Sequence, TokenSelection,
    generate_tokens,
};
use limpid::model::Decoder;
use limpid::report::{Axis, Chart, Mark, Series, counted};
use limpid::text::{Purpose, Tokenizer};
use limpid_tensor::params::Params;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "decoding",
    claim: "Greedy decoding always gives the same text; it is coherent, but repetitive and not \
            diverse. Sampling is diverse, but can be \
            incoherent. Top-k, top-p and temperature lie between.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 32.0,
    run,
};

/// Texts that are generated together.
const AT_A_TIME: usize = 32;
const TEMPERATURES: [f32; 7] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0];
const TOP_K: [usize; 3] = [2, 5, 20];
const TOP_P: [f32; 3] = [0.5, 0.8, 0.95];
/// Words of a continuation by which it is compared with others.
const COMPARED: usize = 48;
/// Words of an example.
const SHOWN: usize = 24;
/// Places in the list of [`strategies`].
const GREEDY: usize = 0;
const COLD: usize = 2;
const PLAIN: usize = 4;
const HOT: usize = 6;
const K: usize = 8 + 1;
const P: usize = 11 + 2;

/// A decoding strategy: its name, and its sampling filter (`None`: greedy).
type Strategy = (String, Option<SamplingFilter>);

fn strategies() -> Vec<Strategy> {
    let default = SamplingFilter::default();
    let greedy = ("greedy".to_string(), None);
    let temperature =
        |t: &f32| (format!("temperature {t}"), Some(SamplingFilter { temperature: *t, ..default }));
    let top_k =
        |k: &usize| (format!("top-k {k}"), Some(SamplingFilter { top_k: Some(*k), ..default }));
    let top_p = |p: &f32| (format!("top-p {p}"), Some(SamplingFilter { top_p: *p, ..default }));
    let sampled = TEMPERATURES.iter().map(temperature);
    let truncated = TOP_K.iter().map(top_k).chain(TOP_P.iter().map(top_p));
    [greedy].into_iter().chain(sampled).chain(truncated).collect()
}

/// A model, and the prompts it continues.
struct Continuation<'a> {
    gpt: &'a Decoder,
    params: &'a Params,
    tokenizer: &'a Tokenizer,
    prompts: &'a [Vec<u32>],
}

/// Measures of one decoding strategy with one model.
#[derive(Clone, Copy)]
struct Measured {
    repeated: f64,
    distinct: [f64; 2],
    /// Mean number of words, the end included.
    length: f64,
    /// ln of the perplexity under the model, given the beginnings.
    nats: f64,
    /// The share of texts that are a story.
    stories: f64,
    /// Nats per token of those, under the grammar; not a number if there are none.
    exact: f64,
}

impl Continuation<'_> {
    /// Prompts and continuations, the end token included where there is one.
    fn write(&self, filter: Option<&SamplingFilter>, seed: u64) -> Result<Vec<Vec<u32>>> {
        let end = self.prompts[0][0];
        let processor = LogitsProcessor { eos_token_ids: vec![end], ..LogitsProcessor::default() };
        let selection =
            filter.map_or(TokenSelection::Greedy, |filter| TokenSelection::Sample(filter, seed));
        let mut texts = Vec::new();
        for (n, group) in self.prompts.chunks(AT_A_TIME).enumerate() {
            let begin = |(i, prompt): (usize, &Vec<u32>)| {
                Sequence::new(prompt, LONGEST - prompt.len(), i)
                    .with_random_stream(&[], n * AT_A_TIME + i)
            };
            let mut sequences: Vec<Sequence> = group.iter().enumerate().map(begin).collect();
            let mut session = DecoderSession::new(self.gpt, self.params, group.len(), LONGEST);
            generate_tokens(&mut session, &mut sequences, selection, &processor, &mut NoObserver)?;
            texts.extend(sequences.into_iter().map(|sequence| {
                let ended = (sequence.finish_reason == Some(FinishReason::EosToken)).then_some(end);
                sequence.tokens.into_iter().chain(ended).collect::<Vec<u32>>()
            }));
        }
        Ok(texts)
    }

    fn measure(&self, texts: &[Vec<u32>]) -> Result<Measured> {
        let new_tokens: Vec<&[u32]> =
            texts.iter().zip(self.prompts).map(|(text, p)| &text[p.len()..]).collect();
        let beginnings: Vec<&[u32]> =
            new_tokens.iter().map(|text| &text[..text.len().min(COMPARED)]).collect();
        let repeats: f64 = new_tokens.iter().map(|text| repeated(text, 4)).sum();
        let model = (self.gpt, self.params);
        let (whole, given) = (sequences_loss(model, texts), sequences_loss(model, self.prompts));
        let (mut stories, mut nats, mut words) = (0, 0.0, 0);
        for text in texts {
            // A text that did not end is no story, even if it could become one.
            let ended = text.last() == Some(&text[0]);
            if let Some(log) = log_probability(&self.tokenizer.decode(text)?).filter(|_| ended) {
                (stories, nats, words) = (stories + 1, nats - log, words + text.len() - 2);
            }
        }
        Ok(Measured {
            repeated: repeats / texts.len() as f64,
            distinct: [distinct(&beginnings, 1), distinct(&beginnings, 2)],
            length: new_tokens.iter().map(|text| text.len()).sum::<usize>() as f64
                / texts.len() as f64,
            nats: (whole.sum - given.sum) / (whole.tokens - given.tokens) as f64,
            stories: f64::from(stories) / texts.len() as f64,
            exact: nats / words as f64,
        })
    }

    /// Whether greedy decoding, and sampling with one seed, repeat themselves token by token, and
    /// another seed samples other texts.
    fn is_deterministic(
        &self,
        greedy: &[Vec<u32>],
        sampled: &[Vec<u32>],
        seed: u64,
    ) -> Result<bool> {
        let plain = SamplingFilter::default();
        // Temperature 0 is greedy for any seed.
        let frozen = SamplingFilter { temperature: 0.0, ..plain };
        Ok(self.write(None, seed)? == greedy
            && self.write(Some(&frozen), seed + 1)? == greedy
            && self.write(Some(&plain), seed)? == sampled
            && self.write(Some(&plain), seed + 1)? != sampled)
    }
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let (count, prompts) = lab.effort.pick((100, 4), (12_000, 128));
    let (layers, heads, width, steps, batch_tokens) =
        lab.effort.pick((1, 2, 32, 15, 512), (3, 4, 128, 4_000, 2_048));
    let (width, steps) = (lab.width(width), lab.steps(steps));
    let size = Size { layers, heads, width, steps, lr: 3e-3, batch_tokens };
    let words = StoryWords::new(count, prompts, Purpose::LanguageModel)?;
    let originals = words.documents(&words.splits.test)?;
    let unknown = words.tokenizer.unk_id();
    let unreadable =
        originals.iter().filter(|story| story.iter().any(|id| Some(*id) == unknown)).count();
    let stop = words.tokenizer.encode(".")?;
    let first_sentence = |text: &Vec<u32>| {
        let end = text.iter().position(|id| stop.contains(id)).unwrap_or(text.len() - 2);
        text[..=end].to_vec()
    };
    let beginnings: Vec<Vec<u32>> = originals.iter().map(first_sentence).collect();
    let strategies = strategies();
    // By way, then by seed; the stories themselves last.
    let mut all: Vec<Vec<Measured>> = vec![Vec::new(); strategies.len() + 1];
    let (mut deterministic, mut example) = (true, Vec::new());
    lab.plan(1);
    for seed in lab.seeds() {
        let name = format!("a GPT on stories, seed {seed}: {steps} steps");
        let (gpt, model) = words.train_gpt(lab, &name, size, seed)?;
        let continuation = Continuation {
            gpt: &gpt,
            params: &model.params,
            tokenizer: &words.tokenizer,
            prompts: &beginnings,
        };
        let mut texts = Vec::new();
        for (i, (name, filter)) in strategies.iter().enumerate() {
            lab.start(&format!("{name}, seed {seed}: {prompts} texts"))?;
            texts.push(continuation.write(filter.as_ref(), seed)?);
            all[i].push(continuation.measure(&texts[i])?);
        }
        all[strategies.len()].push(continuation.measure(&originals)?);
        deterministic &= continuation.is_deterministic(&texts[GREEDY], &texts[PLAIN], seed)?;
        if example.is_empty() {
            let shown = [GREEDY, PLAIN, HOT];
            let row = |i: &usize| {
                let (from, text) = (beginnings[0].len(), &texts[*i][0]);
                let to = text.len().min(from + SHOWN);
                Ok(vec![
                    strategies[*i].0.clone(),
                    format!("{} …", words.tokenizer.decode(&text[from..to])?),
                ])
            };
            example = shown.iter().map(row).collect::<Result<Vec<_>>>()?;
        }
    }
    let method = format!(
        "GPTs of {} and width {width}, trained on {count} built-in stories ({steps} steps), go on \
         after the first sentence of {prompts} \
         test stories, in {} ways, until they end the story or have {LONGEST} words. Perplexity \
         is that of the continuation under the model \
         itself, without filters; \"stories\" is the share of texts that the grammar could have \
         written, word by word, and \"nats per token\" \
         what those cost under the grammar; distinct-n is over the first {COMPARED} words of all \
         continuations, repeated 4-grams within each, whole. Three seeds, for training and \
         drawing; intervals are 95%, by Student's t. The last row is the test stories themselves; \
         {unreadable} of them have words that stand in no training story, which makes them none \
         of the grammar's.",
        counted(layers as u64, "layer"),
        strategies.len()
    );
    let findings = findings(&all, deterministic);
    let title = format!("After \"{}\"", words.tokenizer.decode(&beginnings[0])?);
    let head = ["", "continuation by the first model"].map(String::from).to_vec();
    let examples = Table { title, head, rows: example };
    Ok(Outcome {
        method,
        findings,
        pictures: pictures(&all),
        tables: vec![table(&strategies, &all), examples],
    })
}

fn values(of: &[Measured], get: impl Fn(&Measured) -> f64) -> Vec<f64> {
    of.iter().map(get).collect()
}

fn findings(all: &[Vec<Measured>], deterministic: bool) -> Vec<Finding> {
    let more = |a: usize, b: usize, get: fn(&Measured) -> f64| {
        Estimate::of_differences(&values(&all[a], get), &values(&all[b], get))
    };
    let diverse: fn(&Measured) -> f64 = |m| m.distinct[1];
    let parsed: fn(&Measured) -> f64 = |m| m.stories;
    let nats: fn(&Measured) -> f64 = |m| m.nats;
    let above = |difference: Estimate| (difference.is_above(0.0), difference);
    let (repeats, repetitive) = above(more(GREEDY, PLAIN, |m| m.repeated));
    let ((v1, more_diverse), (v2, more_surprising), (v3, less_coherent)) = (
        above(more(PLAIN, GREEDY, diverse)),
        above(more(PLAIN, GREEDY, nats)),
        above(more(GREEDY, PLAIN, parsed)),
    );
    let (warmer, wider) = above(more(HOT, COLD, diverse));
    let (flatter, surprise) = above(more(HOT, COLD, nats));
    let (broken, fewer) = above(more(COLD, HOT, parsed));
    let mut findings = vec![
        Finding::new(
            "greedy decoding always gives the same text; drawing does with the same seed, not \
             with another",
            Verdict::of(deterministic),
            "compared token by token, for each model",
        ),
        Finding::new(
            "greedy decoding repeats itself more than sampling",
            repeats,
            format!("repeated 4-grams, greedy less sampling: {repetitive}"),
        ),
        Finding::new(
            "sampling is more diverse than greedy decoding",
            v1,
            format!("distinct-2: {more_diverse}"),
        ),
        Finding::new(
            "sampling is less likely text than greedy decoding",
            v2,
            format!("nats per token under the model: {more_surprising}"),
        ),
        Finding::new(
            "sampling loses the thread more often than greedy decoding",
            v3,
            format!("share of texts that are stories, greedy less sampling: {less_coherent}"),
        ),
        Finding::new(
            "a higher temperature makes text more diverse",
            warmer,
            format!("distinct-2, 1.5 less 0.5: {wider}"),
        ),
        Finding::new(
            "a higher temperature makes text less likely",
            flatter,
            format!("nats per token under the model, 1.5 less 0.5: {surprise}"),
        ),
        Finding::new(
            "a higher temperature makes text less coherent",
            broken,
            format!("share of texts that are stories, 0.5 less 1.5: {fewer}"),
        ),
    ];
    for (name, way) in [("top-k 5", K), ("top-p 0.95", P), ("temperature 0.5", COLD)] {
        // Both ends of both axes: what is likelier than greedy, or more diverse than sampling, is
        // not between.
        let nats = [above(more(PLAIN, way, nats)), above(more(way, GREEDY, nats))];
        let wide = [above(more(PLAIN, way, diverse)), above(more(way, GREEDY, diverse))];
        findings.push(Finding::new(
            format!(
                "{name} lies between sampling and greedy decoding, in likelihood and in \
                diversity"
            ),
            Verdict::all([nats[0].0, nats[1].0, wide[0].0, wide[1].0]),
            format!(
                "nats per token {} below sampling and {} above greedy, distinct-2 {} below and {} \
                 above",
                nats[0].1, nats[1].1, wide[0].1, wide[1].1
            ),
        ));
    }
    findings
}

fn table(strategies: &[Strategy], all: &[Vec<Measured>]) -> Table {
    let own = "the stories themselves".to_string();
    let names = strategies.iter().map(|(name, _)| name).chain([&own]);
    let row = |(name, of): (&String, &Vec<Measured>)| {
        let estimate = |get: fn(&Measured) -> f64| Estimate::of(&values(of, get)).to_string();
        let mean =
            |get: fn(&Measured) -> f64| format!("{:.3}", Estimate::of(&values(of, get)).mean);
        let known: Vec<f64> =
            values(of, |m| m.exact).into_iter().filter(|nats| nats.is_finite()).collect();
        let exact = if known.is_empty() {
            "none".into()
        } else {
            format!("{:.3}", Estimate::of(&known).mean)
        };
        vec![
            name.clone(),
            format!("{:.0}", Estimate::of(&values(of, |m| m.length)).mean),
            estimate(|m| m.repeated),
            mean(|m| m.distinct[0]),
            estimate(|m| m.distinct[1]),
            format!("{:.2}", Estimate::of(&values(of, |m| m.nats)).mean.exp()),
            estimate(|m| m.stories),
            exact,
        ]
    };
    let head = [
        "",
        "words",
        "repeated 4-grams",
        "distinct-1",
        "distinct-2",
        "perplexity",
        "stories",
        "nats per token",
    ];
    let rows = names.zip(all).map(row).collect();
    Table { title: "Decoding strategies".into(), head: head.map(String::from).into(), rows }
}

fn pictures(all: &[Vec<Measured>]) -> Vec<Picture> {
    let mean = |i: usize, get: fn(&Measured) -> f64| Estimate::of(&values(&all[i], get)).mean;
    let (first_k, first_p) = (1 + TEMPERATURES.len(), 1 + TEMPERATURES.len() + TOP_K.len());
    // Two measures of coherence: what the grammar allows, and what the model itself finds likely.
    let curve = |title: &str, height: Axis, get: &dyn Fn(usize) -> f64| {
        let series = |name: &str, range: std::ops::Range<usize>| {
            let at = |i: usize| (mean(i, |m| m.distinct[1]), get(i));
            Series::line(name, range.map(at).collect()).marked(Mark::Dots)
        };
        let strategies = vec![
            series("temperature", 1..first_k),
            series("top-k", first_k..first_p),
            series("top-p", first_p..all.len() - 1),
            series("greedy", GREEDY..1),
            series("stories themselves", all.len() - 1..all.len()),
        ];
        let subtitle = "each curve from the most cautious setting to the boldest".into();
        Chart {
            subtitle,
            ..Chart::new(
                title,
                Axis::linear("distinct-2: more diverse to the right"),
                height,
                strategies,
            )
        }
    };
    let coherence = curve(
        "Coherence against diversity",
        Axis::linear("share of texts that are stories: more coherent above").including(0.0),
        &|i| mean(i, |m| m.stories),
    );
    let likelihood = curve(
        "Likelihood against diversity",
        Axis::log("perplexity under the model: more likely below"),
        &|i| mean(i, |m| m.nats).exp(),
    );
    // Greedy is temperature 0.
    let share = |name: &str, get: fn(&Measured) -> f64| {
        let points = [0.0].iter().chain(&TEMPERATURES).enumerate();
        let estimate = |i: usize| Estimate::of(&values(&all[i], get));
        line(name, points.map(|(i, t)| (f64::from(*t), estimate(i))), SHARE)
    };
    let shares = Chart {
        subtitle: "bands: 95% intervals over three seeds".into(),
        ..Chart::new(
            "What temperature does",
            Axis::linear("temperature (0 is greedy)"),
            Axis::linear("share").including(0.0),
            vec![
                share("texts that are stories", |m| m.stories),
                share("repeated 4-grams", |m| m.repeated),
                share("distinct-2", |m| m.distinct[1]),
            ],
        )
    };
    vec![
        Picture::chart("coherence-diversity", &coherence),
        Picture::chart("likelihood-diversity", &likelihood),
        Picture::chart("temperature", &shares),
    ]
}
