//! `limpid demo`, from outside.

use super::*;

#[test]
fn the_demo_prints_scores_translations_a_picture_and_what_to_type_next() {
    let (folder, text) = short_demo("demo");
    for part in [
        "BLEU on 1000 test sentences (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp)",
        "the Transformer",
        "word for word",
        "nearest training sentence",
        "Ten of them:",
        "Je suis étudiant → ",
        "Where the decoder looked",
        "What to type next:",
        " translate ",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    for file in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "demo.json"]
    {
        assert!(folder.join(file).is_file(), "{file} is missing");
    }
    // Without a terminal there is no bar and no colour.
    assert!(!text.contains('\u{1b}'));
    // The baselines do not depend on the training; below 40, or the corpus would be too easy.
    for line in
        text.lines().filter(|line| line.contains("word for word") || line.contains("nearest training"))
    {
        let score: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        assert!(score > 5.0 && score < 40.0, "{line}");
    }
}

#[test]
fn a_demo_does_not_write_into_a_folder_that_holds_something_else() {
    let folder = scratch("mine");
    std::fs::write(folder.join("thesis.txt"), "do not lose this").unwrap();
    let output = run(&["demo", "--steps", "1", "--out", folder.to_str().unwrap()]);
    refused(&output, "holds something that no demo has made", "--out");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn heads_that_do_not_divide_the_width_are_refused_before_anything_is_done() {
    let folder = scratch("heads").join("model");
    refused(
        &run(&["demo", "--heads", "5", "--out", folder.to_str().unwrap()]),
        "width 128 cannot be divided into 5",
        "--heads 4",
    );
    assert!(!folder.exists());
    refused(
        &run(&["bench", "step", "gpt", "--heads", "5", "--width", "384"]),
        "384 cannot be divided into 5",
        "--heads 4",
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_before_training() {
    let file = scratch("not-a-folder").join("file");
    std::fs::write(&file, "").unwrap();
    let output = run(&["demo", "--out", file.join("model").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains("Training"), "{}", stderr(&output));
    refused(&run(&["demo", "--out", file.to_str().unwrap()]), "cannot look into", "--out");
    assert_eq!(run(&["demo", "--steps", "0"]).status.code(), Some(2));
}

#[test]
fn the_demo_of_all_puts_a_gpt_and_a_bert_between_a_baseline_and_the_best_possible() {
    let folder = scratch("demo-all");
    let output = run(&["demo", "--all", "--steps", "3", "--out", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in
        ["BLEU on 1000 test sentences", "Nats a word on 200 test stories", "A story it wrote", "[MASK]"]
    {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    // Bounds do not depend on the training; the first is that of the GPT, the second that of the BERT.
    let numbers = |name: &str| -> Vec<f64> {
        let lines = text.lines().filter(|line| line.trim_start().starts_with(name));
        lines.map(|line| line.split_whitespace().last().unwrap().parse().unwrap()).collect()
    };
    let best = numbers("the best possible (exact)");
    let (pairs, single, frequent) = (numbers("pairs of words"), numbers("words, counted"), numbers("always"));
    assert!(best[0] < pairs[0] && pairs[0] < single[0], "{text}");
    assert!(frequent[0] < best[1] && best[1] < 1.0, "{text}");

    let gpt = folder.join("story-gpt");
    let story = run(&["generate", gpt.to_str().unwrap(), "--prompt", "Once there was", "--tokens", "5"]);
    assert!(story.status.success(), "{}", stderr(&story));
    // The end token stands for an empty prompt, and ends a story.
    let nothing = run(&["generate", gpt.to_str().unwrap(), "--prompt", "", "--tokens", "5", "--json"]);
    assert!(nothing.status.success(), "{}", stderr(&nothing));
    let bert = folder.join("story-bert");
    let filled = run(&["fill-mask", bert.to_str().unwrap(), "One morning, she saw a [MASK] in the cave."]);
    assert!(filled.status.success(), "{}", stderr(&filled));
    assert!(folder.join("fr-en/config.json").is_file());
}
