//! What the decoder is given in training: the right tokens (teacher forcing), or what it would have
//! predicted itself (free running).
//!
//! ```text
//! teacher forcing   input <s> y₁ y₂ … y_{T−1}   targets y₁ … y_T   one pass
//! free running      input <s> ŷ₁ ŷ₂ … ŷ_{T−1}   targets y₁ … y_T   T − 1 passes for ŷ, then one
//! ```
//!
//! ŷ is the largest score given what was predicted before, as in greedy decoding; it is given as it
//! is, and no gradient goes through the choice. Both trainings begin with the same weights and see
//! the same batches in the same order, seed by seed, so differences are taken seed by seed.
//!
//! The rule: a part of the claim is confirmed if its difference is above zero with the whole
//! interval of three seeds. Steadiness is the mean change of the training loss from one step to the
//! next, as a part of the mean loss, over the second half of the training: a higher loss swings
//! more in nats without being less steady. The other way round, what batches differ by weighs more
//! in a loss that is lower; so the swing in nats is observations as well. The two training losses
//! are not one measure (right tokens are easier to go on from than a model's own) and are
//! observations; both models are measured on the same test sentences. Passes through the decoder
//! are counted as they happen and must be exactly those expected: one a step, or the longest
//! target's tokens of each batch. Three seeds cannot tell two spreads apart, so the spread over
//! seeds is an observation.

mod pictures;

use super::translators::{Architecture, french_english, translator};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Setting, Table, Verdict};
use crate::corpus::generate;
use crate::error::Result;
use limpid::data::batch::{Packed, PairBatch};
use limpid::data::pairs::{TokenPair, tokenize_pairs};
use limpid::data::sampler::{BatchSampler, Bucketing};
use limpid::eval::Bleu;
use limpid::generate::{Session, greedy, translate};
use limpid::model::{Model, Seq2Seq};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::{Tokenizer, word_tokenizer};
use limpid::train::dataset::{Batch, Batching, InMemoryDataset};
use limpid::train::{Trainer, TrainerConfig};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "teacher-forcing",
    claim: "Given the right tokens before each one (teacher forcing), a model learns faster and \
            more steadily than from its own predictions \
            (free running), in one pass through the decoder, and translates better; but its loss \
            is higher on what \
            it predicts itself, which is what free running is trained for.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 15.0,
    run,
};

/// What the decoder is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeding {
    RightTokens,
    OwnPredictions,
}

impl Feeding {
    const BOTH: [Feeding; 2] = [Feeding::RightTokens, Feeding::OwnPredictions];

    fn name(self) -> &'static str {
        match self {
            Feeding::RightTokens => "teacher forcing",
            Feeding::OwnPredictions => "free running",
        }
    }
}

struct Sizes {
    pairs: usize,
    test: usize,
    width: usize,
    steps: u64,
    batch_tokens: usize,
}

fn sizes(lab: &Lab) -> Sizes {
    let default = lab.effort.pick(
        Sizes { pairs: 300, test: 20, width: 16, steps: 20, batch_tokens: 256 },
        Sizes { pairs: 20_000, test: 500, width: 128, steps: 1_000, batch_tokens: 1_024 },
    );
    Sizes { width: lab.width(default.width), steps: lab.steps(default.steps), ..default }
}

struct Data {
    tokenizer: Tokenizer,
    train: Vec<TokenPair>,
    test: Vec<TokenPair>,
    test_texts: Vec<(String, String)>,
}

/// What came of one training.
struct Taught {
    /// Of every step, with what it was given.
    losses: Vec<f64>,
    passes: Passes,
    /// Nats per token of the test, given the right tokens and given its own.
    loss: [f64; 2],
    bleu: f64,
}

/// Passes through the decoder, of all steps.
#[derive(Clone, Copy, Default)]
struct Passes {
    counted: usize,
    expected: usize,
}

/// A session that counts how often it goes through the decoder.
struct Counting<'a> {
    session: Box<dyn Session + 'a>,
    passes: usize,
}

impl Session for Counting<'_> {
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        self.passes += 1;
        self.session.advance(tokens)
    }
    fn select(&mut self, sequences: &[usize]) {
        self.session.select(sequences);
    }
    fn capacity(&self) -> usize {
        self.session.capacity()
    }
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let sizes = sizes(lab);
    lab.start("making sentences")?;
    let data = Data::new(&sizes, lab.seed)?;
    // Feeding, seed.
    let mut taught: [Vec<Taught>; 2] = [Vec::new(), Vec::new()];
    let mut parameters = 0;
    lab.plan(Feeding::BOTH.len());
    for seed in lab.seeds() {
        for (feeding, taught) in Feeding::BOTH.into_iter().zip(&mut taught) {
            let name = format!("{}, seed {seed}: {} steps", feeding.name(), sizes.steps);
            let vocabulary = data.tokenizer.vocab_size();
            let model = Architecture::Transformer.model(vocabulary, sizes.width, seed)?;
            parameters = model.params.count();
            let (model, record) = lab.train(&name, model, |lab, model| {
                let (model, losses, passes) = train(lab, model, &data, &sizes, feeding, seed)?;
                let passes = [passes.counted as f64, passes.expected as f64];
                Ok((model, [&losses[..], &passes].concat()))
            })?;
            let (losses, passes) = record.split_at(record.len() - 2);
            let passes = Passes { counted: passes[0] as usize, expected: passes[1] as usize };
            let losses = losses.to_vec();
            lab.start(&format!(
                "{}, seed {seed}: translating {} sentences",
                feeding.name(),
                data.test.len()
            ))?;
            let loss = Feeding::BOTH.map(|feeding| test_loss(&model, &data.test, feeding));
            let [right, own] = loss;
            taught.push(Taught {
                losses,
                passes,
                loss: [right?, own?],
                bleu: bleu(&model, &data)?,
            });
        }
    }
    let method = format!(
        "Transformers of {parameters} parameters, built-in corpus, French to English, {} pairs \
         for training, {} for testing; {} steps of at most {} tokens, \
         peak learning rate 1e-3, warm-up, cosine. The same first weights and batches for both, \
         three seeds. Free running: before each step the model writes as many \
         tokens as the right translation has, always the likeliest, and is then trained on its \
         own tokens as input with the right ones as targets. BLEU is that of greedy \
         output. Intervals are 95%, by Student's t over seeds.",
        sizes.pairs,
        data.test.len(),
        sizes.steps,
        sizes.batch_tokens
    );
    let pictures = vec![pictures::training(&taught), pictures::exposure(&taught)];
    Ok(Outcome {
        method,
        findings: findings(&taught, sizes.steps),
        pictures,
        tables: vec![table(&taught)],
    })
}

impl Data {
    fn new(sizes: &Sizes, seed: u64) -> Result<Self> {
        let corpus = generate(sizes.pairs, seed);
        let (train, mut test_texts) = (french_english(&corpus.train), french_english(&corpus.test));
        test_texts.truncate(sizes.test);
        let tokenizer = word_tokenizer(train.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]))?;
        let ids = |texts: &[(String, String)]| {
            // 1 ends a sentence.
            tokenize_pairs(&tokenizer, texts.iter().map(|(a, b)| (a.as_str(), b.as_str())), 1)
        };
        Ok(Self { train: ids(&train)?, test: ids(&test_texts)?, tokenizer, test_texts })
    }
}

/// A batch with these decoder inputs, and how many passes through the decoder it took to make them.
fn batch(
    (model, params): (Seq2Seq, &Params),
    pairs: &[(&[u32], &[u32])],
    feeding: Feeding,
) -> Result<(PairBatch, usize)> {
    let right = PairBatch::new(pairs, model.start());
    if feeding == Feeding::RightTokens {
        return Ok((right, 0));
    }
    let sources: Vec<&[u32]> = pairs.iter().map(|(source, _)| *source).collect();
    // The last token that is said is not given to anybody. What ends a sentence is a token like any
    // other here.
    let longest: Vec<usize> = pairs.iter().map(|(_, target)| target.len() - 1).collect();
    let most = longest.iter().copied().max().unwrap_or(0);
    let mut session = Counting { session: model.session(params, &sources, most + 1), passes: 0 };
    let prompts = vec![vec![model.start()]; pairs.len()];
    let outputs = greedy(&mut session, &prompts, None, &[], &longest)?;
    let inputs: Vec<Vec<u32>> =
        outputs.iter().map(|outputs| [&[model.start()], &outputs[..]].concat()).collect();
    Ok((PairBatch { input: Packed::new(&inputs), ..right }, session.passes))
}

/// Loss of every step, and passes through the decoder in all. A training that diverges is an error:
/// neither should.
fn train(
    lab: &mut Lab,
    model: Model,
    data: &Data,
    sizes: &Sizes,
    feeding: Feeding,
    seed: u64,
) -> Result<(Model, Vec<f64>, Passes)> {
    let stack = model.stack.clone();
    let translator = stack.translator().expect("an encoder-decoder was made");
    let lengths: Vec<usize> =
        data.train.iter().map(|(source, target)| source.len() + target.len()).collect();
    let mut order = BatchSampler::new(seed, &lengths, sizes.batch_tokens, Bucketing::Mixed)?;
    let total = sizes.steps;
    let rate = LearningRate {
        schedule: Schedule::Cosine,
        peak: 1e-3,
        floor: 1e-5,
        warmup: total / 10,
        total,
    };
    let batching = Batching { tokens: sizes.batch_tokens, seed };
    let dataset = InMemoryDataset::pairs(translator, &data.train, batching)?;
    let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(rate, seed));
    let (mut losses, mut passes) = (Vec::new(), Passes::default());
    for step in 0..total {
        let pairs: Vec<(&[u32], &[u32])> = order
            .batch(step)
            .iter()
            .map(|i| (&data.train[*i].0[..], &data.train[*i].1[..]))
            .collect();
        // The input of free running depends on the weights of the moment.
        let (batch, own) = batch((translator, &trainer.model().params), &pairs, feeding)?;
        let report = trainer.step_on_batches(&[Batch::Pairs(batch)])?;
        losses.push(f64::from(report.loss));
        lab.step(report.step, report.steps);
        passes.counted += own + 1;
        passes.expected += match feeding {
            Feeding::RightTokens => 1,
            Feeding::OwnPredictions => {
                pairs.iter().map(|(_, target)| target.len()).max().unwrap_or(0)
            }
        };
    }
    Ok((trainer.into_model(), losses, passes))
}

/// Nats per token of the right translations, given these inputs.
fn test_loss(model: &Model, pairs: &[TokenPair], feeding: Feeding) -> Result<f64> {
    let translator = translator(model);
    let (mut sum, mut tokens) = (0.0, 0);
    for group in pairs.chunks(64) {
        let group: Vec<(&[u32], &[u32])> = group.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        let (batch, _) = batch((translator, &model.params), &group, feeding)?;
        let mut tape = Tape::inference(&model.params);
        let loss = translator.loss(&mut tape, &batch, LossSpec { smoothing: 0.0, weight: 1.0 });
        sum += f64::from(loss.data()[0]);
        tokens += batch.targets.len();
    }
    Ok(sum / tokens as f64)
}

fn bleu(model: &Model, data: &Data) -> Result<f64> {
    let sources: Vec<&str> = data.test_texts.iter().map(|(source, _)| source.as_str()).collect();
    let outputs = translate(translator(model), &model.params, &data.tokenizer, &sources)?;
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let references: Vec<Vec<&str>> =
        data.test_texts.iter().map(|(_, target)| vec![target.as_str()]).collect();
    Ok(Bleu::default().corpus(&outputs, &references)?.score)
}

/// Mean change of the loss from one step to the next, over the second half.
fn swing(losses: &[f64]) -> f64 {
    let half = &losses[losses.len() / 2..];
    let changes: Vec<f64> = half.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    Estimate::of(&changes).mean
}

/// The same as a part of the mean loss.
fn unsteadiness(losses: &[f64]) -> f64 {
    swing(losses) / Estimate::of(&losses[losses.len() / 2..]).mean
}

/// Mean of the last tenth.
fn end(losses: &[f64]) -> f64 {
    Estimate::of(&losses[losses.len() - losses.len().div_ceil(10)..]).mean
}

fn each(taught: &[Taught], of: impl Fn(&Taught) -> f64) -> Vec<f64> {
    taught.iter().map(of).collect()
}

/// The standard deviation of one training.
fn spread(values: &[f64]) -> f64 {
    let estimate = Estimate::of(values);
    estimate.error * (estimate.count as f64).sqrt()
}

fn findings(taught: &[Vec<Taught>; 2], steps: u64) -> Vec<Finding> {
    let [forced, free] = taught;
    // How much more free running has of something, and both.
    let compare = |of: &dyn Fn(&Taught) -> f64| {
        let (forced, free) = (each(forced, of), each(free, of));
        (Estimate::of_differences(&free, &forced), Estimate::of(&forced), Estimate::of(&free))
    };
    let (rough, rough_forced, rough_free) = compare(&|t| unsteadiness(&t.losses));
    let (_, swing_forced, swing_free) = compare(&|t| swing(&t.losses));
    let (slow, slow_forced, slow_free) = compare(&|t| end(&t.losses));
    let (right, right_forced, right_free) = compare(&|t| t.loss[0]);
    let (worse, bleu_forced, bleu_free) = compare(&|t| -t.bleu);
    let gap = |taught: &[Taught]| Estimate::of(&each(taught, |t| t.loss[1] - t.loss[0]));
    let bleus = [each(forced, |t| t.bleu), each(free, |t| t.bleu)].map(|values| spread(&values));
    let (own, own_forced, own_free) = compare(&|t| -t.loss[1]);
    let passes: Vec<Passes> = taught.iter().map(|taught| taught[0].passes).collect();
    let exact = taught.iter().flatten().all(|t| t.passes.counted == t.passes.expected);
    vec![
        Finding::new(
            "teacher forcing is steadier: its loss changes by a smaller part of itself from step \
             to step",
            rough.is_above(0.0),
            format!(
                "by {rough_forced} of the mean loss, free running by {rough_free}; observed: in \
                 nats {swing_forced} and {swing_free}; the spread of \
                 BLEU over seeds, {:.2} and {:.2}",
                bleus[0], bleus[1]
            ),
        ),
        Finding::observation(
            "the training loss at the end, each on what it is given",
            format!(
                "teacher forcing {slow_forced} nats per token, free running {slow_free}; the \
                 difference {slow}"
            ),
        ),
        Finding::new(
            "teacher forcing ends with a lower loss on test sentences, given the right tokens",
            right.is_above(0.0),
            format!(
                "{right_forced} nats per token, free running {right_free}; the difference {right}"
            ),
        ),
        Finding::new(
            "a model that was trained by teacher forcing translates better",
            worse.is_above(0.0),
            format!(
                "BLEU {:.1}, free running {:.1}; the difference {worse}",
                -bleu_forced.mean, -bleu_free.mean
            ),
        ),
        Finding::new(
            "a model that was trained by teacher forcing is worse on what it predicts itself than \
             on \
             the right tokens",
            gap(forced).is_above(0.0),
            format!("by {} nats per token; after free running by {}", gap(forced), gap(free)),
        ),
        Finding::new(
            "free running ends with a lower loss on test sentences, given what the model says \
             itself",
            own.is_above(0.0),
            format!(
                "{:.3} nats per token, teacher forcing {:.3}; the difference {own}",
                -own_free.mean, -own_forced.mean
            ),
        ),
        Finding::new(
            "a step of teacher forcing is one pass through the decoder, a step of free running as \
             many as the longest target has tokens",
            Verdict::of(exact),
            format!(
                "{} and {} passes in {steps} steps, expected {} and {}; counted for each seed",
                passes[0].counted, passes[1].counted, passes[0].expected, passes[1].expected
            ),
        ),
    ]
}

fn table(taught: &[Vec<Taught>; 2]) -> Table {
    let row = |(feeding, taught): (Feeding, &Vec<Taught>)| {
        let cell = |of: &dyn Fn(&Taught) -> f64| Estimate::of(&each(taught, of)).to_string();
        vec![
            feeding.name().to_string(),
            cell(&|t| end(&t.losses)),
            cell(&|t| unsteadiness(&t.losses)),
            cell(&|t| t.loss[0]),
            cell(&|t| t.loss[1]),
            cell(&|t| t.bleu),
            taught[0].passes.counted.to_string(),
        ]
    };
    let head = [
        "training",
        "training loss at the end",
        "change per step, part of the mean loss",
        "test loss, right tokens",
        "test loss, own tokens",
        "BLEU",
        "passes through the decoder",
    ];
    Table {
        title: "Both ways of training".into(),
        head: head.map(String::from).into(),
        rows: Feeding::BOTH.into_iter().zip(taught).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::generate::argmax;

    #[test]
    fn what_free_running_is_given_is_what_the_model_says_when_it_is_given_that() {
        let model = Architecture::Transformer.model(40, 16, 3).unwrap();
        let translator = translator(&model);
        let pairs: [(&[u32], &[u32]); 3] =
            [(&[5, 9, 1], &[7, 8, 9, 3, 1]), (&[4, 1], &[1]), (&[6, 6, 1], &[2, 1])];
        let (right, none) =
            batch((translator, &model.params), &pairs, Feeding::RightTokens).unwrap();
        let (own, passes) =
            batch((translator, &model.params), &pairs, Feeding::OwnPredictions).unwrap();
        assert_eq!((none, passes), (0, 4));
        assert_eq!((&own.targets, &*own.input.spans), (&right.targets, &*right.input.spans));
        assert_eq!(&*right.input.ids, [0, 7, 8, 9, 3, 0, 0, 2]);
        // The whole input in one pass: at each place the likeliest token is the next one of the
        // input.
        let mut tape = Tape::inference(&model.params);
        let scores = translator.scores(&mut tape, &own.source, &own.input);
        for span in own.input.spans.iter() {
            assert_eq!(own.input.ids[span.start], translator.start());
            for row in span.start..span.start + span.len - 1 {
                assert_eq!(argmax(scores.value().row(row)) as u32, own.input.ids[row + 1]);
            }
        }
    }

    #[test]
    fn a_smooth_curve_is_steadier_than_a_rough_one_of_the_same_mean() {
        let smooth: Vec<f64> = (0..10).map(|i| 5.0 - 0.1 * f64::from(i)).collect();
        let rough: Vec<f64> =
            smooth.iter().enumerate().map(|(i, x)| x + [0.5, -0.5][i % 2]).collect();
        // The second half goes from 4.5 to 4.1.
        assert!((unsteadiness(&smooth) - 0.1 / 4.3).abs() < 1e-9);
        assert!((unsteadiness(&rough) - 1.0 / 4.3).abs() < 0.05, "{}", unsteadiness(&rough));
        let high: Vec<f64> = rough.iter().map(|x| 2.0 * x).collect();
        assert!((unsteadiness(&high) - unsteadiness(&rough)).abs() < 1e-12);
        assert!((spread(&[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-12);
    }
}
