//! `limpid lab` and `limpid inspect` from outside.

use super::*;
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::word_tokenizer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

fn gpt(folder: &Path) -> PathBuf {
    let tokenizer = word_tokenizer(["the cat sat on the mat"]).unwrap();
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 32, 2, 2, 8);
    let path = folder.join("gpt");
    hub::save(&Model::new(config, 1).unwrap(), &path).unwrap();
    tokenizer.save(&path).unwrap();
    path
}

/// Ends a lab, also when a test fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(port: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-limpid-token: {token}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_address_that_is_printed_opens_the_lab_and_ctrl_c_ends_it() {
    let folder = scratch("lab");
    let model = gpt(&folder);
    let mut command = limpid(&["lab", "--no-open", "--port", "0"]);
    command.arg(&model).current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut lab = Ended(command.spawn().unwrap());
    let mut line = String::new();
    let out = lab.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let (address, token) = line.trim().split_once("/#token=").unwrap();
    let port = address.rsplit(':').next().unwrap();
    assert!(get(port, "/", "").starts_with("HTTP/1.1 200"));
    assert!(get(port, "/api/lab", "").starts_with("HTTP/1.1 401"));
    let told = get(port, "/api/lab", token);
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("\"id\":\"gpt\""), "{told}");
    let pid = lab.0.id().to_string();
    let sent = Command::new("sh").args(["-c", "kill -INT $0", &pid]).status().unwrap();
    assert!(sent.success());
    assert!(lab.0.wait().unwrap().success());
}

#[test]
fn a_number_is_explained_and_one_that_is_not_there_is_refused() {
    let folder = scratch("inspect");
    let model = gpt(&folder).display().to_string();
    let listed = limpid(&["inspect", &model, "the cat"]).output().unwrap();
    let text = stdout(&listed);
    assert!(listed.status.success() && text.contains("layers.1.ffn.down"), "{text}");
    let number = ["inspect", &model, "the cat", "--number", "logits[1, 3]", "--json"];
    let found: serde_json::Value =
        serde_json::from_slice(&limpid(&number).output().unwrap().stdout).unwrap();
    let found = &found["numbers"][0];
    assert_eq!(found["operation"], "linear", "{found}");
    assert!(found["ulps"].as_f64().unwrap() < 8.0, "{found}");
    let weight = "layers.0.self_attention.weights[1][1, 0]";
    let found = limpid(&["inspect", &model, "the cat", "--number", weight]).output().unwrap();
    assert!(stdout(&found).contains("exp(score"), "{}", stdout(&found));
    let edit = r#"{"kind": "head", "attention": "self_attention", "layer": 0, "head": 1,
        "how": "zero"}"#;
    let edited = limpid(&["inspect", &model, "the cat", "--edit", edit]).output().unwrap();
    assert!(stdout(&edited).contains("edited"), "{}", stdout(&edited));
    let nothing = run(&["inspect", &model, "the cat", "--number", "nothing[0, 0]"]);
    refused(&nothing, "nothing", "--number");
    refused(&run(&["inspect", &model, "the cat", "--edit", "{}"]), "--edit", "JSON");
    let beyond = run(&["inspect", &model, "the cat", "--number", "logits[9, 9]"]);
    assert_eq!(beyond.status.code(), Some(2));
}
