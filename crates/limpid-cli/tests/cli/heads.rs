//! `tag`, `answer`, `rerank` and `classify` on the heads of fixtures, from outside.

use super::*;
use serde_json::Value;
use std::io::Write;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name);
    folder.to_str().unwrap().to_string()
}

fn expected(name: &str) -> Value {
    let path = Path::new(&fixture(name)).join("expected.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn with_input(args: &[&str], input: &str) -> Output {
    let mut child = limpid(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn tag_prints_the_entities_of_the_pipeline_as_json_and_as_text() {
    let (model, expected) = (fixture("pipeline-tag-bert"), expected("pipeline-tag-bert"));
    let text = expected["texts"][0].as_str().unwrap();
    for (strategy, key) in [("none", "entity"), ("simple", "entity_group"), ("max", "entity_group")]
    {
        let args = ["tag", &model, text, "--json", "--aggregation", strategy];
        let found = &lines(&run(&args))[0]["entities"];
        let want = &expected["entities"][strategy][0];
        let shown = |all: &Value| {
            let all = all.as_array().unwrap().iter();
            all.map(|e| (e[key].clone(), e["start"].clone(), e["end"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(shown(found), shown(want), "{strategy}");
    }
    let output = run(&["tag", &model, text]);
    assert!(stdout(&output).starts_with(text), "{}", stderr(&output));
}

#[test]
fn tag_reports_a_text_that_is_too_long_and_labels_the_others() {
    let (model, long) = (fixture("pipeline-tag-bert"), "Ann ".repeat(80));
    let output = with_input(&["tag", &model, "--json"], &format!("Ann\n{long}\nAnn\n"));
    assert_eq!(output.status.code(), Some(2));
    for part in ["line 2 of standard input: ", "error: 1 of 3 texts are too long"] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }
    let found: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found[1]["error"], "too_long");
    assert_eq!((&found[0], found.len()), (&found[2], 3));
    assert_eq!(found[0], lines(&run(&["tag", &model, "Ann", "--json"]))[0]);
}

#[test]
fn answer_takes_the_context_from_a_flag_a_file_standard_input_or_json_lines() {
    let (model, expected) = (fixture("pipeline-answer-bert"), expected("pipeline-answer-bert"));
    let (context, case) = (expected["context"].as_str().unwrap(), &expected["cases"][0]);
    let question = case["question"].as_str().unwrap();
    let want = &case["answers"][0]["answer"];
    let file = scratch("answer").join("context.txt");
    std::fs::write(&file, context).unwrap();
    let base = ["answer", &model, "--json"];
    let asked = |more: &[&str], input: &str| {
        let output = with_input(&[&base[..], more].concat(), input);
        lines(&output)[0]["answers"][0]["answer"].clone()
    };
    assert_eq!(asked(&["--question", question, "--context", context], ""), *want);
    let path = file.to_str().unwrap();
    assert_eq!(asked(&["--question", question, "--context-file", path], ""), *want);
    assert_eq!(asked(&["--question", question], context), *want);
    let line = serde_json::json!({ "question": question, "context": context });
    assert_eq!(asked(&[], &format!("{line}\n")), *want);
    refused(&with_input(&base, "no JSON\n"), "not a question with a context", "--question");
    // The answers before a bad line are printed, and once.
    let output = with_input(&base, &format!("{line}\nno JSON\n"));
    assert_eq!(stdout(&output).lines().count(), 1);
    refused(&output, "line 2 of standard input", "--question");
    for (question, context) in [("", "b"), ("a", " ")] {
        let output = run(&["answer", &model, "--question", question, "--context", context]);
        refused(&output, "has no text", "give both");
    }
    let long = "who ".repeat(80);
    let output = run(&["answer", &model, "--question", &long, "--context", context]);
    refused(&output, "leave no place", "shorten the question");
}

#[test]
fn rerank_orders_arguments_and_lines_alike() {
    let (model, expected) =
        (fixture("pipeline-rerank-default"), expected("pipeline-rerank-default"));
    let query = expected["queries"][0].as_str().unwrap();
    let texts: Vec<&str> =
        expected["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    let base = ["rerank", &model, "--query", query, "--json"];
    let order = |output: Output| {
        lines(&output).iter().map(|line| line["corpus_id"].clone()).collect::<Vec<_>>()
    };
    let want: Vec<Value> = (expected["ranked"][0].as_array().unwrap().iter())
        .map(|ranked| ranked["corpus_id"].clone())
        .collect();
    assert_eq!(order(run(&[&base[..], &texts].concat())), want);
    assert_eq!(order(with_input(&base, &(texts.join("\n") + "\n"))), want);
    let top = run(&[&base[..], &["--top", "2"], &texts].concat());
    assert_eq!(order(top), want[..2]);
}

#[test]
fn a_model_with_another_head_is_refused_with_the_command_that_uses_it() {
    let (tagger, answerer) = (fixture("pipeline-tag-bert"), fixture("pipeline-answer-bert"));
    let classifier = fixture("pipeline-classify-bert-single");
    let decoder = fixture("pipeline-classify-gpt2");
    refused(&run(&["tag", &answerer, "a"]), "question-answering head", "limpid answer");
    refused(&run(&["classify", &tagger, "a"]), "token-classification head", "limpid tag");
    let output = run(&["rerank", &classifier, "--query", "a", "b"]);
    refused(&output, "cannot rank texts", "one label");
    let output = run(&["answer", &classifier, "--question", "a", "--context", "b"]);
    refused(&output, "cannot answer questions", "limpid classify");
    let output = run(&["generate", &decoder, "--prompt", "a"]);
    refused(&output, "classification head", "limpid classify");
    assert!(run(&["classify", &decoder, "Ann lives in Paris."]).status.success());
}

#[test]
fn info_shows_the_labels_of_every_head_and_offers_eval_only_where_it_works() {
    let info = |name: &str| stdout(&run(&["info", &fixture(name)]));
    let offers_eval = |text: &str| {
        let works = text.lines().find(|line| line.starts_with("works with")).unwrap();
        works.contains("eval")
    };
    for name in ["bert-single", "bert-multi", "gpt2"] {
        let name = format!("pipeline-classify-{name}");
        let text = info(&name);
        assert!(text.contains("labels bad, fair, good\n"), "{text}");
        let table = scratch("heads-eval").join("labelled.tsv");
        std::fs::write(&table, "text\tlabel\nAnn\tbad\nParis\tgood\n").unwrap();
        let output = run(&["eval", &fixture(&name), "--data", table.to_str().unwrap()]);
        assert_eq!(output.status.success(), offers_eval(&text), "{name}: {}", stderr(&output));
    }
}

#[test]
fn values_of_a_regression_are_not_called_probabilities() {
    let output = run(&["classify", &fixture("pipeline-classify-bert-regression"), "a", "--json"]);
    let line = &lines(&output)[0];
    assert!(line["values"]["stars"].is_f64() && line.get("probabilities").is_none(), "{line}");
}
