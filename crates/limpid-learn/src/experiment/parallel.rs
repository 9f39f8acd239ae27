//! What must follow what: a recurrent model needs the state before to make the next one, so a
//! sentence of n tokens takes n steps; a Transformer computes all positions of a layer at once,
//! whatever n is.
//!
//! Two measurements. How many steps of a training step must follow one another: for the recurrent
//! models twice the longest sentence of a batch, for the Transformer what its layers are made of;
//! both follow from how the models are built, and are observations. And how long a training step
//! takes for each token, when sentences grow longer and a batch keeps its number of tokens, so that
//! the arithmetic of the recurrent model without attention stays the same. With attention it does
//! not: every word that is written looks at every word that was read, as in a Transformer.
//!
//! The rule: the time is confirmed if a token of the recurrent model without attention becomes
//! dearer from the shortest to the longest sentence by a larger factor than a token of the
//! Transformer. With attention more than one cause could make it so, and the growth is
//! observations; so is which is faster at the longest: the claim is about growth. Every round
//! measures all models at all lengths one after another, and is one pair of numbers; the median
//! over the rounds must lie beyond 1 with its whole interval.

use super::translators::{Architecture, LAYERS};
use super::{Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::error::Result;
use limpid::data::batch::PairBatch;
use limpid::model::Model;
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid::report::{Axis, Chart, Mark, Series, counted};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::rng::Stream;
use std::time::Instant;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "parallel",
    claim: "A Transformer trains all positions of a sentence at once, a recurrent model one after \
            another: the steps that must follow one \
            another grow with the sentence only in the recurrent model, and so does the time for \
            each token.",
    settings: &[Setting::Width],
    minutes: 2.0,
    run,
};

/// Odd, so that there is a middle one; nine are what [`middle`] needs.
const ROUNDS: usize = 9;
const VOCABULARY: usize = 2_000;

fn run(lab: &mut Lab) -> Result<Outcome> {
    let lengths: &[usize] = lab.effort.pick(&[4, 16, 64], &[8, 16, 32, 64, 128, 256, 512]);
    let (tokens, width) = lab.effort.pick((256, 16), (2_048, 128));
    let width = lab.width(width);
    let mut models = Vec::new();
    for kind in Architecture::ALL {
        models.push(kind.model(VOCABULARY, width, lab.seed)?);
    }
    let parameters: Vec<usize> = models.iter().map(|model| model.params.count()).collect();
    let batches: Vec<PairBatch> =
        lengths.iter().map(|length| batch(tokens, *length, lab.seed)).collect();
    let steps: Vec<[usize; 3]> = batches
        .iter()
        .map(|batch| Architecture::ALL.map(|kind| steps_in_a_row(kind, batch)))
        .collect();
    let times = measure(lab, &mut models, &batches, tokens)?;

    let findings = [count_findings(lengths, &steps), time_findings(lengths, &times)].concat();
    let method = format!(
        "Encoder-decoders of {}, {} and {} parameters ({}, {}, {}), the recurrent ones with one \
         layer of GRU a side, read both ways at once; \
         random tokens of a vocabulary of {VOCABULARY}, {tokens} of source and {tokens} of target \
         a batch, all sentences of a batch equally long. \
         A training step is forward pass, backward pass and AdamW. {ROUNDS} rounds, in each every \
         model at every length, taking turns; medians, with the interval \
         from the second smallest to the second largest, which holds the true median 96 times in \
         100. {}.",
        parameters[0],
        parameters[1],
        parameters[2],
        Architecture::ALL[0].name(),
        Architecture::ALL[1].name(),
        Architecture::ALL[2].name(),
        counted(limpid_tensor::team::threads() as u64, "thread"),
    );
    let pictures = vec![
        picture(
            "time",
            "Time of a training step",
            "microseconds per token",
            lengths,
            |kind, at| {
                let (median, low, high) =
                    middle(times.iter().map(|round| round[at][kind]).collect());
                (median, Some((low, high)))
            },
        ),
        picture("steps", "What must follow one another", "steps", lengths, |kind, at| {
            (steps[at][kind] as f64, None)
        }),
    ];
    let tables = vec![time_table(lengths, &times), count_table(lengths, &steps)];
    Ok(Outcome { method, findings, pictures, tables })
}

/// Pairs of random tokens, source and target of the same length, `tokens` a side.
fn batch(tokens: usize, length: usize, seed: u64) -> PairBatch {
    let mut rng = Stream::new(seed, length as u64);
    let mut text =
        || (0..length).map(|_| 2 + rng.below(VOCABULARY - 2) as u32).collect::<Vec<u32>>();
    let pairs: Vec<(Vec<u32>, Vec<u32>)> = (0..tokens / length).map(|_| (text(), text())).collect();
    PairBatch::new(&pairs, 0)
}

/// The steps of the forward pass of which each needs the one before.
fn steps_in_a_row(kind: Architecture, batch: &PairBatch) -> usize {
    match kind {
        // Self-attention and feed-forward in the encoder; in the decoder also a look at the source.
        Architecture::Transformer => 2 * LAYERS + 3 * LAYERS,
        // State by state, as the recurrent layers walk through this batch; the two ways of reading
        // do not wait for each other.
        Architecture::Plain | Architecture::Attentive => {
            batch.source.time_major().order.steps() + batch.input.time_major().order.steps()
        }
    }
}

/// Microseconds per token (of source and target): round, length, model.
fn measure(
    lab: &mut Lab,
    models: &mut [Model],
    batches: &[PairBatch],
    tokens: usize,
) -> Result<Vec<Vec<[f64; 3]>>> {
    let mut optimizers: Vec<Optimizer> = models
        .iter()
        .map(|model| Optimizer::new(&model.params, AdamConfig::default(), lab.seed))
        .collect();
    let mut times = Vec::new();
    // The first round takes memory that later ones find ready, and is not counted.
    for round in 0..=ROUNDS {
        let what =
            if round == 0 { "warming up".into() } else { format!("round {round} of {ROUNDS}") };
        lab.start(&what)?;
        let mut found = Vec::new();
        for batch in batches {
            let mut one = [0.0; 3];
            for i in 0..models.len() {
                // Every model is first as often as any other.
                let at = (i + round) % models.len();
                let stack = models[at].stack.clone();
                let model = stack.translator().expect("an encoder-decoder was made");
                let spec = LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 };
                let begin = Instant::now();
                // A rate so small that the models stay what they are.
                optimizers[at].step(&mut models[at].params, 1e-6, None, |tape| {
                    model.loss(tape, batch, spec)
                })?;
                one[at] = begin.elapsed().as_secs_f64() * 1e6 / (2 * tokens) as f64;
            }
            found.push(one);
        }
        if round > 0 {
            times.push(found);
        }
    }
    Ok(times)
}

/// The median of nine, and the second smallest and second largest: between them the true median
/// lies 96 times in 100, whatever the distribution, for at most one of nine tosses of a coin is
/// heads 20 times in 1,024.
fn middle(mut values: Vec<f64>) -> (f64, f64, f64) {
    assert_eq!(values.len(), ROUNDS, "the interval is that of nine rounds");
    values.sort_by(f64::total_cmp);
    (values[ROUNDS / 2], values[1], values[ROUNDS - 2])
}

/// Whether the median is above 1, and its words.
fn above_one(values: Vec<f64>) -> (Verdict, String) {
    let (median, low, high) = middle(values);
    let verdict = match (low, high) {
        (low, _) if low > 1.0 => Verdict::Confirmed,
        (_, high) if high < 1.0 => Verdict::Refuted,
        _ => Verdict::Inconclusive,
    };
    (verdict, format!("{median:.2} ({low:.2} to {high:.2})"))
}

fn count_findings(lengths: &[usize], steps: &[[usize; 3]]) -> Vec<Finding> {
    let last = lengths.len() - 1;
    let (short, long) = (lengths[0], lengths[last]);
    vec![
        Finding::observation(
            "steps that must follow one another in a recurrent model: twice the length, once to \
             read and once to write",
            format!("from {short} to {long} tokens: {} to {}", steps[0][0], steps[last][0]),
        ),
        Finding::observation(
            "in a Transformer they are as many as its layers have parts, whatever the length",
            format!("{} by construction, not counted", steps[0][2]),
        ),
    ]
}

fn time_findings(lengths: &[usize], times: &[Vec<[f64; 3]>]) -> Vec<Finding> {
    let last = lengths.len() - 1;
    let (short, long) = (lengths[0], lengths[last]);
    let ratios = |of: &dyn Fn(&Vec<[f64; 3]>) -> f64| times.iter().map(of).collect::<Vec<f64>>();
    let growth = |kind: usize| middle(ratios(&|round| round[last][kind] / round[0][kind])).0;
    let mut findings = Vec::new();
    for (i, kind) in Architecture::ALL[..2].iter().enumerate() {
        let relative =
            |round: &Vec<[f64; 3]>| (round[last][i] / round[0][i]) / (round[last][2] / round[0][2]);
        let (verdict, factor) = above_one(ratios(&relative));
        // Attention has work of its own that grows with the length.
        let verdict = if *kind == Architecture::ALL[0] { verdict } else { Verdict::Observation };
        findings.push(Finding::new(
            format!(
                "{}: a token's time grows more with the length than a Transformer's",
                kind.name()
            ),
            verdict,
            format!(
                "from {short} to {long} tokens by a factor of {:.2}, the Transformer's {:.2}; one \
                 by the other {factor}",
                growth(i),
                growth(2)
            ),
        ));
        let (_, factor) = above_one(ratios(&|round| round[last][i] / round[last][2]));
        findings.push(Finding::observation(
            format!("{}: its time at the longest, against a Transformer's", kind.name()),
            format!("at {long} tokens {factor} times as long"),
        ));
    }
    findings
}

fn head() -> Vec<String> {
    ["length"]
        .into_iter()
        .chain(Architecture::ALL.map(Architecture::name))
        .map(String::from)
        .collect()
}

fn time_table(lengths: &[usize], times: &[Vec<[f64; 3]>]) -> Table {
    let cell = |at: usize, kind: usize| {
        let (median, low, high) = middle(times.iter().map(|round| round[at][kind]).collect());
        format!("{median:.2} ({low:.2} to {high:.2})")
    };
    let row = |(at, length): (usize, &usize)| {
        [length.to_string()].into_iter().chain((0..3).map(|kind| cell(at, kind))).collect()
    };
    let rows = lengths.iter().enumerate().map(row).collect();
    Table { title: "Microseconds per token of a training step".into(), head: head(), rows }
}

fn count_table(lengths: &[usize], steps: &[[usize; 3]]) -> Table {
    let row = |(length, steps): (&usize, &[usize; 3])| {
        [*length].iter().chain(steps).map(usize::to_string).collect()
    };
    let rows = lengths.iter().zip(steps).map(row).collect();
    Table { title: "Steps that must follow one another, forward".into(), head: head(), rows }
}

fn picture(
    name: &str,
    title: &str,
    unit: &str,
    lengths: &[usize],
    at: impl Fn(usize, usize) -> (f64, Option<(f64, f64)>),
) -> Picture {
    let series = |(kind, named): (usize, &Architecture)| {
        let all: Vec<_> =
            lengths.iter().enumerate().map(|(i, n)| (*n as f64, at(kind, i))).collect();
        let points = all.iter().map(|(n, (value, _))| (*n, *value)).collect();
        let band = all.iter().filter_map(|(n, (_, band))| band.map(|(low, high)| (*n, low, high)));
        let line = Series::line(named.name(), points).marked(Mark::Dots);
        Series { band: band.collect(), ..line }
    };
    let series = Architecture::ALL.iter().enumerate().map(series).collect();
    let x = Axis {
        ticks: lengths.iter().map(|n| *n as f64).collect(),
        ..Axis::log("tokens of a sentence")
    };
    Picture::chart(name, &Chart::new(title, x, Axis::log(unit), series))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_leaves_out_one_on_each_side() {
        let values = vec![9.0, 1.2, 1.0, 1.4, 0.1, 1.3, 1.1, 1.5, 1.6];
        assert_eq!(middle(values.clone()), (1.3, 1.0, 1.6));
        assert_eq!(above_one(values.iter().map(|v| v + 0.05).collect()).0, Verdict::Confirmed);
        assert_eq!(above_one(values.iter().map(|v| v - 0.05).collect()).0, Verdict::Inconclusive);
        assert_eq!(above_one(values.iter().map(|v| v / 2.0).collect()).0, Verdict::Refuted);
    }

    #[test]
    fn a_batch_keeps_its_tokens_at_every_length() {
        for length in [4, 16, 64] {
            let batch = batch(256, length, 1);
            assert_eq!(
                (batch.source.tokens(), batch.targets.len(), batch.source.longest()),
                (256, 256, length)
            );
        }
    }
}
