//! Hostile requests: mutated bodies, heads and paths. Nothing panics, nobody gets a 500, and the
//! server answers as before. `LIMPID_FUZZ_CASES=1000000` runs as many, from `CLIENTS` clients.

use super::support::{Folder, Running};
use limpid_tensor::rng::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Hostile clients at once: most wait for a timeout.
const CLIENTS: usize = 8;

/// A valid request of every route.
fn seeds() -> Vec<(&'static str, String)> {
    let text = "the cat sat";
    [
        (
            "/v1/completions",
            json!({"model": "gpt", "prompt": text, "max_tokens": 3, "n": 2,
            "temperature": 0.9, "top_p": 0.9, "stop": ["mat"], "logprobs": 2, "echo": true,
            "inspect": {"trace": 2, "attention": {"layers": [0], "heads": [1]}}}),
        ),
        ("/v1/completions", json!({"prompt": [[5, 6], [7]], "stream": true, "max_tokens": 2})),
        (
            "/v1/chat/completions",
            json!({"messages": [{"role": "user", "content": text}],
            "max_tokens": 2, "logprobs": true, "top_logprobs": 1}),
        ),
        (
            "/v1/embeddings",
            json!({"input": [text, "a"], "encoding_format": "base64",
            "dimensions": 4, "inspect": {"attention": true, "timing": true}}),
        ),
        ("/embed", json!({"inputs": [text], "truncate": true, "normalize": false})),
        ("/embed_all", json!({"inputs": text})),
        ("/rerank", json!({"query": text, "texts": ["a dog", "so"], "raw_scores": false})),
        ("/predict", json!({"inputs": [["so good"], ["so", "bad"]]})),
        ("/similarity", json!({"inputs": {"source_sentence": text, "sentences": ["so"]}})),
        ("/tokenize", json!({"inputs": [text], "add_special_tokens": true})),
        ("/decode", json!({"ids": [[5, 6, 7]], "skip_special_tokens": false})),
        (
            "/translate",
            json!({"q": [text], "source": "fr", "target": "en", "alternatives": 2,
            "inspect": {"attention": true, "alignment": true}}),
        ),
        ("/detect", json!({"q": text})),
        ("/models/masked", json!({"inputs": "the [MASK] sat", "parameters": {"top_k": 2}})),
        (
            "/models/tagger",
            json!({"inputs": text,
            "parameters": {"aggregation_strategy": "first"}}),
        ),
        (
            "/models/answerer",
            json!({"inputs": {"question": "who ?", "context": text},
            "parameters": {"top_k": 2, "max_seq_len": 20, "doc_stride": 4}}),
        ),
        (
            "/models/gpt/pipeline/text-generation",
            json!({"inputs": text,
            "parameters": {"max_new_tokens": 2, "num_beams": 2}}),
        ),
    ]
    .map(|(path, body)| (path, body.to_string()))
    .to_vec()
}

/// Values that code tends to be wrong about.
fn odd(rng: &mut Stream) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(1e-320),
        json!(0.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(65_536),
        json!(""),
        json!("\u{0}"),
        json!("\u{feff}\u{202e}é\u{1f600}"),
        json!("the ".repeat(500)),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!([4_294_967_295_u64]),
        json!("[MASK]"),
        json!("auto"),
    ];
    all[rng.below(all.len())].clone()
}

/// Replaces, removes, repeats or adds a value somewhere.
fn mutate_value(value: &mut Value, rng: &mut Stream) {
    let inside = rng.below(3) > 0;
    match value {
        Value::Object(fields) if inside && !fields.is_empty() => {
            let key = fields.keys().nth(rng.below(fields.len())).unwrap().clone();
            match rng.below(6) {
                0 => _ = fields.remove(&key),
                1 => _ = fields.insert("x".repeat(rng.below(40)), odd(rng)),
                _ => mutate_value(&mut fields[&key], rng),
            }
        }
        Value::Array(items) if inside && !items.is_empty() => {
            let at = rng.below(items.len());
            match rng.below(5) {
                0 => _ = items.remove(at),
                1 => items.extend(vec![items[at].clone(); rng.below(20)]),
                _ => mutate_value(&mut items[at], rng),
            }
        }
        _ => *value = odd(rng),
    }
}

/// Changes, removes, repeats or inserts bytes.
fn mutate_bytes(bytes: &mut Vec<u8>, rng: &mut Stream) {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len());
        match rng.below(5) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes.truncate(at),
            3 => _ = bytes.drain(at..(at + 1 + rng.below(9)).min(bytes.len())),
            _ => {
                let many = b"[{\"\\\r\n:,/%ff\x00\xff\xc3";
                let piece = vec![many[rng.below(many.len())]; 1 + rng.below(200)];
                bytes.splice(at..at, piece);
            }
        }
    }
}

/// A request that is wrong somewhere.
fn hostile(seeds: &[(&str, String)], rng: &mut Stream) -> Vec<u8> {
    let (path, body) = &seeds[rng.below(seeds.len())];
    let (mut path, mut body) = (path.as_bytes().to_vec(), body.clone().into_bytes());
    match rng.below(10) {
        0..=5 => {
            let mut value: Value = serde_json::from_slice(&body).unwrap();
            (0..1 + rng.below(3)).for_each(|_| mutate_value(&mut value, rng));
            body = value.to_string().into_bytes();
        }
        6 | 7 => mutate_bytes(&mut body, rng),
        _ => {}
    }
    if rng.below(12) == 0 {
        mutate_bytes(&mut path, rng);
    }
    let length = if rng.below(60) == 0 { rng.below(9) } else { body.len() };
    let head = "HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let mut head = format!("{head}content-length: {length}\r\n\r\n").into_bytes();
    if rng.below(20) == 0 {
        mutate_bytes(&mut head, rng);
    }
    [b"POST ", &path[..], b" ", &head, &body].concat()
}

/// Sends a request over a connection that is kept while it lasts; gives the status, if any.
fn ask(server: &Running, kept: &mut Option<TcpStream>, request: &[u8]) -> Option<u16> {
    let mut stream = kept.take().unwrap_or_else(|| server.connect());
    // A head or body that is too short keeps the server waiting: the client does not.
    stream.set_read_timeout(Some(Duration::from_millis(1_500))).unwrap();
    stream.write_all(request).ok()?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_string();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|l| l.split("\r\n").next()?.parse::<usize>().ok());
            let whole = match length {
                Some(length) => body.len() >= length,
                None => body.ends_with("0\r\n\r\n"),
            };
            let status = head.split(' ').nth(1)?.parse().ok();
            if whole {
                let exact = length.is_none_or(|length| body.len() == length);
                if exact && !head.contains("connection: close") {
                    *kept = Some(stream);
                }
                return status;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Panics of the server's threads: those of tests are named by their modules.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        if !thread.name().is_some_and(|name| name.contains("::")) {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        before(panic);
    }));
}

#[test]
fn hostile_requests_get_an_answer_that_is_not_our_fault() {
    let cases = std::env::var("LIMPID_FUZZ_CASES").ok().and_then(|n| n.parse().ok());
    let cases: usize = cases.unwrap_or(1_500);
    count_panics();
    let folder = Folder::new("fuzz");
    let server = Running::start(&folder.all(), |settings| {
        settings.read_timeout = Duration::from_millis(300);
        settings.request_timeout = Duration::from_secs(5);
    });
    let want =
        server.post("/v1/completions", &json!({"prompt": "the cat", "max_tokens": 5})).json();
    let seeds = seeds();
    for (path, body) in &seeds {
        let answer = server.send("POST", path, &[("content-type", "application/json")], body);
        assert_eq!(answer.status, 200, "{path} {}", answer.body);
    }
    let counts = Mutex::new(BTreeMap::<Option<u16>, usize>::new());
    let client = |client: usize| {
        let (mut rng, mut kept) = (Stream::new(20, client as u64), None);
        for case in 0..cases.div_ceil(CLIENTS) {
            let request = hostile(&seeds, &mut rng);
            let status = ask(&server, &mut kept, &request);
            *counts.lock().unwrap().entry(status).or_default() += 1;
            let fault = status.is_some_and(|status| status >= 500 && ![503, 504].contains(&status));
            let shown = || String::from_utf8_lossy(&request);
            assert!(!fault, "client {client}, case {case}: {status:?} {}", shown());
            assert!(status != Some(0));
        }
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|i| {
                let client = &client;
                let named = std::thread::Builder::new().name(format!("fuzz::client {i}"));
                named.spawn_scoped(scope, move || client(i)).unwrap()
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    let counts = counts.into_inner().unwrap();
    println!("{counts:?}");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "the server panicked");
    assert!(counts.keys().flatten().any(|status| *status == 200));
    let got = server.post("/v1/completions", &json!({"prompt": "the cat", "max_tokens": 5})).json();
    assert_eq!(got["choices"], want["choices"]);
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("limpid_kv_bytes 0"), "{metrics}");
}
