//! `limpid generate`, from outside.

use super::*;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::word_tokenizer;
use serde_json::Value;
use std::io::Write;

const SENTENCES: [&str; 3] = [
    "the cat sat on the mat.",
    "the dog lay on the rug, and the cat slept.",
    "a red flag is a sign!",
];

/// A small language model with a tokenizer; what it says is nonsense, but not always the same. It
/// reads 24 tokens.
fn gpt() -> &'static Path {
    static GPT: OnceLock<PathBuf> = OnceLock::new();
    GPT.get_or_init(|| gpt_with("gpt-words", "{}"))
}

fn gpt_with(name: &str, generation: &str) -> PathBuf {
    let folder = scratch(name);
    let tokenizer = word_tokenizer(SENTENCES).unwrap();
    let mut model =
        Model::new(DecoderConfig::gpt2(tokenizer.vocab_size(), 24, 2, 2, 16), 3).unwrap();
    // Larger weights than a fresh model has, or all tokens would be about as likely.
    model.params.flat_mut().iter_mut().for_each(|x| *x *= 12.0);
    tokenizer.save(&folder).unwrap();
    limpid::hub::save(&model, &folder).unwrap();
    std::fs::write(folder.join("generation_config.json"), generation).unwrap();
    folder
}

fn generate(args: &[&str]) -> Output {
    run(&[&["generate", gpt().to_str().unwrap()], args].concat())
}

#[track_caller]
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

#[track_caller]
fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = limpid(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// Tokens of the model.
fn vocabulary() -> usize {
    let config = std::fs::read_to_string(gpt().join("config.json")).unwrap();
    serde_json::from_str::<Value>(&config).unwrap()["vocab_size"].as_u64().unwrap() as usize
}

fn sum(candidates: &[Value], key: &str) -> f64 {
    candidates.iter().map(|c| c[key].as_f64().unwrap()).sum()
}

#[test]
fn generate_continues_a_prompt_from_a_flag_or_from_standard_input() {
    let text = said(&generate(&["--prompt", "the cat", "--max-new-tokens", "8"]));
    assert!(text.ends_with('\n') && text.trim().split(' ').count() > 3, "{text:?}");
    let model = gpt().to_str().unwrap();
    let output = with_input(&["generate", model, "--max-new-tokens", "8"], b"the cat\n");
    assert_eq!(
        said(&output),
        text,
        "all of standard input is the prompt, without its last line ending"
    );
    let echoed = said(&generate(&["--prompt", "the cat", "--max-new-tokens", "8", "--echo"]));
    assert_eq!(echoed, format!("the cat{text}"));
    let json =
        json_lines(&said(&generate(&["--prompt", "the cat", "--max-new-tokens", "8", "--json"])));
    assert_eq!(json.len(), 1);
    assert_eq!(
        (&json[0]["prompt"], &json[0]["finish_reason"]),
        (&"the cat".into(), &"length".into())
    );
    assert_eq!(json[0]["text"].as_str().unwrap(), text.trim_end_matches('\n'));
    assert_eq!(json[0]["tokens"].as_array().unwrap().len(), 8);
}

#[test]
fn samples_depend_on_seed_prompt_and_number_alone() {
    let sample = |args: &[&str]| {
        said(&generate(
            &[&["--max-new-tokens", "10", "--temperature", "1.5", "--json"], args].concat(),
        ))
    };
    let texts = |out: &str| -> Vec<String> {
        json_lines(out).iter().map(|line| line["text"].as_str().unwrap().to_string()).collect()
    };
    let one = sample(&["--prompt", "the cat", "--seed", "7"]);
    assert_eq!(one, sample(&["--prompt", "the cat", "--seed", "7"]));
    assert_ne!(texts(&one), texts(&sample(&["--prompt", "the cat", "--seed", "8"])));
    let three = texts(&sample(&[
        "--prompt",
        "a red",
        "--prompt",
        "the cat",
        "--seed",
        "7",
        "--num-return-sequences",
        "3",
    ]));
    assert_eq!(three.len(), 6);
    assert_eq!(three[3], texts(&one)[0], "in company or alone");
    assert_ne!(three[3], three[4]);
    let plain = said(&generate(&[
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "10",
        "--temperature",
        "1.5",
        "--num-return-sequences",
        "2",
        "--seed",
        "7",
    ]));
    // Several sequences without beams are samples, and the first is the one sample.
    let single = ["--prompt", "the cat", "--max-new-tokens", "10", "--json"];
    let sampled = |more: &[&str]| texts(&said(&generate(&[&single[..], more].concat())));
    assert_eq!(sampled(&["--do-sample"]), sampled(&["--num-return-sequences", "3"])[..1]);
    let headings: Vec<&str> = plain.lines().filter(|line| line.starts_with("---")).collect();
    assert_eq!(headings, ["--- prompt 1, text 1 ---", "--- prompt 1, text 2 ---"]);
}

#[test]
fn beams_give_their_best_with_scores_best_first() {
    let args = [
        "--prompt",
        "the dog",
        "--max-new-tokens",
        "6",
        "--num-beams",
        "4",
        "--num-return-sequences",
        "3",
        "--length-penalty",
        "0.6",
    ];
    let lines = json_lines(&said(&generate(
        &[&args[..], &["--early-stopping", "never", "--json"]].concat(),
    )));
    let scores: Vec<f64> = lines.iter().map(|line| line["score"].as_f64().unwrap()).collect();
    assert_eq!(scores.len(), 3);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(said(&generate(&args)).starts_with("--- prompt 1, text 1, score -"));
    assert!(
        said(&generate(&[
            "--prompt",
            "the dog",
            "--max-new-tokens",
            "6",
            "--num-beams",
            "3",
            "--gnmt-length-penalty",
            "0.6"
        ]))
        .lines()
        .count()
            == 1
    );
}

#[test]
fn a_text_ends_at_a_stop_string_and_without_it() {
    let whole = said(&generate(&["--prompt", "the cat", "--max-new-tokens", "12"]));
    // A piece from the middle, across the boundary of two words.
    let words: Vec<&str> = whole.trim_end().split(' ').collect();
    let stop = format!("{} {}", words[words.len() / 2 - 1], words[words.len() / 2]);
    let until = whole.find(&stop).unwrap();
    for beams in [&[][..], &["--json"]] {
        let out = said(&generate(
            &[
                &[
                    "--prompt",
                    "the cat",
                    "--max-new-tokens",
                    "12",
                    "--stop-strings",
                    &stop,
                    "--stop-strings",
                    "never said",
                ],
                beams,
            ]
            .concat(),
        ));
        let text = match beams {
            [] => out.trim_end_matches('\n').to_string(),
            _ => {
                let line = json_lines(&out).remove(0);
                assert_eq!(line["finish_reason"], "stop_string");
                line["text"].as_str().unwrap().to_string()
            }
        };
        assert_eq!(text, &whole[..until]);
    }
    let line = json_lines(&said(&generate(&[
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "12",
        "--num-beams",
        "1",
        "--stop-strings",
        &stop,
        "--json",
    ])))
    .remove(0);
    assert_eq!(line["finish_reason"], "stop_string");
}

#[test]
fn a_trace_has_every_step_with_its_candidates() {
    let file = scratch("trace").join("steps.jsonl");
    let path = file.to_str().unwrap();
    let sample =
        ["--prompt", "the cat", "--max-new-tokens", "5", "--top-k", "3", "--seed", "2", "--json"];
    let result =
        json_lines(&said(&generate(&[&sample[..], &["--trace", path]].concat()))).remove(0);
    let steps = json_lines(&std::fs::read_to_string(&file).unwrap());
    let chosen: Vec<&Value> = steps.iter().map(|step| &step["chosen"]["id"]).collect();
    assert_eq!(chosen, result["tokens"].as_array().unwrap().iter().collect::<Vec<_>>());
    for (n, step) in steps.iter().enumerate() {
        assert_eq!(
            (&step["step"], &step["prompt"], &step["sample"]),
            (&n.into(), &0.into(), &0.into())
        );
        let u = step["u"].as_f64().unwrap();
        assert!((0.0..1.0).contains(&u));
        let candidates = step["candidates"].as_array().unwrap();
        let possible: Vec<f64> = candidates
            .iter()
            .map(|c| c["filtered"].as_f64().unwrap())
            .filter(|p| *p > 0.0)
            .collect();
        assert_eq!(possible.len(), 3);
        // The whole vocabulary is there: the model's, after the processors, and after the filters.
        assert_eq!((candidates.len(), &step["omitted"]), (vocabulary(), &0.into()));
        for key in ["probability", "processed", "filtered"] {
            assert!((sum(candidates, key) - 1.0).abs() < 1e-5, "{key}");
        }
        assert!(candidates.iter().any(|c| c["token"] == step["chosen"]["token"]));
    }
    // Rules are seen in greedy search, too: what was said becomes less likely.
    let greedy = [
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "3",
        "--repetition-penalty",
        "2",
        "--trace",
        "-",
    ];
    let steps = json_lines(&said(&generate(&greedy)));
    for step in &steps[..3] {
        let candidates = step["candidates"].as_array().unwrap();
        assert!((sum(candidates, "processed") - 1.0).abs() < 1e-5);
        assert!(candidates.iter().any(|c| c["probability"] != c["processed"]));
        assert_eq!(
            (&candidates[0]["filtered"], &candidates[0]["id"]),
            (&1.0.into(), &step["chosen"]["id"])
        );
        assert!(candidates.is_sorted_by_key(|c| -c["processed"].as_f64().unwrap()));
    }
    let short = json_lines(&said(&generate(&[&greedy[..], &["--trace-top", "4"]].concat())));
    assert_eq!(
        short[0]["candidates"].as_array().unwrap()[..],
        steps[0]["candidates"].as_array().unwrap()[..5]
    );
    assert_eq!(short[0]["omitted"], vocabulary() - 5);
    // On standard output everything is JSON: six steps of beams, and the text.
    let out = json_lines(&said(&generate(&[
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "6",
        "--num-beams",
        "2",
        "--trace",
        "-",
    ])));
    assert_eq!(out.len(), 7);
    assert!(
        out[0]["running"].as_array().unwrap().len() == 2
            && out[5]["finished"].as_array().unwrap().len() == 2
    );
    assert!(out[6]["text"].is_string());
    // Every beam has its distribution, and the candidates are the best of their
    // sums.
    for step in &out[..6] {
        let beams = step["beams"].as_array().unwrap();
        let next = |i: usize| beams[i]["next"].as_array().unwrap();
        for i in 0..beams.len() {
            let p: f64 = next(i).iter().map(|n| n["log_probability"].as_f64().unwrap().exp()).sum();
            assert!((p - 1.0).abs() < 1e-4 && next(i).len() == vocabulary(), "{p}");
        }
        let best = &step["candidates"][0];
        let from = best["beam"].as_u64().unwrap() as usize;
        let token = next(from).iter().find(|n| n["id"] == best["id"]).unwrap();
        let sum =
            beams[from]["log_probability"].as_f64().unwrap() + token["processed"].as_f64().unwrap();
        assert!((sum - best["sum"].as_f64().unwrap()).abs() < 1e-4);
    }
    let few = [
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "6",
        "--num-beams",
        "2",
        "--trace",
        "-",
        "--trace-top",
        "1",
    ];
    for step in &json_lines(&said(&generate(&few)))[..6] {
        let listed: usize = (0..step["beams"].as_array().unwrap().len())
            .map(|i| step["beams"][i]["next"].as_array().unwrap().len() - 1)
            .sum();
        assert_eq!(listed, step["candidates"].as_array().unwrap().len());
    }
    // An earlier trace is written over, and nothing else.
    generate(&["--prompt", "the cat", "--max-new-tokens", "1", "--trace", path]);
    assert_eq!(json_lines(&std::fs::read_to_string(&file).unwrap()).len(), 1);
    let own = file.with_file_name("config.json");
    std::fs::write(&own, "{\"model_type\": \"gpt2\"}").unwrap();
    let over = generate(&["--prompt", "the cat", "--trace", own.to_str().unwrap()]);
    refused(&over, "config.json exists and holds something else", "another name");
    assert!(std::fs::read_to_string(&own).unwrap().contains("gpt2"));
    refused(
        &generate(&["--prompt", "a", "--trace", "no/such/folder/file"]),
        "no/such/folder/file",
        "check the path",
    );
}

#[test]
fn a_text_can_outgrow_the_context_with_a_sliding_window() {
    let long = ["the cat sat on the mat"; 5].join(" ");
    refused(
        &generate(&["--prompt", &long]),
        "prompt 1: 30 tokens exceed the model's context of 24 by 6",
        "--slide",
    );
    refused(
        &generate(&["--prompt", "the cat", "--max-new-tokens", "100"]),
        "2 tokens and 100 new ones exceed the model's context of 24",
        "use --max-new-tokens 23, or --slide",
    );
    refused(
        &generate(&[
            "--prompt",
            "the cat",
            "--max-new-tokens",
            "100",
            "--num-beams",
            "2",
            "--slide",
        ]),
        "by 77",
        "cannot slide",
    );
    let count = |args: &[&str]| {
        let line = json_lines(&said(&generate(&[args, &["--json"]].concat()))).remove(0);
        (
            line["tokens"].as_array().unwrap().len(),
            line["finish_reason"].as_str().unwrap().to_string(),
        )
    };
    assert_eq!(count(&["--prompt", "the cat", "--max-new-tokens", "23"]), (23, "length".into()));
    assert_eq!(
        count(&["--prompt", "the cat", "--max-new-tokens", "100", "--slide"]),
        (100, "length".into())
    );
    assert_eq!(
        count(&["--prompt", &long, "--max-new-tokens", "5", "--slide"]),
        (5, "length".into())
    );
    // Where nobody says how long, as long as it can.
    assert_eq!(count(&["--prompt", "the cat"]), (23, "context".into()));
    assert_eq!(count(&["--prompt", "the cat", "--num-beams", "2"]), (23, "context".into()));
    // Until the context is full, the window changes nothing.
    let first = |args: &[&str]| said(&generate(args));
    let short = first(&["--prompt", "the cat", "--max-new-tokens", "20"]);
    assert!(
        first(&["--prompt", "the cat", "--max-new-tokens", "60", "--slide"])
            .starts_with(short.trim_end())
    );
}

#[test]
fn generation_config_is_the_default_and_flags_override_it() {
    let folder = gpt_with(
        "gpt-drawing",
        r#"{"do_sample": true, "temperature": 1.4, "max_new_tokens": 4, "num_return_sequences": 2, "bos_token_id": 0, "flux": 1}"#,
    );
    let model = folder.to_str().unwrap();
    let output = run(&["generate", model, "--prompt", "the cat", "--json"]);
    assert!(stderr(&output).contains("generation_config.json: unknown key flux"));
    let lines = json_lines(&said(&output));
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["tokens"].as_array().unwrap().len() == 4));
    let lines = json_lines(&said(&run(&[
        "generate",
        model,
        "--prompt",
        "the cat",
        "--temperature",
        "0",
        "--num-return-sequences",
        "1",
        "--max-new-tokens",
        "2",
        "--json",
    ])));
    assert_eq!((lines.len(), lines[0]["tokens"].as_array().unwrap().len()), (1, 2));
    // This model has a token to start with.
    assert!(run(&["generate", model, "--prompt", ""]).status.success());
    let strange = gpt_with("gpt-strange", r#"{"typical_p": 0.5}"#);
    refused(
        &run(&["generate", strange.to_str().unwrap(), "--prompt", "a"]),
        "typical_p = 0.5 is not supported: it would change the result",
        "remove typical_p",
    );
    let both = gpt_with("gpt-both", r#"{"do_sample": true, "num_beams": 3}"#);
    refused(
        &run(&["generate", both.to_str().unwrap(), "--prompt", "a"]),
        "num_beams 3 with do_sample",
        "--num-beams",
    );
    let beyond = gpt_with("gpt-beyond", r#"{"eos_token_id": 5000}"#);
    refused(
        &run(&["generate", beyond.to_str().unwrap(), "--prompt", "a"]),
        "token 5000 is beyond",
        "generation_config.json",
    );
}

#[test]
fn settings_out_of_range_are_refused_with_a_hint() {
    let bad = |args: &[&str], error: &str, hint: &str| {
        refused(&generate(&[&["--prompt", "the cat"], args].concat()), error, hint);
    };
    bad(&["--top-p", "1.5"], "top_p 1.5 is not in [0, 1]", "0.9");
    bad(&["--top-p", "-0.1"], "top_p -0.1", "0.9");
    bad(&["--top-p", "nan"], "top_p NaN", "0.9");
    bad(&["--temperature", "-1"], "temperature -1 is not a number ≥ 0", "use 0");
    bad(&["--temperature", "NaN"], "temperature NaN", "use 0");
    bad(&["--temperature", "inf"], "temperature inf", "use 0");
    bad(&["--top-k", "0"], "top_k 0 is not at least 1", "1 or more");
    bad(&["--num-beams", "0"], "num_beams 0 is not in 1 to", "--num-beams 1");
    bad(
        &["--num-return-sequences", "0"],
        "num_return_sequences 0 is not at least 1",
        "--num-return-sequences at least 1",
    );
    bad(
        &["--num-beams", "2", "--num-return-sequences", "3"],
        "num_return_sequences 3 exceeds num_beams 2",
        "--num-beams 3",
    );
    bad(
        &["--num-beams", "1", "--num-return-sequences", "3"],
        "num_return_sequences 3 exceeds num_beams 1",
        "--num-beams 3",
    );

    bad(&["--num-beams", "2", "--length-penalty", "nan"], "length_penalty NaN", "1 is the default");
    bad(
        &["--num-beams", "2", "--length-penalty", "-1000"],
        "length_penalty -1000 is not in -5 to 5",
        "1 is the default",
    );
    bad(
        &["--num-beams", "2", "--gnmt-length-penalty", "1000"],
        "gnmt_length_penalty 1000 is not in -5 to 5",
        "1 is the default",
    );
    let most = usize::MAX.to_string();
    bad(
        &["--max-new-tokens", &most],
        "max_new_tokens 18446744073709551615 is not at most",
        "a digit too many",
    );
    bad(
        &["--max-new-tokens", &most, "--slide"],
        "max_new_tokens 18446744073709551615 is not at most",
        "a digit too many",
    );
    bad(
        &["--min-new-tokens", &most, "--slide"],
        "min_new_tokens 18446744073709551615 is not at most",
        "a digit too many",
    );
    bad(
        &["--num-beams", "2", "--length-penalty", "1", "--gnmt-length-penalty", "1"],
        "length_penalty and gnmt_length_penalty exclude each other",
        "or --gnmt-length-penalty",
    );
    bad(&["--gnmt-length-penalty", "0.6"], "without beam search", "--num-beams 4");
    bad(
        &["--num-beams", "2", "--top-k", "5"],
        "beam search cannot be combined with sampling",
        "leave out",
    );
    bad(
        &["--temperature", "0", "--num-return-sequences", "2"],
        "the same text 2 times",
        "--temperature 0.7",
    );
    bad(&["--repetition-penalty", "0"], "repetition_penalty 0 is not", "1.1");
    bad(&["--repetition-penalty", "-2"], "repetition_penalty -2 is not", "1.1");
    bad(
        &["--no-repeat-ngram-size", "0"],
        "no_repeat_ngram_size 0 is not at least 1",
        "--no-repeat-ngram-size 3",
    );
    bad(&["--stop-strings", ""], "empty stop string", "leave --stop-strings out");
    bad(
        &["--no-repeat-ngram-size", "1", "--max-new-tokens", "23"],
        "exclude every token",
        "--no-repeat-ngram-size",
    );
    for wrong in [["--top-k", "-1"], ["--early-stopping", "maybe"], ["--max-new-tokens", "many"]] {
        assert_eq!(
            generate(&[&["--prompt", "a"], &wrong[..]].concat()).status.code(),
            Some(2),
            "{wrong:?}"
        );
    }
}

#[test]
fn prompts_and_models_that_cannot_be_continued_are_refused_with_a_hint() {
    refused(&generate(&["--prompt", ""]), "prompt 1 is empty", "--prompt");
    refused(&generate(&["--prompt", "the cat", "--prompt", "  "]), "prompt 2 is empty", "--prompt");
    refused(&generate(&[]), "prompt 1 is empty", "--prompt");
    let output = with_input(&["generate", gpt().to_str().unwrap()], b"the cat\nsat \xff on");
    refused(&output, "standard input is not UTF-8 (byte 13, line 2)", "iconv");
    let translator = model().to_str().unwrap();
    refused(
        &run(&["generate", translator, "--prompt", "Merci"]),
        "it cannot generate text",
        "limpid translate",
    );
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    refused(
        &run(&["generate", fixture.to_str().unwrap(), "--prompt", "a"]),
        "tokenizer.json",
        "needs a tokenizer",
    );
    refused(
        &run(&["generate", "no/such/folder", "--prompt", "a"]),
        "not a model folder",
        "limpid demo",
    );
}

#[test]
fn text_is_printed_while_it_is_generated() {
    // A reader that stops after a few bytes ends the program before it has written ten thousand
    // tokens.
    let mut child = limpid(&[
        "generate",
        gpt().to_str().unwrap(),
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "1000000",
        "--slide",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut first = [0; 16];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
