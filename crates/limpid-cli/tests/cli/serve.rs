//! `limpid serve`: starts, answers as the command line does, and stops.

use super::{limpid, model, refused, run, scratch, stderr, stdout};
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, EncoderConfig, EncoderHead};
use limpid::text::{Purpose, word_tokenizer, word_tokenizer_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// A server process, its port, and the lines that it prints after it has said where it listens.
struct Server {
    child: Child,
    port: u16,
    lines: Receiver<String>,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let mut args = args.to_vec();
        args.extend(["--port", "0", "--log", "quiet"]);
        Self::spawn(&args, Path::new("."))
    }

    fn spawn(args: &[&str], folder: &Path) -> Self {
        let mut child = limpid(args)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        for stream in [Box::new(out) as Box<dyn Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        drop(sender);
        let served = lines.iter().find(|line| line.contains("Serving on")).expect("it says where");
        let port = served
            .split_once("http://127.0.0.1:")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        Self { child, port: port.unwrap_or(0), lines }
    }

    fn json(&self, path: &str, body: &Value) -> Value {
        serde_json::from_str(&self.post(path, &body.to_string())).unwrap()
    }

    fn post(&self, path: &str, body: &str) -> String {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        exchange(stream, path, body).1
    }

    /// Sends a signal and gives the exit code.
    fn stop(mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(killed.success());
        self.child.wait().unwrap().code()
    }
}

/// The head and the body of an answer.
fn exchange(mut stream: impl Read + Write, path: &str, body: &str) -> (String, String) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\nx-api-key: secret-key\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_string(), body.to_string())
}

const WORDS: &str = "the cat sat on the mat and a dog ran over the hill";

/// A language model with initial weights.
fn gpt(folder: PathBuf) -> PathBuf {
    let tokenizer = word_tokenizer([WORDS]).unwrap();
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 64, 1, 2, 32);
    limpid::hub::save(&Model::new(config, 3).unwrap(), &folder).unwrap();
    tokenizer.save(&folder).unwrap();
    folder
}

/// A masked language model with initial weights.
fn bert(folder: PathBuf) -> PathBuf {
    let tokenizer = word_tokenizer_for([WORDS], Purpose::Encoder).unwrap();
    let config = EncoderConfig::new(tokenizer.vocab_size(), 64, 1, 2, 32);
    let config = EncoderConfig { head: EncoderHead::MaskedLm, ..config };
    limpid::hub::save(&Model::new(config, 3).unwrap(), &folder).unwrap();
    tokenizer.save(&folder).unwrap();
    folder
}

/// What the command line continues a prompt with.
fn generated(folder: &Path, prompt: &str) -> String {
    let folder = folder.to_str().unwrap();
    let output = run(&["generate", folder, "--prompt", prompt, "--max-new-tokens", "8", "--json"]);
    let line: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    line["text"].as_str().unwrap().to_string()
}

#[test]
fn an_answer_is_the_command_line_s_and_sigterm_ends_with_0() {
    let folder = model();
    let text = "Je suis étudiant";
    let alone = run(&["translate", folder.to_str().unwrap(), text]);
    let server = Server::start(&["serve", folder.to_str().unwrap()]);
    let body = serde_json::json!({"q": text, "source": "fr", "target": "en"}).to_string();
    let answer: serde_json::Value =
        serde_json::from_str(&server.post("/translate", &body)).unwrap();
    assert_eq!(answer["translatedText"], stdout(&alone).trim_end());
    assert_eq!(server.stop("-TERM"), Some(0));
}

#[test]
fn a_check_loads_everything_and_ends() {
    let output = run(&["serve", model().to_str().unwrap(), "--check", "--port", "0"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_server_that_cannot_start_says_what_to_do() {
    let folder = model().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&run(&["serve", folder, "--port", &port]), "cannot listen on", "--port");
    let twice = run(&["serve", folder, folder, "--port", "0"]);
    refused(&twice, "two models have the name", "NAME=FOLDER");
    let open = run(&["serve", folder, "--host", "0.0.0.0", "--port", "0"]);
    refused(&open, "other machines", "--api-key-file");
    let empty = scratch("no-model");
    let output = run(&["serve", empty.to_str().unwrap(), "--port", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let keys = empty.join("keys");
    std::fs::write(&keys, "# none\n").unwrap();
    let output = run(&["serve", folder, "--api-key-file", keys.to_str().unwrap()]);
    refused(&output, "there is no key in it", "--api-key-file");
}

#[test]
fn a_unix_socket_serves_and_a_stale_one_is_replaced() {
    let folder = scratch("unix");
    let (gpt, socket) = (gpt(folder.join("gpt")), folder.join("socket"));
    let args = ["serve", gpt.to_str().unwrap(), "--unix", socket.to_str().unwrap()];
    for _ in 0..2 {
        let server = Server::spawn(&args, &folder);
        let body = json!({"prompt": "the cat", "max_tokens": 8}).to_string();
        let stream = UnixStream::connect(&socket).unwrap();
        let (_, answer) = exchange(stream, "/v1/completions", &body);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["choices"][0]["text"], generated(&gpt, "the cat"));
        let second = run(&args);
        refused(&second, "cannot listen on", "--unix");
        // Killed: the socket stays, and the next start replaces it.
        assert_eq!(server.stop("-KILL"), None);
        assert!(socket.exists());
    }
}

#[test]
fn a_log_of_json_has_requests_and_no_texts_or_keys() {
    let folder = scratch("log");
    let gpt = gpt(folder.join("gpt"));
    let args = ["serve", gpt.to_str().unwrap(), "--port", "0", "--log", "json"];
    let server = Server::spawn(&args, &folder);
    let answer = server.json("/v1/completions", &json!({"prompt": "the cat", "max_tokens": 2}));
    assert!(answer["choices"][0]["text"].is_string(), "{answer}");
    server.post("/v1/completions", "{");
    let mut requests = Vec::new();
    while requests.len() < 2 {
        let line = server.lines.recv_timeout(Duration::from_secs(20)).expect("a line of the log");
        assert!(!line.contains("cat") && !line.contains("secret-key"), "{line}");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["message"] == "answered" {
            requests.push((line["route"].clone(), line["status"].clone(), line["request"].clone()));
        }
    }
    let route = || json!("/v1/completions");
    assert_eq!(requests[0], (route(), json!(200), json!(1)));
    assert_eq!(requests[1], (route(), json!(400), json!(2)));
    assert_eq!(server.stop("-INT"), Some(0));
}

#[test]
fn the_demo_s_models_are_served_if_they_are_there() {
    let folder = scratch("serve-demo");
    let demo = folder.join("limpid-demo");
    std::fs::create_dir_all(&demo).unwrap();
    let gpt = gpt(demo.join("story-gpt"));
    bert(demo.join("story-bert"));
    let copy = std::process::Command::new("cp").arg("-r").arg(model()).arg(&demo).status().unwrap();
    assert!(copy.success());
    let server = Server::spawn(&["serve", "--demo", "--port", "0", "--log", "quiet"], &folder);
    let ask = json!({"model": "story-gpt", "prompt": "the cat", "max_tokens": 8});
    let text = server.json("/v1/completions", &ask)["choices"][0]["text"].clone();
    assert_eq!(text, generated(&gpt, "the cat"));
    let ask = json!({"q": "Je suis étudiant", "source": "fr", "target": "en"});
    assert!(server.json("/translate", &ask)["translatedText"].is_string());
    let ask = json!({"inputs": "the [MASK] sat"});
    assert!(server.json("/models/story-bert", &ask)[0]["score"].is_number());
    assert_eq!(server.stop("-TERM"), Some(0));
}

#[test]
fn quantized_folders_and_adapters_are_served_as_the_command_line_runs_them() {
    let folder = scratch("serve-quantized");
    let gpt = gpt(folder.join("gpt"));
    let small = folder.join("int8");
    let args = ["quantize", gpt.to_str().unwrap(), "--out", small.to_str().unwrap()];
    let output = run(&[&args[..], &["--to", "int8"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let server = Server::start(&["serve", gpt.to_str().unwrap(), small.to_str().unwrap()]);
    for (name, folder) in [("gpt", &gpt), ("int8", &small)] {
        let ask = json!({"model": name, "prompt": "the cat sat", "max_tokens": 8});
        let answer = server.json("/v1/completions", &ask);
        assert_eq!(answer["choices"][0]["text"], generated(folder, "the cat sat"), "{name}");
    }
    assert_eq!(server.stop("-TERM"), Some(0));
}

#[test]
fn an_idle_server_uses_no_cpu_and_a_killed_one_needs_no_repair() {
    let folder = scratch("idle");
    let gpt = gpt(folder.join("gpt"));
    let args = ["serve", gpt.to_str().unwrap()];
    let server = Server::start(&args);
    let ask = json!({"prompt": "the cat", "max_tokens": 8});
    let want = server.json("/v1/completions", &ask)["choices"].clone();
    std::thread::sleep(Duration::from_millis(300));
    let ticks = || {
        let path = format!("/proc/{}/stat", server.child.id());
        let stat = std::fs::read_to_string(path).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let (before, begun) = (ticks(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    // A tick is a hundredth of a second.
    assert!(ticks() - before <= 1, "{} ticks in {:?}", ticks() - before, begun.elapsed());
    assert_eq!(server.stop("-KILL"), None);
    let server = Server::start(&args);
    assert_eq!(server.json("/v1/completions", &ask)["choices"], want);
    assert_eq!(server.stop("-TERM"), Some(0));
}
