//! What is learned without labels, does it save labels? A classifier of stories by their plot,
//! begun with an encoder that has read stories with masked words, and begun with random weights;
//! the same labels, steps and learning rate for both. The accuracy on the labelled stories
//! themselves tells whether the steps were enough: what knows its labels by heart is short of
//! labels, not of steps.
//!
//! The rule: each part is a difference between the two, seed by seed (three seeds: other weights,
//! other labelled stories); it is confirmed if its 95% interval is above 0. "Fewer labels" is
//! judged at one point, chosen beforehand: the middle number of labels for the one from scratch,
//! and the next smaller one for the pretrained.

use super::lines::{SHARE, line};
use super::stories::{Size, StoryWords, new_bert};
use super::train::train_to_end;
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table};
use crate::corpus::stories::{MASKING_PROBABILITY, Story, plot_names};
use crate::error::Result;
use limpid::data::batch::EncodedText;
use limpid::data::batch::{EncoderInput, LabelledBatch};
use limpid::data::masking::{MaskStream, MaskUnit, Masking};
use limpid::eval::encoder::{MaskedScore, class_score};
use limpid::model::config::{EncoderConfig, EncoderHead};
use limpid::model::{Encoder, Model};
use limpid::report::{Axis, Chart, counted};
use limpid::text::Purpose;
use limpid::train::TrainerConfig;
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid_tensor::rng::Stream;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "transfer",
    claim: "A model that was pretrained without labels and then fine-tuned needs fewer labels \
            than one trained from scratch; with many labels the \
            advantage shrinks.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 40.0,
    run,
};

/// Texts that are measured together.
const AT_A_TIME: usize = 24;
/// Which stories get a label, as a stream of the seed.
const LABELS: u64 = 0x6c61_6265_6c73;

/// Where a classifier begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    Pretrained,
    Scratch,
}

impl Begin {
    fn name(self) -> &'static str {
        match self {
            Begin::Pretrained => "pretrained",
            Begin::Scratch => "from scratch",
        }
    }
}

/// What one training reached, in shares that are right.
struct Reached {
    test: f64,
    /// On the stories whose labels it was given.
    learned: f64,
}

struct Trial<'a> {
    config: EncoderConfig,
    pretrained: &'a Model,
    settings: (Batching, TrainerConfig),
    seed: u64,
}

impl Trial<'_> {
    fn run(
        &self,
        lab: &mut Lab,
        name: &str,
        begin: Begin,
        examples: &[(EncodedText, u32)],
        test: &[(EncodedText, u32)],
    ) -> Result<Reached> {
        let (_, mut model) = new_bert(&self.config, self.seed)?;
        if begin == Begin::Pretrained {
            model.load_matching(self.pretrained);
        }
        let (batching, config) = self.settings;
        let dataset = InMemoryDataset::labelled(examples, batching)?;
        let (model, _) =
            lab.train(name, model, |lab, model| train_to_end(lab, model, dataset, config))?;
        Ok(Reached { test: accuracy(&model, test), learned: accuracy(&model, examples) })
    }
}

fn accuracy(model: &Model, stories: &[(EncodedText, u32)]) -> f64 {
    let batch = |group: &[(EncodedText, u32)]| LabelledBatch {
        input: EncoderInput::new(
            &group.iter().map(|(read, _)| read.clone()).collect::<Vec<EncodedText>>(),
        ),
        labels: group.iter().map(|(_, label)| *label).collect(),
    };
    let batches: Vec<LabelledBatch> = stories.chunks(AT_A_TIME).map(batch).collect();
    class_score((&model.stack, &model.params), &batches).1.accuracy()
}

/// Nats per token on the test stories.
fn masked_loss(words: &StoryWords, (bert, model): (&Encoder, &Model)) -> Result<f64> {
    let masking = Masking::new(&words.tokenizer, MASKING_PROBABILITY, MaskUnit::Token, 1)?;
    let mut score = MaskedScore::default();
    for (n, group) in words.encode_each(&words.splits.test)?.chunks(AT_A_TIME).enumerate() {
        score.add(
            (bert, &model.params),
            &masking.apply(MaskStream::Validation(n as u64), group.to_vec(), None),
        );
    }
    Ok(score.loss.mean())
}

fn labelled(words: &StoryWords, stories: &[Story]) -> Result<Vec<(EncodedText, u32)>> {
    let plots = plot_names();
    let label = |story: &Story| {
        plots.iter().position(|plot| *plot == story.plot).expect("every story has a plot") as u32
    };
    Ok(words.encode_each(stories)?.into_iter().zip(stories.iter().map(label)).collect())
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let counts: &[usize] = lab.effort.pick(&[20, 40], &[20, 60, 200, 600, 2_000]);
    let (layers, heads, width, pretraining, batch_tokens) =
        lab.effort.pick((1, 2, 32, 15, 512), (2, 4, 128, 4_000, 2_048));
    let (width, pretraining) = (lab.width(width), lab.steps(pretraining));
    // As many steps for few labels as for many: twice through the most, hundreds of times through
    // the fewest.
    let (stories, held_out, steps) = lab.effort.pick((100, 30, 4), (12_000, 400, 550));
    let size = Size { layers, heads, width, steps: pretraining, lr: 2e-3, batch_tokens };
    let words = StoryWords::new(stories, held_out, Purpose::Encoder)?;
    let (train, test) =
        (labelled(&words, &words.splits.train)?, labelled(&words, &words.splits.test)?);
    let read: Vec<EncodedText> = train.iter().map(|(read, _)| read.clone()).collect();
    let head = EncoderHead::Classifier(plot_names().map(String::from).to_vec().into());
    let config = EncoderConfig { head, dropout: 0.1, ..words.bert_config(size) };
    // [pretrained, scratch] → by number of labels → by seed; and the masked-word loss before and
    // after.
    let mut accuracies = vec![vec![Vec::new(); counts.len()]; 2];
    let mut learned = accuracies.clone();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    lab.plan(1 + 2 * counts.len());
    for seed in lab.seeds() {
        let name = format!("a BERT on masked words, seed {seed}: {pretraining} steps");
        let (blank, unread) = new_bert(&words.bert_config(size), seed)?;
        before.push(masked_loss(&words, (&blank, &unread))?);
        let (bert, pretrained) = words.train_bert(lab, &name, &read, size, seed)?;
        after.push(masked_loss(&words, (&bert, &pretrained))?);
        let mut order: Vec<usize> = (0..train.len()).collect();
        Stream::new(seed, LABELS).shuffle(&mut order);
        for (i, count) in counts.iter().enumerate() {
            let examples: Vec<(EncodedText, u32)> =
                order[..*count].iter().map(|i| train[*i].clone()).collect();
            // Smaller batches than those of masked words: some eight stories.
            let tuning = Size { steps, lr: 1e-3, batch_tokens: batch_tokens / 2, ..size };
            let settings = tuning.settings(seed);
            let trial = Trial { config: config.clone(), pretrained: &pretrained, settings, seed };
            for (which, begin) in [Begin::Pretrained, Begin::Scratch].into_iter().enumerate() {
                let name = begin.name();
                let name = format!("{count} labels, {name}, seed {seed}: {steps} steps");
                let reached = trial.run(lab, &name, begin, &examples, &test)?;
                accuracies[which][i].push(reached.test);
                learned[which][i].push(reached.learned);
            }
        }
    }
    let method = format!(
        "BERTs of {} and width {width}; pretrained: {pretraining} steps of masked words \
         ({MASKING_PROBABILITY} of all) on {stories} built-in stories, no labels. Then both \
         learn to tell the plot of a story (one of ten) from labelled stories of the same set, \
         with dropout 0.1, one learning rate and {steps} \
         steps each, whatever the number of labels. Accuracy on {held_out} test stories. Three \
         seeds, for weights and for which stories have labels; intervals are \
         95%, by Student's t.",
        counted(layers as u64, "layer")
    );
    let mut findings = vec![words_learnt(&before, &after)];
    findings.extend(judge(counts, &accuracies));
    findings.push(fewer_labels(counts, &accuracies));
    findings.push(by_heart(counts, &learned));
    let tables = vec![table(counts, &accuracies, &learned)];
    Ok(Outcome { method, findings, pictures: vec![picture(counts, &accuracies)], tables })
}

fn words_learnt(before: &[f64], after: &[f64]) -> Finding {
    let fall = Estimate::of_differences(before, after);
    Finding::new(
        "pretraining without labels has taught words: \
         the loss of masked ones on test stories falls",
        fall.is_above(0.0),
        format!("by {fall} nats per token, to {}", Estimate::of(after)),
    )
}

fn gap(accuracies: &[Vec<Vec<f64>>], i: usize) -> Vec<f64> {
    accuracies[0][i]
        .iter()
        .zip(&accuracies[1][i])
        .map(|(pretrained, scratch)| pretrained - scratch)
        .collect()
}

fn judge(counts: &[usize], accuracies: &[Vec<Vec<f64>>]) -> Vec<Finding> {
    let last = counts.len() - 1;
    let middle = counts.len() / 2;
    let mut findings = Vec::new();
    for i in [0, middle] {
        let better = Estimate::of(&gap(accuracies, i));
        findings.push(Finding::new(
            format!("with {} labels pretraining helps", counts[i]),
            better.is_above(0.0),
            format!(
                "accuracy {} against {}: {better} more",
                Estimate::of(&accuracies[0][i]),
                Estimate::of(&accuracies[1][i])
            ),
        ));
    }
    // All smaller numbers of labels together: to choose the one with the largest advantage would be
    // to choose by chance.
    let fewer: Vec<Vec<f64>> = (0..last).map(|i| gap(accuracies, i)).collect();
    let mean = |seed: usize| fewer.iter().map(|gap| gap[seed]).sum::<f64>() / last as f64;
    let before: Vec<f64> = (0..fewer[0].len()).map(mean).collect();
    let shrinks = Estimate::of_differences(&before, &gap(accuracies, last));
    findings.push(Finding::new(
        "with many labels the advantage shrinks",
        shrinks.is_above(0.0),
        format!(
            "from {} on average with fewer to {} with {}: by {shrinks}",
            Estimate::of(&before),
            Estimate::of(&gap(accuracies, last)),
            counts[last]
        ),
    ));
    findings
}

/// The smallest number of labels with which the one from scratch is at least as accurate on average
/// as the pretrained with number `i`.
fn scratch_needs(counts: &[usize], accuracies: &[Vec<Vec<f64>>], i: usize) -> String {
    let mean = |which: usize, i: usize| Estimate::of(&accuracies[which][i]).mean;
    let enough = (0..counts.len()).find(|j| mean(1, *j) >= mean(0, i));
    enough.map_or(format!("more than {}", counts[counts.len() - 1]), |j| counts[j].to_string())
}

fn fewer_labels(counts: &[usize], accuracies: &[Vec<Vec<f64>>]) -> Finding {
    let middle = counts.len() / 2;
    let more = Estimate::of_differences(&accuracies[0][middle - 1], &accuracies[1][middle]);
    let needs = |i: usize| format!("{} for {}", scratch_needs(counts, accuracies, i), counts[i]);
    let all: Vec<String> = (0..counts.len()).map(needs).collect();
    Finding::new(
        format!(
            "pretraining needs fewer labels: with {} it is more accurate than from scratch with {}",
            counts[middle - 1],
            counts[middle]
        ),
        more.is_above(0.0),
        format!(
            "by {more}; labels from scratch for at least the same mean as pretrained: {}",
            all.join(", ")
        ),
    )
}

/// Whether the one from scratch was short of labels or of steps.
fn by_heart(counts: &[usize], learned: &[Vec<Vec<f64>>]) -> Finding {
    let of = |(i, count): (usize, &usize)| format!("{} with {count}", Estimate::of(&learned[1][i]));
    let all: Vec<String> = counts.iter().enumerate().map(of).collect();
    Finding::observation(
        "from scratch, how many of its labelled stories it knows at the end (1: it had steps \
         enough)",
        all.join(", "),
    )
}

fn table(counts: &[usize], accuracies: &[Vec<Vec<f64>>], learned: &[Vec<Vec<f64>>]) -> Table {
    let row = |(i, count): (usize, &usize)| {
        let cell = |values: &[f64]| Estimate::of(values).to_string();
        vec![
            count.to_string(),
            cell(&accuracies[0][i]),
            cell(&accuracies[1][i]),
            cell(&gap(accuracies, i)),
            scratch_needs(counts, accuracies, i),
            cell(&learned[0][i]),
            cell(&learned[1][i]),
        ]
    };
    let head = [
        "labels",
        "pretrained",
        "from scratch",
        "difference",
        "labels from scratch for as much",
        "on its labels, pretrained",
        "on its labels, from scratch",
    ];
    let rows = counts.iter().enumerate().map(row).collect();
    Table {
        title: "Accuracy by number of labels".into(),
        head: head.map(String::from).into(),
        rows,
    }
}

fn picture(counts: &[usize], accuracies: &[Vec<Vec<f64>>]) -> Picture {
    let of = |name: &str, of: &[Vec<f64>]| {
        line(name, counts.iter().zip(of).map(|(count, v)| (*count as f64, Estimate::of(v))), SHARE)
    };
    let chart = Chart {
        subtitle: "bands: 95% intervals over three seeds".into(),
        ..Chart::new(
            "Accuracy on the plot of a story",
            Axis {
                ticks: counts.iter().map(|count| *count as f64).collect(),
                ..Axis::log("labelled stories")
            },
            Axis::linear("accuracy").including(0.0),
            vec![
                of("pretrained, then fine-tuned", &accuracies[0]),
                of("from scratch", &accuracies[1]),
            ],
        )
    };
    Picture::chart("labels", &chart)
}
