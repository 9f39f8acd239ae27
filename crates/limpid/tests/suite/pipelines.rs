//! Labels, entities, answers and ranks equal to those of the pipelines of `transformers` and of
//! sentence-transformers' `CrossEncoder` (reference/make_pipelines.py).

use limpid::encode::{Aggregation, AnswerOptions, Impossible};
use limpid::error::Error;
use limpid::nn::Named;
use limpid::{Classifier, QuestionAnswerer, Reranker, TokenClassifier};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(name).join("expected.json")).unwrap()).unwrap()
}

fn texts(expected: &Value) -> Vec<String> {
    serde_json::from_value(expected["texts"].clone()).unwrap()
}

/// The score of an entry, near the expected one.
#[track_caller]
fn near(found: f32, entry: &Value, of: &str) {
    let want = entry["score"].as_f64().unwrap() as f32;
    assert!((found - want).abs() < 2e-5 * want.abs().max(1.0), "{of}: {found}, expected {want}");
}

#[test]
fn entities_words_and_offsets_are_those_of_the_pipeline_in_every_strategy() {
    for name in ["pipeline-tag-bert", "pipeline-tag-roberta"] {
        let (expected, tagger) = (expected(name), TokenClassifier::load(fixture(name)).unwrap());
        let texts = texts(&expected);
        let mut compared = 0;
        for (strategy, aggregation) in Aggregation::NAMES {
            let found = tagger.tag(&texts, *aggregation).unwrap();
            let want = expected["entities"][strategy].as_array().unwrap();
            for (found, want) in found.iter().zip(want) {
                let shown: Vec<Value> = (found.iter())
                    .map(|e| json!([e.label, e.word, e.start, e.end, e.index]))
                    .collect();
                let key = if *strategy == "none" { "entity" } else { "entity_group" };
                let entry =
                    |e: &Value| json!([e[key], e["word"], e["start"], e["end"], e["index"]]);
                let want = want.as_array().unwrap();
                let entries: Vec<Value> = want.iter().map(entry).collect();
                assert_eq!(shown, entries, "{name}, {strategy}");
                found.iter().zip(want).for_each(|(e, want)| near(e.score, want, strategy));
                compared += found.len();
            }
        }
        assert!(compared > 50, "only {compared} entities");
    }
}

#[test]
fn answers_and_their_offsets_are_those_of_the_pipeline_with_windows_and_without_an_answer() {
    for name in ["pipeline-answer-bert", "pipeline-answer-roberta"] {
        let (expected, model) = (expected(name), QuestionAnswerer::load(fixture(name)).unwrap());
        let context = expected["context"].as_str().unwrap();
        for case in expected["cases"].as_array().unwrap() {
            let size = |key: &str| case["options"][key].as_u64().map(|n| n as usize);
            let defaults = AnswerOptions::default();
            let options = AnswerOptions {
                max_seq_len: size("max_seq_len"),
                doc_stride: size("doc_stride"),
                max_answer_len: size("max_answer_len").unwrap_or(defaults.max_answer_len),
                top_k: size("top_k").unwrap_or(defaults.top_k),
                impossible: match case["options"]["impossible"].as_bool() {
                    Some(true) => Impossible::Allowed,
                    _ => Impossible::Never,
                },
            };
            let question = case["question"].as_str().unwrap();
            let found = model.answer(question, context, options).unwrap();
            let want = case["answers"].as_array().unwrap();
            let shown: Vec<Value> =
                found.iter().map(|a| json!([a.answer, a.start, a.end])).collect();
            let entry = |a: &Value| json!([a["answer"], a["start"], a["end"]]);
            assert_eq!(shown, want.iter().map(entry).collect::<Vec<_>>(), "{name}, {case}");
            found.iter().zip(want).for_each(|(a, want)| near(a.score, want, question));
        }
    }
}

#[test]
fn labels_of_every_problem_type_and_of_a_decoder_are_those_of_the_pipeline() {
    for name in ["bert-single", "bert-multi", "bert-values", "bert-one", "bert-regression", "gpt2"]
    {
        let name = format!("pipeline-classify-{name}");
        let (expected, classifier) = (expected(&name), Classifier::load(fixture(&name)).unwrap());
        let texts = texts(&expected);
        let found = classifier.classify(&texts).unwrap();
        for (found, want) in found.iter().zip(expected["labels"].as_array().unwrap()) {
            let want = want.as_array().unwrap();
            assert_eq!(found.len(), want.len(), "{name}");
            for (found, want) in found.iter().zip(want) {
                assert_eq!(found.label, want["label"].as_str().unwrap(), "{name}");
                near(found.score, want, &name);
            }
        }
    }
}

#[test]
fn ranks_and_scores_are_those_of_the_cross_encoder_and_its_function_is_honoured() {
    for name in ["pipeline-rerank-default", "pipeline-rerank-identity"] {
        let (expected, reranker) = (expected(name), Reranker::load(fixture(name)).unwrap());
        let texts = texts(&expected);
        for (query, want) in (expected["queries"].as_array().unwrap().iter())
            .zip(expected["ranked"].as_array().unwrap())
        {
            let found = reranker.rank(query.as_str().unwrap(), &texts).unwrap();
            let want = want.as_array().unwrap();
            let order: Vec<usize> = found.iter().map(|ranked| ranked.index).collect();
            let ids: Vec<usize> =
                want.iter().map(|r| r["corpus_id"].as_u64().unwrap() as usize).collect();
            assert_eq!(order, ids, "{name}");
            found.iter().zip(want).for_each(|(ranked, want)| near(ranked.score, want, name));
        }
    }
}

#[test]
fn a_function_of_scores_that_is_not_supported_is_refused_by_name() {
    let folder = std::env::temp_dir().join(format!("limpid-rerank-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(fixture("pipeline-rerank-default")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let own = folder.join("config_sentence_transformers.json");
    let name = "torch.nn.modules.activation.Tanh";
    fs::write(&own, json!({ "activation_fn": name }).to_string()).unwrap();
    let error = Reranker::load(&folder).err().unwrap();
    assert!(error.to_string().contains(name), "{error}");
    fs::write(&own, json!({ "prompts": { "q": "q: " }, "default_prompt_name": "q" }).to_string())
        .unwrap();
    let error = Reranker::load(&folder).err().unwrap();
    assert!(matches!(error, Error::Encode(_)) && error.to_string().contains("'q'"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}
