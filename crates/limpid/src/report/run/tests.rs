use super::*;
use limpid_tensor::rng::Stream;

const LINES: &str = concat!(
    r#"{"kind":"train","step":10,"epoch":0.12,"tokens":20480,"loss":5.1,"lr":0.0003,"grad_norm":1.2,"seconds":3.1,"tokens_per_second":6600.5}"#,
    "\n",
    r#"{"kind":"validation","step":200,"loss":3.2,"perplexity":24.5,"best":true}"#,
    "\n",
    r#"{"kind":"sample","step":200,"prompt":"Où","text":"where\n<b>","reference":"Where"}"#,
    "\n",
);

fn parse(bytes: &[u8]) -> Result<(Vec<Metric>, Option<String>)> {
    parse_metrics(bytes, Path::new("run/metrics.jsonl"))
}

#[test]
fn every_kind_of_line_is_read_and_written_back_as_it_was() {
    let (metrics, note) = parse(LINES.as_bytes()).unwrap();
    assert_eq!((metrics.len(), note), (3, None));
    let Metric::Train(train) = &metrics[0] else { panic!("{metrics:?}") };
    assert_eq!((train.step, train.loss, train.tokens), (10, 5.1, Some(20480)));
    let Metric::Validation(validation) = &metrics[1] else { panic!("{metrics:?}") };
    assert_eq!((validation.perplexity, validation.bleu, validation.best), (Some(24.5), None, true));
    for (metric, line) in metrics.iter().zip(LINES.lines()) {
        let written: Value = serde_json::to_value(metric).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(line).unwrap());
    }
}

#[test]
fn an_incomplete_last_line_is_skipped_with_a_note() {
    let whole = LINES.len();
    let third = LINES[..whole - 1].rfind('\n').unwrap() + 1;
    for cut in third + 1..whole - 1 {
        let (metrics, note) = parse(&LINES.as_bytes()[..cut]).unwrap();
        assert_eq!(metrics.len(), 2, "cut at {cut}");
        assert!(note.unwrap().contains("line of metrics.jsonl, 3, is incomplete"));
    }
    // All of it but the line feed.
    assert_eq!(parse(&LINES.as_bytes()[..whole - 1]).unwrap().0.len(), 3);
}

#[test]
fn a_wrong_line_is_an_error_with_its_number() {
    for (wrong, what) in [
        ("{\"kind\":\"train\",\"loss\":1}\n", "missing field `step`"),
        ("{\"kind\":\"party\",\"step\":1}\n", "unknown variant `party`"),
        ("[1]\n", "line 3"),
        ("\u{0}\n", "line 3"),
    ] {
        let lines: Vec<&str> = LINES.split_inclusive('\n').collect();
        let error = parse([lines[0], lines[1], wrong, lines[2]].concat().as_bytes()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("run/metrics.jsonl: line 3: ") && text.contains(what), "{text}");
        assert!(!text.contains("at line"), "{text}");
    }
}

#[test]
fn a_loss_that_is_not_finite_is_nan() {
    let (metrics, _) = parse(b"{\"kind\":\"train\",\"step\":3,\"loss\":null}\n").unwrap();
    let Metric::Train(train) = &metrics[0] else { panic!("{metrics:?}") };
    assert!(train.loss.is_nan() && train.lr.is_none());
}

#[test]
fn settings_are_keys_with_dots() {
    let text =
        "seed = 1\n[train]\nsteps = 500\nname = \"a b\"\n[train.adam]\nbetas = [0.9, 0.98]\n";
    let settings = parse_settings(text, Path::new("config.toml")).unwrap();
    let expected = [
        ("seed", "1"),
        ("train.adam.betas", "[0.9, 0.98]"),
        ("train.name", "a b"),
        ("train.steps", "500"),
    ];
    assert_eq!(settings, expected.map(|(key, value)| (key.to_string(), value.to_string())));
    let error = parse_settings("a = \n", Path::new("config.toml")).unwrap_err().to_string();
    assert!(error.starts_with("config.toml: ") && error.contains("line 1"), "{error}");
}

#[test]
fn mutated_metrics_give_lines_or_an_error_and_never_a_panic() {
    let mut rng = Stream::new(7, 0);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..10_000 {
        let mut bytes = LINES.as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len());
            match rng.below(5) {
                0 => bytes[at] = rng.next_u32() as u8,
                1 => bytes.truncate(at + 1),
                2 => bytes.insert(at, b"\n{}[]\",:e-9\xff\0"[rng.below(13)]),
                3 => {
                    bytes.remove(at);
                }
                _ => bytes.extend_from_within(..at),
            }
            if bytes.is_empty() {
                bytes.push(b'\n');
            }
        }
        match parse(&bytes) {
            Ok((metrics, _)) => {
                good += 1;
                // Whatever was understood can be shown.
                let run = Run { metrics, ..Run::default() };
                assert!(crate::report::html(&run).ends_with("</html>\n"));
            }
            Err(error) => {
                bad += 1;
                assert!(error.to_string().contains(": line "), "{error}");
            }
        }
    }
    assert!(good > 500 && bad > 500, "{good} understood, {bad} refused");
}
