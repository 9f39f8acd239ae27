//! BLEU against sacreBLEU itself; `reference/make_bleu_cases.py` wrote down what it answered.

use limpid::eval::{Bleu, BleuTokenizer, Case, EvalError, words};
use serde_json::Value;

const CASES: &str = include_str!("../../../../reference/fixtures/bleu/cases.json");

fn cases(table: &str) -> Vec<Value> {
    let cases: Value = serde_json::from_str(CASES).expect("cases.json is JSON");
    cases[table].as_array().expect("a table").clone()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("a string")).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

fn metric(case: &Value) -> Bleu {
    Bleu {
        case: match case["case"].as_str() {
            Some("mixed") => Case::Mixed,
            Some("lower") => Case::Lower,
            other => panic!("unknown case {other:?}"),
        },
        tokenizer: match case["tokenizer"].as_str() {
            Some("13a") => BleuTokenizer::V13a,
            Some("none") => BleuTokenizer::None,
            other => panic!("unknown tokenizer {other:?}"),
        },
        ..Bleu::default()
    }
}

#[test]
fn lines_are_cut_into_the_tokens_of_mteval_13a() {
    for case in cases("tokens") {
        let line = case["line"].as_str().expect("a line");
        let text = BleuTokenizer::V13a.tokenize(line.trim_end());
        assert_eq!(words(&text).collect::<Vec<_>>(), strings(&case["tokens"]), "{line:?}");
    }
}

#[test]
fn corpora_score_as_sacrebleu_scores_them() {
    for case in cases("scores") {
        let references: Vec<Vec<&str>> =
            case["references"].as_array().expect("a list").iter().map(strings).collect();
        let found =
            metric(&case).corpus(&strings(&case["hypotheses"]), &references).expect("a score");

        let name = format!("{} {}", case["name"], case["signature"]);
        assert_eq!(found.signature, case["signature"], "{name}");
        assert_eq!(found.to_string(), case["formatted"], "{name}");
        assert_eq!(found.counts.hypothesis_len, case["hypothesis_len"], "{name}");
        assert_eq!(found.counts.reference_len, case["reference_len"], "{name}");
        assert_eq!(
            found.counts.correct[..],
            case["correct"].as_array().expect("a list")[..],
            "{name}"
        );
        assert_eq!(found.counts.total[..], case["total"].as_array().expect("a list")[..], "{name}");
        let close = |found: f64, want: f64| (found - want).abs() <= 1e-9;
        assert!(
            close(found.score, case["score"].as_f64().expect("a score")),
            "{name}: {}",
            found.score
        );
        assert!(
            close(found.brevity_penalty, case["brevity_penalty"].as_f64().expect("a penalty")),
            "{name}"
        );
        for (found, want) in found.precisions.iter().zip(numbers(&case["precisions"])) {
            assert!(close(*found, want), "{name}: {found} is not {want}");
        }
    }
}

#[test]
fn a_corpus_that_cannot_be_scored_is_refused_with_the_reason() {
    let bleu = Bleu::default();
    assert_eq!(bleu.corpus(&[], &[]), Err(EvalError::NoHypotheses));
    let mismatch = EvalError::CountMismatch { hypotheses: 2, references: 1 };
    assert_eq!(bleu.corpus(&["a", "b"], &[vec!["a"]]), Err(mismatch));
    let missing = bleu.corpus(&["a", "b"], &[vec!["a"], vec![]]).expect_err("no reference");
    assert_eq!(missing, EvalError::NoReference { segment: 1 });
    assert_eq!(missing.to_string(), "line 2 has no reference; expected at least one");
}
