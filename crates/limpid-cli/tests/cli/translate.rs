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
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), "Je suis étudiant\n\nMerci".as_bytes())
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
        "301 tokens, the model has positions for 256",
        "sentence by sentence",
    );

    let mut child =
        limpid(&["translate", model]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Merci\nJe \xff suis\n").unwrap();
    let output = child.wait_with_output().unwrap();
    refused(&output, "line 2 of standard input is not UTF-8 (byte 4)", "iconv");

    // The good lines before a bad one are translated.
    let mut child = limpid(&["translate", model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("Merci\n{long}\nMerci\n").as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    refused(&output, "line 2 of standard input has 301 tokens", "sentence by sentence");
    assert_eq!(stdout(&output).lines().count(), 1);
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
    assert!(output.status.success() && !stderr(&output).contains("vocabulary"), "{}", stderr(&output));
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    if Path::new("/dev/full").exists() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
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
    refused(&run(&["translate", copy.to_str().unwrap(), "Merci"]), "a language model (GPT)", "limpid demo");
}
