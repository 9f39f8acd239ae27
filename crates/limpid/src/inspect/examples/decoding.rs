//! From a table to attention, and from probabilities to words.

use super::{Told, strings, told};
use crate::decode::argmax;
use crate::decode::filter::{self, Filter, probabilities};
use crate::error::{Error, Result};
use crate::inspect::inputs::Given;
use crate::inspect::maths::Matrix;
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::{list, short};
use limpid_tensor::rng::Stream;

pub fn soft_retrieval(given: &Given) -> Result<Told> {
    let (query, keys, values) = (given.number("query"), given.row("keys"), given.row("values"));
    given.check_length("values", &values, keys.len(), "one for each key")?;
    let names: Vec<String> = keys.iter().map(|key| format!("key {}", short(*key))).collect();
    let found = Retrieved::new(query, &keys, &values);
    let is_hit = keys.contains(&query);

    let likeness: Vec<Cell> = keys
        .iter()
        .map(|key| if *key == query { "exact".into() } else { Cell::from(1.0 / (query - key).abs()) })
        .collect();
    let cells = (0..keys.len())
        .map(|i| {
            let distance = Cell::from((query - keys[i]).abs());
            vec![distance, likeness[i].clone(), found.weights.row(0)[i].into()]
        })
        .collect();
    let terms: Vec<String> = found
        .weights
        .row(0)
        .iter()
        .zip(&values)
        .map(|(w, v)| format!("{}·{}", short(*w), short(*v)))
        .collect();
    let mut steps =
        vec![
        Step::new("The table", "values are stored under keys")
            .table(Table::columns("", &names, &[("value", &values)])),
        Step::new("How near is each key?", "likeness = 1/|q − k|    weight = likeness / Σ likeness")
            .why(if is_hit {
                "The query is one of the keys: its likeness is beyond all bounds, and it gets all the weight."
            } else {
                "The query is none of the keys, so each answers as much as it is near."
            })
            .table(Table::new("", &names, &strings(&["|q − k|", "likeness", "weight"]), cells))
            .when(given.untouched(), |s| {
                s.often_printed(
                    "1/|70 − 75| = 0.5",
                    "0.2 for each key",
                    "1/5 is 0.2; it is 0.5 only after dividing by the sum, 0.4",
                )
            }),
        Step::new("The answer", "Σ weight·value")
            .table(Table::columns("", &strings(&["answer"]), &[("", &[found.answer])]))
            .remark(format!("{} = {}.", terms.join(" + "), short(found.answer))),
    ];
    if given.untouched() {
        let queries = [75.0_f32, 72.0, 70.0];
        let all = queries.map(|q| Retrieved::new(q, &keys, &values));
        let names: Vec<String> = queries.iter().map(|q| format!("query {}", short(*q))).collect();
        let cells = all
            .iter()
            .map(|r| vec![r.weights.row(0)[0].into(), r.weights.row(0)[1].into(), r.answer.into()])
            .collect();
        steps.push(
            Step::new("Other questions", "the same for other queries")
                .why("Nearer to 70, nearer to its value; at 70 exactly, the value itself: a dictionary is the limit.")
                .table(Table::new("", &names, &strings(&["weight of 70", "weight of 80", "answer"]), cells)),
        );
    }
    steps.push(
        Step::new("This is attention", "softmax(s)·V with s = −ln|q − k|: exp(−ln|q − k|) = 1/|q − k|")
            .why(
                "A Transformer does the same with vectors: likeness is exp(q·k/√d) instead of 1/|q − k|, and keys and \
                 values are learned. The weights above were computed by its softmax.",
            ),
    );
    let story = format!(
        "A table holds {} at {}. Asked for {}, {}.",
        list(&values),
        list(&keys),
        short(query),
        if is_hit { "it has the entry" } else { "it has no entry; but near ones can answer together" }
    );
    Ok(told(story, steps))
}

struct Retrieved {
    weights: Matrix,
    answer: f32,
}

impl Retrieved {
    fn new(query: f32, keys: &[f32], values: &[f32]) -> Self {
        // 1/|q − k| normalised is the softmax of −ln|q − k|; where a key is hit, the limit: 0 there, −∞ elsewhere.
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
fn distribution(given: &Given) -> Result<(Vec<f32>, Vec<String>)> {
    let p = given.row("probabilities");
    let sum: f32 = p.iter().sum();
    if (sum - 1.0).abs() > 1e-3 {
        return Err(Error::config(format!("--probabilities sum to {}, not to 1", short(sum)))
            .hint("change them so that they sum to 1"));
    }
    let words = given.labels("words", p.len(), "word")?;
    Ok((p, words))
}

pub fn roulette(given: &Given) -> Result<Told> {
    const SPINS: usize = 10_000;
    let (p, words) = distribution(given)?;
    let draws = given.row("draws");
    // By the running sum that the draw itself uses.
    let cumulative: Vec<f32> =
        (1..=p.len()).map(|i| p[..i].iter().map(|p| f64::from(*p)).sum::<f64>() as f32).collect();
    let from: Vec<f32> = std::iter::once(0.0).chain(cumulative[..p.len() - 1].to_vec()).collect();
    let names: Vec<String> = draws.iter().map(|u| format!("u = {}", short(*u))).collect();
    let drawn = draws.iter().map(|u| vec![Cell::from(words[filter::roulette(&p, *u)].as_str())]).collect();
    let (mut rng, mut counts) = (Stream::new(2017, 1), vec![0_usize; p.len()]);
    for _ in 0..SPINS {
        counts[filter::roulette(&p, rng.uniform())] += 1;
    }
    let seen: Vec<f32> = counts.iter().map(|n| *n as f32 / SPINS as f32).collect();

    let steps = vec![
        Step::new("The wheel", "slice of word j: from p[0] + … + p[j−1] up to p[0] + … + p[j]")
            .table(Table::columns("", &words, &[("p", &p), ("from", &from), ("below", &cumulative)])),
        Step::new("The draw", "the first word with u < cumulative probability,  u uniform in [0, 1)")
            .table(Table::new("", &names, &strings(&["drawn"]), drawn))
            .often_printed(
                "\"after the roulette, the word with the highest probability is chosen\"",
                "the word that was drawn",
                "choosing the highest every time is greedy decoding, which needs no roulette",
            ),
        Step::new("Ten thousand draws", "frequency → probability").table(Table::columns(
            "",
            &words,
            &[("p", &p), ("drawn", &seen)],
        )),
    ];
    let story = format!(
        "A model gives each of {} words a probability. To write freely, one is drawn: every word has a slice of a wheel \
         as wide as its probability, and a random number says where the wheel stops.",
        p.len()
    );
    Ok(told(story, steps))
}

pub fn decoding(given: &Given) -> Result<Told> {
    let (p, words) = distribution(given)?;
    let (temperatures, ks, ps) = (given.row("temperature"), given.row("top-k"), given.row("top-p"));
    if let Some(k) = ks.iter().find(|k| k.fract() != 0.0) {
        return Err(Error::config(format!("--top-k: {} is not a whole number", short(*k)))
            .hint("top-k counts words: use 1, 2, …"));
    }
    // ln p are logits of p: softmax(ln p) = p.
    let logits: Vec<f32> = p.iter().map(|p| p.ln()).collect();
    let after = |filter: Filter| {
        let mut z = logits.clone();
        filter.apply(&mut z);
        probabilities(&z)
    };
    let none = Filter::default();
    let table = |names: Vec<String>, filters: Vec<Filter>| {
        let rows: Vec<f32> = filters.into_iter().flat_map(after).collect();
        Table::matrix("", &names, &words, &Matrix::new(names.len(), p.len(), rows))
    };
    let named = |name: &str, values: &[f32]| -> Vec<String> {
        values.iter().map(|x| format!("{name} {}", short(*x))).collect()
    };
    // What was given, or a combination in which every filter has something to do.
    let first = |name: &str, values: &[f32], usual: f32| if given.has(name) { values[0] } else { usual };
    let together = Filter {
        temperature: first("temperature", &temperatures, 2.0),
        top_k: Some(first("top-k", &ks, 4.0) as usize),
        top_p: first("top-p", &ps, 0.8),
    };
    let in_turn = vec![
        none,
        Filter { temperature: together.temperature, ..none },
        Filter { temperature: together.temperature, top_k: together.top_k, top_p: 1.0 },
        together,
    ];
    let labels = vec![
        "as it is".to_owned(),
        format!("temperature {}", short(together.temperature)),
        format!("then top-k {}", together.top_k.unwrap_or(p.len())),
        format!("then top-p {}", short(together.top_p)),
    ];

    let steps = vec![
        Step::new("Greedy", "argmax p").table(table(vec!["p".to_owned()], vec![none])).remark(format!(
            "Always \"{}\": the same text every time, and often a dull one.",
            words[argmax(&p)]
        )),
        Step::new("Temperature", "p ← softmax(ln p / T)")
            .why("Below 1 the likely become likelier, above 1 all come nearer. T = 0 is the limit, greedy: never a division by 0.")
            .table(table(
                named("T =", &temperatures),
                temperatures.iter().map(|t| Filter { temperature: *t, ..none }).collect(),
            )),
        Step::new("Top-k", "the k most likely stay; their probabilities are divided by their sum")
            .table(table(
                named("k =", &ks),
                ks.iter().map(|k| Filter { top_k: Some(*k as usize), ..none }).collect(),
            )),
        Step::new("Top-p (nucleus)", "the fewest most likely words with Σ p ≥ p₀ stay")
            .why("Many words where the model is unsure, few where it is certain. 0 keeps one word, 1 keeps all.")
            .table(table(named("p₀ =", &ps), ps.iter().map(|p| Filter { top_p: *p, ..none }).collect()))
            .often_printed(
                "\"the smallest set whose probability just exceeds p₀\"",
                "the smallest that reaches it, Σ p ≥ p₀",
                "with p₀ = 0.7 and probabilities 0.5 and 0.2, two words are enough",
            ),
        Step::new("Together", "temperature, then top-k, then top-p, then the draw").table(table(labels, in_turn)),
    ];
    let story = format!(
        "\"The cat sat on the …\": a model gives {} to {}. Which word is written? The strategies differ in how much they \
         trust the best one.",
        list(&p),
        words.join(", ")
    );
    Ok(told(story, steps))
}
