//! The effect of residual connections and normalization: GPTs with layer norm, batch norm or none,
//! pre-norm and post-norm, with residuals and without, by depth. Without a norm there is no
//! placement.
//!
//! Matrices begin with a deviation of 1/√inputs, so that numbers keep their size on the way through
//! them: GPT-2's 0.02 is meant for wider models, and here would let everything vanish that no
//! residual or norm carries, whatever the depth.
//!
//! The rules: all are tested on the deepest models. A loss counts at most ln v, that of a guess
//! among v words: a training that diverged is worth that. Gradients are compared as powers of ten;
//! they have vanished, or been kept, by a factor of more than ten.

use super::lines::{ANY, NOT_NEGATIVE, line};
use super::train::{StoryText, Training, train_from};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::error::Result;
use limpid::data::batch::LmBatch;
use limpid::model::config::DecoderConfig;
use limpid::model::{Decoder, Model};
use limpid::nn::{Named, NormPlacement, Normalization, Residual};
use limpid::report::{Axis, Chart, Series, short_number};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Params, Role};
use limpid_tensor::tape::{Gradients, Tape};

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "norm",
    claim: "Residuals carry the gradient to the first layers and let deep models learn; \
            normalization keeps gradients from vanishing and lowers the loss; \
            for text, layer norm does it better than batch norm, and pre-norm better than \
            post-norm where models are deep.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 25.0,
    run,
};

/// f32 has nothing smaller at full precision: a gradient that is zero counts as this.
const SMALLEST: f64 = 1e-38;

#[derive(Clone, Copy, PartialEq)]
struct Kind {
    norm: Normalization,
    place: NormPlacement,
    residual: Residual,
}

const PRE_LAYER: (Normalization, NormPlacement) = (Normalization::Layer, NormPlacement::Pre);
const POST_LAYER: (Normalization, NormPlacement) = (Normalization::Layer, NormPlacement::Post);
const PRE_BATCH: (Normalization, NormPlacement) = (Normalization::Batch, NormPlacement::Pre);
const POST_BATCH: (Normalization, NormPlacement) = (Normalization::Batch, NormPlacement::Post);
const NO_NORM: (Normalization, NormPlacement) = (Normalization::None, NormPlacement::Pre);
const NORMS: [(Normalization, NormPlacement); 5] =
    [PRE_LAYER, POST_LAYER, PRE_BATCH, POST_BATCH, NO_NORM];

impl Kind {
    fn new((norm, place): (Normalization, NormPlacement), residual: Residual) -> Self {
        Self { norm, place, residual }
    }

    fn norm_name(self) -> String {
        let place = match self.place {
            NormPlacement::Pre => "pre-norm",
            NormPlacement::Post => "post-norm",
        };
        match self.norm {
            Normalization::None => "no norm".into(),
            norm => format!("{place} ({})", norm.name()),
        }
    }

    fn config(
        self,
        vocabulary: usize,
        context: usize,
        layers: usize,
        width: usize,
    ) -> DecoderConfig {
        let mut config = DecoderConfig::gpt2(vocabulary, context, layers, 4, width);
        config.norm = self.place;
        config.options.normalization = self.norm;
        config.options.residual = self.residual;
        config
    }
}

/// What three seeds gave of one kind and depth.
struct Measured {
    kind: Kind,
    depth: usize,
    /// Validation loss in nats per token; not finite if the training diverged.
    losses: Vec<f64>,
    /// Training loss of the last steps.
    trained: Vec<f64>,
    /// Gradient norm of each layer, seed by seed, at the first step and after the last.
    first: Vec<Vec<f64>>,
    last: Vec<Vec<f64>>,
    /// ln v.
    guess: f64,
}

impl Measured {
    /// What counts: at most a guess.
    fn capped(&self) -> Vec<f64> {
        let cap = |loss: &f64| if loss.is_finite() { loss.min(self.guess) } else { self.guess };
        self.losses.iter().map(cap).collect()
    }

    fn diverged(&self) -> usize {
        self.losses.iter().filter(|loss| !loss.is_finite()).count()
    }

    /// The power of ten of the first layer's gradient at the first step.
    fn first_layer(&self) -> Vec<f64> {
        self.first.iter().map(|layers| floored(layers[0]).log10()).collect()
    }
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let text = StoryText::new(lab.effort.pick(40, 4_000))?;
    let depths: &[usize] = lab.effort.pick(&[2, 4], &[2, 6, 12]);
    let (width, context) = lab.effort.pick((16, 16), (64, 32));
    let width = lab.width(width);
    let training = Training {
        steps: lab.steps(lab.effort.pick(6, 1_000)),
        batch: lab.effort.pick(4, 8),
        lr: 2e-3,
    };
    let vocabulary = text.tokenizer.vocab_size();
    let mut all = Vec::new();
    lab.plan(2 * NORMS.len() * depths.len());
    for residual in [Residual::Added, Residual::None] {
        for norm in NORMS {
            let kind = Kind::new(norm, residual);
            for depth in depths {
                let config = kind.config(vocabulary, context, *depth, width);
                all.push(measure(lab, kind, &config, &text, training)?);
            }
        }
    }
    let deepest = depths[depths.len() - 1];
    let find = |norm, residual, depth| {
        let kind = Kind::new(norm, residual);
        all.iter().find(|m| m.kind == kind && m.depth == depth).expect("all were measured")
    };
    let mut findings = residuals(deepest, depths[0], find);
    findings.extend(norms(deepest, find));
    findings.push(future(&text, context)?);
    let method = format!(
        "GPTs of width {width} and 4 heads, weights initialized with a standard deviation of \
         1/√inputs (those of projections into the residual stream smaller by √(2·layers)), {} \
         steps of {} windows of {context} words of built-in stories, a peak learning rate of \
         {:.0e} for all of them, gradients clipped to 1. Each kind may have a better learning \
         rate of its own: post-norm usually needs a smaller one and a longer warm-up, so \
         \"pre-norm is better\" holds for this rate, not for the best of each. Gradient norms are \
         over all parameters of a layer, on one batch, before the first step and after the last; \
         below {SMALLEST:.0e} they count as that. \
         Three seeds; 95% intervals by Student's t. The uniform distribution over the \
         {vocabulary} words has a loss of {:.2} nats, and no loss counts as higher.",
        training.steps,
        training.batch,
        training.lr,
        (vocabulary as f64).ln()
    );
    let pictures = pictures(&all, deepest);
    Ok(Outcome {
        method,
        findings,
        pictures,
        tables: vec![loss_table(&all, depths), gradient_table(&all, deepest)],
    })
}

/// A model whose matrices keep the size of what goes through them; what is added to a residual
/// stream 2·layers times begins smaller, as in GPT-2.
fn begun(config: &DecoderConfig, seed: u64) -> Result<Model> {
    let mut model = Model::new(config, seed)?;
    for layer in 0..config.num_hidden_layers {
        for part in ["self_attention.qkv", "self_attention.out", "ffn.up", "ffn.down"] {
            let inputs =
                if part == "ffn.down" { config.intermediate_size } else { config.hidden_size };
            let into_stream = ["self_attention.out", "ffn.down"].contains(&part)
                && config.options.residual == Residual::Added;
            let additions = if into_stream { 2 * config.num_hidden_layers } else { 1 };
            let wanted = 1.0 / ((inputs * additions) as f64).sqrt();
            let id = model.params.find(&format!("layers.{layer}.{part}.weight"));
            let numbers = model.params.get_mut(id.expect("every layer has four matrices"));
            let squares: f64 = numbers.iter().map(|x| f64::from(*x).powi(2)).sum();
            let factor = wanted / (squares / numbers.len() as f64).sqrt();
            numbers.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
        }
    }
    Ok(model)
}

fn measure(
    lab: &mut Lab,
    kind: Kind,
    config: &DecoderConfig,
    text: &StoryText,
    training: Training,
) -> Result<Measured> {
    let guess = (config.vocab_size as f64).ln();
    let depth = config.num_hidden_layers;
    let (losses, trained, first, last) = (vec![], vec![], vec![], vec![]);
    let mut measured = Measured { kind, depth, losses, trained, first, last, guess };
    let name = format!("{}, residuals {}, {depth} layers", kind.norm_name(), kind.residual.name());
    for seed in lab.seeds() {
        let fresh = begun(config, seed)?;
        let trained = train_from(lab, &name, begun(config, seed)?, text, training, seed)?;
        let gpt = trained.gpt();
        measured.first.push(gradients(gpt, &fresh.params, text));
        measured.last.push(gradients(gpt, &trained.model.params, text));
        measured.losses.push(trained.validation);
        let end = trained.losses.iter().rev().take(training.steps as usize / 10 + 1);
        let end: Vec<f64> = end.copied().collect();
        measured.trained.push(end.iter().sum::<f64>() / end.len() as f64);
    }
    Ok(measured)
}

/// The norm of the gradient by the numbers of each layer, for the first windows of the text.
fn gradients(gpt: &Decoder, params: &Params, text: &StoryText) -> Vec<f64> {
    let (context, windows) = (gpt.config().max_position_embeddings, 8);
    let batch = LmBatch::new(&text.train.chunks(context + 1).take(windows).collect::<Vec<_>>());
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 };
    let mut gradients = Gradients::new(params);
    let mut tape = Tape::training(params, &mut gradients);
    let loss = gpt.loss(&mut tape, &batch, spec);
    tape.backward(&loss);
    let squares = |layer: usize| {
        let prefix = format!("layers.{layer}.");
        let mine =
            params.iter().filter(|(_, s)| s.name.starts_with(&prefix) && s.role == Role::Trained);
        let of =
            |numbers: &[f32]| numbers.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>();
        mine.filter_map(|(id, _)| gradients.get(params, id)).map(of).sum::<f64>()
    };
    (0..gpt.config().num_hidden_layers).map(|layer| squares(layer).sqrt()).collect()
}

/// What residuals do.
fn residuals<'a>(
    deepest: usize,
    shallow: usize,
    find: impl Fn((Normalization, NormPlacement), Residual, usize) -> &'a Measured,
) -> Vec<Finding> {
    let gap = |norm, depth| {
        let [with, without] =
            [Residual::Added, Residual::None].map(|residual| find(norm, residual, depth).capped());
        without.iter().zip(&with).map(|(a, b)| a - b).collect::<Vec<f64>>()
    };
    let mut findings: Vec<Finding> = [PRE_LAYER, POST_LAYER, NO_NORM]
        .into_iter()
        .map(|norm| {
            let better = Estimate::of(&gap(norm, deepest));
            let name = find(norm, Residual::Added, deepest).kind.norm_name();
            Finding::new(
                format!("{deepest} layers with {name} learn better with residuals"),
                better.is_above(0.0),
                format!("by {better} nats per token"),
            )
        })
        .collect();
    let grows = Estimate::of_differences(&gap(PRE_LAYER, deepest), &gap(PRE_LAYER, shallow));
    findings.push(Finding::new(
        "the deeper the model, the more it needs them",
        grows.is_above(0.0),
        format!(
            "with pre-norm (layer), residuals are worth {grows} nats more at {deepest} layers \
             than at {shallow}"
        ),
    ));
    let first = |norm, residual| find(norm, residual, deepest).first_layer();
    let carried =
        Estimate::of_differences(&first(NO_NORM, Residual::Added), &first(NO_NORM, Residual::None));
    findings.push(Finding::new(
        "without residuals and norm the first layer's gradient vanishes, \
         with residuals it does not",
        carried.is_above(1.0),
        format!("residuals alone make it larger by {carried} powers of ten at {deepest} layers"),
    ));
    let kept = Estimate::of_differences(
        &first(PRE_LAYER, Residual::None),
        &first(NO_NORM, Residual::None),
    );
    findings.push(Finding::new(
        "a norm alone keeps it from vanishing, too",
        kept.is_above(1.0),
        format!("layer norm alone makes it larger by {kept} powers of ten"),
    ));
    findings
}

/// What norms do, with residuals.
fn norms<'a>(
    deepest: usize,
    find: impl Fn((Normalization, NormPlacement), Residual, usize) -> &'a Measured,
) -> Vec<Finding> {
    let better = |what: String, norm, than| {
        let [norm, than] = [norm, than].map(|norm| find(norm, Residual::Added, deepest));
        let by = Estimate::of_differences(&than.capped(), &norm.capped());
        let diverged = norm.diverged() + than.diverged();
        Finding::new(
            what,
            by.is_above(0.0),
            format!(
                "by {by} nats per token at {deepest} layers; {diverged} of 6 trainings diverged"
            ),
        )
    };
    vec![
        better("with residuals, layer norm is better than none".into(), PRE_LAYER, NO_NORM),
        better("pre-norm: layer norm is better than batch norm".into(), PRE_LAYER, PRE_BATCH),
        better("post-norm: layer norm is better than batch norm".into(), POST_LAYER, POST_BATCH),
        better("layer norm: pre-norm is better than post-norm".into(), PRE_LAYER, POST_LAYER),
    ]
}

/// Whether the first word's representation in training depends on the last word, which a language
/// model must not see.
fn future(text: &StoryText, context: usize) -> Result<Finding> {
    let mut moved = Vec::new();
    for norm in [PRE_BATCH, PRE_LAYER] {
        let model = Model::new(
            Kind::new(norm, Residual::Added).config(text.tokenizer.vocab_size(), context, 2, 16),
            1,
        )?;
        let gpt = model.decoder().expect("a decoder");
        let first_row = |ids: &[u32]| {
            let mut gradients = Gradients::new(&model.params);
            let mut tape = Tape::training(&model.params, &mut gradients);
            let batch = LmBatch::new(&[ids]);
            gpt.hidden(&mut tape, &batch.input, None).value().row(0).to_vec()
        };
        let mut ids = text.train[..context + 1].to_vec();
        let before = first_row(&ids);
        // The last input token; the one after it is only a target.
        ids[context - 1] = (ids[context - 1] + 1) % text.tokenizer.vocab_size() as u32;
        let after = first_row(&ids);
        moved.push(before.iter().zip(&after).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max));
    }
    Ok(Finding::new(
        "in training, batch norm lets a word see later ones, layer norm does not",
        Verdict::of(moved[0] > 1e-4 && moved[1] == 0.0),
        format!(
            "another last word moves the first word's representation by {:.4} with batch norm, by \
             {} with layer norm",
            moved[0], moved[1]
        ),
    ))
}

fn pictures(all: &[Measured], deepest: usize) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let mut depths: Vec<f64> = all.iter().map(|m| m.depth as f64).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    let layers: Vec<f64> = (1..=deepest).map(|layer| layer as f64).collect();
    for (residual, end, title) in [
        (Residual::Added, "with", "with residuals"),
        (Residual::None, "without", "without residuals"),
    ] {
        let mine: Vec<&Measured> = all.iter().filter(|m| m.kind.residual == residual).collect();
        let loss = |norm: (Normalization, NormPlacement)| {
            let kind = Kind::new(norm, residual);
            let mine = mine.iter().filter(|m| m.kind == kind);
            line(
                kind.norm_name(),
                mine.map(|m| (m.depth as f64, Estimate::of(&m.capped()))),
                NOT_NEGATIVE,
            )
        };
        let chart = Chart::new(
            format!("Loss by depth, {title}"),
            Axis { ticks: depths.clone(), ..Axis::linear("layers") },
            Axis::linear("nats per token"),
            NORMS.map(loss).into(),
        );
        pictures.push(Picture::chart(&format!("loss-{end}"), &chart));
        let gradient = |of: fn(&Measured) -> &Vec<Vec<f64>>| {
            let by_layer = |m: &&Measured| {
                let layers = (0..deepest).map(|l| (l as f64 + 1.0, of_layer(of(m), l)));
                let powers = line(m.kind.norm_name(), layers, ANY);
                // The band is that of the logarithms, as the mean is.
                let points = powers.points.iter().map(|(x, y)| (*x, y.exp())).collect();
                let band =
                    powers.band.iter().map(|(x, low, high)| (*x, low.exp(), high.exp())).collect();
                Series { points, band, ..powers }
            };
            mine.iter().filter(|m| m.depth == deepest).map(by_layer).collect::<Vec<_>>()
        };
        for (when, name, series) in [
            ("the first step", "first", gradient(|m| &m.first)),
            ("the end", "last", gradient(|m| &m.last)),
        ] {
            let title = format!("Gradient at {when}, {title}");
            let x = Axis { ticks: layers.clone(), ..Axis::linear("layer") };
            let chart = Chart::new(title, x, Axis::log("norm"), series);
            pictures.push(Picture::chart(&format!("gradient-{name}-{end}"), &chart));
        }
    }
    pictures
}

/// Not below [`SMALLEST`]; what is not a number stays so.
fn floored(norm: f64) -> f64 {
    if norm < SMALLEST { SMALLEST } else { norm }
}

/// The logarithm of a layer's gradient over the seeds: its mean is that of the geometric mean.
fn of_layer(seeds: &[Vec<f64>], layer: usize) -> Estimate {
    Estimate::of(&seeds.iter().map(|layers| floored(layers[layer]).ln()).collect::<Vec<_>>())
}

fn loss_table(all: &[Measured], depths: &[usize]) -> Table {
    let row = |kind: Kind| {
        let mine = || all.iter().filter(|m| m.kind == kind);
        let cell = |m: &Measured| match m.diverged() {
            0 => Estimate::of(&m.losses).to_string(),
            n => format!("{n} diverged"),
        };
        let last = mine().next_back().expect("all were measured");
        let ends = [Estimate::of(&last.trained).to_string()];
        [kind.norm_name(), kind.residual.name().into()]
            .into_iter()
            .chain(mine().map(cell))
            .chain(ends)
            .collect()
    };
    let kinds = [Residual::Added, Residual::None]
        .into_iter()
        .flat_map(|r| NORMS.map(|norm| Kind::new(norm, r)));
    let names = depths.iter().map(|depth| format!("{depth} layers"));
    let deepest = depths[depths.len() - 1];
    Table {
        title: "Nats per token".into(),
        head: ["norm".into(), "residuals".into()]
            .into_iter()
            .chain(names)
            .chain([format!("in training, {deepest}")])
            .collect(),
        rows: kinds.map(row).collect(),
    }
}

fn gradient_table(all: &[Measured], deepest: usize) -> Table {
    let row = |m: &Measured| {
        let cell = |seeds: &Vec<Vec<f64>>, layer| short_number(of_layer(seeds, layer).mean.exp());
        let cells = [
            cell(&m.first, 0),
            cell(&m.first, deepest - 1),
            cell(&m.last, 0),
            cell(&m.last, deepest - 1),
        ];
        [m.kind.norm_name(), m.kind.residual.name().into()].into_iter().chain(cells).collect()
    };
    let last = |when: &str| format!("{when}, layer {deepest}");
    let head = [
        "norm",
        "residuals",
        "first step, layer 1",
        &last("first step"),
        "end, layer 1",
        &last("end"),
    ];
    Table {
        title: format!("Norm of a layer's gradient, {deepest} layers"),
        head: head.map(String::from).into(),
        rows: all.iter().filter(|m| m.depth == deepest).map(row).collect(),
    }
}
