//! Encoders from outside: trained, filling masks, as vectors, as classifiers; and what they refuse.

use super::*;
use serde_json::Value;
use std::fs;

/// Some text with words that come again.
fn text(folder: &Path, lines: usize) -> PathBuf {
    let words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dogs", "running"];
    let line = |i: usize| {
        (0..8).map(|j| words[(i * 7 + j * j * 3 + i / 5) % 10]).collect::<Vec<_>>().join(" ")
    };
    let path = folder.join("text.txt");
    fs::write(&path, (0..lines).map(|i| line(i) + ".\n").collect::<String>()).unwrap();
    path
}

/// Texts whose label one word decides.
fn labelled(lines: usize) -> Vec<(String, &'static str)> {
    let (good, bad) = (["fine", "great", "lovely"], ["awful", "dull", "poor"]);
    let subjects = ["film", "book", "song", "play", "meal"];
    (0..lines)
        .map(|i| {
            let (word, label) =
                if i % 2 == 0 { (good[i / 2 % 3], "pos") } else { (bad[i / 2 % 3], "neg") };
            (
                format!(
                    "the {} was {word} and {} long",
                    subjects[i / 3 % 5],
                    ["very", "not"][i / 7 % 2]
                ),
                label,
            )
        })
        .collect()
}

fn table(folder: &Path, name: &str, examples: &[(String, &str)]) -> PathBuf {
    let path = folder.join(name);
    let line = |(text, label): &(String, &str)| match path.extension().unwrap().to_str().unwrap() {
        "tsv" => format!("{text}\t{label}\n"),
        "jsonl" => format!("{}\n", serde_json::json!({ "text": text, "label": label })),
        _ => format!("{label} {text}\n"),
    };
    let header = if name.ends_with(".tsv") { "text\tlabel\n" } else { "" };
    fs::write(&path, header.to_string() + &examples.iter().map(line).collect::<String>()).unwrap();
    path
}

/// A run that takes seconds; `more` comes last and wins.
fn train(task: &str, data: &Path, out: &Path, more: &[&str]) -> Output {
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let mut args = vec!["train", task, "--data", data, "--out", out];
    // Batches of lines and of labelled texts are measured in tokens.
    let batch = match task == "bert" && !more.contains(&"data.unit=lines") {
        true => "train.batch_size=8",
        false => "train.batch_tokens=256",
    };
    for pair in [
        "model.context_length=16",
        batch,
        "train.steps=20",
        "train.warmup_steps=5",
        "train.lr=0.003",
        "train.checkpoint_every=10",
        "train.validate_every=10",
    ] {
        args.extend(["--set", pair]);
    }
    if !more.contains(&"--from") {
        args.extend([
            "--set",
            "model.layers=2",
            "--set",
            "model.hidden_size=32",
            "--set",
            "model.heads=2",
        ]);
    }
    args.extend(more);
    run(&args)
}

#[track_caller]
fn trained(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output) + &stderr(output)
}

/// A small encoder for masked words.
fn encoder() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = scratch("encoder");
        let said = trained(&train("bert", &text(&folder, 300), &folder.join("run"), &[]));
        for part in ["training windows", "accuracy ", "fill-mask"] {
            assert!(said.contains(part), "'{part}' is not in:\n{said}");
        }
        folder.join("run")
    })
}

/// A small classifier that begins with that encoder.
fn classifier() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = scratch("classifier");
        let data = table(&folder, "labelled.tsv", &labelled(240));
        let more = ["--set", "train.steps=60"];
        let said = trained(&train("classify", &data, &folder.join("run"), &more));
        for part in ["labels neg, pos", "macro F1", "classify "] {
            assert!(said.contains(part), "'{part}' is not in:\n{said}");
        }
        folder.join("run")
    })
}

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap()
}

#[test]
fn words_for_one_gap_and_for_several_come_with_their_probabilities() {
    let model = encoder().to_str().unwrap();
    let found =
        json(&["fill-mask", model, "the cat [MASK] on [MASK] mat.", "--top", "3", "--json"]);
    let gaps = found["masks"].as_array().unwrap();
    assert_eq!(gaps.len(), 2);
    for gap in gaps {
        let probabilities: Vec<f64> = gap
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word["probability"].as_f64().unwrap())
            .collect();
        assert_eq!(probabilities.len(), 3);
        assert!(probabilities.windows(2).all(|pair| pair[0] >= pair[1]) && probabilities[2] > 0.0);
        assert!(probabilities.iter().sum::<f64>() <= 1.0 + 1e-5);
        // The other gap stays open.
        assert!(gap[0]["text"].as_str().unwrap().contains("[MASK]"), "{gap}");
    }
    // Of the whole vocabulary the probabilities are 1.
    let all = json(&["fill-mask", model, "a [MASK] saw", "--top", "1000", "--json"]);
    let sum: f64 = all["masks"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["probability"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    let lines = stdout(&run(&["fill-mask", model, "the cat [MASK]", "--top", "2"]));
    assert_eq!(lines.lines().count(), 3, "{lines}");
}

pub(super) fn piped(args: &[&str], input: &str) -> Output {
    let mut child = limpid(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_input_is_read_line_by_line_and_a_bad_line_is_named() {
    let model = encoder().to_str().unwrap();
    let output = piped(&["fill-mask", model, "--json"], "the [MASK]\na [MASK] sat\n");
    assert_eq!(stdout(&output).lines().count(), 2);
    refused(
        &piped(&["fill-mask", model], "the [MASK]\nthe cat\n"),
        "line 2 of standard input: there is no [MASK] to fill",
        "[MASK]",
    );
    refused(&piped(&["embed", model], ""), "no lines", "limpid embed");
}

#[test]
fn vectors_have_length_one_and_the_file_of_numpy_holds_the_same() {
    let model = encoder().to_str().unwrap();
    let vector = |args: &[&str]| -> Vec<f64> {
        let found = json(&[&["embed", model, "the cat sat"], args].concat());
        found["embedding"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (mean, cls, raw) = (vector(&[]), vector(&["--pool", "cls"]), vector(&["--no-normalize"]));
    assert!((length(&mean) - 1.0).abs() < 1e-5 && (length(&cls) - 1.0).abs() < 1e-5);
    assert_ne!(mean, cls);
    let norm = length(&raw);
    assert!(
        (norm - 1.0).abs() > 1e-3
            && mean.iter().zip(&raw).all(|(one, raw)| (one - raw / norm).abs() < 1e-6)
    );
    let file = scratch("npy").join("v.npy");
    trained(&run(&["embed", model, "the cat sat", "a dog", "--out", file.to_str().unwrap()]));
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    let numbers: Vec<f32> =
        bytes[128..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!(numbers.len(), 2 * 32);
    // In other company the last bits may differ.
    assert!(numbers[..32].iter().zip(&mean).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6));
    refused(&run(&["embed", model, "a", "--out", "v.csv"]), "not a kind of file", ".npy");
}

#[test]
fn capitals_are_small_letters_where_the_folder_says_so() {
    let folder = scratch("small-letters");
    for entry in fs::read_dir(encoder().join("model")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let vector = |text: &str| json(&["embed", folder.to_str().unwrap(), text])["embedding"].clone();
    assert_ne!(vector("THE CAT SAT"), vector("the cat sat"));
    let settings = r#"{"max_seq_length": 16, "do_lower_case": true}"#;
    fs::write(folder.join("sentence_bert_config.json"), settings).unwrap();
    assert_eq!(vector("THE CAT SAT"), vector("the cat sat"));
    let said = stderr(&run(&["embed", folder.to_str().unwrap(), "THE CAT SAT"]));
    assert!(!said.contains("vocabulary"), "{said}");
}

#[test]
fn a_text_is_nearest_to_itself() {
    let model = encoder().to_str().unwrap();
    let found = json(&["similarity", model, "the cat", "a dog sat", "the cat", "--json"]);
    let cosine = |i: usize, j: usize| found["cosine"][i][j].as_f64().unwrap();
    assert!((cosine(0, 2) - 1.0).abs() < 1e-6 && (cosine(1, 1) - 1.0).abs() < 1e-6);
    assert!(cosine(0, 1) < 1.0 && (cosine(0, 1) - cosine(1, 0)).abs() < 1e-12);
    refused(
        &run(&["similarity", model, "alone"]),
        "nothing to be compared with",
        "limpid similarity",
    );
}

#[test]
fn a_classifier_learns_labels_and_is_measured() {
    let model = classifier().to_str().unwrap();
    let found = json(&["classify", model, "the book was lovely and very long", "--json"]);
    let p = |label: &str| found["probabilities"][label].as_f64().unwrap();
    assert!((p("pos") + p("neg") - 1.0).abs() < 1e-5);
    let folder = scratch("classify-eval");
    // The labels are one word's doing, and sixty steps are enough to see it.
    for name in ["test.tsv", "test.jsonl"] {
        let data = table(&folder, name, &labelled(60));
        let eval = json(&["eval", model, "--data", data.to_str().unwrap(), "--json"]);
        assert!(eval["accuracy"].as_f64().unwrap() > 0.9, "{eval}");
        assert!(eval["macro_f1"].as_f64().unwrap() > 0.9, "{eval}");
        assert_eq!(eval["texts"], 60);
    }
    let data = table(&folder, "sst.dev", &labelled(60));
    let eval = json(&[
        "eval",
        model,
        "--data",
        data.to_str().unwrap(),
        "--format",
        "label-first",
        "--json",
    ]);
    assert_eq!(eval["texts"], 60);
    refused(
        &run(&["eval", model, "--data", data.to_str().unwrap()]),
        "cannot be told from the file name",
        "label-first",
    );
    let info = stdout(&run(&["info", model, "--depth", "0"]));
    assert!(
        info.contains("an encoder with a classification head") && info.contains("labels neg, pos"),
        "{info}"
    );
    refused(
        &run(&["classify", model, "--pair", "a\tb\tc"]),
        "more than one tab",
        "first<TAB>second",
    );
    let strange = table(&folder, "strange.tsv", &[("the book was fine".to_string(), "neutral")]);
    let output = run(&["eval", model, "--data", strange.to_str().unwrap()]);
    refused(&output, "label 'neutral' was not seen in training", "neg, pos");
}

#[test]
fn a_pretrained_encoder_is_fine_tuned_with_its_own_sizes_and_tokens() {
    let (folder, model) = (scratch("fine-tune"), encoder().to_str().unwrap());
    let data = table(&folder, "labelled.jsonl", &labelled(60));
    let out = folder.join("run");
    let more = ["--from", model];
    trained(&train("classify", &data, &out, &more));
    let tokens = |run: &Path| fs::read(run.join("model/tokenizer.json")).unwrap();
    assert!(tokens(&out) == tokens(encoder()));
    let config: Value =
        serde_json::from_slice(&fs::read(out.join("model/config.json")).unwrap()).unwrap();
    assert_eq!(
        (&config["hidden_size"], &config["id2label"]["1"]),
        (&Value::from(32), &Value::from("pos"))
    );
    let wider = train(
        "classify",
        &data,
        &folder.join("wider"),
        &[&more[..], &["--set", "model.hidden_size=64"]].concat(),
    );
    refused(&wider, "model.hidden_size = 64", "leave model.hidden_size out");
    let lost =
        train("classify", &data, &folder.join("lost"), &["--from", folder.to_str().unwrap()]);
    assert_eq!(lost.status.code(), Some(2), "{}", stderr(&lost));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    let translator = fixtures.join("marian-tiny");
    let other =
        train("classify", &data, &folder.join("other"), &["--from", translator.to_str().unwrap()]);
    refused(&other, "does not hold an encoder or a decoder", "limpid train bert");
}

#[test]
fn embed_and_classify_report_a_text_that_is_too_long_and_go_on() {
    let long = "cat ".repeat(40);
    let lines = format!("the cat\n{long}\na dog\n");
    let json_lines = |text: String| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let reported = |output: &Output| {
        assert_eq!(output.status.code(), Some(2));
        for part in
            ["line 2 of standard input: 42 tokens exceed", "error: 1 of 3 texts are too long"]
        {
            assert!(stderr(output).contains(part), "{part}: {}", stderr(output));
        }
    };
    let encoder = encoder().to_str().unwrap();
    let output = piped(&["embed", encoder], &lines);
    reported(&output);
    let found = json_lines(stdout(&output));
    assert_eq!(found.len(), 3, "one line per text");
    assert!(found[1]["embedding"].is_null() && found[1]["error"] == "too_long");
    assert_eq!(found[1]["excess_tokens"], 26);
    let alone = json_lines(stdout(&run(&["embed", encoder, "the cat", "a dog"])));
    assert_eq!((&found[0], &found[2]), (&alone[0], &alone[1]));

    let (folder, model) = (scratch("too-long"), encoder);
    let data = table(&folder, "labelled.tsv", &labelled(40));
    let out = folder.join("run");
    trained(&train("classify", &data, &out, &["--from", model]));
    let classifier = out.to_str().unwrap();
    let output = piped(&["classify", classifier, "--json"], &lines);
    reported(&output);
    let found = json_lines(stdout(&output));
    assert!(found[0]["label"].is_string() && found[2]["label"].is_string());
    assert!(found[1]["label"].is_null() && found[1]["error"] == "too_long");
    let output = piped(&["classify", classifier], &lines);
    reported(&output);
    assert_eq!(stdout(&output).lines().nth(1), Some(format!("\t{long}").as_str()));
}

fn model_of_a_decoder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny")
}

/// The bytes of the best model and of the last checkpoint.
fn bytes(run: &Path, step: u64) -> (Vec<u8>, Vec<u8>) {
    let checkpoint = run.join(format!("checkpoints/step-{step:08}/state.safetensors"));
    (fs::read(run.join("model/model.safetensors")).unwrap(), fs::read(checkpoint).unwrap())
}

#[test]
fn a_run_that_was_interrupted_ends_with_the_same_bytes_whatever_a_sequence_is() {
    for (unit, whole_words) in [("windows", "true"), ("lines", "false"), ("pairs", "false")] {
        let folder = scratch(&format!("masked-{unit}"));
        let data = text(&folder, 120);
        let (whole, parts) = (folder.join("whole"), folder.join("parts"));
        let (unit, words) =
            (format!("data.unit={unit}"), format!("masking.whole_words={whole_words}"));
        let more = ["--set", &unit, "--set", &words, "--set", "train.schedule=constant"];
        trained(&train("bert", &data, &whole, &more));
        trained(&train("bert", &data, &parts, &[&more[..], &["--set", "train.steps=10"]].concat()));
        trained(&train("bert", &data, &parts, &[&more[..], &["--resume"]].concat()));
        assert!(bytes(&whole, 20) == bytes(&parts, 20), "{unit}");
    }
}

#[test]
fn what_an_encoder_cannot_do_is_refused_with_what_would_work() {
    let (encoder, classifier) = (encoder().to_str().unwrap(), classifier().to_str().unwrap());
    refused(
        &run(&["fill-mask", encoder, "the cat sat"]),
        "text 1: there is no [MASK] to fill",
        "The cat [MASK] on the mat",
    );
    refused(
        &run(&["fill-mask", classifier, "a [MASK]"]),
        "it cannot fill a mask",
        "limpid train bert",
    );
    refused(&run(&["classify", encoder, "the cat"]), "it cannot classify", "limpid train classify");
    refused(&run(&["translate", classifier, "the cat"]), "cannot translate", "limpid classify");
    refused(
        &run(&["generate", encoder, "--prompt", "the cat"]),
        "it cannot generate text",
        "fill-mask",
    );
    let decoder = model_of_a_decoder();
    refused(
        &run(&["embed", decoder.to_str().unwrap(), "a"]),
        "it cannot produce embeddings",
        "limpid train bert",
    );
    let unknown = run(&["fill-mask", encoder, "Xyzzy [MASK] sat.", "--top", "1"]);
    assert!(
        stderr(&unknown).contains("text 1: 1 not in the model's vocabulary: Xyzzy"),
        "{}",
        stderr(&unknown)
    );
    assert!(stdout(&unknown).lines().nth(1).unwrap().contains("Xyzzy "), "{}", stdout(&unknown));
    let long = "cat ".repeat(40);
    let refusal = "text 1: 42 tokens exceed the model's maximum of 16 by 26";
    refused(&run(&["embed", encoder, &long]), refusal, "--truncate");
    refused(&run(&["classify", classifier, &long]), "exceed the model's maximum", "--truncate");
    refused(&run(&["similarity", encoder, "a", &long]), "text 2: 42 tokens", "--truncate");
    assert!(run(&["embed", encoder, &long, "--truncate"]).status.success());
}

#[test]
fn an_encoder_refuses_to_be_another_model_than_its_files_can_hold() {
    let folder = scratch("encoder-variants");
    let data = text(&folder, 100);
    for key in [
        "positions=none",
        "positions=one-hot",
        "normalization=batch",
        "residual=none",
        "scaling=none",
    ] {
        let setting = format!("model.{key}");
        let output = train("bert", &data, &folder.join("run"), &["--set", &setting]);
        refused(&output, "files can hold nothing else", "leave model.");
    }
    let examples = table(&folder, "t.tsv", &labelled(40));
    let output =
        train("classify", &examples, &folder.join("run"), &["--set", "model.scaling=none"]);
    refused(&output, "files can hold nothing else", "leave model.");
}

#[test]
fn eval_reads_a_table_in_the_format_of_the_run_whatever_the_file_is_called() {
    let folder = scratch("label-first");
    let label_first = |name: &str| {
        let path = folder.join(name);
        fs::rename(table(&folder, "label.first", &labelled(60)), &path).unwrap();
        path
    };
    let (data, out) = (label_first("train.tsv"), folder.join("run"));
    let more = ["--format", "label-first", "--set", "train.steps=2"];
    trained(&train("classify", &data, &out, &more));
    let test = label_first("test.tsv");
    let model = out.to_str().unwrap();
    assert_eq!(json(&["eval", model, "--data", test.to_str().unwrap(), "--json"])["texts"], 60);
}

#[test]
fn an_unknown_label_is_named_with_its_line() {
    let folder = scratch("encoder-label");
    let path = folder.join("unseen.tsv");
    fs::write(&path, "text\tlabel\nthe cat sat\tmaybe\n").unwrap();
    let output = run(&["eval", classifier().to_str().unwrap(), "--data", path.to_str().unwrap()]);
    refused(&output, "unseen.tsv: line 2: label 'maybe' was not seen in training", "labels are");
}

#[test]
fn a_table_without_examples_is_said_to_have_none() {
    let folder = scratch("encoder-no-examples");
    for (name, content) in [("empty.tsv", ""), ("empty.csv", ""), ("header.tsv", "text\tlabel\n")] {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        let output = train("classify", &path, &folder.join("run"), &[]);
        refused(&output, &format!("{name}: no examples found"), "right file");
        assert!(!folder.join("run").exists(), "nothing half-made stays behind");
    }
}

#[test]
fn a_tokenizer_without_a_mask_is_refused() {
    let folder = scratch("no-mask");
    let data = text(&folder, 100);
    let tokens = folder.join("tokens");
    let made = run(&[
        "tokenizer",
        "train",
        "char",
        "--data",
        data.to_str().unwrap(),
        "--for",
        "gpt",
        "--out",
        tokens.to_str().unwrap(),
    ]);
    assert!(made.status.success(), "{}", stderr(&made));
    let from = format!("tokenizer.from={}", tokens.display());
    refused(
        &train("bert", &data, &folder.join("run"), &["--set", &from]),
        "no [MASK]",
        "--for bert",
    );
    assert!(!folder.join("run").exists(), "nothing half-made stays behind");
    // A model whose tokenizer was exchanged.
    let model = folder.join("model");
    fs::create_dir_all(&model).unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(encoder().join("model").join(file), model.join(file)).unwrap();
    }
    fs::copy(tokens.join("tokenizer.json"), model.join("tokenizer.json")).unwrap();
    refused(
        &run(&["fill-mask", model.to_str().unwrap(), "a [MASK]"]),
        "no mask token",
        "--for bert",
    );
}

#[test]
fn masked_words_are_measured_and_a_seed_hides_the_same() {
    let (folder, model) = (scratch("masked-eval"), encoder().to_str().unwrap());
    let data = text(&folder, 60);
    let eval = |more: &[&str]| {
        json(&[&["eval", model, "--data", data.to_str().unwrap(), "--json"], more].concat())
    };
    let found = eval(&[]);
    assert_eq!(found, eval(&[]));
    assert_ne!(found["masked_loss"], eval(&["--mask-seed", "2"])["masked_loss"]);
    let loss = found["masked_loss"].as_f64().unwrap();
    // Better than knowing nothing of some 40 tokens.
    assert!(loss > 0.0 && loss < 40_f64.ln(), "{found}");
    assert_eq!(eval(&["--lines"])["sequences"], 60);
    assert_eq!(found["perplexity"].as_f64().unwrap(), loss.exp());
}
