//! Bad requests: the right status in the right dialect, and everybody else untouched.

use super::support::{Folder, Running};
use limpid_server::{Access, Keys};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn a_bad_request_is_answered_in_the_dialect_of_its_route() {
    let folder = Folder::new("bad");
    let server = Running::start(&folder.all(), |_| ());
    let long = "the ".repeat(500);
    for (path, body, status) in [
        ("/v1/completions", json!({"model": "nobody", "prompt": "x"}), 404),
        ("/v1/completions", json!({"model": "masked", "prompt": "x"}), 400),
        ("/v1/completions", json!({"prompt": []}), 400),
        ("/v1/completions", json!({"prompt": [99_999]}), 400),
        ("/v1/completions", json!({"prompt": long}), 400),
        ("/v1/completions", json!({"prompt": "the", "n": 1_000_000}), 400),
        ("/v1/completions", json!({"prompt": "the", "temperature": -1}), 400),
        ("/v1/completions", json!({"prompt": "the", "top_p": 2}), 400),
        ("/v1/completions", json!({"prompt": "the", "max_tokens": 100_000}), 400),
        ("/v1/completions", json!({"prompt": "the", "logprobs": 50}), 400),
        ("/v1/completions", json!({"prompt": "the", "presence_penalty": 1.0}), 400),
        ("/v1/completions", json!({"prompt": "the", "stop": ["", "b"]}), 400),
        ("/v1/completions", json!({"prompt": {"a": 1}}), 400),
        ("/v1/completions", json!({"prompt": [-1]}), 400),
        ("/v1/chat/completions", json!({"messages": []}), 400),
        ("/v1/chat/completions", json!({"model": "fr-en", "messages": [{"role": "user"}]}), 400),
        ("/v1/embeddings", json!({"input": ""}), 200),
        ("/v1/embeddings", json!({"input": "x", "dimensions": 0}), 400),
        ("/v1/embeddings", json!({"input": [99_999], "model": "masked"}), 400),
        ("/v1/embeddings", json!({"input": long}), 400),
        ("/v1/nothing", json!({}), 404),
        ("/embed", json!({"inputs": []}), 400),
        ("/embed", json!({"inputs": 5}), 422),
        ("/embed", json!({"inputs": long}), 422),
        ("/models/gpt/embed", json!({"inputs": "x"}), 424),
        ("/models/nobody/embed", json!({"inputs": "x"}), 404),
        ("/models/masked", json!({"inputs": "no mask"}), 422),
        (
            "/models/answerer",
            json!({"inputs": {"question": "who ?", "context": "the cat"},
                "parameters": {"doc_stride": usize::MAX}}),
            422,
        ),
        // Windows that begin one token after another.
        (
            "/models/answerer",
            json!({"inputs": {"question": "who ?", "context": "the ".repeat(9_000)},
                "parameters": {"max_seq_len": 60, "doc_stride": 52}}),
            413,
        ),
        ("/pipeline/nothing", json!({"inputs": "x"}), 404),
        ("/predict", json!({"inputs": [["a", "b", "c"]]}), 422),
        ("/decode", json!({"ids": [4_000_000]}), 422),
        ("/translate", json!({"q": "x", "source": "de", "target": "en"}), 400),
        ("/translate", json!({"q": [], "source": "fr", "target": "en"}), 400),
        ("/translate", json!({"q": "x", "source": "fr", "target": "en", "format": "html"}), 400),
        ("/translate", json!({"q": "x"}), 400),
        ("/detect", json!({"q": " "}), 400),
    ] {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, status, "{path} {} {}", short(&body), answer.body);
        if status == 200 {
            continue;
        }
        assert!(!answer.body.contains("untagged"), "{}", answer.body);
        let error = &answer.json()["error"];
        match path.starts_with("/v1") {
            true => assert!(error["message"].is_string() && error["type"].is_string(), "{path}"),
            false => assert!(error.is_string(), "{path} {}", answer.body),
        }
    }
    assert_eq!(server.get("/v1/completions").status, 405);
    // Nobody was hurt.
    let answer = server.post("/v1/completions", &json!({"prompt": "the", "max_tokens": 2}));
    assert_eq!(answer.status, 200);
}

fn short(body: &Value) -> String {
    body.to_string().chars().take(80).collect()
}

#[test]
fn bytes_that_are_no_request_end_a_connection_and_nothing_else() {
    let folder = Folder::new("bytes");
    let server = Running::start(&[folder.gpt()], |settings| settings.body_limit = 10_000);
    let json = [("content-type", "application/json")];
    for body in ["{\"prompt\": ", "\u{0}", "[]", "null", "{\"prompt\": \"\\ud800\"}"] {
        let answer = server.send("POST", "/v1/completions", &json, body);
        assert_eq!(answer.status, 400, "{body:?} {}", answer.body);
    }
    let depth = format!("{{\"prompt\": {}", "[".repeat(9_000));
    assert_eq!(server.send("POST", "/v1/completions", &json, &depth).status, 400);
    let head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let invalid = [head.as_bytes(), b"content-length: 14\r\n\r\n{\"prompt\": \"\xff\""].concat();
    assert_eq!(server.raw(&invalid).status, 400);
    let large = server.send("POST", "/v1/completions", &json, &"x".repeat(10_001));
    assert_eq!(large.status, 413, "{}", large.body);
    // A client that sends everything before it reads gets its answer, too.
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4_096));
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(50));
    assert_eq!(server.raw(chunked.as_bytes()).status, 413);
    let form = [("content-type", "text/plain")];
    assert_eq!(server.send("POST", "/v1/completions", &form, "{}").status, 415);
    let zipped = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(server.send("POST", "/v1/completions", &zipped, "{}").status, 415);
    for garbage in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"] {
        let status = server.raw(garbage).status;
        assert!(status == 0 || status == 400, "{status}");
    }
    let many = format!("GET /health HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000));
    assert!([0, 400, 431].contains(&server.raw(many.as_bytes()).status));
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_key_opens_every_route_and_health_needs_none() {
    let folder = Folder::new("keys");
    let keys = Keys::new(&["secret"]);
    let server = Running::start(&folder.all(), |settings| {
        settings.access = Access { keys, hosts: Vec::new() };
    });
    let body = json!({"prompt": "the", "max_tokens": 1}).to_string();
    let send = |path: &str, header: Option<(&str, &str)>, body: &str| {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(header);
        server.send("POST", path, &headers, body)
    };
    assert_eq!(send("/v1/completions", None, &body).status, 401);
    assert_eq!(send("/v1/completions", Some(("authorization", "Bearer wrong")), &body).status, 401);
    let right = Some(("authorization", "Bearer secret"));
    assert_eq!(send("/v1/completions", right, &body).status, 200);
    assert_eq!(send("/v1/completions", Some(("x-api-key", "secret")), &body).status, 200);
    assert_eq!(send("/models/gpt/v1/completions", None, &body).status, 401);
    for path in ["/v1/models", "/metrics", "/docs", "/openapi.json", "/info", "//v1/models"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    assert_eq!(server.get("/languages").status, 403);
    let mut ask = json!({"q": "il dort", "source": "fr", "target": "en"});
    assert_eq!(server.post("/translate", &ask).status, 403);
    ask["api_key"] = "secret".into();
    assert_eq!(server.post("/translate", &ask).status, 200);
    assert_eq!((server.get("/health").status, server.get("/ready").status), (200, 200));
    assert!(
        !server.send("GET", "/metrics", &[("x-api-key", "secret")], "").body.contains("secret")
    );
}

#[test]
fn a_page_of_another_host_is_refused() {
    let folder = Folder::new("hosts");
    let server = Running::start(&[folder.gpt()], |_| ());
    for (host, status) in [("evil.example", 403), ("localhost:1", 200), ("127.0.0.1", 200)] {
        assert_eq!(
            server.send("GET", "/v1/models", &[("host", host)], "").status,
            status,
            "{host}"
        );
    }
}

#[test]
fn a_slow_body_is_given_up() {
    let folder = Folder::new("slow");
    let server = Running::start(&[folder.gpt()], |settings| {
        settings.read_timeout = Duration::from_millis(200);
    });
    let mut stream = server.connect();
    let head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    assert!(begun.elapsed() < Duration::from_secs(20));
}
