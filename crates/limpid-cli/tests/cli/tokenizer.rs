//! `limpid tokenizer`, from outside.

use super::*;

/// A text with many ties: every pair of letters and every word occurs as often as others do.
fn ties(folder: &Path) -> PathBuf {
    let letters = ['a', 'b', 'c', 'd', 'é', 'ж', '日', '-', '.'];
    let mut text = String::new();
    for i in 0..letters.len() {
        for j in 0..letters.len() {
            for k in 0..letters.len() {
                text.extend([letters[i], letters[j], letters[k], letters[(i + j + k) % 9], ' ']);
                text.extend([
                    letters[k],
                    letters[i],
                    letters[j],
                    if k % 3 == 0 { '\n' } else { ' ' },
                ]);
            }
        }
    }
    let file = folder.join("ties.txt");
    std::fs::write(&file, text.repeat(2)).unwrap();
    file
}

fn train(kind: &str, data: &Path, out: &Path, more: &[&str]) -> Output {
    let args = [
        "tokenizer",
        "train",
        kind,
        "--data",
        data.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    run(&[&args[..], more].concat())
}

#[test]
fn two_processes_learn_the_same_bytes_from_a_text_full_of_ties_with_any_number_of_threads() {
    let folder = scratch("tokenizer-twice");
    let data = ties(&folder);
    let kinds = [
        ("char", ""),
        ("byte", ""),
        ("word", "300"),
        ("bpe", "400"),
        ("wordpiece", "200"),
        ("unigram", "200"),
    ];
    for (kind, size) in kinds {
        let learn = |name: &str, threads: &str| {
            let out = folder.join(format!("{kind}-{name}"));
            let size: &[&str] = if size.is_empty() { &[] } else { &["--vocab", size] };
            let output = train(kind, &data, &out, &[size, &["--threads", threads]].concat());
            assert!(output.status.success(), "{kind}: {}", stderr(&output));
            ["tokenizer.json", "tokenizer_config.json"]
                .map(|file| std::fs::read(out.join(file)).unwrap())
        };
        let first = learn("first", "2");
        assert!(first[0].len() > 500);
        assert_eq!(first, learn("second", "2"), "{kind}");
        assert_eq!(first, learn("third", "1"), "{kind}");
        assert_eq!(first, learn("fourth", "3"), "{kind}");
    }
}

#[test]
fn text_goes_to_ids_and_back_by_arguments_and_by_lines() {
    let folder = scratch("tokenizer-use");
    let out = folder.join("bpe");
    let data = ties(&folder);
    let output = train("bpe", &data, &out, &["--vocab", "300"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 2);
    assert!(stderr(&output).contains("byte-level BPE, 300 tokens"), "{}", stderr(&output));
    let out = out.to_str().unwrap();

    let text = "  été 日 🙂";
    let ids = stdout(&run(&["tokenizer", "encode", out, text]));
    let words: Vec<&str> = ids.split_whitespace().collect();
    assert!(words.len() > 3);
    assert_eq!(
        stdout(&run(&[&["tokenizer", "decode", out], &words[..]].concat())),
        format!("{text}\n")
    );
    assert_eq!(stdout(&run(&["tokenizer", "decode", out, &words.join(",")])), format!("{text}\n"));
    let value: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["tokenizer", "encode", out, "--json", text]))).unwrap();
    assert_eq!(value["text"], text);
    assert_eq!(value["ids"].as_array().unwrap().len(), words.len());
    assert_eq!(value["tokens"].as_array().unwrap().len(), words.len());

    // Lines in, lines out.
    let mut child = limpid(&["tokenizer", "encode", out])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        format!("{text}\n\n{text}\n").as_bytes(),
    )
    .unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), format!("{ids}\n{ids}"));

    let data = data.to_str().unwrap();
    let info = stdout(&run(&["tokenizer", "info", out, "--data", data]));
    for part in
        ["byte-level BPE", "300", "<|endoftext|> 0", "tokens per word", "unknown         0.000%"]
    {
        assert!(info.contains(part), "'{part}' is not in:\n{info}");
    }
    let value: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["tokenizer", "info", out, "--json", "--data", data])))
            .unwrap();
    assert_eq!(
        (&value["vocab_size"], &value["special_tokens"]["<|endoftext|>"]),
        (&300.into(), &0.into())
    );
    assert_eq!(value["text"]["bytes"], std::fs::metadata(data).unwrap().len());
}

#[test]
fn what_cannot_be_learnt_from_is_refused_with_a_hint() {
    let folder = scratch("tokenizer-bad");
    let out = folder.join("out");
    let bad = |bytes: &[u8], kind: &str, more: &[&str], error: &str, hint: &str| {
        let file = folder.join("bad.txt");
        std::fs::write(&file, bytes).unwrap();
        refused(&train(kind, &file, &out, more), error, hint);
        assert!(!out.exists(), "nothing is written: {error}");
    };
    let size = ["--vocab", "300"];
    bad(b"", "bpe", &size, "bad.txt: empty", "right file");
    bad(b" \n \n", "word", &[], "bad.txt: only whitespace", "right file");
    bad(
        b"text\nPK\x03\x04\0\0more\n",
        "bpe",
        &size,
        "bad.txt: line 2 contains a zero byte",
        "plain text",
    );
    bad(b"fine\nfine\nna\xefve\n", "bpe", &size, "bad.txt: line 3 is not UTF-8 (byte 3)", "iconv");
    bad(b"only one line", "bpe", &size, "one line of 13 bytes", "sentences");
    bad(
        b"one two\nthree\n",
        "word",
        &["--vocab", "9"],
        "9 was requested, but the text yields 6 tokens",
        "--vocab 6",
    );
    bad(
        b"one two\nthree\n",
        "bpe",
        &["--vocab", "9000"],
        "9000 was requested, but the text yields 257 tokens",
        "--vocab 257",
    );
    bad(b"one two\nthree\n", "bpe", &["--vocab", "256"], "need 257", "--vocab 257");
    bad(b"one two\nthree\n", "unigram", &["--vocab", "5"], "too small", "--vocab");
    bad(b"one two\nthree\n", "wordpiece", &[], "needs a vocabulary size", "--vocab 8000");
    bad(b"one two\nthree\n", "byte", &["--vocab", "100"], "are 257", "--vocab 257");
    let out = out.to_str().unwrap();
    refused(
        &run(&["tokenizer", "train", "bpe", "--vocab", "300", "--out", out]),
        "no training text",
        "--data",
    );
    refused(
        &run(&["tokenizer", "train", "bpe", "--data", "no/such", "--vocab", "300", "--out", out]),
        "cannot read no/such",
        "path",
    );
    // A byte tokenizer needs no text; a folder that has a tokenizer keeps it.
    assert!(run(&["tokenizer", "train", "byte", "--out", out]).status.success());
    refused(
        &run(&["tokenizer", "train", "byte", "--out", out]),
        "has a tokenizer already",
        "new folder",
    );
    refused(&run(&["tokenizer", "decode", out, "257"]), "'257' is not an id", "257 tokens");
    refused(&run(&["tokenizer", "decode", out, "x"]), "'x' is not an id", "from 0");
    refused(&run(&["tokenizer", "encode", out]), "standard input has no lines", "arguments");
    refused(&run(&["tokenizer", "info", "no/such"]), "no/such/tokenizer.json", "tokenizer.json");
    std::fs::write(folder.join("out/tokenizer.json"), "{\"version\":").unwrap();
    refused(&run(&["tokenizer", "info", out]), "not a valid tokenizer", "complete");
}

#[test]
fn options_decide_case_special_tokens_and_rare_words() {
    let folder = scratch("tokenizer-options");
    let data = folder.join("text.txt");
    std::fs::write(&data, "One two two\nthree ONE two\n").unwrap();
    let tokens = |name: &str, more: &[&str]| {
        let out = folder.join(name);
        let output = train("word", &data, &out, more);
        assert!(output.status.success(), "{}", stderr(&output));
        let ids = stdout(&run(&[
            "tokenizer",
            "encode",
            out.to_str().unwrap(),
            "--special",
            "one Two three",
        ]));
        ids.trim().to_string()
    };
    // ▁two 3, then ▁ONE, ▁One, ▁three 1 each.
    assert_eq!(tokens("plain", &[]), "2 2 6 1");
    assert_eq!(tokens("lower", &["--lowercase"]), "4 3 5 1");
    assert_eq!(tokens("frequent", &["--lowercase", "--min-frequency", "2"]), "4 3 2 1");
    assert_eq!(tokens("bert", &["--lowercase", "--for", "bert"]), "2 6 5 7 3");
    assert_eq!(tokens("none", &["--lowercase", "--for", "none"]), "2 1 3");
}
