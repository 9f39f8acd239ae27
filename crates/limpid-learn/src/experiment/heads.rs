//! One head against many of the same total width; what single heads attend to; and what is lost
//! when one is turned off.
//!
//! A head is turned off by zeros in its columns of the output projection: its output reaches
//! nothing.
//!
//! The rules: many heads are better if their loss is lower beyond chance. A head attends to
//! something if it gives it at least [`TIMES`] times the weight that it would have if all words
//! before had the same. A head is spare if turning it off alone costs less than half of what
//! turning off one head costs on average, and a main one if it costs more than twice that. What all
//! heads together are worth is observations: it is far more than the sum of the single ones,
//! because one head stands in for another.

use super::train::{StoryText, Trained, Training, train_gpt};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::error::Result;
use limpid::data::batch::{LmBatch, Packed};
use limpid::eval::loss::text_loss;
use limpid::model::config::DecoderConfig;
use limpid::model::{Decoder, Model};
use limpid::report::{Axis, Bar, Bars, Chart, Mark, Series, counted};
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Probe, Tape};
use limpid_tensor::tensor::Tensor;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "heads",
    claim: "Several heads learn better than one of the same total width, because each attends to \
            something else: the word before, the first word, punctuation. \
            Some heads matter much, most can be turned off alone.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 15.0,
    run,
};

/// How many times the even weight.
const TIMES: f64 = 3.0;
/// Words at the beginning of a window that do not count as queries: they have little to choose
/// from.
const FROM: usize = 4;
/// What a head may attend to.
const PATTERNS: [&str; 4] = ["itself", "the word before", "the first word", "punctuation"];

struct Sizes {
    counts: &'static [usize],
    many: usize,
    width: usize,
    context: usize,
    layers: usize,
    /// Windows in which heads are watched.
    windows: usize,
    /// Words by which a model with a head off is judged.
    words: usize,
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let quick = Sizes {
        counts: &[1, 4],
        many: 4,
        width: 16,
        context: 16,
        layers: 2,
        windows: 4,
        words: 200,
    };
    let full = Sizes {
        counts: &[1, 2, 4, 8],
        many: 8,
        width: 64,
        context: 64,
        layers: 2,
        windows: 60,
        words: 8_000,
    };
    let default = lab.effort.pick(quick, full);
    let sizes = Sizes { width: lab.width(default.width), ..default };
    let text = StoryText::new(lab.effort.pick(60, 4_000))?;
    let training = Training { steps: lab.steps(lab.effort.pick(20, 5_000)), batch: 8, lr: 4e-3 };
    let mut losses = Vec::new();
    let mut watched = Vec::new();
    lab.plan(sizes.counts.len());
    for heads in sizes.counts {
        let vocabulary = text.tokenizer.vocab_size();
        let config =
            DecoderConfig::gpt2(vocabulary, sizes.context, sizes.layers, *heads, sizes.width);
        let mut found = Vec::new();
        for seed in lab.seeds() {
            let name =
                format!("{} of width {}", counted(*heads as u64, "head"), sizes.width / heads);
            let trained = train_gpt(lab, &name, &config, &text, training, seed)?;
            found.push(trained.validation);
            if *heads == sizes.many {
                lab.start(&format!(
                    "measuring {} heads, and turning them off",
                    sizes.layers * heads
                ))?;
                watched.push(Watched::new(&trained, &text, &sizes)?);
            }
        }
        losses.push(found);
    }
    let many =
        sizes.counts.iter().position(|heads| *heads == sizes.many).expect("it is one of them");
    let better = Estimate::of_differences(&losses[0], &losses[many]);
    let mut findings = vec![Finding::new(
        format!("{} heads learn better than one of the same total width", sizes.many),
        better.is_above(0.0),
        format!("by {better} nats per token"),
    )];
    findings.extend(attending(&watched, &sizes));
    findings.extend(turning_off(&watched));
    let method = format!(
        "GPTs of {} and width {}, trained for {} steps of 8 windows of {} words of built-in \
         stories. Attention: weights of the models with {} heads \
         in {} windows of other stories, from word {} on. Off: loss on {} words of other stories. \
         Tables and pictures of single heads are those of the first \
         seed. Three seeds; intervals are 95%, by Student's t.",
        counted(sizes.layers as u64, "layer"),
        sizes.width,
        training.steps,
        sizes.context,
        sizes.many,
        sizes.windows,
        FROM + 1,
        sizes.words
    );
    let pictures = vec![
        Picture::chart("loss", &loss_chart(&losses, &sizes)),
        Picture::chart("attention", &patterns_chart(&watched[0])),
        Picture::bars("off", &off_bars(&watched[0])),
    ];
    let tables = vec![loss_table(&losses, &sizes), heads_table(&watched[0], &sizes)];
    Ok(Outcome { method, findings, pictures, tables })
}

/// What one model's heads do, all layers' one after another.
struct Watched {
    /// Layer and head, both from 1.
    names: Vec<String>,
    /// Share of the weight on each of [`PATTERNS`].
    patterns: Vec<[f64; 4]>,
    /// The same for weights that are all alike.
    even: [f64; 4],
    /// Entropy in nats, and its mean if all weights were alike.
    entropy: Vec<f64>,
    even_entropy: f64,
    /// How much two heads of a layer differ: the part of the weight that would have to move, mean
    /// of all pairs.
    apart: f64,
    /// What turning one off costs in nats per token, what all cost together, and how much a word
    /// still hears of others then.
    off: Vec<f64>,
    all_off: f64,
    heard: f32,
}

/// Keeps the weights of every layer, first to last.
#[derive(Default)]
struct Weights(Vec<Tensor>);

impl Probe for Weights {
    fn wants(&self, name: &str) -> bool {
        name.ends_with("self_attention.weights")
    }
    fn take(&mut self, _: &str, value: &Tensor) {
        self.0.push(value.clone());
    }
}

impl Watched {
    fn new(trained: &Trained, text: &StoryText, sizes: &Sizes) -> Result<Self> {
        let heads = sizes.layers * sizes.many;
        let name = |i: usize| format!("{}.{}", i / sizes.many + 1, i % sizes.many + 1);
        let mut watched = Self {
            names: (0..heads).map(name).collect(),
            patterns: vec![[0.0; 4]; heads],
            even: [0.0; 4],
            entropy: vec![0.0; heads],
            even_entropy: 0.0,
            apart: 0.0,
            off: Vec::new(),
            all_off: 0.0,
            heard: 0.0,
        };
        let (gpt, params) = (trained.gpt(), &trained.model.params);
        let marks: Vec<u32> =
            [".", ","].iter().filter_map(|mark| text.tokenizer.id(mark)).collect();
        let windows: Vec<&[u32]> =
            text.validation.chunks_exact(sizes.context).take(sizes.windows).collect();
        let rows = (windows.len() * (sizes.context - FROM)) as f64;
        for ids in &windows {
            let mut probe = Weights::default();
            let mut tape = Tape::inference(params).with_probe(&mut probe);
            gpt.hidden(&mut tape, &Packed::new(&[ids]), None);
            drop(tape);
            let is_mark: Vec<bool> = ids.iter().map(|id| marks.contains(id)).collect();
            for i in FROM..ids.len() {
                watched.row(&probe.0, i, &is_mark, 1.0 / rows);
            }
        }
        watched.turn_off(gpt, params, text, sizes)?;
        Ok(watched)
    }

    /// Adds what all heads do at word i of a window, with this weight.
    fn row(&mut self, layers: &[Tensor], i: usize, is_mark: &[bool], part: f64) {
        let evenly = vec![1.0 / (i + 1) as f32; i + 1];
        add(&mut self.even, &pattern(&evenly, is_mark), part);
        self.even_entropy += part * entropy(&evenly);
        let (mut distance, mut pairs) = (0.0, 0.0);
        for (l, weights) in layers.iter().enumerate() {
            let shape = weights.shape();
            let (h, t, s) = (shape.dim(0), shape.dim(1), shape.dim(2));
            let of = |head: usize| &weights.data()[(head * t + i) * s..][..i + 1];
            for head in 0..h {
                add(&mut self.patterns[l * h + head], &pattern(of(head), is_mark), part);
                self.entropy[l * h + head] += part * entropy(of(head));
                for other in 0..head {
                    let moved: f32 =
                        of(head).iter().zip(of(other)).map(|(a, b)| (a - b).abs()).sum();
                    distance += 0.5 * f64::from(moved);
                    pairs += 1.0;
                }
            }
        }
        self.apart += part * distance / pairs;
    }

    fn turn_off(
        &mut self,
        gpt: &Decoder,
        params: &Params,
        text: &StoryText,
        sizes: &Sizes,
    ) -> Result<()> {
        let ids = &text.validation[..sizes.words.min(text.validation.len())];
        let loss = |params: &Params| {
            text_loss((gpt, params), |part| ids[part].to_vec(), 0..ids.len(), sizes.context).mean()
        };
        let whole = loss(params);
        let mut without = Model::new(gpt.config(), 0)?.params;
        without.flat_mut().copy_from_slice(params.flat());
        for i in 0..self.names.len() {
            let (layer, head) = (i / sizes.many, i % sizes.many);
            silence(&mut without, layer, head, sizes);
            self.off.push(loss(&without) - whole);
            without.flat_mut().copy_from_slice(params.flat());
        }
        for i in 0..self.names.len() {
            silence(&mut without, i / sizes.many, i % sizes.many, sizes);
        }
        self.all_off = loss(&without) - whole;
        // With no head left, another first word must change nothing of the last one's
        // representation.
        let last = |ids: &[u32]| {
            let batch = LmBatch::new(&[ids]);
            let hidden = gpt.hidden(&mut Tape::inference(&without), &batch.input, None);
            hidden.value().row(batch.targets.len() - 1).to_vec()
        };
        let mut ids = ids[..sizes.context].to_vec();
        let before = last(&ids);
        ids[0] = (ids[0] + 1) % gpt.config().vocab_size as u32;
        self.heard = before.iter().zip(&last(&ids)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        Ok(())
    }

    /// What a head costs when it is turned off alone, on average.
    fn mean_off(&self) -> f64 {
        self.off.iter().sum::<f64>() / self.off.len() as f64
    }

    /// What each head costs, as a multiple of that.
    fn shares(&self) -> Vec<f64> {
        self.off.iter().map(|cost| cost / self.mean_off()).collect()
    }
}

/// Zeros the columns of a head in its layer's output projection (c, c): rows are what comes out,
/// columns what heads say.
fn silence(params: &mut Params, layer: usize, head: usize, sizes: &Sizes) {
    let name = format!("layers.{layer}.self_attention.out.weight");
    let id = params.find(&name).expect("every layer has an output projection");
    let (c, d) = (sizes.width, sizes.width / sizes.many);
    params.get_mut(id).chunks_exact_mut(c).for_each(|row| row[head * d..(head + 1) * d].fill(0.0));
}

/// The shares of one row of weights, whose last word is the query.
fn pattern(weights: &[f32], is_mark: &[bool]) -> [f64; 4] {
    let i = weights.len() - 1;
    let marks: f32 =
        weights.iter().zip(is_mark).filter(|(_, mark)| **mark).map(|(weight, _)| weight).sum();
    [weights[i], weights[i - 1], weights[0], marks].map(f64::from)
}

fn entropy(weights: &[f32]) -> f64 {
    weights.iter().filter(|p| **p > 0.0).map(|p| -f64::from(*p) * f64::from(p.ln())).sum()
}

fn add(to: &mut [f64; 4], what: &[f64; 4], part: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += part * what);
}

fn attending(watched: &[Watched], sizes: &Sizes) -> Vec<Finding> {
    let apart = Estimate::of(&watched.iter().map(|w| w.apart).collect::<Vec<_>>());
    let mut findings = vec![Finding::new(
        "heads of one layer attend to different things",
        apart.is_above(0.25),
        format!(
            "two of {} heads differ in {apart} of their weight; 0.25 was asked for",
            sizes.many
        ),
    )];
    // Itself is no news.
    for (i, what) in PATTERNS.iter().enumerate().skip(1) {
        let most = |w: &Watched| w.patterns.iter().map(|patterns| patterns[i]).fold(0.0, f64::max);
        let shares: Vec<f64> = watched.iter().map(most).collect();
        let times: Vec<f64> = watched.iter().map(|w| most(w) / w.even[i]).collect();
        let (share, times) = (Estimate::of(&shares), Estimate::of(&times));
        findings.push(Finding::new(
            format!("some head attends to {what}"),
            times.is_above(TIMES),
            format!(
                "the one that does most gives it {share} of its weight, {times} times the \
                even share"
            ),
        ));
    }
    findings
}

fn turning_off(watched: &[Watched]) -> Vec<Finding> {
    let over =
        |of: &dyn Fn(&Watched) -> f64| Estimate::of(&watched.iter().map(of).collect::<Vec<_>>());
    let (worth, mean) = (over(&|w| w.all_off), over(&Watched::mean_off));
    let spare = over(&|w| {
        let shares = w.shares();
        shares.iter().filter(|share| **share < 0.5).count() as f64 / shares.len() as f64
    });
    let main = over(&|w| w.shares().into_iter().fold(f64::NEG_INFINITY, f64::max));
    // A model that has learned nothing may be no worse without a head: then there is no mean to
    // measure by.
    let costs = mean.is_above(0.0) == Verdict::Confirmed;
    let judged = |verdict: Verdict| if costs { verdict } else { Verdict::Inconclusive };
    let heard = watched.iter().map(|w| w.heard).fold(0.0, f32::max);
    vec![
        Finding::new(
            "some head matters more than twice as much as the average one",
            judged(main.is_above(2.0)),
            format!(
                "the most important costs {main} times the mean of {mean} nats per token; all \
                 heads together are worth {worth}"
            ),
        ),
        Finding::new(
            "more than half of the heads are spare",
            judged(spare.is_above(0.5)),
            format!("{spare} of them cost less than half of the mean when turned off alone"),
        ),
        Finding::new(
            "with all heads off no word hears of another",
            Verdict::of(heard == 0.0),
            format!("another first word moves the last one's representation by {heard}"),
        ),
    ]
}

fn loss_chart(losses: &[Vec<f64>], sizes: &Sizes) -> Chart {
    let estimates = || sizes.counts.iter().zip(losses).map(|(h, l)| (*h as f64, Estimate::of(l)));
    let mut series =
        Series::line("", estimates().map(|(h, e)| (h, e.mean)).collect()).marked(Mark::Dots);
    series.band = estimates().map(|(h, e)| (h, e.interval().0, e.interval().1)).collect();
    let mut x = Axis::log("heads");
    x.ticks = sizes.counts.iter().map(|heads| *heads as f64).collect();
    let mut chart =
        Chart::new("Loss by number of heads", x, Axis::linear("nats per token"), vec![series]);
    chart.subtitle = format!("together always {} wide; the band is the 95% interval", sizes.width);
    chart
}

fn patterns_chart(watched: &Watched) -> Chart {
    // Less than ten heads a layer: 2.3 is the third of the second.
    let places: Vec<f64> = watched
        .names
        .iter()
        .map(|name| name.parse().expect("layer and head, with a point"))
        .collect();
    let line = |i: usize| {
        // A gap behind each point: there is nothing between two heads.
        let dots = places
            .iter()
            .zip(&watched.patterns)
            .flat_map(|(x, patterns)| [(*x, patterns[i]), (*x, f64::NAN)]);
        Series::line(PATTERNS[i], dots.collect()).marked(Mark::Dots)
    };
    Chart::new(
        "What single heads attend to, first seed",
        Axis { ticks: places.clone(), ..Axis::linear("layer.head") },
        Axis::linear("share of the weight").including(0.0),
        (0..PATTERNS.len()).map(line).collect(),
    )
}

fn off_bars(watched: &Watched) -> Bars {
    let bar = |(name, cost): (&String, &f64)| Bar {
        name: name.clone(),
        height: 1000.0 * cost,
        interval: None,
        about: format!("head {name}: {cost:.4} nats"),
    };
    Bars {
        title: "What turning one head off costs, first seed".into(),
        x: "layer.head".into(),
        y: "thousandths of a nat a word".into(),
        bars: watched.names.iter().zip(&watched.off).map(bar).collect(),
    }
}

fn loss_table(losses: &[Vec<f64>], sizes: &Sizes) -> Table {
    let row = |(heads, losses): (&usize, &Vec<f64>)| {
        vec![heads.to_string(), (sizes.width / heads).to_string(), Estimate::of(losses).to_string()]
    };
    Table {
        title: "Loss by number of heads".into(),
        head: ["heads", "width of each", "nats per token"].map(String::from).into(),
        rows: sizes.counts.iter().zip(losses).map(row).collect(),
    }
}

fn heads_table(watched: &Watched, sizes: &Sizes) -> Table {
    let cells = |patterns: &[f64; 4], entropy: f64| {
        patterns
            .iter()
            .map(|share| format!("{share:.3}"))
            .chain([format!("{entropy:.2}")])
            .collect::<Vec<_>>()
    };
    let row = |i: usize| {
        let mut row = vec![watched.names[i].clone()];
        row.extend(cells(&watched.patterns[i], watched.entropy[i]));
        row.push(format!("{:.4}", watched.off[i]));
        row
    };
    let mut even = vec!["all alike; mean cost".to_string()];
    even.extend(cells(&watched.even, watched.even_entropy));
    even.push(format!("{:.4}", watched.mean_off()));
    let head = ["head"].into_iter().chain(PATTERNS).chain(["entropy", "off costs"]);
    Table {
        title: format!("The {} heads of each layer", sizes.many),
        head: head.map(String::from).collect(),
        rows: (0..watched.names.len()).map(row).chain([even]).collect(),
    }
}
