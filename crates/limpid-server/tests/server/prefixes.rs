//! Prompts that begin alike: computed once, with the same bits.

use super::support::{Folder, Running, SENTENCES};
use limpid_server::Keys;
use serde_json::{Value, json};

/// A prompt of so many tokens: words, each of which is one, without punctuation.
fn words(count: usize, last: &str) -> String {
    let words = SENTENCES.iter().flat_map(|s| s.split(' '));
    let words = words.filter(|word| word.chars().all(char::is_alphabetic));
    words.cycle().take(count - 1).chain([last]).collect::<Vec<_>>().join(" ")
}

fn metrics(server: &Running) -> String {
    server.send("GET", "/metrics", &[("x-api-key", "one")], "").body
}

fn reused(server: &Running) -> u64 {
    let metrics = metrics(server);
    let line = metrics.lines().find(|line| line.starts_with("limpid_prefix_reused_tokens_total"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("the metric is there")
}

#[test]
fn a_known_beginning_changes_no_bit_of_an_answer() {
    let folder = Folder::new("prefixes");
    let gpt = folder.gpt();
    let alone = Running::start(std::slice::from_ref(&gpt), |settings| settings.prefix_cache = 0);
    let server = Running::start(std::slice::from_ref(&gpt), |_| ());
    let mut expected = 0;
    // Lengths around blocks of 64 and chunks of 128; the second of each begins like the first.
    for (length, known) in
        [(63, 0), (64, 0), (66, 64), (130, 128), (193, 128), (194, 192), (300, 256)]
    {
        for last in ["cat", "dog"] {
            let ask = json!({"prompt": words(length, last), "max_tokens": 6, "logprobs": 5,
                "temperature": 0.8, "seed": 3, "n": 2});
            let ask = |server: &Running| -> Value {
                server.post("/v1/completions", &ask).json()["choices"].clone()
            };
            assert_eq!(ask(&server), ask(&alone), "{length} words");
            let before = std::mem::replace(&mut expected, reused(&server));
            if last == "dog" {
                assert_eq!(expected - before, known, "{length} words");
            }
        }
    }
    assert_eq!(reused(&alone), 0);
}

#[test]
fn clients_share_no_beginnings_and_the_bound_holds() {
    let folder = Folder::new("prefixes-clients");
    let gpt = folder.gpt();
    // A token of this model has 2 layers of 2 · 16 numbers: 256 bytes.
    let bound = 256 * 130;
    let server = Running::start(&[gpt], |settings| {
        settings.prefix_cache = bound;
        settings.access.keys = Keys::new(&["one", "two"]);
    });
    let ask = |key: &str, last: &str, length: usize| {
        let body = json!({"prompt": words(length, last), "max_tokens": 1}).to_string();
        let headers = [("content-type", "application/json"), ("x-api-key", key)];
        assert_eq!(server.send("POST", "/v1/completions", &headers, &body).status, 200);
        reused(&server)
    };
    assert_eq!(ask("one", "cat", 100), 0);
    assert_eq!(ask("two", "cat", 100), 0, "another client");
    assert_eq!(ask("one", "dog", 100), 64);
    assert_eq!(ask("one", "dog", 390), 64 + 64, "it is too long to be remembered, but reads");
    let metrics = metrics(&server);
    let line = metrics.lines().find(|line| line.starts_with("limpid_prefix_cache_bytes ")).unwrap();
    let bytes: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(bytes > 0 && bytes <= bound, "{bytes}");
}
