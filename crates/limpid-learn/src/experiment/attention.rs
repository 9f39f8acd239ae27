//! Why attention: an encoder-decoder without it has to put a sentence of any length into one
//! vector.
//!
//! Three translators with equally many parameters are trained for equally many steps, and translate
//! texts of 5 to 60 words; they have seen texts of up to 30. All texts are made of sentences of at
//! most ten words, one behind the other: long ones differ from short ones in their length alone,
//! not in their grammar.
//!
//! The rule. The measure is the share of its BLEU on the shortest texts that a model keeps on long
//! ones, so that a model that is bad at all lengths does not seem to lose little. There are two
//! kinds of chance, the seed of a training and the sentences of the test; a verdict needs both
//! intervals on one side: Student's over three seeds, and the bootstrap over the sentences, of the
//! mean over the seeds.

mod measured;

use self::measured::Measured;
use super::train::train_to_end;
use super::translators::{Architecture, french_english, translator};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::corpus::generate;
use crate::error::Result;
use limpid::data::pairs::{TokenPair, tokenize_pairs};
use limpid::eval::resample::Bootstrap;
use limpid::eval::{Bleu, Metric, count_lines};
use limpid::generate::translate;
use limpid::model::Model;
use limpid::optim::{LearningRate, Schedule};
use limpid::report::{Axis, Chart, Mark, Series};
use limpid::text::{Tokenizer, word_tokenizer};
use limpid::train::TrainerConfig;
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid_tensor::rng::Stream;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "attention",
    claim: "Without attention the quality of a translation falls with the length of the sentence; \
            with attention it falls less, and with a \
            Transformer least.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 50.0,
    run,
};

/// Words of a source, from and to, group by group.
const GROUPS: [(usize, usize); 6] = [(5, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60)];
/// The last group that the models have seen the like of in training, and the last of all.
const SEEN: usize = 2;
const UNSEEN: usize = 5;
/// Words of the sentences that texts are made of.
const SENTENCE: usize = 10;

struct Sizes {
    pool: usize,
    examples: usize,
    test: usize,
    width: usize,
    steps: u64,
    batch_tokens: usize,
    samples: usize,
}

fn sizes(lab: &Lab) -> Sizes {
    let quick = Sizes {
        pool: 300,
        examples: 400,
        test: 10,
        width: 16,
        steps: 20,
        batch_tokens: 512,
        samples: 100,
    };
    let full = Sizes {
        pool: 50_000,
        examples: 120_000,
        test: 300,
        width: 128,
        // With a third of them the model without attention had not learned even short texts.
        steps: 6_000,
        batch_tokens: 1_024,
        samples: 1_000,
    };
    let default = lab.effort.pick(quick, full);
    Sizes { width: lab.width(default.width), steps: lab.steps(default.steps), ..default }
}

type Text = (String, String);

struct Data {
    tokenizer: Tokenizer,
    train: Vec<TokenPair>,
    /// Group by group.
    test: Vec<Vec<Text>>,
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let sizes = sizes(lab);
    let data = Data::new(&sizes, lab)?;
    lab.plan(Architecture::ALL.len());
    let mut results = Vec::new();
    for kind in Architecture::ALL {
        let mut reached = Reached::new(kind);
        for seed in lab.seeds() {
            reached.add(lab, &sizes, &data, seed)?;
        }
        results.push(reached);
    }
    let parameters: Vec<String> =
        results.iter().map(|r| format!("{} {}", r.kind.name(), r.parameters)).collect();
    let method = format!(
        "Built-in corpus, French to English; sentences of at most {SENTENCE} words joined to \
         texts of 5 to 30 words for training ({} texts), and of 5 to \
         60 for the test ({} texts a group, of sentences that no training has seen). Parameters: \
         {}. {} steps of at most {} tokens, the same \
         batches and learning rate (1e-3 at most, warm-up, cosine) for all; three seeds. The \
         recurrent models have one layer of GRU a side and read the source both ways. \
         Greedy output, {}. A share is unknown where BLEU of short texts is 0 with some seed. \
         Intervals are 95%: Student's t over seeds, {} bootstrap samples over texts.",
        sizes.examples,
        sizes.test,
        parameters.join(", "),
        sizes.steps,
        sizes.batch_tokens,
        Bleu::default().name(),
        sizes.samples
    );
    let findings = [("within the trained lengths", SEEN), ("beyond the trained lengths", UNSEEN)]
        .iter()
        .flat_map(|(place, group)| findings(place, *group, &results))
        .collect();
    let pictures = vec![
        picture("bleu", "BLEU by length", "BLEU", &results, |r, g| r.bleu(g)),
        picture("kept", "What is kept of the BLEU of short texts", "share", &results, |r, g| {
            r.kept(g)
        }),
    ];
    let tables = vec![
        table(
            "BLEU (and where 95% of bootstrap samples lie) by words of the source",
            &results,
            |r, g| r.bleu(g).sentences(1),
        ),
        table("Share kept, and its interval over seeds", &results, |r, g| {
            Estimate::of(&r.kept(g).seeds).to_string()
        }),
        trained_table(&results),
    ];
    Ok(Outcome { method, findings, pictures, tables })
}

impl Data {
    fn new(sizes: &Sizes, lab: &mut Lab) -> Result<Self> {
        lab.start("making sentences and texts")?;
        let short = |pairs: Vec<Text>| -> Vec<Text> {
            pairs.into_iter().filter(|(source, _)| words(source) <= SENTENCE).collect()
        };
        let corpus = generate(sizes.pool, lab.seed);
        let learn = short(french_english(&corpus.train));
        // A sentence is one of the test by its text, whatever the seed: other seeds give more of
        // them.
        let more = (1..=4)
            .flat_map(|i| french_english(&generate(sizes.pool.min(10_000), lab.seed + i).test));
        let judge = short(french_english(&corpus.test).into_iter().chain(more).collect());
        let mut rng = Stream::new(lab.seed, 0);
        let longest = GROUPS[SEEN].1;
        let train: Vec<Text> =
            (0..sizes.examples).map(|_| joined(&learn, (GROUPS[0].0, longest), &mut rng)).collect();
        let group = |span: &(usize, usize), rng: &mut Stream| -> Vec<Text> {
            (0..sizes.test).map(|_| joined(&judge, *span, rng)).collect()
        };
        let test = GROUPS.iter().map(|span| group(span, &mut rng)).collect();
        let tokenizer = word_tokenizer(learn.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]))?;
        let texts = train.iter().map(|(source, target)| (source.as_str(), target.as_str()));
        // 1 ends a sentence in every kind of model.
        Ok(Self { train: tokenize_pairs(&tokenizer, texts, 1)?, tokenizer, test })
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Sentences drawn at random, one behind the other, until they have as many words as was drawn for
/// them, or none is found that fits any more.
fn joined(sentences: &[Text], (from, to): (usize, usize), rng: &mut Stream) -> Text {
    loop {
        let room = from + rng.below(to - from + 1);
        let (mut source, mut target): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        let (mut length, mut missed) = (0, 0);
        while length < room && missed < 20 {
            let (one, other) = &sentences[rng.below(sentences.len())];
            if length + words(one) > room {
                missed += 1;
                continue;
            }
            length += words(one);
            source.push(one);
            target.push(other);
        }
        if length >= from {
            return (source.join(" "), target.join(" "));
        }
    }
}

/// What a kind of model reached.
struct Reached {
    kind: Architecture,
    parameters: usize,
    /// Mean loss of the last tenth of the training, by seed.
    losses: Vec<f64>,
    /// Seed, group: BLEU.
    scores: Vec<Vec<f64>>,
    /// Seed, group, draw: BLEU.
    draws: Vec<Vec<Vec<f64>>>,
}

impl Reached {
    fn new(kind: Architecture) -> Self {
        Self { kind, parameters: 0, losses: Vec::new(), scores: Vec::new(), draws: Vec::new() }
    }

    /// Trains and measures a model with this seed.
    fn add(&mut self, lab: &mut Lab, sizes: &Sizes, data: &Data, seed: u64) -> Result<()> {
        let name = format!("{}, seed {seed}", self.kind.name());
        let model = self.kind.model(data.tokenizer.vocab_size(), sizes.width, seed)?;
        self.parameters = model.params.count();
        let training = format!("{name}: {} steps", sizes.steps);
        let (model, losses) =
            lab.train(&training, model, |lab, model| train(lab, model, data, sizes, seed))?;
        self.losses.push(Estimate::of(&losses[losses.len() - losses.len() / 10..]).mean);
        lab.start(&format!("{name}: translating {} groups of {} texts", GROUPS.len(), sizes.test))?;
        let (mut scores, mut draws) = (Vec::new(), Vec::new());
        let bleu = Bleu::default();
        for (g, texts) in data.test.iter().enumerate() {
            let sources: Vec<&str> = texts.iter().map(|(source, _)| source.as_str()).collect();
            let hypotheses =
                translate(translator(&model), &model.params, &data.tokenizer, &sources)?;
            let hypotheses: Vec<&str> = hypotheses.iter().map(String::as_str).collect();
            let references: Vec<Vec<&str>> =
                texts.iter().map(|(_, target)| vec![target.as_str()]).collect();
            let counts = count_lines(&bleu, &hypotheses, &references)?;
            scores.push(bleu.score(&counts.total()));
            // The same texts for all kinds and seeds, others for every group.
            let bootstrap = Bootstrap { samples: sizes.samples, seed: g as u64 };
            draws.push(bootstrap.scores(&bleu, &counts));
        }
        self.scores.push(scores);
        self.draws.push(draws);
        Ok(())
    }

    fn measured(&self, of: impl Fn(&dyn Fn(usize) -> f64) -> f64) -> Measured {
        let seeds = self.scores.iter().map(|scores| of(&|g| scores[g])).collect();
        let samples = self.draws[0][0].len();
        let draw = |i: usize| {
            let values: Vec<f64> =
                self.draws.iter().map(|draws| of(&|g: usize| draws[g][i])).collect();
            Estimate::of(&values).mean
        };
        Measured { seeds, draws: (0..samples).map(draw).collect() }
    }

    fn bleu(&self, group: usize) -> Measured {
        self.measured(|score| score(group))
    }

    /// The share of the BLEU on short texts; not a number if that is 0.
    fn kept(&self, group: usize) -> Measured {
        self.measured(|score| if score(0) > 0.0 { score(group) / score(0) } else { f64::NAN })
    }
}

/// Trains a model; returns it with the loss of every step.
fn train(
    lab: &mut Lab,
    model: Model,
    data: &Data,
    sizes: &Sizes,
    seed: u64,
) -> Result<(Model, Vec<f64>)> {
    let steps = sizes.steps;
    let rate = LearningRate {
        schedule: Schedule::Cosine,
        peak: 1e-3,
        floor: 1e-5,
        warmup: steps / 10,
        total: steps,
    };
    let translator = model.stack.translator().expect("an encoder-decoder was made");
    let batching = Batching { tokens: sizes.batch_tokens, seed };
    let dataset = InMemoryDataset::pairs(translator, &data.train, batching)?;
    train_to_end(lab, model, dataset, TrainerConfig::new(rate, seed))
}

fn findings(place: &str, group: usize, results: &[Reached]) -> Vec<Finding> {
    let kept: Vec<Measured> = results.iter().map(|result| result.kept(group)).collect();
    let (from, to) = GROUPS[group];
    let of = |i: usize| {
        let (short, long) = (results[i].bleu(0).mean(), results[i].bleu(group).mean());
        let share = kept[i].mean();
        let keeps = if share.is_finite() { format!(": keeps {share:.3}") } else { String::new() };
        format!("BLEU {short:.1}, and {long:.1} at {from} to {to} words{keeps}")
    };
    let one = |result: &Reached| result.measured(|_| 1.0);
    let fall = one(&results[0]).less(&kept[0]);
    let (by_attention, by_transformer) = (kept[1].less(&kept[0]), kept[2].less(&kept[1]));
    let least = [by_transformer.is_above_zero(), kept[2].less(&kept[0]).is_above_zero()];
    vec![
        Finding::new(
            format!("{place}, without attention quality falls"),
            fall.is_above_zero(),
            format!("{}; loses {}", of(0), fall.words()),
        ),
        Finding::new(
            format!("{place}, with attention it falls less"),
            by_attention.is_above_zero(),
            format!("{}; more than without by {}", of(1), by_attention.words()),
        ),
        Finding::new(
            format!("{place}, with a Transformer it falls least"),
            Verdict::all(least),
            format!(
                "{}; more than a recurrent model with attention by {}",
                of(2),
                by_transformer.words()
            ),
        ),
    ]
}

fn table(title: &str, results: &[Reached], cell: impl Fn(&Reached, usize) -> String) -> Table {
    let head = ["words"]
        .into_iter()
        .chain(results.iter().map(|r| r.kind.name()))
        .map(String::from)
        .collect();
    let row = |(g, (from, to)): (usize, &(usize, usize))| {
        let name = format!("{from} to {to}{}", if g > SEEN { " (not trained)" } else { "" });
        [name].into_iter().chain(results.iter().map(|result| cell(result, g))).collect()
    };
    Table { title: title.into(), head, rows: GROUPS.iter().enumerate().map(row).collect() }
}

fn trained_table(results: &[Reached]) -> Table {
    let row = |r: &Reached| {
        vec![
            r.kind.name().to_string(),
            r.parameters.to_string(),
            Estimate::of(&r.losses).to_string(),
        ]
    };
    Table {
        title: "The models".into(),
        head: ["model", "parameters", "training loss at the end, nats per token"]
            .map(String::from)
            .into(),
        rows: results.iter().map(row).collect(),
    }
}

fn picture(
    name: &str,
    title: &str,
    unit: &str,
    results: &[Reached],
    of: impl Fn(&Reached, usize) -> Measured,
) -> Picture {
    let series = |result: &Reached| {
        let all: Vec<(f64, Measured)> = GROUPS
            .iter()
            .enumerate()
            .map(|(g, (from, to))| ((from + to) as f64 / 2.0, of(result, g)))
            .collect();
        let line =
            Series::line(result.kind.name(), all.iter().map(|(x, m)| (*x, m.mean())).collect());
        let known = all.iter().filter(|(_, m)| m.is_known());
        let band = known.map(|(x, m)| (*x, m.range().0, m.range().1)).collect();
        Series { band, ..line.marked(Mark::Dots) }
    };
    let series: Vec<Series> = results.iter().map(series).collect();
    let bands = if series.iter().any(|s| !s.band.is_empty()) {
        "; bands: bootstrap over texts"
    } else {
        ""
    };
    let is_missing = |s: &&Series| s.points.iter().all(|point| !point.1.is_finite());
    let missing: Vec<String> = series.iter().filter(is_missing).map(|s| s.name.clone()).collect();
    let mut chart = Chart::new(
        title,
        Axis::linear("words of the source"),
        Axis::linear(unit).including(0.0),
        series,
    );
    chart.subtitle = format!("trained on texts of up to {} words{bands}", GROUPS[SEEN].1);
    if !missing.is_empty() {
        chart.subtitle += &format!(
            "; no line where BLEU of short texts is 0 with some seed: {}",
            missing.join("; ")
        );
    }
    Picture::chart(name, &chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_texts_have_the_words_that_were_asked_for_and_are_joined_alike_on_both_sides() {
        let sentence = |n: usize| (vec!["un"; n].join(" ") + ".", vec!["one"; n].join(" ") + "!");
        let sentences: Vec<Text> = (3..=10).map(sentence).collect();
        let mut rng = Stream::new(1, 0);
        for span in GROUPS {
            for _ in 0..50 {
                let (source, target) = joined(&sentences, span, &mut rng);
                assert!((span.0..=span.1).contains(&words(&source)), "{span:?}: {source}");
                assert_eq!(words(&source), words(&target));
                assert_eq!(source.matches('.').count(), target.matches('!').count());
            }
        }
    }
}
