//! A grammar so small that all its texts can be listed: everything that is computed, by counting.

use super::*;
use crate::corpus::stories::grammar::{Filled, Table, Word};
use crate::corpus::stories::measure::{candidates, total};
use crate::corpus::stories::parse::Token;
use std::collections::BTreeMap;

const SMALL: &[Table] = &[
    Table { name: "person", forms: &["name", "he"], rows: &["Ann/she", "Bob/he", "Cleo/she"] },
    Table { name: "toy", forms: &["toy"], rows: &["ball", "old kite"] },
];

/// A grammar with every kind of node: slots that differ, a case, a choice in a choice, and a
/// sentence that may be missing.
fn small(steps: &[&[&str]]) -> (Grammar, Node) {
    let slot = |name, table, values| Slot { name, table, values };
    let slots = vec![
        slot("hero", "person", 3),
        slot("friend", "person", 3),
        slot("toy", "toy", 2),
        slot("end", "end", 2),
    ];
    let mut grammar = Grammar::new(slots);
    let mut templates = Templates { grammar: &mut grammar, tables: SMALL };
    let begin = templates.steps(steps);
    let ends = ["{friend} found the {toy}.", "{he} wept [for a day|long].  {friend} did not."];
    let ends = ends.iter().map(|text| templates.choice(&[text])).collect();
    (grammar, Node::Sequence(vec![begin, Node::Case(3, ends)]))
}

const CLEAR: &[&[&str]] = &[
    &["{hero} had {toy.a}.", "Once {hero} had {toy.a}, [and|but] no luck."],
    &["", "{he} lost the {toy}.", "{friend} took it."],
];

/// Everything that can be written from here, with its probability: by following every choice,
/// without looking at any text.
fn list(
    grammar: &Grammar,
    nodes: &[&Node],
    filled: &Filled,
    p: f64,
    words: &[Word],
    out: &mut Vec<(Vec<Word>, f64)>,
) {
    let Some((first, rest)) = nodes.split_first() else {
        out.push((words.to_vec(), p));
        return;
    };
    let values = |slot: usize| -> Vec<(Filled, usize, f64)> {
        if let Some(value) = filled[slot] {
            return vec![(filled.clone(), value, p)];
        }
        let table = grammar.slots[slot].table;
        let taken: Vec<usize> = (0..filled.len())
            .filter(|s| grammar.slots[*s].table == table)
            .filter_map(|s| filled[s])
            .collect();
        let open: Vec<usize> =
            (0..grammar.slots[slot].values).filter(|v| !taken.contains(v)).collect();
        let with = |value: &usize| {
            let mut filled = filled.clone();
            filled[slot] = Some(*value);
            (filled, *value, p / open.len() as f64)
        };
        open.iter().map(with).collect()
    };
    match first {
        Node::Word(word) => list(grammar, rest, filled, p, &[words, &[*word]].concat(), out),
        Node::Sequence(nodes) => {
            let all: Vec<&Node> = nodes.iter().chain(rest.iter().copied()).collect();
            list(grammar, &all, filled, p, words, out);
        }
        Node::Choice(nodes) => {
            for node in nodes {
                let all: Vec<&Node> = std::iter::once(node).chain(rest.iter().copied()).collect();
                list(grammar, &all, filled, p / nodes.len() as f64, words, out);
            }
        }
        Node::Slot { slot, phrases } => {
            for (filled, value, p) in values(*slot) {
                list(grammar, rest, &filled, p, &[words, &phrases[value]].concat(), out);
            }
        }
        Node::Case(slot, nodes) => {
            for (filled, value, p) in values(*slot) {
                let all: Vec<&Node> =
                    std::iter::once(&nodes[value]).chain(rest.iter().copied()).collect();
                list(grammar, &all, &filled, p, words, out);
            }
        }
    }
}

/// The probability of every text.
fn all(grammar: &Grammar, node: &Node) -> BTreeMap<Vec<Word>, f64> {
    let mut ways = Vec::new();
    list(grammar, &[node], &vec![None; grammar.slots.len()], 1.0, &[], &mut ways);
    let mut texts = BTreeMap::new();
    for (text, p) in ways {
        *texts.entry(text).or_default() += p;
    }
    texts
}

fn known(words: &[Word]) -> Vec<Token> {
    words.iter().map(|word| Token::Word(*word)).collect()
}

#[test]
fn probabilities_sum_to_one_and_are_those_of_counting_even_when_a_text_has_two_ways() {
    // "Ann had a ball." can be written by either of two templates.
    let double: &[&[&str]] =
        &[&["{hero} had {toy.a}.", "[Ann|Bob] had {toy.a}."], &["{he} lost the {toy}."]];
    for steps in [CLEAR, double] {
        let (grammar, node) = small(steps);
        let texts = all(&grammar, &node);
        assert!((texts.values().sum::<f64>() - 1.0).abs() < 1e-12);
        for (text, p) in &texts {
            let found = total(&grammar, &node, &known(text)).unwrap();
            assert!((found - p).abs() < 1e-15, "{}: {found}, counted {p}", grammar.text(text));
        }
    }
}

#[test]
fn masked_words_have_the_probabilities_of_counting_every_substitute() {
    let (grammar, node) = small(CLEAR);
    let texts = all(&grammar, &node);
    for text in texts.keys() {
        for i in 0..text.len() {
            let mut counted = BTreeMap::new();
            for word in 0..grammar.words.len() as Word {
                let mut other = text.clone();
                other[i] = word;
                texts.get(&other).map(|p| counted.insert(word, *p));
            }
            let sum: f64 = counted.values().sum();
            let mut tokens = known(text);
            tokens[i] = Token::Masked;
            let found = candidates(&grammar, &node, &tokens);
            assert!(found.keys().eq(counted.keys()), "{} at {i}", grammar.text(text));
            for (word, p) in found {
                assert!((p - counted[&word] / sum).abs() < 1e-12, "{} at {i}", grammar.text(text));
            }
        }
    }
}

#[test]
fn entropy_and_length_are_those_of_counting() {
    let (grammar, node) = small(CLEAR);
    let texts = all(&grammar, &node);
    let counted: f64 = texts.values().map(|p| -p * p.ln()).sum();
    let length: f64 = texts.iter().map(|(text, p)| p * text.len() as f64).sum();
    let exact = entropy::entropy(&grammar, &node);
    assert!((exact.per_story - counted).abs() < 1e-12, "{exact:?}, counted {counted}");
    assert!((exact.words - length).abs() < 1e-12, "{exact:?}, counted {length}");
    assert!((exact.per_word() - counted / length).abs() < 1e-12);
}

#[test]
fn texts_are_drawn_as_often_as_they_are_likely() {
    let (grammar, node) = small(CLEAR);
    let texts = all(&grammar, &node);
    let mut counts: BTreeMap<Vec<Word>, f64> = BTreeMap::new();
    const DRAWS: u64 = 40_000;
    for n in 0..DRAWS {
        let mut filled = vec![None; grammar.slots.len()];
        let text = sample::sample(&grammar, &node, &mut filled, &mut Stream::new(1, n));
        *counts.entry(text).or_default() += 1.0;
    }
    assert!(counts.keys().all(|text| texts.contains_key(text)));
    // Pearson's statistic has mean k − 1 and variance 2(k − 1).
    let chi: f64 = texts
        .iter()
        .map(|(text, p)| {
            (counts.get(text).copied().unwrap_or(0.0) - p * DRAWS as f64).powi(2)
                / (p * DRAWS as f64)
        })
        .sum();
    let freedom = texts.len() as f64 - 1.0;
    assert!(
        (chi - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(),
        "{chi} with {freedom} degrees of freedom"
    );
}
