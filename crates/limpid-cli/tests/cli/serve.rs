//! `limpid serve`: starts, answers as the command line does, and stops.

use super::{limpid, model, refused, run, scratch, stderr, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

/// A server process and its port.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let mut args = args.to_vec();
        args.extend(["--port", "0", "--log", "quiet"]);
        let mut child =
            limpid(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
        let port = lines.iter().find_map(|line| {
            let (_, rest) = line.split_once("http://127.0.0.1:")?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        Self { child, port: port.expect("it says where it listens") }
    }

    fn post(&self, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_string()
    }

    /// Sends a signal and gives the exit code.
    fn stop(mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(killed.success());
        self.child.wait().unwrap().code()
    }
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
