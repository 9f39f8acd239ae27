//! `limpid score` from outside.

use super::*;
use serde_json::{Value, json};
use std::io::Write;

/// Files of a test, by name.
fn files(test: &str, contents: &[(&str, &[u8])]) -> PathBuf {
    let folder = scratch(test);
    for (name, content) in contents {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder
}

/// Runs `limpid score ARGS` in a folder.
fn score(folder: &Path, args: &str) -> Output {
    let args: Vec<&str> = std::iter::once("score").chain(args.split_whitespace()).collect();
    limpid(&args).current_dir(folder).output().unwrap()
}

fn printed(folder: &Path, args: &str) -> String {
    let output = score(folder, args);
    assert!(output.status.success(), "{args}:\n{}", stderr(&output));
    stdout(&output)
}

fn scored(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&printed(folder, args)).unwrap()
}

/// The corpora of the sacreBLEU fixture that a file can hold: no line feed, one number of
/// references.
fn fixture() -> (Value, Vec<usize>) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/score/cases.json");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let corpora = cases["corpora"].as_array().unwrap();
    let alike = |corpus: &Value| {
        let mut counts =
            corpus["references"].as_array().unwrap().iter().map(|r| r.as_array().unwrap().len());
        let first = counts.next().unwrap();
        counts.all(|n| n == first)
    };
    let usable = (0..corpora.len()).filter(|i| alike(&corpora[*i])).collect();
    (cases, usable)
}

/// Writes a corpus to files and gives the flags that name them.
fn write_corpus(folder: &Path, corpus: &Value) -> String {
    let lines = |texts: Vec<&Value>| {
        texts.iter().map(|text| format!("{}\n", text.as_str().unwrap())).collect()
    };
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("hyp", lines(corpus["hypotheses"].as_array().unwrap().iter().collect()));
    let references = corpus["references"].as_array().unwrap();
    let mut args = "--hyp hyp --ref".to_string();
    for i in 0..references[0].as_array().unwrap().len() {
        write(&format!("ref{i}"), lines(references.iter().map(|line| &line[i]).collect()));
        args += &format!(" ref{i}");
    }
    args
}

/// The flags for settings as sacreBLEU's Python names them.
fn flags(answer: &Value) -> String {
    let mut flags = format!("--metrics {}", answer["metric"].as_str().unwrap());
    for (key, value) in answer["settings"].as_object().unwrap() {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        flags += &match key.as_str() {
            "lowercase" => " --lowercase".to_string(),
            "effective_order" => " --effective-order".to_string(),
            "tokenize" => format!(" --tokenize {value}"),
            "smooth_method" => format!(" --smooth {value}"),
            "smooth_value" => format!(" --smooth-value {value}"),
            "max_ngram_order" => format!(" --max-ngram {value}"),
            "whitespace" => " --chrf-whitespace".to_string(),
            "eps_smoothing" => " --chrf-eps-smoothing".to_string(),
            "char_order" => format!(" --chrf-char-order {value}"),
            "word_order" => format!(" --chrf-word-order {value}"),
            "beta" => format!(" --chrf-beta {value}"),
            other => panic!("unknown setting {other}"),
        };
    }
    flags
}

#[test]
fn every_flag_gives_the_line_sacrebleu_prints() {
    let (cases, usable) = fixture();
    let folder = scratch("score-flags");
    let answers = cases["answers"].as_array().unwrap();
    let mut compared = 0;
    for (n, i) in usable.into_iter().enumerate() {
        let args = write_corpus(&folder, &cases["corpora"][i]);
        // Every setting meets some of the corpora; the library's tests try them all.
        for answer in answers.iter().skip(n % 4).step_by(4) {
            // sacreBLEU's command cuts white space off line ends, the calls behind the fixture do
            // not.
            if answer["settings"].get("whitespace").is_some()
                && cases["corpora"][i]["name"] != "news"
            {
                continue;
            }
            let flags = flags(answer);
            let line = printed(&folder, &format!("{args} {flags}"));
            // Its signature does not name the order.
            let order =
                line.find("|order:").map_or(0..0, |at| at..at + line[at..].find(' ').unwrap());
            let mut line = line.trim_end().to_string();
            line.replace_range(order, "");
            assert_eq!(
                line, answer["corpora"][i]["line"],
                "{} {flags}",
                cases["corpora"][i]["name"]
            );
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn sentences_get_a_line_each_with_a_column_for_each_metric() {
    let (cases, _) = fixture();
    let folder = scratch("score-sentence");
    let corpora = cases["corpora"].as_array().unwrap();
    let news = corpora
        .iter()
        .position(|corpus| corpus["name"] == "news, a reference with empty lines")
        .unwrap();
    let args = write_corpus(&folder, &corpora[news]);
    let answers = cases["answers"].as_array().unwrap();
    let want = |metric: &str, settings: &Value| {
        let found = answers.iter().find(|a| a["metric"] == metric && &a["settings"] == settings);
        found.unwrap()["sentences"][news].as_array().unwrap().clone()
    };
    let columns = [
        want("bleu", &json!({})),
        want("chrf", &json!({})),
        want("chrf", &json!({ "word_order": 2 })),
    ];

    let output = score(&folder, &format!("{args} --sentence --width 4"));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), columns[0].len());
    for (i, line) in text.lines().enumerate() {
        let want: Vec<String> =
            columns.iter().map(|c| format!("{:.4}", c[i].as_f64().unwrap())).collect();
        assert_eq!(line, want.join("\t"));
    }
    let signatures = stderr(&output);
    assert!(
        signatures.contains("BLEU|nrefs:2|case:mixed|eff:yes|tok:13a|smooth:exp\n"),
        "{signatures}"
    );
    assert!(
        signatures.contains("chrF2++|nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no\n"),
        "{signatures}"
    );

    for (i, line) in printed(&folder, &format!("{args} --sentence --json")).lines().enumerate() {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["line"], i + 1);
        let found = object["scores"]["chrF2++"].as_f64().unwrap();
        assert!((found - columns[2][i].as_f64().unwrap()).abs() < 1e-9);
    }
}

#[test]
fn json_has_the_parts_of_every_score() {
    let folder = files(
        "score-json",
        &[("h", b"the cat is on the rug\n"), ("r", b"the cat is on the mat\n")],
    );
    let found = scored(&folder, "--hyp h --ref r --json");
    let system = &found["systems"][0];
    assert_eq!((system["file"].as_str(), system["lines"].as_u64()), (Some("h"), Some(1)));
    let bleu = &system["scores"][0];
    assert_eq!(bleu["name"], "BLEU");
    // Five of six words, four of five pairs, three of four, two of three: (5/6 · 4/5 · 3/4 ·
    // 2/3)^(1/4).
    let want = 100.0 * (1.0f64 / 3.0).powf(0.25);
    assert!((bleu["score"].as_f64().unwrap() - want).abs() < 1e-9, "{bleu}");
    assert!((bleu["precisions"][1].as_f64().unwrap() - 80.0).abs() < 1e-12);
    assert_eq!((bleu["hyp_len"].as_u64(), bleu["ref_len"].as_u64()), (Some(6), Some(6)));
    assert_eq!((bleu["brevity_penalty"].as_f64(), bleu["ratio"].as_f64()), (Some(1.0), Some(1.0)));
    assert_eq!(system["scores"][1]["name"], "chrF2");
    assert_eq!(system["scores"][2]["signature"], "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no");
    assert!(bleu.get("mean").is_none() && bleu.get("p_value").is_none());
}

/// Sixty lines; `wrong(i)` of them have a wrong word.
fn sixty(wrong: impl Fn(usize) -> bool) -> Vec<u8> {
    let line = |i| {
        format!(
            "line {i} of a text about {} and some more\n",
            if wrong(i) { "cats" } else { "dogs" }
        )
    };
    (0..60).map(line).collect::<String>().into_bytes()
}

#[test]
fn intervals_are_seeded_and_differences_get_a_p_value() {
    let folder = files(
        "score-resample",
        &[
            ("r", &sixty(|_| false)),
            ("a", &sixty(|i| i % 2 == 0)),
            ("b", &sixty(|i| i % 10 == 0)),
            ("c", &sixty(|i| i % 2 == 1)),
        ],
    );
    let one = |seed: u32| {
        scored(
            &folder,
            &format!("--hyp a --ref r --metrics bleu --bootstrap 200 --seed {seed} --json"),
        )
    };
    let (first, again, other) = (one(1), one(1), one(2));
    assert_eq!(first, again);
    let of = |found: &Value| found["systems"][0]["scores"][0].clone();
    let (score, mean) =
        (of(&first)["score"].as_f64().unwrap(), of(&first)["mean"].as_f64().unwrap());
    let interval = of(&first)["interval"].as_f64().unwrap();
    assert!(interval > 0.5 && (mean - score).abs() < interval / 4.0, "{first}");
    assert_ne!(of(&first)["mean"], of(&other)["mean"]);
    assert_eq!(
        of(&other)["signature"],
        "nrefs:1|bs:200|seed:2|case:mixed|eff:no|tok:13a|smooth:exp"
    );
    let line = printed(&folder, "--hyp a --ref r --metrics bleu --bootstrap 200");
    assert!(
        line.starts_with("BLEU|nrefs:1|bs:200|seed:1|")
            && line.contains(&format!("(μ = {mean:.2} ± ")),
        "{line}"
    );

    for test in ["", "--bootstrap 500", "--randomization 500"] {
        let found =
            scored(&folder, &format!("--hyp a b c a --ref r --metrics bleu,chrf --json {test}"));
        for metric in 0..2 {
            let p = |system: usize| found["systems"][system]["scores"][metric]["p_value"].as_f64();
            assert_eq!(p(0), None);
            assert!(p(1).unwrap() < 0.01, "24 lines better: {found}");
            assert!(p(2).unwrap() > 0.2, "as many lines wrong, others: {found}");
            assert_eq!(p(3), Some(1.0), "the same file");
        }
    }
    let text = printed(&folder, "--hyp a b --ref r --metrics chrf --randomization 100");
    assert!(
        text.starts_with(
            "chrF2|nrefs:1|ar:100|seed:1|case:mixed|eff:yes|nc:6|nw:0|space:no\n  a  "
        ),
        "{text}"
    );
    assert!(text.lines().nth(2).unwrap().contains("  p = 0.00"), "{text}");
}

#[test]
fn a_source_splits_bleu_by_its_length() {
    let source = b"un\nun deux trois quatre cinq six\nun deux\n";
    let folder = files(
        "score-length",
        &[
            ("s", source),
            ("h", b"a b c d\nb c d x\na b c d\n"),
            ("r", b"a b c d\na b c d\na b c d\n"),
        ],
    );
    let found = scored(&folder, "--hyp h --ref r --source s --json");
    let groups = &found["systems"][0]["bleu_by_length"];
    assert_eq!(
        (&groups[0]["from"], &groups[0]["to"], &groups[0]["lines"]),
        (&0.into(), &5.into(), &2.into())
    );
    assert!((groups[0]["score"].as_f64().unwrap() - 100.0).abs() < 1e-9);
    assert_eq!((&groups[1]["from"], &groups[1]["lines"]), (&6.into(), &1.into()));
    let text = printed(&folder, "--hyp h --ref r --source s --metrics bleu");
    assert!(
        text.contains("BLEU by words of the source, h\n  0 to 5             2 lines    100.00\n"),
        "{text}"
    );
}

#[test]
fn a_dash_is_standard_input_and_line_ends_do_not_matter() {
    let folder = files(
        "score-stdin",
        &[("unix", b"the cat is here\nan end\n"), ("ref", b"the cat was here\nthe end")],
    );
    let args = ["score", "--hyp", "-", "--ref", "ref"];
    let mut child = limpid(&args)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"the cat is here \r\nan end").unwrap();
    let piped = child.wait_with_output().unwrap();
    assert_eq!(stdout(&piped), printed(&folder, "--hyp unix --ref ref"));
    refused(&score(&folder, "--hyp - --ref -"), "standard input (-) is given 2 times", "files");
}

#[test]
fn files_that_cannot_be_scored_are_refused_by_name() {
    let folder = files(
        "score-bad",
        &[
            ("two", b"a\nb\n"),
            ("three", b"a\nb\n\n"),
            ("empty", b""),
            ("latin1", b"un\n\xe9t\xe9\n"),
            ("one", b"a"),
        ],
    );
    refused(&score(&folder, "--hyp two --ref three"), "three has 3 lines, two has 2 lines", "line");
    refused(&score(&folder, "--hyp two --ref two one"), "one has 1 line, two has 2 lines", "line");
    refused(
        &score(&folder, "--hyp two three --ref two"),
        "three has 3 lines, two has 2 lines",
        "line",
    );
    refused(
        &score(&folder, "--hyp two --ref two --source one"),
        "one has 1 line, two has 2 lines",
        "line",
    );
    refused(&score(&folder, "--hyp two --ref nowhere"), "cannot read nowhere", "check the path");
    refused(&score(&folder, "--hyp . --ref two"), "cannot read .", "text file");
    refused(&score(&folder, "--hyp empty --ref two"), "empty is empty", "one sentence a line");
    refused(&score(&folder, "--hyp two --ref empty"), "empty is empty", "one sentence a line");
    refused(
        &score(&folder, "--hyp two --ref latin1"),
        "latin1: line 2 is not UTF-8 (byte 1)",
        "iconv",
    );
    refused(&score(&folder, "--hyp - --ref two"), "standard input is empty", "one sentence a line");
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let folder = files("score-flags-bad", &[("h", b"a\n")]);
    let with = |flags: &str| score(&folder, &format!("--hyp h --ref h {flags}"));
    refused(&with("--smooth-value 0.5"), "--smooth-value", "--smooth floor");
    refused(&with("--smooth floor --smooth-value=-1"), "--smooth-value -1", "leave it out");
    refused(&with("--smooth add-k --smooth-value NaN"), "--smooth-value NaN", "leave it out");
    refused(&with("--chrf-char-order 0"), "nothing to count", "leave both out");
    refused(&with("--randomization 10"), "--randomization compares systems", "--bootstrap");
    refused(
        &score(&folder, "--hyp h h --ref h --sentence"),
        "--sentence scores one file",
        "one file",
    );
    for flags in [
        "--tokenize zh",
        "--metrics ter",
        "--bootstrap 1",
        "--max-ngram 0",
        "--sentence --bootstrap 9",
    ] {
        assert_eq!(with(flags).status.code(), Some(2), "{flags}");
    }
}

#[test]
fn a_line_of_a_million_characters_is_scored() {
    let line = "a rather long line, ".repeat(50_000);
    let folder = files("score-long", &[("h", line.as_bytes()), ("r", line.trim_end().as_bytes())]);
    let text = printed(&folder, "--hyp h --ref r");
    assert_eq!(text.matches(" = 100.00").count(), 3, "{text}");
}
