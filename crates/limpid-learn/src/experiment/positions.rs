//! How a model knows where a word stands: not at all, by a place of its own (one-hot), by a trained
//! vector, by sines and cosines; or how far apart two words are, by rotating queries and keys or by
//! a trained bias on their scores.
//!
//! GPTs are trained on windows of L words and then asked for the same words twice: late in a window
//! they know, and at positions they have never seen. A computed table can be made longer, and a
//! distance needs none, so the trained numbers are put into a model for longer texts. A trained
//! table has no more rows; what an untrained row does is measured too. One-hot positions are as
//! many as the model is wide.
//!
//! The rule: a loss is kept up if it rises by at most [`MARGIN`] nats per token, beyond chance. Of
//! the waves it is tested that no position is nearer than the next one; what their distance does
//! farther away, and what trained vectors make of it, is observations.

mod distance;
mod findings;

use self::distance::distances;
use self::findings::{beyond, in_range};
use super::lines::{NOT_NEGATIVE, line};
use super::train::{StoryText, Trained, Training, train_gpt};
use super::{Effort, Estimate, Experiment, Lab, Outcome, Picture, Setting, Table};
use crate::error::Result;
use limpid::data::batch::LmBatch;
use limpid::model::config::DecoderConfig;
use limpid::model::{Decoder, Model};
use limpid::nn::{Named, Positions};
use limpid::report::{Axis, Chart, Series, counted};
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::ops::Range;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "positions",
    claim: "A model needs to be told where a word stands. One-hot positions have no notion of \
            distance and end with their table, as learned ones \
            do (trained up to 512, nothing can be said at 513); sinusoidal ones are near for near \
            words and extend to 10,000. Rotary positions and relative biases know only how far \
            apart two words are, and extend to any length, too.",
    settings: &[Setting::Steps],
    minutes: 108.0,
    run,
};

const KINDS: [Positions; 6] = [
    Positions::None,
    Positions::OneHot,
    Positions::Learned,
    Positions::Sinusoidal,
    Positions::Rotary,
    Positions::Relative,
];
/// What a loss may rise by, in nats per token, and still count as kept up.
const MARGIN: f64 = 0.1;

struct Sizes {
    /// L, and the width of the models, so that one-hot positions fit exactly.
    context: usize,
    /// Where the last block of positions begins.
    far: usize,
    /// Words that are predicted at each place.
    words: usize,
    /// The same for a single position.
    single: usize,
}

impl Sizes {
    fn new(effort: Effort) -> Self {
        effort.pick(
            Self { context: 16, far: 48, words: 96, single: 32 },
            Self { context: 512, far: 8_000, words: 2_000, single: 120 },
        )
    }

    /// Where words are asked for: L/2, L, 2L, 4L, … and `far`, each with the positions of a block.
    fn places(&self) -> Vec<Range<usize>> {
        let doubled = std::iter::successors(Some(self.context / 2), |p| Some(2 * p));
        let before = doubled.take_while(|p| 4 * p < 3 * self.far);
        before.chain([self.far]).map(|p| p..p + (self.context / 2).max(p / 4)).collect()
    }

    /// The last position of all, counted from 1.
    fn end(&self) -> usize {
        self.places().last().map_or(0, |place| place.end)
    }
}

/// Losses of one kind of positions: per place, per seed; none where it cannot be asked.
struct Kind {
    name: &'static str,
    places: Vec<Option<Vec<f64>>>,
    /// At position L, the last it was trained with, and at L + 1.
    edge: [Option<Vec<f64>>; 2],
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let sizes = Sizes::new(lab.effort);
    let text = StoryText::new(lab.effort.pick(60, 4_000))?;
    let default = lab.effort.pick(
        Training { steps: 15, batch: 8, lr: 4e-3 },
        Training { steps: 500, batch: 2, lr: 1.5e-3 },
    );
    let training = Training { steps: lab.steps(default.steps), ..default };
    let l = sizes.context;
    let (layers, heads) = lab.effort.pick((1, 2), (2, 8));
    let mut kinds = Vec::new();
    let mut learned_tables = Vec::new();
    let mut refusal = None;
    let mut same_numbers = true;
    lab.plan(KINDS.len());
    for positions in KINDS {
        let mut config = DecoderConfig::gpt2(text.tokenizer.vocab_size(), l, layers, heads, l);
        config.options.positions = positions;
        let mut measured = Measured::default();
        for seed in lab.seeds() {
            let name = format!("positions {}", positions.name());
            let trained = train_gpt(lab, &name, &config, &text, training, seed)?;
            measured.within(&trained, &text, &sizes);
            // One position more is the question; only who can answer it is asked for all the
            // others.
            let one_more = longer(&config, &trained, l + 1, seed);
            match one_more.and_then(|_| longer(&config, &trained, sizes.end(), seed)) {
                Ok(long) => {
                    same_numbers &= positions == Positions::Learned
                        || long.params.count() == trained.model.params.count();
                    measured.beyond(&long, &text, &sizes);
                }
                Err(error) if positions == Positions::OneHot => refusal = Some(error.to_string()),
                Err(error) => return Err(error),
            }
            if positions == Positions::Learned {
                learned_tables.push(table_of(&trained.model.params).to_vec());
            }
        }
        kinds.push(measured.kind(positions, &sizes));
    }
    let mut findings = in_range(&kinds);
    findings.extend(beyond(&kinds, &sizes, refusal, same_numbers, learned_tables[0].len() / l));
    let (more, distances) = distances(&learned_tables, l);
    findings.extend(more);
    let method = format!(
        "GPTs of {}, width {l} and {heads} heads, trained for {} steps on windows of {l} words of \
         built-in stories. Each of {} words of \
         other stories is predicted at each place (the second half of the known positions, and \
         blocks behind position {l}), from all words \
         before it; position {l} and the one behind it are compared on {} words. A longer table \
         of sinusoids is computed, one of trained vectors is filled up with untrained \
         rows; rotations and biases by distance need none. Three seeds; intervals are 95%, by \
         Student's t.",
        counted(layers as u64, "layer"),
        training.steps,
        sizes.words,
        sizes.single
    );
    let pictures = vec![
        Picture::chart("loss", &loss_chart(&kinds, &sizes)),
        Picture::chart("distance", &distances),
    ];
    Ok(Outcome { method, findings, pictures, tables: vec![loss_table(&kinds, &sizes)] })
}

/// What was measured of one kind, seed by seed.
#[derive(Default)]
struct Measured {
    places: Vec<Vec<f64>>,
    edge: [Vec<f64>; 2],
}

impl Measured {
    fn push(&mut self, place: usize, loss: f64) {
        self.places.resize_with(self.places.len().max(place + 1), Vec::new);
        self.places[place].push(loss);
    }

    /// At positions it was trained with.
    fn within(&mut self, trained: &Trained, text: &StoryText, sizes: &Sizes) {
        let model = (trained.gpt(), &trained.model.params);
        self.push(0, loss_at(model, &text.validation, sizes.words, sizes.far, &sizes.places()[0]));
        let last = sizes.context - 1..sizes.context;
        self.edge[0].push(loss_at(model, &text.validation, sizes.single, sizes.far, &last));
    }

    fn beyond(&mut self, long: &Model, text: &StoryText, sizes: &Sizes) {
        let gpt = long.decoder().expect("a decoder");
        for (i, place) in sizes.places().iter().enumerate().skip(1) {
            self.push(
                i,
                loss_at((gpt, &long.params), &text.validation, sizes.words, sizes.far, place),
            );
        }
        let next = sizes.context..sizes.context + 1;
        self.edge[1].push(loss_at(
            (gpt, &long.params),
            &text.validation,
            sizes.single,
            sizes.far,
            &next,
        ));
    }

    fn kind(mut self, positions: Positions, sizes: &Sizes) -> Kind {
        self.places.resize_with(sizes.places().len(), Vec::new);
        let there = |losses: Vec<f64>| (!losses.is_empty()).then_some(losses);
        Kind {
            name: positions.name(),
            places: self.places.into_iter().map(there).collect(),
            edge: self.edge.map(there),
        }
    }
}

/// The trained numbers in a model with so many positions.
fn longer(config: &DecoderConfig, trained: &Trained, positions: usize, seed: u64) -> Result<Model> {
    let mut long =
        Model::new(&DecoderConfig { max_position_embeddings: positions, ..config.clone() }, seed)?;
    for (id, spec) in trained.model.params.iter() {
        let numbers = trained.model.params.get(id);
        let into = long.params.find(&spec.name).expect("both have the same parts");
        // All of it, or the first rows of a table that has become longer.
        long.params.get_mut(into)[..numbers.len()].copy_from_slice(numbers);
    }
    Ok(long)
}

fn table_of(params: &Params) -> &[f32] {
    params.get(params.find("position_embedding.weight").expect("learned positions have a table"))
}

/// Nats per token for `count` words of a text, the same for every place: each is predicted at one
/// of the positions of `place`, from the words before it. `far` is the largest place, so that there
/// are words enough before the first.
fn loss_at(
    (gpt, params): (&Decoder, &Params),
    text: &[u32],
    count: usize,
    far: usize,
    place: &Range<usize>,
) -> f64 {
    let (first, words) = (far + 1, far + 1..(far + 1 + count).min(text.len()));
    debug_assert!(place.start < first && !words.is_empty());
    let windows: Vec<&[u32]> = words
        .clone()
        .step_by(place.len())
        // Row 0 reads the first word of the window, row place.start says the word at `at`.
        .map(|at| &text[at - 1 - place.start..(at + place.len()).min(words.end)])
        .collect();
    let mut sum = 0.0;
    // About so many words at once.
    for group in windows.chunks((4_096 / place.end).max(1)) {
        let batch = LmBatch::new(group);
        let mut tape = Tape::inference(params);
        let hidden = gpt.hidden(&mut tape, &batch.input, None);
        let (_, c) = hidden.rows_cols();
        for span in batch.input.spans.iter() {
            let rows = span.start + place.start..span.start + span.len;
            let asked = Tensor::new([rows.len(), c], &hidden.data()[rows.start * c..rows.end * c]);
            let logits = gpt.logits(&mut tape, &Var::constant(asked));
            let targets = &batch.targets[rows];
            sum += targets
                .iter()
                .enumerate()
                .map(|(i, id)| surprise(logits.value().row(i), *id))
                .sum::<f64>();
        }
    }
    sum / words.len() as f64
}

/// −ln p of one of the scores' words.
fn surprise(scores: &[f32], word: u32) -> f64 {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = scores.iter().map(|s| f64::from(s - largest).exp()).sum();
    total.ln() - f64::from(scores[word as usize] - largest)
}

fn loss_chart(kinds: &[Kind], sizes: &Sizes) -> Chart {
    let middle = |place: &Range<usize>| (place.start + place.end) as f64 / 2.0;
    let of_kind = |kind: &Kind| {
        let losses = sizes.places().into_iter().zip(&kind.places);
        line(
            kind.name,
            losses.filter_map(|(p, loss)| Some((middle(&p), Estimate::of(loss.as_ref()?)))),
            NOT_NEGATIVE,
        )
    };
    let mut series: Vec<Series> = kinds.iter().map(of_kind).collect();
    let heights = |s: &Series| {
        let bands = s.band.iter().flat_map(|(_, low, high)| [*low, *high]);
        s.points
            .iter()
            .map(|p| p.1)
            .chain(bands)
            .filter(|loss| loss.is_finite())
            .collect::<Vec<_>>()
    };
    let (low, high) = series
        .iter()
        .flat_map(heights)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    // Upright, from the lowest to the highest.
    let limit = sizes.context as f64;
    series.push(Series::line("last trained position", vec![(limit, low), (limit, high)]));
    let mut chart = Chart::new(
        "Loss of the same words at other positions",
        Axis::log("position"),
        Axis::linear("nats per token"),
        series,
    );
    chart.subtitle = format!(
        "trained up to position {}; learned ones behind it are untrained; bands: 95% intervals",
        sizes.context
    );
    chart
}

fn loss_table(kinds: &[Kind], sizes: &Sizes) -> Table {
    let cell = |losses: &Option<Vec<f64>>| {
        losses.as_ref().map_or("refused".into(), |l| Estimate::of(l).to_string())
    };
    let row = |kind: &Kind| {
        let cells = kind.edge.iter().chain(&kind.places).map(cell);
        std::iter::once(kind.name.to_string()).chain(cells).collect()
    };
    let l = sizes.context;
    let places =
        sizes.places().into_iter().map(|place| format!("{} to {}", place.start + 1, place.end));
    let head = ["positions".to_string(), format!("at {l}"), format!("at {}", l + 1)];
    Table {
        title: "Nats per token, by position".into(),
        head: head.into_iter().chain(places).collect(),
        rows: kinds.iter().map(row).collect(),
    }
}
