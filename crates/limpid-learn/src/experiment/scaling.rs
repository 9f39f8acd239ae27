//! Why scores are divided by √d: a dot product of d independent terms has a standard deviation of
//! √d, and a softmax of large scores is all but one-hot, with a gradient that is all but zero.
//!
//! Two measurements. Random queries and keys of N(0, 1): the entropy of the weights and the size of
//! the gradient behind them, against d. Then whole models of one head, trained with and without the
//! division.
//!
//! The rules: without the division entropy falls by more than half a nat from [`NARROW`] to the
//! largest d; with it, it changes by less than a tenth of that. The gradient has vanished if, at
//! the largest d and from the same samples, it is less than half of what it is with the division;
//! with the division it stays within a factor of 1.5. An interval that lies on both sides of such a
//! limit is not clear.

use super::lines::{NOT_NEGATIVE, line};
use super::train::{StoryText, Training, train_gpt};
use super::{
    Effort, Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict,
};
use crate::error::Result;
use limpid::model::config::DecoderConfig;
use limpid::nn::{Named, Scaling};
use limpid::report::{Axis, Chart};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::softmax::{softmax_backward, softmax_forward};
use limpid_tensor::rng::Stream;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "scaling",
    claim: "Without 1/√d_k the scores of attention grow with the width of a head, the softmax \
            saturates and its gradient vanishes; with it, \
            neither depends on the width.",
    settings: &[Setting::Steps],
    minutes: 3.0,
    run,
};

/// Keys that a query chooses from.
const KEYS: usize = 64;
const WIDTHS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// From which of the widths on a change is judged: the product of one number with another is a case
/// of its own.
const NARROW: usize = 1;
const LAST: usize = WIDTHS.len() - 1;

fn run(lab: &mut Lab) -> Result<Outcome> {
    let (random, mut findings, mut pictures) = random_scores(lab)?;
    let (trained, more, chart) = trained_models(lab)?;
    findings.extend(more);
    pictures.push(chart);
    let method = format!(
        "Random: queries and {KEYS} keys of N(0, 1), {} samples per width and seed; entropy of \
         the weights (at most ln {KEYS} = {:.2}), and the size of the gradient by the scores, \
         relative to the gradient by the weights it comes from. Trained: GPTs of 2 layers with one \
         head as wide as the model, on built-in stories, validation loss. Three seeds; intervals \
         are 95%, by Student's t.",
        samples(lab.effort),
        (KEYS as f64).ln()
    );
    Ok(Outcome { method, findings, pictures, tables: vec![random, trained] })
}

fn samples(effort: Effort) -> usize {
    effort.pick(200, 2_000)
}

/// Entropy and relative gradient of one width: means over the samples of a seed.
fn random_weights(d: usize, scaling: Scaling, seed: u64, count: usize) -> (f64, f64) {
    let mut rng = Stream::new(seed, d as u64);
    let (mut entropy, mut gradient) = (0.0, 0.0);
    for _ in 0..count {
        let query: Vec<f32> = (0..d).map(|_| rng.normal()).collect();
        let score = |rng: &mut Stream| {
            query.iter().map(|q| q * rng.normal()).sum::<f32>() * scaling.factor(d, 0)
        };
        let scores: Vec<f32> = (0..KEYS).map(|_| score(&mut rng)).collect();
        let upstream: Vec<f32> = (0..KEYS).map(|_| rng.normal()).collect();
        let (mut weights, mut back) = (vec![0.0; KEYS], vec![0.0; KEYS]);
        softmax_forward(&mut weights, &scores, KEYS);
        softmax_backward(&mut back, &upstream, &weights, KEYS, Accumulate::Overwrite);
        let bits = |p: &f32| if *p > 0.0 { -f64::from(*p) * f64::from(p.ln()) } else { 0.0 };
        entropy += weights.iter().map(bits).sum::<f64>();
        gradient += norm(&back) / norm(&upstream);
    }
    (entropy / count as f64, gradient / count as f64)
}

fn norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt()
}

/// By width, then by seed.
type ByWidth = Vec<[f64; 3]>;

fn random_scores(lab: &mut Lab) -> Result<(Table, Vec<Finding>, Vec<Picture>)> {
    let count = samples(lab.effort);
    let mut rows = Vec::new();
    // [scaled, plain].
    let (mut entropies, mut gradients) =
        ([ByWidth::new(), ByWidth::new()], [ByWidth::new(), ByWidth::new()]);
    for d in WIDTHS {
        lab.start(&format!("random scores, width {d}"))?;
        let mut row = vec![d.to_string()];
        for (i, scaling) in [Scaling::SqrtWidth, Scaling::None].into_iter().enumerate() {
            let found = lab.seeds().map(|seed| random_weights(d, scaling, seed, count));
            let (entropy, gradient) = (found.map(|f| f.0), found.map(|f| f.1));
            row.push(Estimate::of(&entropy).to_string());
            row.push(format!("{:.4}", Estimate::of(&gradient)));
            entropies[i].push(entropy);
            gradients[i].push(gradient);
        }
        rows.push(row);
    }
    for (row, times) in rows.iter_mut().zip(times_smaller(&gradients)) {
        row.push(factor(&times));
    }
    let mut findings = entropy_findings(&entropies);
    findings.extend(gradient_findings(&gradients));
    let of = |name: &str, values: &ByWidth| {
        line(
            name,
            WIDTHS.iter().zip(values).map(|(d, v)| (*d as f64, Estimate::of(v))),
            NOT_NEGATIVE,
        )
    };
    let chart = |title: &str, y: Axis, values: &[ByWidth; 2]| {
        let series = vec![of("divided by √d", &values[0]), of("as they are", &values[1])];
        Chart::new(title, Axis::log("width of a head, d"), y, series)
    };
    let pictures = vec![
        Picture::chart(
            "entropy",
            &chart("Entropy of attention weights", Axis::linear("nats").including(0.0), &entropies),
        ),
        Picture::chart(
            "gradient",
            &chart("Gradient behind the softmax", Axis::log("relative size"), &gradients),
        ),
    ];
    let head = [
        "width",
        "entropy, scaled",
        "gradient, scaled",
        "entropy, not scaled",
        "gradient, not scaled",
        "gradient, scaled / not scaled",
    ];
    Ok((
        Table { title: "Random scores".into(), head: head.map(String::from).into(), rows },
        findings,
        pictures,
    ))
}

fn entropy_findings([scaled, plain]: &[ByWidth; 2]) -> Vec<Finding> {
    let fall = |values: &ByWidth| Estimate::of_differences(&values[NARROW], &values[LAST]);
    let (scaled, plain) = (fall(scaled), fall(plain));
    vec![
        Finding::new(
            "without scaling the weights' entropy falls with the width",
            plain.is_above(0.5),
            format!("by {plain} nats from width {} to {}", WIDTHS[NARROW], WIDTHS[LAST]),
        ),
        Finding::new(
            "with scaling it does not",
            scaled.is_within(0.1 * plain.mean.abs()),
            format!("by {scaled} nats"),
        ),
    ]
}

/// ln (a / b), seed by seed.
fn log_ratio(a: &[f64; 3], b: &[f64; 3]) -> Estimate {
    Estimate::of(&a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect::<Vec<_>>())
}

/// A factor of which this is the logarithm, with its interval.
fn factor(log: &Estimate) -> String {
    let (low, high) = log.interval();
    format!("{:.2} ({:.2} to {:.2})", log.mean.exp(), low.exp(), high.exp())
}

/// How many times smaller the gradient is without scaling than with it, from the same samples: by
/// width, as a logarithm.
fn times_smaller([scaled, plain]: &[ByWidth; 2]) -> Vec<Estimate> {
    scaled.iter().zip(plain).map(|(scaled, plain)| log_ratio(scaled, plain)).collect()
}

fn gradient_findings(gradients: &[ByWidth; 2]) -> Vec<Finding> {
    let times = times_smaller(gradients);
    let scaled = &gradients[0];
    // The first width at which it is smaller than with scaling, beyond chance.
    let smaller = times.iter().position(|times| times.is_above(0.0) == Verdict::Confirmed);
    let from = match smaller {
        None => format!("at no width up to {} is it smaller", WIDTHS[LAST]),
        Some(0) => "it is smaller at every width".to_string(),
        Some(i) => format!("up to {} it is not smaller", WIDTHS[i - 1]),
    };
    vec![
        Finding::new(
            format!(
                "without scaling the gradient vanishes: at width {} less than half of that with it",
                WIDTHS[LAST]
            ),
            times[LAST].is_above(2.0_f64.ln()),
            format!("smaller by a factor of {}; {from}", factor(&times[LAST])),
        ),
        Finding::new(
            "with scaling the gradient does not depend on the width (by less than a factor of 1.5)",
            log_ratio(&scaled[NARROW], &scaled[LAST]).is_within(1.5_f64.ln()),
            format!(
                "{:.4} at width {}, {:.4} at {}",
                Estimate::of(&scaled[NARROW]),
                WIDTHS[NARROW],
                Estimate::of(&scaled[LAST]),
                WIDTHS[LAST]
            ),
        ),
    ]
}

fn trained_models(lab: &mut Lab) -> Result<(Table, Vec<Finding>, Picture)> {
    let widths: &[usize] = lab.effort.pick(&[8, 32], &[8, 32, 128]);
    let text = StoryText::new(lab.effort.pick(200, 4_000))?;
    let training = Training { steps: lab.steps(lab.effort.pick(30, 600)), batch: 8, lr: 2e-3 };
    let mut rows = Vec::new();
    let mut losses = vec![Vec::new(); 2];
    lab.plan(2 * widths.len());
    for width in widths {
        let mut row = vec![width.to_string()];
        for (i, scaling) in [Scaling::SqrtWidth, Scaling::None].into_iter().enumerate() {
            let mut config = DecoderConfig::gpt2(text.tokenizer.vocab_size(), 64, 2, 1, *width);
            config.options.scaling = scaling;
            let name = format!("one head of {width}, scaling {}", scaling.name());
            let mut found = Vec::new();
            for seed in lab.seeds() {
                found.push(train_gpt(lab, &name, &config, &text, training, seed)?.validation);
            }
            row.push(Estimate::of(&found).to_string());
            losses[i].push(found);
        }
        rows.push(row);
    }
    let last = widths.len() - 1;
    let worse = Estimate::of_differences(&losses[1][last], &losses[0][last]);
    let finding = Finding::new(
        "a trained model is worse without scaling where heads are wide",
        worse.is_above(0.0),
        format!("by {worse} nats per token at width {}", widths[last]),
    );
    let of = |name: &str, losses: &[Vec<f64>]| {
        line(
            name,
            widths.iter().zip(losses).map(|(d, v)| (*d as f64, Estimate::of(v))),
            NOT_NEGATIVE,
        )
    };
    let series = vec![of("divided by √d", &losses[0]), of("as they are", &losses[1])];
    let chart = Chart::new(
        "Loss of trained models",
        Axis::log("width of the head, d"),
        Axis::linear("nats per token"),
        series,
    );
    let head = ["width", "loss, scaled", "loss, not scaled"].map(String::from);
    let table = Table { title: "Trained models".into(), head: head.into(), rows };
    Ok((table, vec![finding], Picture::chart("loss", &chart)))
}
