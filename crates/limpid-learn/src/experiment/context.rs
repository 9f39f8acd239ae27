//! The vector of a word that stands still, and the one that knows its sentence: for words with two
//! senses, is the same sense nearer?
//!
//! The models learn from stories and from diaries: three days with one word in one sense. Without
//! those nothing would tell which sentences belong together (each sense has three, and the rest of
//! a story does not depend on them), and no model could know. Days begin otherwise than what is
//! asked.
//!
//! Three sentences with one word, two of them with one sense. A vector is right about a triple if
//! the cosine of the two is larger than that of the first and the third; equal ones count half. The
//! table of embeddings has one vector for the word, so it is right half of the time by definition.
//! Beside it `[CLS]`, layer by layer: how far it moves, and whether the nearest other story has the
//! same plot.
//!
//! The rule: the static vectors must score exactly a half. The contextual ones hold if the 95%
//! interval of the last layer's share, over three models, is above 0.9. `[CLS]` of random weights
//! already knows the words, somehow mixed: what training adds holds if the interval of (the
//! accuracy of the trained model − that of the same model before training), both after the last
//! layer, is above 0; "layer by layer" if that of (after the last layer − after the first) is.

use super::lines::{NOT_NEGATIVE, SHARE, line};
use super::stories::{Size, StoryWords, new_bert};
use super::{Estimate, Experiment, Finding, Lab, Outcome, Picture, Setting, Table, Verdict};
use crate::corpus::stories::{MASKING_PROBABILITY, SenseTriple, Story, diary, triple};
use crate::error::Result;
use limpid::data::batch::EncodedText;
use limpid::data::batch::EncoderInput;
use limpid::data::sequences::encode_each;
use limpid::encode::cosine;
use limpid::model::Encoder;
use limpid::report::{Axis, Chart, counted};
use limpid::text::{Purpose, Tokenizer};
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "context",
    claim: "A static embedding gives a word one vector whatever it means. A contextual one tells \
            its senses apart: the same sense is nearer in \
            at least 90% of triples. [CLS] gathers what the whole text is about, layer by layer.",
    settings: &[Setting::Steps, Setting::Width],
    minutes: 30.0,
    run,
};

/// Texts that go through a model together.
const AT_A_TIME: usize = 24;

/// What one model gave.
struct Measured {
    /// Share of triples that the table of embeddings gets right.
    fixed: f64,
    /// The same after the embeddings with their positions, and after each layer.
    contextual: Vec<f64>,
    /// By layer: the accuracy of the nearest story's plot, by `[CLS]` and by the mean of all words.
    cls: Vec<f64>,
    mean: Vec<f64>,
    /// By layer, from the first: 1 − the cosine of `[CLS]` before and after it.
    moved: Vec<f64>,
}

/// Vectors by layer, then by text.
type ByLayer = Vec<Vec<Vec<f32>>>;

/// Runs texts through a model; of each layer and text, `pick` gets the rows.
fn vectors(
    (bert, params): (&Encoder, &Params),
    reads: &[EncodedText],
    mut pick: impl FnMut(usize, &[&[f32]]) -> Vec<f32>,
) -> ByLayer {
    let mut all: ByLayer = vec![Vec::new(); bert.config().num_hidden_layers + 1];
    for (group, reads) in reads.chunks(AT_A_TIME).enumerate() {
        let input = EncoderInput::new(reads);
        let mut tape = Tape::inference(params);
        for (layer, hidden) in bert.hidden_by_layer(&mut tape, &input).iter().enumerate() {
            for (i, span) in input.tokens.spans.iter().enumerate() {
                let rows: Vec<&[f32]> = (span.start..span.start + span.len)
                    .map(|row| hidden.value().row(row))
                    .collect();
                all[layer].push(pick(group * AT_A_TIME + i, &rows));
            }
        }
    }
    all
}

/// The share of triples in which the first is nearer to the second than to the third; equal ones
/// count half.
fn share_right(vectors: &[Vec<f32>]) -> f64 {
    let right = |of: &[Vec<f32>]| {
        let (same, other) = (cosine(&of[0], &of[1]), cosine(&of[0], &of[2]));
        if same == other { 0.5 } else { f64::from(u8::from(same > other)) }
    };
    let triples = vectors.chunks(3);
    let count = triples.len() as f64;
    triples.map(right).sum::<f64>() / count
}

/// The share of texts whose nearest other text has the same label; of several that are equally
/// near, the share among them.
fn nearest_share(vectors: &[Vec<f32>], labels: &[&str]) -> f64 {
    let one = |i: usize| {
        let others = || (0..vectors.len()).filter(move |j| *j != i);
        let near: Vec<f64> = vectors.iter().map(|other| cosine(&vectors[i], other)).collect();
        let nearest = others().map(|j| near[j]).fold(f64::NEG_INFINITY, f64::max);
        let (mut same, mut all) = (0.0, 0.0);
        for j in others().filter(|j| near[*j] == nearest) {
            all += 1.0;
            same += f64::from(u8::from(labels[i] == labels[j]));
        }
        same / all
    };
    (0..vectors.len()).map(one).sum::<f64>() / vectors.len() as f64
}

fn measure(
    (bert, params): (&Encoder, &Params),
    tokenizer: &Tokenizer,
    triples: &[SenseTriple],
    stories: &[Story],
) -> Result<Measured> {
    let sentences = encode_each(
        tokenizer,
        triples.iter().flat_map(|t| t.sentences.iter().map(String::as_str)),
    )?;
    // [CLS] stands before the first word.
    let places: Vec<usize> = triples.iter().flat_map(|t| t.places).map(|place| place + 1).collect();
    let by_layer = vectors((bert, params), &sentences, |i, rows| rows[places[i]].to_vec());
    let (table, c) = (params.get(bert.token_embedding()), bert.config().hidden_size);
    let word = |((ids, _), place): (&EncodedText, &usize)| {
        let id = ids[*place] as usize;
        table[id * c..(id + 1) * c].to_vec()
    };
    let fixed: Vec<Vec<f32>> = sentences.iter().zip(&places).map(word).collect();

    let reads = encode_each(tokenizer, stories.iter().map(|story| story.text.as_str()))?;
    let plots: Vec<&str> = stories.iter().map(|story| story.plot).collect();
    let cls = vectors((bert, params), &reads, |_, rows| rows[0].to_vec());
    let mean = vectors((bert, params), &reads, |_, rows| {
        let sum = |i: usize| rows.iter().map(|row| row[i]).sum::<f32>();
        (0..c).map(|i| sum(i) / rows.len() as f32).collect()
    });
    let moved = cls.windows(2).map(|pair| {
        let turns = pair[0].iter().zip(&pair[1]).map(|(a, b)| 1.0 - cosine(a, b));
        turns.sum::<f64>() / stories.len() as f64
    });
    Ok(Measured {
        fixed: share_right(&fixed),
        contextual: by_layer.iter().map(|vectors| share_right(vectors)).collect(),
        cls: cls.iter().map(|vectors| nearest_share(vectors, &plots)).collect(),
        mean: mean.iter().map(|vectors| nearest_share(vectors, &plots)).collect(),
        moved: moved.collect(),
    })
}

fn run(lab: &mut Lab) -> Result<Outcome> {
    let (layers, heads, width, steps, batch_tokens) =
        lab.effort.pick((2, 2, 32, 15, 512), (4, 4, 128, 4_000, 2_048));
    let (width, steps) = (lab.width(width), lab.steps(steps));
    let (count, held_out, triples) = lab.effort.pick((100, 30, 40), (12_000, 400, 800));
    let size = Size { layers, heads, width, steps, lr: 1.5e-3, batch_tokens };
    let words = StoryWords::new(count, held_out, Purpose::Encoder)?;
    let triples: Vec<SenseTriple> = (0..triples).map(|n| triple(1, n)).collect();
    let diaries: Vec<String> = (0..2 * count as u64).map(|n| diary(1, n)).collect();
    let mut texts = words.encode_each(&words.splits.train)?;
    texts.extend(encode_each(&words.tokenizer, diaries.iter().map(String::as_str))?);
    let (mut found, mut untrained) = (Vec::new(), Vec::new());
    lab.plan(1);
    for seed in lab.seeds() {
        // What `train_bert` begins with.
        let (blank, unread) = new_bert(&words.bert_config(size), seed)?;
        untrained.push(measure(
            (&blank, &unread.params),
            &words.tokenizer,
            &triples,
            &words.splits.test,
        )?);
        let name =
            format!("a BERT on masked words of stories and diaries, seed {seed}: {steps} steps");
        let (bert, model) = words.train_bert(lab, &name, &texts, size, seed)?;
        lab.start(&format!("{} triples, {held_out} stories", triples.len()))?;
        found.push(measure(
            (&bert, &model.params),
            &words.tokenizer,
            &triples,
            &words.splits.test,
        )?);
    }
    let method = format!(
        "BERTs of {} and width {width}, trained on masked words ({MASKING_PROBABILITY} of all) of \
         {count} built-in stories and twice as many diaries ({steps} steps); a diary is three \
         days, each with the same \
         two-sense word in the same sense. {} triples of sentences with \
         one of twenty two-sense words: two with one sense, said differently, and one with the \
         other; right if the cosine of the first two \
         is the larger, half right if both are equal. The sentences are new, but made of the \
         templates that stories and diaries are made of, too: three a sense; \
         so this is not about sentences of a new kind. {held_out} test stories: the plot (one of \
         ten) of the story with the nearest vector; the same \
         for the models with their first, random weights. Three \
         seeds; intervals are 95%, by Student's t.",
        counted(layers as u64, "layer"),
        triples.len()
    );
    let chance = expected_by_chance(&words.splits.test);
    let both = Both { trained: found, untrained };
    let mut findings = both.findings(layers, chance);
    findings.extend(both.cls_findings(layers));
    Ok(Outcome {
        method,
        findings,
        pictures: both.pictures(layers),
        tables: vec![both.table(layers)],
    })
}

/// The accuracy of a vector that is the same for all.
fn expected_by_chance(stories: &[Story]) -> f64 {
    let plots: Vec<&str> = stories.iter().map(|story| story.plot).collect();
    nearest_share(&vec![vec![1.0]; stories.len()], &plots)
}

fn values(found: &[Measured], get: impl Fn(&Measured) -> f64) -> Vec<f64> {
    found.iter().map(get).collect()
}

/// The models, seed by seed, after their training and before it.
struct Both {
    trained: Vec<Measured>,
    untrained: Vec<Measured>,
}

impl Both {
    fn findings(&self, last: usize, chance: f64) -> Vec<Finding> {
        let fixed = values(&self.trained, |m| m.fixed);
        let of = |models: &[Measured]| Estimate::of(&values(models, |m| m.contextual[last]));
        let (contextual, unread) = (of(&self.trained), of(&self.untrained));
        let first_cls = values(&self.trained, |m| m.cls[0]);
        // Up to the order of additions.
        let empty = first_cls.iter().all(|share| (share - chance).abs() < 1e-9);
        vec![
            Finding::new(
                "a static embedding cannot tell the senses: exactly half of the triples, by ties",
                Verdict::of(fixed.iter().all(|share| *share == 0.5)),
                format!("{:.3} for each model", fixed[0]),
            ),
            Finding::new(
                "with the contextual vectors of the last layer the same sense is nearer in at \
                 least 90% of triples",
                contextual.is_above(0.9),
                format!("in a share of {contextual}; before training {unread}"),
            ),
            Finding::new(
                "before the first layer [CLS] is the same for every text",
                Verdict::of(empty),
                format!("plot of the nearest story: {:.3}, by chance {chance:.3}", first_cls[0]),
            ),
        ]
    }

    fn cls_findings(&self, last: usize) -> Vec<Finding> {
        let after = |layer: usize| values(&self.trained, |m| m.cls[layer]);
        let unread = values(&self.untrained, |m| m.cls[last]);
        let taught = Estimate::of_differences(&after(last), &unread);
        let grows = Estimate::of_differences(&after(last), &after(1));
        let step = |layer: usize| {
            let more = Estimate::of_differences(&after(layer), &after(layer - 1));
            let word = match more.is_above(0.0) {
                Verdict::Confirmed => "better",
                Verdict::Refuted => "worse",
                _ => "not clear",
            };
            format!("layer {layer} {word} ({more})")
        };
        let steps: Vec<String> = (1..=last).map(step).collect();
        vec![
            Finding::new(
                "after the last layer the trained [CLS] tells the plot better than that of random \
                 weights",
                taught.is_above(0.0),
                format!(
                    "plot of the nearest story: {}, untrained {}; the difference {taught}",
                    Estimate::of(&after(last)),
                    Estimate::of(&unread)
                ),
            ),
            Finding::new(
                "layer by layer: [CLS] tells the plot better after the last layer than after the \
                 first",
                grows.is_above(0.0),
                format!("by {grows}; against the one before: {}", steps.join(", ")),
            ),
        ]
    }

    fn table(&self, layers: usize) -> Table {
        let of = |models: &[Measured], get: &dyn Fn(&Measured) -> f64| {
            Estimate::of(&values(models, get)).to_string()
        };
        let of_layer = |l: usize| {
            let name =
                if l == 0 { "embeddings, with positions".into() } else { format!("layer {l}") };
            let moved = if l == 0 { "".into() } else { of(&self.trained, &|m| m.moved[l - 1]) };
            vec![
                name,
                of(&self.trained, &|m| m.contextual[l]),
                of(&self.untrained, &|m| m.contextual[l]),
                of(&self.trained, &|m| m.cls[l]),
                of(&self.untrained, &|m| m.cls[l]),
                of(&self.trained, &|m| m.mean[l]),
                of(&self.untrained, &|m| m.mean[l]),
                moved,
            ]
        };
        let mut table_row =
            vec!["table of embeddings".to_string(), of(&self.trained, &|m| m.fixed)];
        table_row.resize(8, String::new());
        let head = [
            "vector after",
            "senses told apart",
            "the same, untrained",
            "plot, by [CLS]",
            "the same, untrained",
            "plot, by the mean of words",
            "the same, untrained",
            "[CLS] turns by",
        ];
        Table {
            title: "Layer by layer".into(),
            head: head.map(String::from).into(),
            rows: [table_row].into_iter().chain((0..=layers).map(of_layer)).collect(),
        }
    }

    fn pictures(&self, layers: usize) -> Vec<Picture> {
        let points = |models: &[Measured], from: usize, get: &dyn Fn(&Measured, usize) -> f64| {
            let at = |l: usize| (l as f64, Estimate::of(&values(models, |m| get(m, l))));
            (from..=layers).map(at).collect::<Vec<_>>()
        };
        let trained = |get: &dyn Fn(&Measured, usize) -> f64| points(&self.trained, 0, get);
        let ticks: Vec<f64> = (0..=layers).map(|l| l as f64).collect();
        let axis = || Axis {
            ticks: ticks.clone(),
            ..Axis::linear("after layer (0: embeddings with positions)")
        };
        let senses = Chart::new(
            "Is the same sense nearer?",
            axis(),
            Axis::linear("share of triples"),
            vec![
                line("contextual", trained(&|m, l| m.contextual[l]), SHARE),
                line(
                    "contextual, untrained",
                    points(&self.untrained, 0, &|m, l| m.contextual[l]),
                    SHARE,
                ),
                line("static", trained(&|m, _| m.fixed), SHARE),
            ],
        );
        let plots = Chart::new(
            "Does the nearest story have the same plot?",
            axis(),
            Axis::linear("share of stories").including(0.0),
            vec![
                line("[CLS]", trained(&|m, l| m.cls[l]), SHARE),
                line("mean of the words", trained(&|m, l| m.mean[l]), SHARE),
                line("[CLS], untrained", points(&self.untrained, 0, &|m, l| m.cls[l]), SHARE),
            ],
        );
        let moved = Chart::new(
            "How far a layer turns [CLS]",
            axis(),
            Axis::linear("1 − cosine").including(0.0),
            vec![line("", points(&self.trained, 1, &|m, l| m.moved[l - 1]), NOT_NEGATIVE)],
        );
        vec![
            Picture::chart("senses", &senses),
            Picture::chart("cls-plot", &plots),
            Picture::chart("cls-moves", &moved),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_half_and_the_nearest_share_their_vote() {
        let (x, y) = (vec![1.0, 0.0], vec![0.0, 1.0]);
        let of = |list: [&Vec<f32>; 3]| list.map(Clone::clone).to_vec();
        assert_eq!(share_right(&of([&x, &x, &y])), 1.0);
        assert_eq!(share_right(&of([&x, &y, &x])), 0.0);
        assert_eq!(share_right(&[of([&x, &x, &x]), of([&x, &x, &y])].concat()), 0.75);
        // Nearest of the first: the second (a). Of the second: the first (a). Of the third: both
        // others, neither is b.
        let near = [x.clone(), vec![2.0, 0.0], y];
        assert_eq!(nearest_share(&near, &["a", "a", "b"]), 2.0 / 3.0);
        assert_eq!(nearest_share(&vec![x; 4], &["a", "a", "b", "b"]), 1.0 / 3.0);
    }
}
