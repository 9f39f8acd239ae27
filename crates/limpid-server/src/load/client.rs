//! A client of a few lines: HTTP/1.1 over one connection.

use super::{LoadReport, lock};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What became of a request.
pub enum Answer {
    /// An answer with this status and body.
    Status(u16, Vec<u8>),
    /// The client left.
    Left,
    /// The server closed the connection, or did not accept it.
    Closed,
    /// No answer came in time.
    TimedOut,
}

/// How a client waits for its answer.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    /// For so long.
    Waits(Duration),
    /// It leaves after so long.
    Leaves(Duration),
    /// It reads a few bytes at a time.
    ReadsSlowly(Duration),
}

/// Bytes and pause of a slow reader.
const SLOW: (usize, Duration) = (64, Duration::from_millis(20));

/// A client's connection, which is used again while the server keeps it open.
pub struct Connection {
    address: String,
    stream: Option<TcpStream>,
}

impl Connection {
    pub fn new(address: String) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request and reads its answer.
    pub async fn ask(&mut self, request: &[u8], patience: Patience) -> Answer {
        let (limit, leaves, slow) = match patience {
            Patience::Waits(limit) => (limit, false, false),
            Patience::Leaves(limit) => (limit, true, false),
            Patience::ReadsSlowly(limit) => (limit, false, true),
        };
        match tokio::time::timeout(limit, self.exchange(request, slow)).await {
            Ok(Ok((status, body))) => Answer::Status(status, body),
            Ok(Err(_)) => {
                self.stream = None;
                Answer::Closed
            }
            Err(_) => {
                self.stream = None;
                if leaves { Answer::Left } else { Answer::TimedOut }
            }
        }
    }

    async fn exchange(&mut self, request: &[u8], slow: bool) -> std::io::Result<(u16, Vec<u8>)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        stream.write_all(request).await?;
        let mut bytes = Vec::with_capacity(4_096);
        let mut buffer = vec![0; if slow { SLOW.0 } else { 16 << 10 }];
        loop {
            if let Some(answer) = Parsed::of(&bytes) {
                if answer.keeps_open {
                    self.stream = Some(stream);
                }
                return Ok((answer.status, bytes[answer.body..answer.end].to_vec()));
            }
            if slow {
                tokio::time::sleep(SLOW.1).await;
            }
            let read = stream.read(&mut buffer).await?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&buffer[..read]);
        }
    }
}

/// Where the parts of an answer are.
struct Parsed {
    status: u16,
    body: usize,
    end: usize,
    keeps_open: bool,
}

impl Parsed {
    /// None before the whole answer is there. A body in chunks stays as it is.
    fn of(bytes: &[u8]) -> Option<Self> {
        let body = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&bytes[..body]).to_lowercase();
        let field = |name: &str| {
            let at = head.find(&format!("\r\n{name}: "))? + name.len() + 4;
            head[at..].split("\r\n").next().map(str::to_string)
        };
        let end = match field("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) => body + length,
            None => {
                let last = b"\r\n0\r\n\r\n";
                body + bytes[body - 2..].windows(7).position(|window| window == last)? + 5
            }
        };
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let keeps_open = field("connection").is_none_or(|value| value != "close");
        (bytes.len() >= end).then_some(Self { status, body, end, keeps_open })
    }
}

/// Sends a request a byte at a time until the server closes the connection, again and again.
pub async fn drip(address: String, until: Instant, report: Arc<Mutex<LoadReport>>) {
    while Instant::now() < until {
        let Ok(mut stream) = TcpStream::connect(&address).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let opened = Instant::now();
        let head = b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nx-drip: ";
        let mut answer = [0; 256];
        for byte in head.iter().chain(std::iter::repeat(&b'a')) {
            let pause = Duration::from_millis(250);
            let closed = match tokio::time::timeout(pause, stream.read(&mut answer)).await {
                Ok(read) => read.map_or(true, |read| read == 0),
                Err(_) => stream.write_all(&[*byte]).await.is_err(),
            };
            if closed || Instant::now() >= until {
                break;
            }
        }
        lock(&report).dripped(opened.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_length_or_its_last_chunk_is_there() {
        let plain = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        assert!(Parsed::of(&plain[..plain.len() - 1]).is_none());
        let found = Parsed::of(plain).unwrap();
        assert_eq!((found.status, &plain[found.body..found.end]), (200, &b"abc"[..]));
        assert!(found.keeps_open);
        let chunked = b"HTTP/1.1 429 X\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
                        3\r\nabc\r\n0\r\n\r\n";
        assert!(Parsed::of(&chunked[..chunked.len() - 1]).is_none());
        let found = Parsed::of(chunked).unwrap();
        assert_eq!((found.status, found.end), (429, chunked.len()));
        assert!(!found.keeps_open);
    }
}
