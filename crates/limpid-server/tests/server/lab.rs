//! The lab through its sockets: who may ask, what every kind of model shows, and bad input.

use super::fixtures;
use super::support::Folder;
use limpid::model::Model;
use limpid::model::config::{EncoderHead, RecurrentAttention, RecurrentConfig};
use limpid::text::word_tokenizer;
use limpid_server::lab::types::{GenerateRequest, PassRequest};
use limpid_server::lab::{Commands, LabServer, LabSettings, TrainSpec};
use limpid_tensor::kernels::recurrent::Cell;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

struct NoCommands;

impl Commands for NoCommands {
    fn inspect(&self, _: &Path, _: &PassRequest) -> String {
        "inspect".into()
    }
    fn generate(&self, _: &Path, _: &GenerateRequest) -> String {
        "generate".into()
    }
    fn resume(&self, _: &Path) -> String {
        "resume".into()
    }
    fn resume_run(&self, _: &Path) -> Command {
        Command::new("false")
    }
    fn train(&self, _: &TrainSpec) -> Command {
        Command::new("false")
    }
    fn demo(&self, _: &[&str], _: &Path) -> Command {
        Command::new("false")
    }
    fn experiment(&self, _: &str, _: bool, _: &Path) -> Command {
        Command::new("false")
    }
}

/// An answer, whose body may be no text.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    bytes: Vec<u8>,
    body: String,
}

impl Answer {
    fn parse(answer: &[u8]) -> Self {
        let at = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8_lossy(&answer[..at]).to_lowercase();
        let body = answer.get(at + 4..).unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let bytes = match head.contains("transfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_vec(),
        };
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Self { status, head, bytes, body }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(at) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..at]).unwrap_or("0");
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        bytes.extend_from_slice(&body[at + 2..at + 2 + size]);
        body = &body[at + 4 + size..];
    }
    bytes
}

struct Lab {
    port: u16,
    token: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

impl Lab {
    fn start(sources: Vec<PathBuf>) -> Self {
        let (sender, started) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (assets, data, commands) = (None, Vec::new(), Box::new(NoCommands));
                let settings = LabSettings { port: 0, assets, sources, data, commands };
                let server = LabServer::bind(settings).await.unwrap();
                sender.send(server.address()).unwrap();
                server.run(async { _ = stopped.await }).await;
            });
        });
        let address = started.recv().unwrap();
        let (host, token) = address.split_once("/#token=").unwrap();
        let port = host.rsplit(':').next().unwrap().parse().unwrap();
        Self { port, token: token.into(), stop: Some(stop), thread: Some(thread) }
    }

    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Answer::parse(&answer)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.raw(head.as_bytes())
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn get(&self, path: &str) -> Answer {
        let host = self.host();
        self.send("GET", path, &[("host", &host), ("x-limpid-token", &self.token)], "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let host = self.host();
        let headers = [
            ("host", host.as_str()),
            ("x-limpid-token", &self.token),
            ("content-type", "application/json"),
        ];
        self.send("POST", path, &headers, &body.to_string())
    }

    fn pass(&self, body: &Value) -> Value {
        let answer = self.post("/api/passes", body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.body);
        answer.json()
    }
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"]["code"].as_str().unwrap_or("").to_string())
}

fn recurrent(parent: &Path, attention: RecurrentAttention) -> PathBuf {
    let tokenizer = word_tokenizer(fixtures::SENTENCES).unwrap();
    let config = RecurrentConfig::new(tokenizer.vocab_size(), Cell::Gru, attention, 1, 16);
    let folder = parent.join(format!("rnn-{attention}"));
    limpid::hub::save(&Model::new(config, 3).unwrap(), &folder).unwrap();
    tokenizer.save(&folder).unwrap();
    folder
}

#[test]
fn who_has_not_the_address_of_this_start_is_refused() {
    let folder = Folder::new("lab-access");
    let lab = Lab::start(vec![folder.gpt()]);
    let (host, token) = (lab.host(), lab.token.clone());
    let asked = |headers: &[(&str, &str)]| code(&lab.send("GET", "/api/lab", headers, ""));
    assert_eq!(lab.get("/api/lab").status, 200);
    let refused = |status: u16, code: &str| (status, code.to_string());
    // Another name for this machine: DNS rebinding.
    for wrong in ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"] {
        let found = asked(&[("host", wrong), ("x-limpid-token", &token)]);
        assert_eq!(found, refused(403, "wrong_host"), "{wrong}");
        assert_eq!(code(&lab.send("GET", "/", &[("host", wrong)], "")), refused(403, "wrong_host"));
    }
    // No token, and a wrong one.
    assert_eq!(asked(&[("host", &host)]), refused(401, "no_token"));
    let wrong = token.replace(|c: char| c.is_ascii_digit(), "0") + "0";
    assert_eq!(asked(&[("host", &host), ("x-limpid-token", &wrong)]), refused(401, "no_token"));
    // The page of another site, also with the token.
    for (name, value) in
        [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let found = asked(&[("host", &host), ("x-limpid-token", &token), (name, value)]);
        assert_eq!(found, refused(403, "wrong_origin"), "{name}: {value}");
    }
    // A form of another site has no JSON.
    let form =
        [("host", host.as_str()), ("x-limpid-token", &token), ("content-type", "text/plain")];
    let found = code(&lab.send("POST", "/api/passes", &form, "{}"));
    assert_eq!(found, refused(415, "media_type"));
    assert_eq!(code(&lab.send("POST", "/", &[("host", &host)], "")), refused(405, "method"));
}

#[test]
fn a_path_in_place_of_an_id_leads_nowhere() {
    let folder = Folder::new("lab-paths");
    let lab = Lab::start(vec![folder.gpt()]);
    let paths = ["../../etc/passwd", "/etc/passwd", "..", "gpt/../gpt", "gpt%2F..%2Fgpt"];
    for path in paths {
        let answer = lab.post("/api/passes", &json!({"model": path, "text": "the cat"}));
        assert_eq!(code(&answer), (404, "no_model".into()), "{path}");
    }
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "/.git/config",
        "/api/runs/..%2f..",
        "/api/experiments/..%2f../pictures/a",
        "/api/experiments/scaling/pictures/..%2f..%2fa",
        "/frames/..%2f..%2fetc",
    ] {
        let answer = lab.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
}

#[test]
fn answers_say_what_a_browser_may_do_with_them() {
    let folder = Folder::new("lab-headers");
    let lab = Lab::start(vec![folder.gpt()]);
    let page = lab.get("/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{part} is not in {policy}");
    }
    for path in ["/", "/api/lab", "/none.js"] {
        assert_eq!(lab.get(path).header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    assert_eq!(lab.get("/api/lab").header("cache-control"), Some("no-store"));
}

#[test]
fn a_body_that_is_too_large_or_has_unknown_fields_is_refused() {
    let folder = Folder::new("lab-bodies");
    let lab = Lab::start(vec![folder.gpt()]);
    let large = json!({"model": "gpt", "text": "x".repeat(2 << 20)});
    assert_eq!(code(&lab.post("/api/passes", &large)), (413, "too_large".into()));
    let unknown = json!({"model": "gpt", "text": "the cat", "path": "/etc"});
    assert_eq!(code(&lab.post("/api/passes", &unknown)), (400, "malformed".into()));
    let typed = json!({"model": "gpt", "text": 5});
    assert_eq!(code(&lab.post("/api/passes", &typed)), (400, "malformed".into()));
}

/// A number of a pass, its largest term, and so on down to a weight or a token.
fn descend(lab: &Lab, pass: &Value, element: Value) -> usize {
    let (mut element, mut depth) = (element, 0);
    loop {
        let body = json!({"pass": pass["id"], "element": element, "largest": 3});
        let answer = lab.post("/api/explain", &body);
        assert_eq!(answer.status, 200, "{element}: {}", answer.body);
        let found = answer.json();
        let off = found["ulps"].as_f64().unwrap();
        assert!(off <= 8.0, "{found}");
        depth += 1;
        if element["kind"] == "param" {
            assert_eq!(found["operation"], "parameter");
            assert!(found["file"]["tensor"].is_string(), "{found}");
            return depth;
        }
        let factors = found["terms"].as_array().unwrap().iter();
        let factors = factors.flat_map(|term| term["factors"].as_array().unwrap());
        let next: Vec<&Value> = factors.map(|factor| &factor["origin"]["element"]).collect();
        // Weights last: they are the bottom.
        let computed = next.iter().find(|next| !next.is_null() && next["kind"] != "param");
        match computed.or(next.iter().find(|next| !next.is_null())) {
            Some(next) => element = (*next).clone(),
            None => return depth,
        }
        assert!(depth < 200, "no end");
    }
}

#[test]
fn every_kind_of_model_is_open_to_its_numbers() {
    let folder = Folder::new("lab-kinds");
    let lab = Lab::start(vec![
        folder.gpt(),
        folder.translator(),
        folder.encoder("masked", EncoderHead::MaskedLm),
        recurrent(&folder.0, RecurrentAttention::None),
        recurrent(&folder.0, RecurrentAttention::Dot),
        recurrent(&folder.0, RecurrentAttention::Additive),
    ]);
    for (model, text, attentions) in [
        ("gpt", "the cat sat", 2),
        ("fr-en", "il dort", 6),
        ("masked", "the cat sat", 2),
        ("rnn-none", "il dort", 0),
        ("rnn-dot", "il dort", 1),
        ("rnn-additive", "il dort", 1),
    ] {
        let pass = lab.pass(&json!({"model": model, "text": text}));
        let again = lab.pass(&json!({"model": model, "text": text}));
        assert_eq!(pass["id"], again["id"], "{model}: the same pass has the same id");
        let found = pass["attentions"].as_array().unwrap();
        assert_eq!(found.len(), attentions, "{model}");
        let id = pass["id"].as_str().unwrap();
        for attention in found {
            let (index, step) = (&attention["index"], &attention["step"]);
            let (t, s) = (attention["t"].as_u64().unwrap(), attention["s"].as_u64().unwrap());
            let weights = lab.get(&format!("/api/passes/{id}/weights?attention={index}&head=0"));
            assert_eq!(weights.header("x-shape").unwrap(), format!("{t},{s}"), "{model}");
            let weights = floats(&weights);
            for row in weights.chunks(s as usize) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{model}: {row:?}");
            }
            let element =
                json!({"kind": "weight", "step": step, "head": 0, "query": t - 1, "key": 0});
            let body = json!({"pass": id, "element": element});
            let weight = lab.post("/api/explain", &body).json()["value"].as_f64().unwrap();
            let own = f64::from(weights[((t - 1) * s) as usize]);
            assert!((weight - own).abs() < 1e-6, "{model}: {weight} {own}");
            descend(&lab, &pass, element);
        }
        if let Some(step) = pass["logits"]["step"].as_u64() {
            let element =
                json!({"kind": "output", "step": step, "output": 0, "row": 1, "column": 3});
            assert!(descend(&lab, &pass, element) > 3, "{model}");
        }
        if attentions > 0 {
            let thumbnails = lab.get(&format!("/api/passes/{id}/thumbnails"));
            assert_eq!(frames(&thumbnails.bytes), heads(&pass), "{model}");
            let roles = lab.get(&format!("/api/passes/{id}/roles")).json();
            assert_eq!(roles["heads"].as_array().unwrap().len(), heads(&pass), "{model}");
        }
    }
}

fn heads(pass: &Value) -> usize {
    let attentions = pass["attentions"].as_array().unwrap().iter();
    attentions.map(|attention| attention["heads"].as_u64().unwrap() as usize).sum()
}

fn floats(answer: &Answer) -> Vec<f32> {
    let bytes = answer.bytes.chunks_exact(4);
    bytes.map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

/// The number of frames of a stream of thumbnails.
fn frames(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while bytes.len() >= 16 {
        let number =
            |i: usize| u32::from_le_bytes(bytes[4 * i..][..4].try_into().unwrap()) as usize;
        bytes = &bytes[16 + number(2) * number(3)..];
        count += 1;
    }
    assert!(bytes.is_empty(), "a frame is cut");
    count
}

#[test]
fn a_generation_can_be_stepped_forced_and_filtered_anew() {
    let folder = Folder::new("lab-generate");
    let lab = Lab::start(vec![folder.gpt(), folder.translator()]);
    for (model, text) in [("gpt", "the cat"), ("fr-en", "il dort")] {
        let body = json!({
            "model": model, "text": text, "temperature": 0.8, "seed": 5, "max_new_tokens": 6,
        });
        let whole = lab.post("/api/generate", &body).json();
        let ids: Vec<u64> =
            whole["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert!(ids.len() > 1, "{model}: {whole}");
        // One step after some that are given is the step of the whole.
        let mut one = body.clone();
        (one["prefix_ids"], one["max_new_tokens"]) = (json!(ids[..1]), json!(1));
        let step = lab.post("/api/generate", &one).json();
        assert_eq!(step["steps"][0]["u"], whole["steps"][1]["u"], "{model}");
        assert_eq!(step["ids"][1], ids[1], "{model}");
        // The logits of a step give its probabilities.
        let id = whole["id"].as_str().unwrap();
        let logits = floats(&lab.get(&format!("/api/generations/{id}/logits?step=1")));
        let largest = logits.iter().copied().fold(f32::MIN, f32::max);
        let sum: f64 = logits.iter().map(|z| f64::from(z - largest).exp()).sum();
        let top = &whole["steps"][1]["top"][0];
        let own = f64::from(logits[top["id"].as_u64().unwrap() as usize] - largest).exp() / sum;
        assert!((own - top["probability"].as_f64().unwrap()).abs() < 1e-4, "{model}");
        let beams = json!({"model": model, "text": text, "width": 3, "max_new_tokens": 4});
        let found = lab.post("/api/beams", &beams).json();
        assert!(!found["steps"].as_array().unwrap().is_empty(), "{found}");
        assert_eq!(found["results"].as_array().unwrap().len(), 3, "{found}");
    }
}

#[test]
fn a_head_can_be_switched_off_and_all_one_after_the_other() {
    let folder = Folder::new("lab-ablate");
    let lab = Lab::start(vec![folder.gpt(), folder.translator()]);
    for (model, text, attention) in
        [("gpt", "the cat sat", "self_attention"), ("fr-en", "il dort", "decoder.cross_attention")]
    {
        let edit =
            json!({"kind": "head", "attention": attention, "layer": 1, "head": 0, "how": "zero"});
        let body = json!({"model": model, "text": text, "edits": [edit]});
        let found = lab.post("/api/ablate", &body).json();
        let delta = found["delta"].as_f64().unwrap();
        assert!(delta != 0.0 && found["kl"][0].as_f64().unwrap() >= 0.0, "{found}");
        let all =
            lab.post("/api/ablate/all", &json!({"pass": found["before"]["id"], "how": "zero"}));
        let lines: Vec<Value> =
            all.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), heads(&found["before"]) + 1, "{}", all.body);
        assert_eq!(lines.last().unwrap()["done"], true);
        let same = lines
            .iter()
            .find(|line| line["attention"] == attention && line["layer"] == 1 && line["head"] == 0);
        assert!((same.unwrap()["delta"].as_f64().unwrap() - delta).abs() < 1e-9);
        let lens = lab.post("/api/lens", &json!({"pass": found["before"]["id"]})).json();
        assert_eq!(lens["layers"].as_array().unwrap().len(), 3, "{lens}");
    }
    let wrong = json!({
        "kind": "head", "attention": "self_attention", "layer": 9, "head": 0, "how": "zero",
    });
    let body = json!({"model": "gpt", "text": "the cat", "edits": [wrong]});
    assert_eq!(code(&lab.post("/api/ablate", &body)), (422, "invalid".into()));
}

#[test]
fn bad_input_is_named_and_nothing_is_lost() {
    let folder = Folder::new("lab-bad");
    let gpt = folder.gpt();
    let damaged = folder.0.join("damaged");
    std::fs::create_dir_all(&damaged).unwrap();
    std::fs::copy(gpt.join("config.json"), damaged.join("config.json")).unwrap();
    std::fs::write(damaged.join("model.safetensors"), b"not weights").unwrap();
    let bare = folder.0.join("bare");
    std::fs::create_dir_all(&bare).unwrap();
    for file in ["config.json", "model.safetensors", "generation_config.json"] {
        let _ = std::fs::copy(gpt.join(file), bare.join(file));
    }
    let lab = Lab::start(vec![
        gpt,
        damaged,
        bare,
        folder.0.join("absent"),
        folder.encoder("masked", EncoderHead::MaskedLm),
    ]);
    let models = lab.get("/api/models").json();
    let state = |id: &str| {
        let mut all = models["models"].as_array().unwrap().iter();
        let found = all.find(|model| model["id"] == id).unwrap();
        (found["state"].as_str().unwrap().to_string(), found["problem"].is_string())
    };
    assert_eq!(state("gpt"), ("ready".into(), false));
    assert_eq!(state("damaged"), ("damaged".into(), true));
    assert_eq!(state("absent"), ("absent".into(), true));
    assert_eq!(state("bare"), ("ready".into(), false));
    let pass =
        |model: &str, text: &str| lab.post("/api/passes", &json!({"model": model, "text": text}));
    assert_eq!(code(&pass("damaged", "the cat")), (409, "model_unusable".into()));
    assert_eq!(code(&pass("absent", "the cat")), (409, "model_unusable".into()));
    // Without a tokenizer, texts are token ids.
    let ids = pass("bare", "3 1 4").json();
    assert_eq!(ids["source"][1]["text"], "1", "{ids}");
    assert_eq!(code(&pass("bare", "the cat")).0, 422);
    assert_eq!(code(&pass("bare", "99999")).0, 422);
    // Too long, empty, one token, other scripts.
    assert_eq!(code(&pass("gpt", &"the ".repeat(500))), (422, "too_long".into()));
    assert_eq!(code(&pass("gpt", "")).0, 422);
    assert_eq!(pass("gpt", "cat").status, 200);
    for text in ["🙂🙃 👩‍👩‍👧", "שלום עולם", "a\u{202e}b", "<script>alert(1)</script>"]
    {
        let found = pass("gpt", text);
        assert_eq!(found.status, 200, "{text}: {}", found.body);
        assert_eq!(found.header("content-type"), Some("application/json"));
    }
    // What a kind of model has not.
    let fill = json!({"model": "gpt", "text": "the [MASK]"});
    assert_eq!(code(&lab.post("/api/fill-mask", &fill)), (422, "wrong_model".into()));
    let generate = json!({"model": "masked", "text": "the"});
    assert_eq!(code(&lab.post("/api/generate", &generate)), (422, "wrong_model".into()));
    let masked = pass("masked", "the cat").json();
    let lens = lab.post("/api/lens", &json!({"pass": masked["id"]}));
    assert_eq!(code(&lens), (422, "unsupported".into()));
    let output =
        |row: usize| json!({"kind": "output", "step": 0, "output": 0, "row": row, "column": 0});
    let gone = lab.post("/api/explain", &json!({"pass": "p0", "element": output(0)}));
    assert_eq!(code(&gone), (410, "pass_expired".into()));
    let beyond = json!({"pass": masked["id"], "element": output(999)});
    assert_eq!(code(&lab.post("/api/explain", &beyond)), (404, "no_element".into()));
}
