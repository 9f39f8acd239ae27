//! `limpid summarize` and `limpid eval --summaries`, from outside.

use super::*;
use serde_json::Value;

#[test]
fn summarize_is_translate_with_words_of_its_own() {
    let model = model().to_str().unwrap();
    let translated = stdout(&run(&["translate", model, "Je suis étudiant"]));
    assert_eq!(stdout(&run(&["summarize", model, "Je suis étudiant"])), translated);
    let value: Value =
        serde_json::from_str(&stdout(&run(&["summarize", model, "--json", "Merci"]))).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["finish_reason", "source", "summary", "tokens"]);
    // The model has learnt nothing yet: it may go on until it is cut off.
    assert!(["eos_token", "length"].contains(&value["finish_reason"].as_str().unwrap()), "{value}");
    refused(&run(&["summarize", model, " "]), "text to summarize is empty", "limpid summarize");
    refused(&run(&["summarize", model]), "no lines to summarize", "limpid summarize MODEL");
    let long = ["chat"; 300].join(" ");
    refused(&run(&["summarize", model, &long]), "301 tokens", "model.context_length");
    let gpt = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    refused(
        &run(&["summarize", gpt.to_str().unwrap(), "Merci"]),
        "cannot summarize",
        "stories-summary",
    );
}

#[test]
fn summaries_are_measured_beside_the_first_sentence() {
    let model = model().to_str().unwrap();
    let folder = scratch("summaries");
    let (source, target) = (folder.join("source"), folder.join("target"));
    std::fs::write(&source, "Je suis étudiant. Merci.\nMerci. Le chat dort.\n").unwrap();
    // Of the first sentences, one is the summary and the other shares nothing with it.
    std::fs::write(&target, "Je suis étudiant.\nLe chat dort.\n").unwrap();
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let args: Vec<&str> =
        ["eval", model, "--summaries", "--json"].iter().chain(&files).copied().collect();
    let value: Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    assert_eq!(value["lead"], serde_json::json!({"rouge_l": 0.5, "exact_match": 0.5}));
    assert!((0.0..=1.0).contains(&value["rouge_l"].as_f64().unwrap()), "{value}");
    let args: Vec<&str> = ["eval", model, "--summaries"].iter().chain(&files).copied().collect();
    let text = stdout(&run(&args));
    assert!(text.contains("ROUGE-L") && text.contains("first sentence 0.5000"), "{text}");
}
