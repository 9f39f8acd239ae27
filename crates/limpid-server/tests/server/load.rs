//! Many clients at once: the same answers as alone, exact bounds, cancellation, draining.

use super::support::{Folder, Running, SENTENCES};
use limpid::{Embedder, Generator, Translator};
use limpid_server::{Address, Limits, ModelSource, Models};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn under_load_every_answer_is_the_one_that_its_request_gives_alone() {
    let folder = Folder::new("load");
    let folders = folder.all();
    let server = Running::start(&folders, |_| ());
    let generator = Generator::load(&folders[0]).unwrap();
    let translator = Translator::load(&folders[1]).unwrap();
    let embedder = Embedder::load(&folders[2]).unwrap();
    std::thread::scope(|scope| {
        for client in 0..12_usize {
            let (server, generator) = (&server, &generator);
            let (translator, embedder) = (&translator, &embedder);
            scope.spawn(move || {
                for round in 0..4 {
                    let text = SENTENCES[(client + round) % 3];
                    match client % 3 {
                        0 => {
                            let seed = (client + 10 * round) as u64;
                            let prompt = generator.prompt(text).temperature(0.9).seed(seed);
                            let want = prompt.max_new_tokens(20).generate().unwrap();
                            let ask = json!({"prompt": text, "max_tokens": 20, "seed": seed,
                                "temperature": 0.9});
                            let got = server.post("/v1/completions", &ask).json();
                            assert_eq!(got["choices"][0]["text"], want);
                        }
                        1 => {
                            let want = translator.translate(&[text]).unwrap();
                            let ask = json!({"q": text, "source": "fr", "target": "en"});
                            let got = server.post("/translate", &ask).json();
                            assert_eq!(got["translatedText"], want[0]);
                        }
                        _ => {
                            let want = embedder.embed(&[text]).unwrap();
                            let ask = json!({"inputs": text});
                            let got = server.post("/models/masked/embed", &ask).json();
                            let got: Vec<Vec<f32>> = serde_json::from_value(got).unwrap();
                            assert_eq!(got, want);
                        }
                    }
                }
            });
        }
    });
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("limpid_running_generations 0"), "{metrics}");
}

#[test]
fn a_full_queue_refuses_with_a_time_to_come_back() {
    let folder = Folder::new("full");
    let server = Running::start(&[folder.gpt()], |settings| {
        settings.limits = Limits { queue_tokens: 700, running: 1, ..settings.limits };
    });
    let ask = json!({"prompt": "the cat", "max_tokens": 300});
    let never = json!({"prompt": "the cat", "max_tokens": 300, "n": 3, "temperature": 1.0});
    let refused = server.post("/v1/completions", &never);
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert!(refused.head.contains("x-should-retry: false"));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..12).map(|_| scope.spawn(|| server.post("/v1/completions", &ask))).collect();
        let answers = clients.into_iter().map(|client| client.join().unwrap());
        answers
            .map(|answer| {
                if answer.status == 429 {
                    assert!(answer.head.contains("retry-after: "), "{}", answer.head);
                }
                answer.status
            })
            .collect()
    });
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert!(count(200) >= 3, "{statuses:?}");
    assert_eq!(count(200) + count(429), 12, "{statuses:?}");
}

#[test]
fn a_client_that_leaves_frees_its_memory() {
    let folder = Folder::new("leave");
    let server = Running::start(&[folder.gpt()], |settings| {
        settings.limits = Limits { running: 1, ..settings.limits };
    });
    let body = json!({"prompt": "the", "max_tokens": 390, "stream": true}).to_string();
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..5 {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 64];
        stream.read_exact(&mut first).unwrap();
        drop(stream);
    }
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let metrics = server.get("/metrics").body;
        if metrics.contains("limpid_kv_bytes 0") && metrics.contains("limpid_queued_tokens 0") {
            break;
        }
        assert!(Instant::now() < until, "{metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_deadline_that_passes_is_told_and_not_retried() {
    let folder = Folder::new("deadline");
    let server = Running::start(&[folder.gpt()], |settings| {
        settings.request_timeout = Duration::from_millis(1);
    });
    let ask = json!({"prompt": "the", "max_tokens": 390});
    let answer = server.post("/v1/completions", &ask);
    assert_eq!(answer.status, 504, "{}", answer.body);
    assert!(answer.head.contains("x-should-retry: false"));
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_others_out() {
    let folder = Folder::new("silent");
    let server = Running::start(&[folder.gpt()], |settings| {
        (settings.connections, settings.write_timeout) = (1, Duration::from_millis(300));
    });
    let mut silent = server.connect();
    // Answers of tens of megabytes, which no buffer of the system holds.
    let ask = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    silent.write_all(&ask.repeat(1_000)).unwrap();
    assert_eq!(server.get("/health").status, 200);
    drop(silent);
}

#[test]
fn while_models_load_a_server_lives_and_is_not_ready() {
    let folder = Folder::new("loading");
    let sources = vec![ModelSource { name: None, folder: folder.gpt() }];
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (go, gone) = mpsc::channel::<()>();
    let starting = std::thread::spawn(move || {
        let load = move || {
            gone.recv().unwrap();
            Models::load(&sources)
        };
        let address = Address::Tcp("127.0.0.1".into(), port);
        Running::start_with(load, |settings| settings.address = address)
    });
    let until = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until);
    }
    let loading = Running::at(port);
    assert_eq!((loading.get("/health").status, loading.get("/ready").status), (200, 503));
    let early = loading.post("/v1/completions", &json!({"prompt": "the"}));
    assert_eq!(early.status, 503);
    assert!(early.head.contains("retry-after: "), "{}", early.head);
    assert_eq!(early.json()["error"]["message"], "the models are loading");
    go.send(()).unwrap();
    let server = starting.join().unwrap();
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.post("/v1/completions", &json!({"prompt": "the"})).status, 200);
}

#[test]
fn a_server_that_stops_answers_what_it_has_accepted() {
    let folder = Folder::new("drain");
    let mut server = Running::start(&[folder.gpt()], |_| ());
    let body = json!({"prompt": "the cat", "max_tokens": 390}).to_string();
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut streams: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(head.as_bytes()).unwrap();
    }
    // Accepted: it is queued or runs.
    let until = Instant::now() + Duration::from_secs(20);
    while !server.get("/metrics").body.contains("limpid_running_generations 4") {
        assert!(Instant::now() < until);
    }
    server.stop();
    for mut stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    server.join();
}
