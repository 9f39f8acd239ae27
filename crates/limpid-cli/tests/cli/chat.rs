//! `limpid chat`, from outside.

use super::*;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::word_tokenizer;
use serde_json::Value;
use std::io::Write;

const TEMPLATE: &str = "{% for m in messages %}{{ m.role }} : {{ m.content }} . {% endfor %}\
                        {% if add_generation_prompt %}assistant :{% endif %}";

/// A small model that knows the words of its template; what it says is nonsense.
fn folder(name: &str, template: Option<&str>) -> PathBuf {
    let folder = scratch(name);
    let words = ["system user assistant : the cat sat on the mat .", "a red flag is a sign !"];
    let tokenizer = word_tokenizer(words).unwrap();
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 64, 2, 2, 16);
    let mut model = Model::new(config, 3).unwrap();
    model.params.flat_mut().iter_mut().for_each(|x| *x *= 12.0);
    tokenizer.save(&folder).unwrap();
    limpid::hub::save(&model, &folder).unwrap();
    if let Some(template) = template {
        std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    }
    folder
}

fn chat(folder: &Path, args: &[&str]) -> Output {
    run(&[&["chat", folder.to_str().unwrap(), "--max-new-tokens", "6"], args].concat())
}

#[track_caller]
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

#[test]
fn a_reply_continues_the_prompt_of_the_template_and_the_history_grows() {
    let folder = folder("chat-history", Some(TEMPLATE));
    let continued = |prompt: &str| {
        let model = folder.to_str().unwrap();
        said(&run(&["generate", model, "--max-new-tokens", "6", "--prompt", prompt]))
    };
    let first = said(&chat(&folder, &["--system", "a sign", "--message", "the cat"]));
    assert_eq!(first, continued("system : a sign . user : the cat . assistant :"));
    let reply = first.trim_end_matches('\n');
    let second = continued(&format!(
        "system : a sign . user : the cat . assistant : {reply} . user : the mat . assistant :"
    ));
    let args = ["--system", "a sign", "--message", "the cat", "--message", "the mat"];
    assert_eq!(said(&chat(&folder, &args)), format!("{first}{second}"));

    // The same as lines of standard input, and as JSON.
    let model = folder.to_str().unwrap();
    let mut child = limpid(&["chat", model, "--max-new-tokens", "6", "--system", "a sign"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"the cat\n\nthe mat\n").unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), format!("{first}{second}"));
    let json = said(&chat(&folder, &[&args[..], &["--json"]].concat()));
    let json: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json.len(), 2);
    assert_eq!(json[0]["text"], reply);
    assert_eq!((&json[1]["message"], &json[1]["index"]), (&"the mat".into(), &1.into()));
    assert_eq!(json[1]["tokens"].as_array().unwrap().len(), 6);
}

#[test]
fn a_reply_ends_at_any_of_the_end_tokens() {
    let folder = folder("chat-end", Some(TEMPLATE));
    let json = |args: &[&str]| -> Value {
        let args = [&["--message", "the cat", "--json"], args].concat();
        serde_json::from_str(&said(&chat(&folder, &args))).unwrap()
    };
    let tokens = json(&[])["tokens"].clone();
    let end = tokens[2].as_u64().unwrap();
    let ends = format!("{{\"eos_token_id\": [0, {end}]}}");
    std::fs::write(folder.join("generation_config.json"), ends).unwrap();
    let ended = json(&[]);
    let first = tokens.as_array().unwrap().iter().position(|id| *id == end).unwrap();
    assert_eq!(ended["tokens"].as_array().unwrap().len(), first);
    assert_eq!(ended["finish_reason"], "eos_token");
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let plain = folder("chat-no-template", None);
    refused(&chat(&plain, &["--message", "the cat"]), "has no chat template", "limpid generate");
    let strict = "{{ raise_exception('no system') if messages[0].role == 'system' }}the cat";
    let strict = folder("chat-strict", Some(strict));
    let output = chat(&strict, &["--system", "a sign", "--message", "the cat"]);
    refused(&output, "refuses this conversation: no system", "--system");
    let endless = "{% for a in range(99999) %}".repeat(3) + &"{% endfor %}".repeat(3);
    let endless = folder("chat-endless", Some(&endless));
    refused(&chat(&endless, &["--message", "the cat"]), "was stopped", "trust");
    let good = folder("chat-refused", Some(TEMPLATE));
    refused(&chat(&good, &[]), "no messages", "--message");
    let several = ["--message", "the cat", "--do-sample", "--num-return-sequences", "2"];
    refused(&chat(&good, &several), "one reply", "--num-return-sequences");
    let long = "the cat ".repeat(40);
    refused(&chat(&good, &["--message", &long]), "exceed the model's context", "--slide");
}
