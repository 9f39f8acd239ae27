//! `limpid corpus stories`, from outside.

use super::*;
use serde_json::Value;
use std::collections::HashSet;

#[test]
fn stories_and_summaries_are_written_line_by_line_with_what_is_known_of_them() {
    let (one, two) = (scratch("stories-1"), scratch("stories-2"));
    for folder in [&one, &two] {
        let folder = folder.to_str().unwrap();
        let output = run(&[
            "corpus",
            "stories",
            "--out",
            folder,
            "--stories",
            "300",
            "--held-out",
            "20",
            "--seed",
            "5",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 7, "six files and the facts");
    }
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut seen = HashSet::new();
    for (set, count) in [("train", 300), ("validation", 20), ("test", 20)] {
        for ending in ["story", "summary"] {
            let name = format!("{set}.{ending}");
            assert_eq!(read(&one, &name), read(&two, &name), "the same seed, the same files");
            assert_eq!(read(&one, &name).lines().count(), count, "{name}");
        }
        assert!(
            read(&one, &format!("{set}.story")).lines().all(|line| seen.insert(line.to_owned())),
            "{set}"
        );
    }
    let facts: Value = serde_json::from_str(&read(&one, "facts.json")).unwrap();
    assert_eq!(facts["two_sense_words"].as_array().unwrap().len(), 20);
    let (generator, test) = (&facts["generator"], &facts["test"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let per_word = number(&generator["nats_per_story"]) / number(&generator["words_per_story"]);
    assert!((number(&generator["nats_per_word"]) - per_word).abs() < 1e-12);
    // Twenty stories: near the generator's entropy, not equal to it.
    assert!((number(&test["nats_per_word"]) / per_word - 1.0).abs() < 0.2, "{facts}");
    // Words and punctuation marks are counted.
    let text = read(&one, "test.story");
    let marks = text.matches([',', '.']).count();
    assert_eq!(number(&test["words"]) as usize, text.split_whitespace().count() + marks);
    assert_eq!(test["words"], test["masked"]["positions"]);
    let accuracy = number(&test["masked"]["ceiling"]);
    assert!(accuracy > 0.5 && accuracy < 1.0, "{accuracy}");
}

#[test]
fn story_corpora_that_cannot_be_are_refused_and_nothing_is_overwritten() {
    refused(
        &run(&["corpus", "stories", "--out", "x", "--stories", "0"]),
        "empty corpus",
        "--stories 20000",
    );
    refused(
        &run(&["corpus", "stories", "--out", "x", "--held-out", "0"]),
        "empty corpus",
        "--held-out 1000",
    );
    refused(
        &run(&["corpus", "stories", "--out", "x", "--stories", "5000000"]),
        "more than 1000000",
        "seeds",
    );
    for name in ["test.summary", "facts.json"] {
        let mine = scratch(&format!("my-{name}"));
        std::fs::write(mine.join(name), "my own data").unwrap();
        let output =
            run(&["corpus", "stories", "--out", mine.to_str().unwrap(), "--stories", "10"]);
        refused(&output, &format!("{name} exists already"), "--out");
        assert_eq!(std::fs::read_to_string(mine.join(name)).unwrap(), "my own data");
        assert_eq!(std::fs::read_dir(&mine).unwrap().count(), 1, "nothing else is written");
    }
    assert!(!Path::new("x").exists());
}
