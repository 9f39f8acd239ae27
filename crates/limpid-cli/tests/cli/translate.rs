//! `limpid translate`, from outside.

use super::*;

#[test]
fn translate_takes_arguments_and_standard_input_and_keeps_the_order() {
    let model = model().to_str().unwrap();
    let output = run(&["translate", model, "Je suis étudiant", "Merci"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let from_arguments = stdout(&output);
    assert_eq!(from_arguments.lines().count(), 2);

    let mut child = limpid(&["translate", model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        "Je suis étudiant\n\nMerci".as_bytes(),
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    let lines: Vec<String> = stdout(&output).lines().map(String::from).collect();
    let expected: Vec<&str> = from_arguments.lines().collect();
    // An empty line stays an empty line.
    assert_eq!(lines, [expected[0], "", expected[1]]);

    let output = run(&["translate", model, "--json", "Merci"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["source"], "Merci");
    assert_eq!(value["translation"], expected[1]);
}

#[test]
fn what_cannot_be_translated_is_refused_with_a_hint() {
    let model = model().to_str().unwrap();
    refused(&run(&["translate", model, ""]), "text to translate is empty", "limpid translate");
    refused(&run(&["translate", model]), "standard input has no lines", "pipe");
    refused(
        &run(&["translate", "no/such/folder", "Merci"]),
        "no/such/folder is not a model folder",
        "limpid demo",
    );
    let long = ["chat"; 300].join(" ");
    refused(
        &run(&["translate", model, &long]),
        "301 tokens exceed the model's maximum of 256 by 45",
        "sentence by sentence",
    );

    let mut child =
        limpid(&["translate", model]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Merci\nJe \xff suis\n").unwrap();
    let output = child.wait_with_output().unwrap();
    refused(&output, "line 2 of standard input is not UTF-8 (byte 4)", "iconv");

    // A line that is too long loses no other.
    let mut child = limpid(&["translate", model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        format!("Merci\n{long}\nMerci\n").as_bytes(),
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    for part in [
        "line 2 of standard input: 301 tokens exceed the model's maximum",
        "error: 1 of 3 texts are too long",
        "sentence by sentence",
    ] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }
    let (said, merci) = (stdout(&output), stdout(&run(&["translate", model, "Merci"])));
    assert_eq!(said, format!("{merci}\n{merci}"));

    let output =
        super::encoder::piped(&["translate", model, "--json"], &format!("{long}\nMerci\n"));
    let lines: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["finish_reason"], &lines[0]["translation"]),
        (&"too_long".into(), &"".into())
    );
    assert!(
        lines[0]["excess_tokens"].as_u64().unwrap() > 0 && lines[1].get("excess_tokens").is_none()
    );

    let output =
        super::encoder::piped(&["translate", model, "--align"], &format!("{long}\n  \nMerci\n"));
    assert_eq!(
        (output.status.code(), stdout(&output).lines().count()),
        (Some(2), 3),
        "{}",
        stderr(&output)
    );

    let wrong =
        run(&["translate", model, "Merci", "--min-new-tokens", "9", "--max-new-tokens", "4"]);
    refused(&wrong, "min_new_tokens 9 exceeds max_new_tokens 4", "--min-new-tokens 4");
    refused(
        &run(&["translate", model, "Merci", "--min-new-tokens", "900"]),
        "exceed the model's maximum",
        "--min-new-tokens",
    );
    let longer = stdout(&run(&[
        "translate",
        model,
        "Merci",
        "--min-new-tokens",
        "60",
        "--json",
        "--trace",
        "-",
    ]));
    assert!(longer.lines().filter(|line| line.contains("\"step\"")).count() >= 60, "{longer}");
}

#[test]
fn white_space_is_an_empty_line_and_a_byte_order_mark_is_passed_over() {
    let model = model().to_str().unwrap();
    let output = super::encoder::piped(&["translate", model], "\u{feff}Merci\n   \nMerci\n");
    let lines: Vec<String> = stdout(&output).lines().map(String::from).collect();
    assert_eq!(lines[1], "");
    assert_eq!(lines[0], lines[2]);
}

#[test]
fn a_translation_that_was_cut_off_says_so() {
    let args = [
        "translate",
        model().to_str().unwrap(),
        "Je suis étudiant",
        "--max-new-tokens",
        "2",
        "--min-new-tokens",
        "2",
        "--json",
    ];
    let found: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    assert_eq!(
        (&found["finish_reason"], found["tokens"].as_array().unwrap().len()),
        (&"length".into(), 2)
    );
}

#[test]
fn words_that_the_model_does_not_know_are_named_and_other_ways_of_typing_are_not() {
    let model = model().to_str().unwrap();
    let output = run(&["translate", model, "Le zyxwv dort."]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("text 1: 1 not in the model's vocabulary: zyxwv"),
        "{}",
        stderr(&output)
    );
    let output = run(&["translate", model, "L\u{2019}homme est grand."]);
    assert!(
        output.status.success() && !stderr(&output).contains("vocabulary"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    if Path::new("/dev/full").exists() {
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let help = limpid(&["--help"]).stdout(full()).output().unwrap();
        assert_eq!(help.status.code(), Some(2));
        assert!(stderr(&help).contains("cannot write to standard output"), "{}", stderr(&help));
        let full = full();
        let output = limpid(&["explain"])
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        refused(&output, "cannot write to standard output", "disk");
    }
}

#[test]
fn a_language_model_asked_to_translate_says_what_it_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    let copy = scratch("gpt");
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(folder.join(file), copy.join(file)).unwrap();
    }
    std::fs::copy(model().join("tokenizer.json"), copy.join("tokenizer.json")).unwrap();
    refused(
        &run(&["translate", copy.to_str().unwrap(), "Merci"]),
        "a decoder (language model)",
        "limpid demo",
    );
}

#[test]
fn translations_can_be_searched_for_with_beams_and_drawn() {
    let model = model().to_str().unwrap();
    let lines = |args: &[&str]| {
        let output = run(&[&["translate", model, "Je suis étudiant", "Merci"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).lines().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--num-beams", "3"]).len(), 2);
    assert_eq!(lines(&["--num-beams", "1"]), lines(&[]), "one beam is greedy search");
    let nbest =
        lines(&["--num-beams", "3", "--num-return-sequences", "2", "--max-new-tokens", "5"]);
    assert_eq!(nbest.len(), 4);
    for (i, line) in nbest.iter().enumerate() {
        let parts: Vec<&str> = line.split(" ||| ").collect();
        assert_eq!((parts.len(), parts[0]), (3, if i < 2 { "0" } else { "1" }), "{line}");
        assert!(parts[2].parse::<f64>().unwrap() < 0.0);
    }
    let json = lines(&["--num-beams", "3", "--num-return-sequences", "2", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json[0]).unwrap();
    assert_eq!(value["all"].as_array().unwrap().len(), 2);
    assert_eq!(value["all"][0]["translation"], value["translation"]);
    let drawn = lines(&["--temperature", "2", "--seed", "3"]);
    assert_eq!(drawn, lines(&["--temperature", "2", "--seed", "3"]));
    assert_ne!(drawn, lines(&["--temperature", "2", "--seed", "4"]));
}

#[test]
fn a_prefix_begins_every_translation_and_lengths_are_kept() {
    let model = model().to_str().unwrap();
    let translate = |args: &[&str]| {
        let output = run(&[&["translate", model, "Je suis étudiant", "--json"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        value["translation"].as_str().unwrap().to_string()
    };
    for how in [&[][..], &["--num-beams", "2"]] {
        let text = translate(
            &[&["--prefix", "You are", "--min-new-tokens", "3", "--max-new-tokens", "3"], how]
                .concat(),
        );
        assert!(text.starts_with("You are "), "{text}");
        // What nobody has written stops nothing.
        let stops = ["--prefix", "You are", "--stop-strings", "are", "--stop-strings", "You"];
        let text = translate(&[&stops, how].concat());
        assert!(text.starts_with("You are"), "{text}");
    }
    refused(
        &run(&["translate", model, "Merci", "--max-new-tokens", "300"]),
        "prefix: 0 tokens and 300 new ones exceed the model's maximum of 256 by 44",
        "smaller or shorter --max-new-tokens",
    );
    refused(&run(&["translate", model, "Merci", "--top-p", "1.5"]), "top_p 1.5", "0.9");
    let huge = ["--prefix", "You", "--max-new-tokens", "18446744073709551615"];
    refused(
        &run(&[&["translate", model, "Merci"], &huge[..]].concat()),
        "is not at most",
        "a digit too many",
    );
    let with = |prefix: &str| run(&["translate", model, "Merci", "--prefix", prefix]);
    refused(
        &with("You zyxwv"),
        "prefix: out of vocabulary: zyxwv",
        "words of the model's vocabulary",
    );
    refused(&with("You are </s>"), "prefix: </s> ends or pads a text", "leave it out");
}

#[test]
fn alignments_name_a_source_word_for_every_word_of_the_translation() {
    let model = model().to_str().unwrap();
    let source = "Je suis étudiant et je dors.";
    let output = run(&["translate", model, source, "", "--align", "--min-new-tokens", "4"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "\t", "an empty text has nothing to align");
    let (translation, pairs) = lines[0].split_once('\t').unwrap();
    let pairs: Vec<(usize, usize)> = pairs
        .split(' ')
        .map(|pair| {
            pair.split_once('-').map(|(i, j)| (i.parse().unwrap(), j.parse().unwrap())).unwrap()
        })
        .collect();
    let words = translation.split_whitespace().count();
    assert_eq!(pairs.iter().map(|(_, j)| *j).collect::<Vec<_>>(), (0..words).collect::<Vec<_>>());
    assert!(pairs.iter().all(|(i, _)| *i < source.split_whitespace().count()), "{pairs:?}");
    let output = run(&["translate", model, source, "--align", "--min-new-tokens", "4", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["alignment"].as_array().unwrap().len(), words);
}

#[test]
fn a_trace_of_translations_counts_the_lines() {
    let model = model().to_str().unwrap();
    let output = run(&[
        "translate",
        model,
        "Merci",
        "Je suis étudiant",
        "--trace",
        "-",
        "--max-new-tokens",
        "3",
        "--min-new-tokens",
        "3",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let lines: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps = |prompt: u64| {
        lines.iter().filter(|line| line["prompt"] == prompt && line["step"].is_u64()).count()
    };
    assert_eq!((steps(0), steps(1), lines.len()), (3, 3, 8));
}

/// A multilingual translator with random weights and the tokenizer of an mBART.
fn multilingual() -> PathBuf {
    use limpid::model::Model;
    use limpid::model::config::EncoderDecoderConfig;
    let folder = scratch("multilingual");
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/tokenizers/mbart");
    let tokenizer = limpid::hub::load_tokenizer(&from).unwrap();
    let id = |token| tokenizer.id(token).unwrap();
    let config = EncoderDecoderConfig {
        eos_token_id: id("</s>"),
        pad_token_id: id("<pad>"),
        decoder_start_token_id: id("</s>"),
        ..EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 8, 8)
    };
    limpid::hub::save(&Model::new(config, 1).unwrap(), &folder).unwrap();
    for name in ["sentencepiece.bpe.model", "tokenizer_config.json"] {
        std::fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    folder
}

#[test]
fn a_multilingual_model_translates_into_the_language_that_is_asked_for() {
    let folder = multilingual();
    let model = folder.to_str().unwrap();
    let tokenizer = limpid::hub::load_tokenizer(&folder).unwrap();
    let text = "eine Katze";
    let args = ["translate", model, text, "--json", "--max-new-tokens", "3"];
    for code in ["fr_XX", "ro_RO"] {
        let output = run(&[&args[..], &["--target-lang", code]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let id = tokenizer.id(code).unwrap();
        assert_eq!(found["tokens"][0], id, "{found}");
    }
    let output = run(&[&args[..], &["--source-lang", "fr"]].concat());
    refused(&output, "does not have the language 'fr'", "did you mean fr_XX?");
    let output = run(&[&args[..], &["--target-lang", "tlh_QO"]].concat());
    refused(&output, "does not have the language 'tlh_QO'", "ro_RO");
    let of_two = super::model().to_str().unwrap();
    let output = run(&["translate", of_two, "Je", "--target-lang", "en_XX"]);
    refused(&output, "between two languages only", "leave --source-lang");
    // The loss is that of references in their language.
    let [source, target] = ["source.txt", "target.txt"].map(|name| folder.join(name));
    std::fs::write(&source, format!("{text}\n")).unwrap();
    std::fs::write(&target, "ein Hund\n").unwrap();
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let eval = [&["eval", model, "--json"][..], &files].concat();
    let tokens = |more: &[&str]| {
        let output = run(&[&eval[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        found["tokens"].as_u64().unwrap()
    };
    assert_eq!(tokens(&["--target-lang", "fr_XX"]), tokens(&[]) + 1);
    let gpt = run(&[&eval[..], &["--source-lang", "xx_XX"]].concat());
    refused(&gpt, "does not have the language 'xx_XX'", "de_DE");
}
