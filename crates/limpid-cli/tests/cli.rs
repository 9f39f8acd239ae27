//! The program from outside: what is typed, what is printed, and with which exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

fn limpid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_limpid"));
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    limpid(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder of this test run, empty at its start.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A model from a demo that was cut short: what it says is wrong, but all of it is there.
fn model() -> &'static Path {
    static MODEL: OnceLock<(PathBuf, String)> = OnceLock::new();
    &MODEL.get_or_init(|| short_demo("model")).0
}

fn short_demo(name: &str) -> (PathBuf, String) {
    let folder = scratch(name).join("fr-en");
    let output = run(&["demo", "--steps", "12", "--out", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    (folder, stdout(&output))
}

/// Exit code 2, `error:` with these words, and a hint with these.
#[track_caller]
fn refused(output: &Output, error: &str, hint: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: ") && text.contains(error), "'{error}' is not in:\n{text}");
    assert!(text.contains("hint: ") && text.contains(hint), "the hint '{hint}' is not in:\n{text}");
    assert!(!text.contains("panicked"), "{text}");
}

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
fn sizes_that_no_machine_holds_are_refused_before_memory_is_taken() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    for (key, value) in [
        ("encoder_layers", 2_000_000_000_u64),
        ("max_position_embeddings", 2_000_000_000),
        ("d_model", 1 << 30),
    ] {
        let folder = edited_config(&format!("huge-{key}"), |config| config[key] = value.into());
        let output = translate(&folder);
        assert_eq!(output.status.code(), Some(2), "{key}: {}", stderr(&output));
        assert!(stderr(&output).contains("hint: "), "{key}: {}", stderr(&output));
    }
    // Possible, but not what the file holds.
    let other = edited_config("large-vocabulary", |config| {
        config["vocab_size"] = 5_000_000.into();
        config["decoder_vocab_size"] = 5_000_000.into();
    });
    refused(&translate(&other), "has shape", "does config.json belong to these weights?");
    refused(&run(&["bench", "step", "gpt", "--width", "1000000002"]), "parameters", "smaller");
    refused(&run(&["bench", "step", "gpt", "--batch", "1000000000"]), "tokens", "--batch");
    refused(&run(&["bench", "step", "gpt", "--seconds", "inf"]), "not a time to measure", "3600");
    refused(&run(&["bench", "step", "seq2seq", "--label-smoothing", "2"]), "not in [0, 1)", "0.1");
}

#[test]
fn tensors_that_no_part_of_the_model_uses_are_named() {
    let folder = edited_config("one-layer", |config| config["encoder_layers"] = 1.into());
    let output = run(&["translate", folder.to_str().unwrap(), "Merci"]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("no part of this model uses: model.encoder.layers.1."),
        "{}",
        stderr(&output)
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

/// A copy of the model with one file changed.
fn damaged(name: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) -> PathBuf {
    let folder = scratch(name);
    for entry in std::fs::read_dir(model()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let bytes = std::fs::read(folder.join(file)).unwrap();
    match change(bytes) {
        Some(bytes) => std::fs::write(folder.join(file), bytes).unwrap(),
        None => std::fs::remove_file(folder.join(file)).unwrap(),
    }
    folder
}

fn edited_config(name: &str, edit: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    damaged(name, "config.json", |bytes| {
        let mut config = serde_json::from_slice(&bytes).unwrap();
        edit(&mut config);
        Some(config.to_string().into_bytes())
    })
}

#[test]
fn damaged_model_folders_are_refused_with_the_file_and_what_to_do() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    let half = |bytes: Vec<u8>| Some(bytes[..bytes.len() / 2].to_vec());
    for (kept, name) in [(0, "nothing"), (7, "seven"), (100, "hundred")] {
        let folder = damaged(name, "model.safetensors", |bytes| Some(bytes[..kept].to_vec()));
        refused(&translate(&folder), "not a complete safetensors file", "copy it again");
    }
    refused(
        &translate(&damaged("half", "model.safetensors", half)),
        "not a complete safetensors file",
        "truncated",
    );
    let no_weights = damaged("no-weights", "model.safetensors", |_| None);
    refused(&translate(&no_weights), "cannot read", "needs config.json and model.safetensors");
    let no_config = damaged("no-config", "config.json", |_| None);
    refused(&translate(&no_config), "config.json", "check the path");
    let no_tokenizer = damaged("no-tokenizer", "tokenizer.json", |_| None);
    refused(&translate(&no_tokenizer), "tokenizer.json", "needs a tokenizer");
    let other = edited_config("other-width", |config| config["d_model"] = 64.into());
    refused(&translate(&other), "has shape", "does config.json belong to these weights?");
    let family = edited_config("family", |config| config["model_type"] = "llama".into());
    refused(&translate(&family), "model_type 'llama' is not supported", "marian");

    let not_a_number = damaged("nan", "model.safetensors", |mut bytes| {
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        Some(bytes)
    });
    refused(&translate(&not_a_number), "has NaN at element", "earlier checkpoint");
}

#[test]
fn broken_json_and_settings_that_would_change_the_result_are_refused_and_unknown_ones_named() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    let broken = damaged("broken-json", "config.json", |bytes| Some(bytes[..bytes.len() / 2].to_vec()));
    let output = translate(&broken);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not JSON"), "{}", stderr(&output));
    let refused_key = edited_config("refused", |config| config["normalize_before"] = true.into());
    assert_eq!(translate(&refused_key).status.code(), Some(2));
    assert!(stderr(&translate(&refused_key)).contains("normalize_before = true is not supported"));
    let unknown = edited_config("unknown", |config| config["flux_capacitor"] = 1.into());
    let output = translate(&unknown);
    assert!(output.status.success());
    assert!(stderr(&output).contains("flux_capacitor"), "{}", stderr(&output));
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

#[test]
fn logits_are_those_of_the_fixture_and_ids_that_do_not_fit_are_refused() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    let gpt = fixture.to_str().unwrap();
    let output = run(&["logits", gpt, "--ids", "5,3,9", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = value["logits"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0].as_array().unwrap().len()), (3, 37));
    assert_eq!(stdout(&run(&["logits", gpt, "--ids", "5,3,9"])).lines().count(), 3);
    refused(&run(&["logits", gpt, "--ids", "5,37"]), "37 is beyond the vocabulary of 37", "0 to 36");
    let long = vec!["1"; 17].join(",");
    refused(&run(&["logits", gpt, "--ids", &long]), "17 ids, the model has positions for 16", "fewer");
    refused(&run(&["logits", gpt, "--ids", "1", "--source-ids", "1"]), "no source", "leave out");
    let model = model().to_str().unwrap();
    refused(&run(&["logits", model, "--ids", "0"]), "needs a source", "--source-ids");
    assert_eq!(run(&["logits", gpt, "--ids", "1,x"]).status.code(), Some(2));
}

#[test]
fn the_corpus_is_written_in_pairs_of_files_that_share_no_sentence() {
    let (one, two) = (scratch("corpus-1"), scratch("corpus-2"));
    for folder in [&one, &two] {
        let output = run(&[
            "corpus",
            "translate",
            "--out",
            folder.to_str().unwrap(),
            "--pairs",
            "2000",
            "--seed",
            "7",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 6);
    }
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for language in ["en", "fr"] {
        let train = read(&one, &format!("train.{language}"));
        assert_eq!(train, read(&two, &format!("train.{language}")), "the same seed, the same files");
        assert_eq!(train.lines().count(), 2000);
        let known: std::collections::HashSet<&str> = train.lines().collect();
        for name in ["validation", "test"] {
            let held_out = read(&one, &format!("{name}.{language}"));
            assert_eq!(held_out.lines().count(), 200);
            assert!(held_out.lines().all(|line| !known.contains(line)));
        }
    }
    assert_eq!(read(&one, "test.en").lines().count(), read(&one, "test.fr").lines().count());
    refused(&run(&["corpus", "translate", "--out", "x", "--pairs", "0"]), "empty corpus", "--pairs 50000");
    refused(&run(&["corpus", "translate", "--out", "x", "--pairs", "5000000"]), "more than 1000000", "seeds");
    // A corpus, or whatever has that name, is never overwritten.
    let mine = scratch("my-corpus");
    std::fs::write(mine.join("train.en"), "my own data").unwrap();
    let output = run(&["corpus", "translate", "--out", mine.to_str().unwrap(), "--pairs", "10"]);
    refused(&output, "train.en exists already", "--out");
    assert_eq!(read(&mine, "train.en"), "my own data");
}

#[test]
fn every_example_is_listed_and_explained_as_text_and_as_json() {
    let names = [
        "self-attention",
        "scaling",
        "causal-mask",
        "padding-mask",
        "multi-head",
        "cross-attention",
        "positions",
        "layer-norm",
        "feed-forward",
        "residual",
        "output-layer",
        "teacher-forcing",
        "cross-entropy",
        "backward",
        "soft-retrieval",
        "roulette",
        "decoding",
    ];
    let list = stdout(&run(&["explain"]));
    let mut place = 0;
    for name in names {
        place += list[place..].find(name).unwrap_or_else(|| panic!("{name} is not in its place:\n{list}"));
        let output = run(&["explain", name]);
        assert!(output.status.success() && stdout(&output).starts_with(name), "{}", stderr(&output));
        let json: serde_json::Value =
            serde_json::from_str(&stdout(&run(&["explain", name, "--json"]))).unwrap();
        assert!(json["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{name}");
    }
    let all: serde_json::Value = serde_json::from_str(&stdout(&run(&["explain", "--json"]))).unwrap();
    assert_eq!(all.as_array().unwrap().len(), names.len());
}

#[test]
fn numbers_of_an_example_can_be_changed_and_bad_ones_are_refused() {
    let text = stdout(&run(&["explain", "self-attention", "--tokens", "1 0; 0 1"]));
    assert!(text.contains("√2"), "{text}");
    let equals = stdout(&run(&["explain", "self-attention", "--tokens=1 0; 0 1"]));
    assert_eq!(text, equals);
    refused(&run(&["explain", "self-attention", "--tokens", "1 0; 0"]), "row 2 has 1 number", "row");
    refused(&run(&["explain", "self-attention", "--tokens", "1 zero"]), "zero", "number");
    refused(&run(&["explain", "self-atention"]), "no example 'self-atention'", "self-attention");
    refused(&run(&["explain", "scaling", "--colour", "red"]), "colour", "query");
    refused(
        &run(&["explain", "scaling", "--query"]),
        "--query needs a value",
        "limpid explain scaling --options",
    );
    let options = stdout(&run(&["explain", "padding-mask", "--options"]));
    assert!(options.contains("--kind") && options.contains("keys-and-queries"), "{options}");
}

#[test]
fn wrong_words_are_refused_by_name_with_exit_code_2() {
    for args in [&["demoo"][..], &["demo", "--to", "de"], &["translate"], &["demo", "--threads", "0"]] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
    let with = |name: &str, value: &str| limpid(&["explain"]).env(name, value).output().unwrap();
    refused(&with("LIMPID_SIMD", "mmx"), "LIMPID_SIMD=mmx", "scalar");
    refused(&with("LIMPID_THREADS", "many"), "LIMPID_THREADS=many", "1 to 256");
    refused(
        &run(&["bench", "step", "gpt", "--batch", "0"]),
        "--batch 0 leaves nothing to measure",
        "--batch",
    );
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}

#[test]
fn bench_step_reports_json_and_speaks_the_protocol_of_side_by_side_runs() {
    let small =
        ["--layers", "1", "--heads", "2", "--width", "16", "--context", "8", "--batch", "2", "--vocab", "11"];
    let args = [&["bench", "step", "gpt"][..], &small, &["--seconds", "0.05", "--json"]].concat();
    let report: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    assert_eq!(report["parameters"], 11 * 16 + 8 * 16 + 12 * 16 * 16 + 13 * 16 + 32);
    assert!(report["median_ms"].as_f64().unwrap() > 0.0);
    assert!(report["operations"].as_array().unwrap().iter().any(|op| op["name"] == "attention"));

    let args = [&["bench", "step", "gpt"][..], &small, &["--interactive"]].concat();
    let mut child = limpid(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"run 0.01\nquit\n").unwrap();
    let text = stdout(&child.wait_with_output().unwrap());
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["ready"], true);
    assert!(lines[1]["step_ms"].as_array().unwrap().len() >= 3);
}

/// The commands in the table of the README, as they are typed.
fn readme_commands() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let spans =
        text.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| span.starts_with("limpid ")).map(String::from).collect()
}

/// Splits at spaces, except inside double quotes.
fn shell_words(command: &str) -> Vec<String> {
    let quoted = command.split('"').enumerate();
    let words = quoted.flat_map(|(i, part)| match i % 2 {
        0 => part.split_whitespace().map(String::from).collect::<Vec<_>>(),
        _ => vec![part.to_string()],
    });
    words.collect()
}

#[test]
fn every_command_in_the_readme_runs() {
    let folder = scratch("readme");
    let commands = readme_commands();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let mut words = shell_words(&command);
        match words[1].as_str() {
            // The same commands, cut short.
            "demo" => words.extend(["--steps".to_string(), "12".to_string()]),
            "bench" => *words.last_mut().unwrap() = "0.05".to_string(),
            _ => {}
        }
        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let output = limpid(&args).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{command}:\n{}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{command} printed nothing");
    }
}
