//! `limpid demo`, from outside.

use super::*;

#[test]
fn the_demo_prints_scores_translations_attention_and_next_commands() {
    let (folder, text) = short_demo("demo");
    for part in [
        "BLEU on 1000 test sentences (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp)",
        "the Transformer",
        "word for word",
        "nearest training sentence",
        "Ten translations:",
        "Je suis étudiant → ",
        "Cross-attention",
        "What to type next:",
        " translate ",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    for file in [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "demo.json",
        "metrics.jsonl",
        "summary.json",
    ] {
        assert!(folder.join(file).is_file(), "{file} is missing");
    }
    let report = run(&["report", folder.to_str().unwrap()]);
    assert!(report.status.success(), "{}", stderr(&report));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for part in ["<title>Loss</title>", "<title>BLEU by source length</title>", "on test."] {
        assert!(page.contains(part), "'{part}' is not in the report");
    }
    // Without a terminal there is no bar and no colour.
    assert!(!text.contains('\u{1b}'));
    // The baselines do not depend on the training; below 40, or the corpus would be too easy.
    for line in text
        .lines()
        .filter(|line| line.contains("word for word") || line.contains("nearest training"))
    {
        let score: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        assert!(score > 5.0 && score < 40.0, "{line}");
    }
}

#[test]
fn a_demo_refuses_a_folder_with_other_content() {
    let folder = scratch("mine");
    std::fs::write(folder.join("thesis.txt"), "do not lose this").unwrap();
    let output = run(&["demo", "--steps", "1", "--out", folder.to_str().unwrap()]);
    refused(&output, "is not empty, and no demo has written it", "--out");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn heads_that_do_not_divide_the_width_are_refused_before_training() {
    let folder = scratch("heads").join("model");
    refused(
        &run(&["demo", "--heads", "5", "--out", folder.to_str().unwrap()]),
        "width 128 is not divisible by 5",
        "--heads 4",
    );
    assert!(!folder.exists());
    refused(
        &run(&["bench", "step", "gpt", "--heads", "5", "--width", "384"]),
        "384 is not divisible by 5",
        "--heads 4",
    );
}

#[test]
fn a_folder_that_cannot_be_created_is_refused_before_training() {
    let file = scratch("not-a-folder").join("file");
    std::fs::write(&file, "").unwrap();
    let output = run(&["demo", "--out", file.join("model").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains("Training"), "{}", stderr(&output));
    refused(&run(&["demo", "--out", file.to_str().unwrap()]), "cannot look into", "--out");
    assert_eq!(run(&["demo", "--steps", "0"]).status.code(), Some(2));
}

#[test]
fn the_demo_of_all_puts_a_gpt_and_a_bert_between_a_baseline_and_a_bound() {
    let folder = scratch("demo-all");
    let output = run(&["demo", "--all", "--steps", "3", "--out", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "BLEU on 1000 test sentences",
        "nats per word on 200 test stories",
        "A generated story",
        "[MASK]",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    // Bounds do not depend on the training.
    let numbers = |name: &str| -> Vec<f64> {
        let lines = text.lines().filter(|line| line.trim_start().starts_with(name));
        lines.map(|line| line.split_whitespace().last().unwrap().parse().unwrap()).collect()
    };
    let (entropy, ceiling) = (numbers("entropy bound")[0], numbers("ceiling")[0]);
    let (bigram, unigram) = (numbers("bigram model")[0], numbers("unigram model")[0]);
    assert!(entropy < bigram && bigram < unigram, "{text}");
    assert!(numbers("most frequent word")[0] < ceiling && ceiling < 1.0, "{text}");

    let gpt = folder.join("story-gpt");
    let story = run(&[
        "generate",
        gpt.to_str().unwrap(),
        "--prompt",
        "Once there was",
        "--max-new-tokens",
        "5",
    ]);
    assert!(story.status.success(), "{}", stderr(&story));
    // An empty prompt is the end token, which also ends a story.
    let nothing = run(&[
        "generate",
        gpt.to_str().unwrap(),
        "--prompt",
        "",
        "--max-new-tokens",
        "5",
        "--json",
    ]);
    assert!(nothing.status.success(), "{}", stderr(&nothing));
    let bert = folder.join("story-bert");
    let filled =
        run(&["fill-mask", bert.to_str().unwrap(), "One morning, she saw a [MASK] in the cave."]);
    assert!(filled.status.success(), "{}", stderr(&filled));
    assert!(folder.join("fr-en/config.json").is_file());
}
