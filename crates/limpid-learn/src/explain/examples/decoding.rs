//! Soft retrieval, sampling, and the decoding strategies.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Expected, Result};
use crate::explain::inputs::Arguments;
use crate::explain::maths::Matrix;
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::{list, short};
use limpid::generate::argmax;
use limpid::generate::sampling::{self, SamplingFilter, probabilities};
use limpid_tensor::rng::Stream;

pub fn soft_retrieval(args: &Arguments) -> Result<Walkthrough> {
    let (query, keys, values) = (args.number("query"), args.row("keys"), args.row("values"));
    args.check_length("values", values.len(), keys.len(), "one for each key")?;
    let names: Vec<String> = keys.iter().map(|key| format!("key {}", short(*key))).collect();
    let found = Retrieved::new(query, &keys, &values);
    let is_hit = keys.contains(&query);

    let similarity: Vec<Cell> = keys
        .iter()
        .map(
            |key| {
                if *key == query { "exact".into() } else { Cell::from(1.0 / (query - key).abs()) }
            },
        )
        .collect();
    let cells = (0..keys.len())
        .map(|i| {
            let distance = Cell::from((query - keys[i]).abs());
            vec![distance, similarity[i].clone(), found.weights.row(0)[i].into()]
        })
        .collect();
    let terms: Vec<String> = found
        .weights
        .row(0)
        .iter()
        .zip(&values)
        .map(|(w, v)| format!("{}·{}", short(*w), short(*v)))
        .collect();
    let mut steps = vec![
        Step::new("The table", "values are stored under keys").table(Table::columns(
            "",
            &names,
            &[("value", &values)],
        )),
        Step::new(
            "Similarity and weight",
            "similarity = 1/|q − k|    weight = similarity / Σ similarity",
        )
        .why(if is_hit {
            "The query equals a key: its similarity is infinite, and it gets all the weight."
        } else {
            "The query equals no key, so each key contributes the more, the nearer it is."
        })
        .table(Table::new("", &names, &strings(&["|q − k|", "similarity", "weight"]), cells))
        .when(args.all_default(), |s| {
            s.remark("1/|70 − 75| = 0.2 for each key; divided by their sum, 0.4, each gets 0.5.")
        }),
        Step::new("The answer", "Σ weight·value")
            .table(Table::columns("", &strings(&["answer"]), &[("", &[found.answer])]))
            .remark(format!("{} = {}.", terms.join(" + "), short(found.answer))),
    ];
    if args.all_default() {
        let queries = [75.0_f32, 72.0, 70.0];
        let all = queries.map(|q| Retrieved::new(q, &keys, &values));
        let names: Vec<String> = queries.iter().map(|q| format!("query {}", short(*q))).collect();
        let cols = strings(&["weight of 70", "weight of 80", "answer"]);
        let cells = all
            .iter()
            .map(|r| vec![r.weights.row(0)[0].into(), r.weights.row(0)[1].into(), r.answer.into()])
            .collect();
        steps.push(
            Step::new("Other queries", "the same for other queries")
                .why(
                    "Nearer to 70, nearer to its value; at 70 exactly, the value itself: a \
                     dictionary is the limit.",
                )
                .table(Table::new("", &names, &cols, cells)),
        );
    }
    steps.push(
        Step::new(
            "This is attention",
            "softmax(s)·V with s = −ln|q − k|: exp(−ln|q − k|) = 1/|q − k|",
        )
        .why(
            "A Transformer does the same with vectors: the similarity is exp(q·k/√d) instead of \
             1/|q − k|, and keys and values are learned. The weights above were computed by its \
             softmax.",
        ),
    );
    let introduction = format!(
        "A table holds the values {} under the keys {}. The query is {}: {}.",
        list(&values),
        list(&keys),
        short(query),
        if is_hit {
            "one of the keys"
        } else {
            "none of the keys, but the values of near ones can be averaged"
        }
    );
    Ok(walkthrough(introduction, steps))
}

struct Retrieved {
    weights: Matrix,
    answer: f32,
}

impl Retrieved {
    fn new(query: f32, keys: &[f32], values: &[f32]) -> Self {
        // 1/|q − k| normalized is the softmax of −ln|q − k|; where a key is hit, the limit: 0
        // there, −∞ elsewhere.
        let is_hit = keys.contains(&query);
        let score = |key: &f32| match (is_hit, *key == query) {
            (true, true) => 0.0,
            (true, false) => f32::NEG_INFINITY,
            (false, _) => -(query - key).abs().ln(),
        };
        let weights = Matrix::row_of(&keys.iter().map(score).collect::<Vec<_>>()).softmax();
        let answer = weights.times(&Matrix::new(values.len(), 1, values.to_vec())).data()[0];
        Self { weights, answer }
    }
}

/// Probabilities that sum to 1, with a name for each.
fn distribution(args: &Arguments) -> Result<(Vec<f32>, Vec<String>)> {
    let p = args.row("probabilities");
    let sum: f32 = p.iter().sum();
    if (sum - 1.0).abs() > 1e-3 {
        let (option, sum) = ("probabilities", short(sum));
        return Err(ExampleError::NotADistribution { option, sum }.into());
    }
    let words = args.labels("words", p.len(), "word")?;
    Ok((p, words))
}

pub fn roulette(args: &Arguments) -> Result<Walkthrough> {
    const SAMPLES: usize = 10_000;
    let (p, words) = distribution(args)?;
    let draws = args.row("draws");
    // By the running sum that the kernel uses.
    let cumulative: Vec<f32> =
        (1..=p.len()).map(|i| p[..i].iter().map(|p| f64::from(*p)).sum::<f64>() as f32).collect();
    let from: Vec<f32> = std::iter::once(0.0).chain(cumulative[..p.len() - 1].to_vec()).collect();
    let names: Vec<String> = draws.iter().map(|u| format!("u = {}", short(*u))).collect();
    let drawn = draws
        .iter()
        .map(|u| vec![Cell::from(words[sampling::sample_categorical(&p, *u)].as_str())])
        .collect();
    let (mut rng, mut counts) = (Stream::new(2017, 1), vec![0_usize; p.len()]);
    for _ in 0..SAMPLES {
        counts[sampling::sample_categorical(&p, rng.uniform())] += 1;
    }
    let seen: Vec<f32> = counts.iter().map(|n| *n as f32 / SAMPLES as f32).collect();

    let steps = vec![
        Step::new("The wheel", "slice of word j: from p[0] + … + p[j−1] up to p[0] + … + p[j]")
            .table(Table::columns(
                "",
                &words,
                &[("p", &p), ("from", &from), ("below", &cumulative)],
            )),
        Step::new(
            "The draw",
            "the first word with u < cumulative probability,  u uniform in [0, 1)",
        )
        .table(Table::new("", &names, &strings(&["sampled"]), drawn))
        .misconception(
            "\"after the roulette, the word with the highest probability is chosen\"",
            "the word that was sampled",
            "choosing the highest every time is greedy decoding, which needs no roulette",
        ),
        Step::new("Ten thousand samples", "frequency → probability").table(Table::columns(
            "",
            &words,
            &[("p", &p), ("frequency", &seen)],
        )),
    ];
    let introduction = format!(
        "A model gives each of {} words a probability, and one is sampled: every word has a slice \
         of a wheel as wide as its probability, and a random number says where the wheel stops.",
        p.len()
    );
    Ok(walkthrough(introduction, steps))
}

pub fn decoding(args: &Arguments) -> Result<Walkthrough> {
    let (p, words) = distribution(args)?;
    let (temperatures, ks, ps) = (args.row("temperature"), args.row("top-k"), args.row("top-p"));
    if let Some(k) = ks.iter().find(|k| k.fract() != 0.0) {
        let expected = Expected::Integer(1, 64);
        return Err(ExampleError::OutOfRange { option: "top-k", text: short(*k), expected }.into());
    }
    // ln p are logits of p: softmax(ln p) = p.
    let logits: Vec<f32> = p.iter().map(|p| p.ln()).collect();
    let after = |filter: SamplingFilter| {
        let mut z = logits.clone();
        filter.apply(&mut z);
        probabilities(&z)
    };
    let none = SamplingFilter::default();
    let table = |names: Vec<String>, filters: Vec<SamplingFilter>| {
        let rows: Vec<f32> = filters.into_iter().flat_map(after).collect();
        Table::matrix("", &names, &words, &Matrix::new(names.len(), p.len(), rows))
    };
    let named = |name: &str, values: &[f32]| -> Vec<String> {
        values.iter().map(|x| format!("{name} {}", short(*x))).collect()
    };
    // What was set, or a combination in which every filter changes something.
    let first = |name: &str, values: &[f32], default: f32| {
        if args.is_set(name) { values[0] } else { default }
    };
    let together = SamplingFilter {
        temperature: first("temperature", &temperatures, 2.0),
        top_k: Some(first("top-k", &ks, 4.0) as usize),
        top_p: first("top-p", &ps, 0.8),
    };
    let in_turn = vec![
        none,
        SamplingFilter { temperature: together.temperature, ..none },
        SamplingFilter { temperature: together.temperature, top_k: together.top_k, top_p: 1.0 },
        together,
    ];
    let labels = vec![
        "unfiltered".to_owned(),
        format!("temperature {}", short(together.temperature)),
        format!("then top-k {}", together.top_k.unwrap_or(p.len())),
        format!("then top-p {}", short(together.top_p)),
    ];

    let steps = vec![
        Step::new("Greedy", "argmax p").table(table(vec!["p".to_owned()], vec![none])).remark(
            format!("Always \"{}\": deterministic, and often repetitive.", words[argmax(&p)]),
        ),
        Step::new("Temperature", "p ← softmax(ln p / T)")
            .why(
                "Below 1 the distribution becomes sharper, above 1 flatter. T = 0 is the limit, \
                 greedy: never a division by 0.",
            )
            .table(table(
                named("T =", &temperatures),
                temperatures.iter().map(|t| SamplingFilter { temperature: *t, ..none }).collect(),
            )),
        Step::new("Top-k", "the k most likely words stay; their probabilities are renormalized")
            .table(table(
                named("k =", &ks),
                ks.iter().map(|k| SamplingFilter { top_k: Some(*k as usize), ..none }).collect(),
            )),
        Step::new("Top-p (nucleus)", "the fewest most likely words with Σ p ≥ p₀ stay")
            .why(
                "Many words where the model is uncertain, few where it is certain. 0 keeps one \
                 word, 1 keeps all.",
            )
            .table(table(
                named("p₀ =", &ps),
                ps.iter().map(|p| SamplingFilter { top_p: *p, ..none }).collect(),
            ))
            .misconception(
                "\"the smallest set whose probability just exceeds p₀\"",
                "the smallest that reaches it, Σ p ≥ p₀",
                "with p₀ = 0.7 and probabilities 0.5 and 0.2, two words are enough",
            ),
        Step::new("Combined", "temperature, then top-k, then top-p, then sampling")
            .table(table(labels, in_turn)),
    ];
    let introduction = format!(
        "\"The cat sat on the …\": a model gives the probabilities {} to {}. Which word is \
         generated? The strategies differ in how much they prefer the most likely one.",
        list(&p),
        words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}
