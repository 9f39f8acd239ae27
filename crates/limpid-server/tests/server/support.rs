//! Models with initial weights, a server, and an HTTP client that closes after each request.

use super::fixtures;
use limpid::model::config::EncoderHead;
use limpid_server::{Address, ModelSource, Models, ServeError, Server, Settings};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

pub use super::fixtures::SENTENCES;

/// A folder of models that is removed at the end of a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("limpid-server-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub fn gpt(&self) -> PathBuf {
        fixtures::gpt(&self.0)
    }

    pub fn translator(&self) -> PathBuf {
        fixtures::translator(&self.0)
    }

    pub fn encoder(&self, name: &str, head: EncoderHead) -> PathBuf {
        fixtures::encoder(&self.0, name, head)
    }

    /// One of each kind.
    pub fn all(&self) -> Vec<PathBuf> {
        fixtures::all(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in a thread of its own.
pub struct Running {
    pub port: u16,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub fn start(folders: &[PathBuf], change: impl FnOnce(&mut Settings)) -> Self {
        let sources: Vec<ModelSource> = folders
            .iter()
            .map(|folder: &PathBuf| ModelSource { name: None, folder: folder.clone() })
            .collect();
        let load = move || Models::load(&sources);
        Self::start_with(load, change)
    }

    /// A server whose models are loaded by a function.
    pub fn start_with(
        load: impl FnOnce() -> Result<Models, ServeError> + Send + 'static,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings =
            Settings { address: Address::Tcp("127.0.0.1".into(), 0), ..Settings::default() };
        change(&mut settings);
        let (port, started) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(settings, load).await.unwrap();
                let address = server.address().rsplit(':').next().unwrap().parse().unwrap();
                port.send(address).unwrap();
                server.run(async { _ = stopped.await }).await.unwrap();
            });
        });
        let port: u16 = started.recv().unwrap();
        Self { port, stop: Some(stop), thread: Some(thread) }
    }

    /// One that was started elsewhere.
    pub fn at(port: u16) -> Self {
        Self { port, stop: None, thread: None }
    }

    /// Tells it to stop; it drains.
    pub fn stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    /// Waits until it has stopped.
    pub fn join(mut self) {
        self.stop();
        self.thread.take().unwrap().join().unwrap();
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_string())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str("host: localhost\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.raw(head.as_bytes())
    }

    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Answer::parse(&answer)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(body) } else { body.to_string() };
        Self { status, head: head.to_lowercase(), body }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The values of server-sent events, without `[DONE]`.
    pub fn events(&self) -> Vec<Value> {
        let frames = self.body.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        frames
            .filter(|frame| *frame != "[DONE]")
            .map(|frame| serde_json::from_str(frame).unwrap())
            .collect()
    }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}
