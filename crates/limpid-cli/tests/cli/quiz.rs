//! `limpid quiz`, from outside.

use super::*;
use serde_json::Value;
use std::io::Write;

/// The quiz with these lines piped in.
fn answer(args: &[&str], lines: &[u8]) -> Output {
    let all: Vec<&str> = ["quiz"].iter().chain(args).copied().collect();
    let mut child = limpid(&all)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A quiz that has ended reads no more.
    let _ = child.stdin.take().unwrap().write_all(lines);
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_str(&stdout(output)).unwrap()
}

/// The lines that answer everything: a right answer for each step, a word for each question without
/// steps.
fn correct_lines(args: &[&str]) -> String {
    let all: Vec<&str> = ["quiz", "--answers", "--json"].iter().chain(args).copied().collect();
    let quiz = json(&run(&all));
    let mut lines = String::new();
    for question in quiz["questions"].as_array().unwrap() {
        let steps = question["steps"].as_array().unwrap();
        if steps.is_empty() {
            lines += "my own words\n";
        }
        for step in steps {
            let typed =
                |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let numbers: Vec<String> =
                step["numbers"].as_array().map_or_else(Vec::new, |n| n.iter().map(typed).collect());
            lines += &step["word"].as_str().map_or_else(|| numbers.join(" "), str::to_owned);
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn there_are_seventeen_questions_with_model_answers_and_exercises_and_every_command_shown_runs() {
    let quiz = json(&run(&["quiz", "--answers", "--json", "--seed", "3"]));
    let questions = quiz["questions"].as_array().unwrap();
    let open =
        questions.iter().filter(|question| !question["model_answer"].as_str().unwrap().is_empty());
    assert_eq!(open.count(), 17);
    assert!(questions.len() >= 25, "{}", questions.len());
    let text = stdout(&run(&["quiz", "--answers", "--seed", "3"]));
    for question in questions {
        for part in ["title", "command"] {
            assert!(text.contains(question[part].as_str().unwrap()), "{question}");
        }
        let command = question["command"].as_str().unwrap();
        let words = command.split('"').enumerate().flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        });
        let words: Vec<String> = words.skip(1).collect();
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{command}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn correct_answers_are_accepted_and_another_seed_asks_for_other_numbers() {
    for seed in ["1", "2"] {
        let lines = correct_lines(&["--seed", seed]);
        let result = json(&answer(&["--seed", seed, "--json"], lines.as_bytes()));
        let score = &result["score"];
        assert!(score["steps"].as_u64().unwrap() > 40, "{score}");
        assert_eq!((&score["correct"], &score["answered"]), (&score["steps"], &score["steps"]));
        let text = stdout(&answer(&["--seed", seed], lines.as_bytes()));
        assert!(text.contains("All correct") && !text.contains("Not quite"), "{text}");
    }
    assert_ne!(correct_lines(&["--seed", "1"]), correct_lines(&["--seed", "2"]));
}

#[test]
fn an_incorrect_answer_gets_the_correct_value_and_the_formula() {
    let right = correct_lines(&["21", "--seed", "4"]);
    let text = stdout(&answer(&["22", "--seed", "4"], b"100\n"));
    assert!(text.contains("Not quite") && text.contains("by μ = Σ x / c"), "{text}");
    assert!(text.contains("0 of 3 steps correct, 2 not answered"), "{text}");
    // Right, wrong, right: what was typed and what is right stand side by side.
    let mut lines: Vec<&str> = right.lines().collect();
    lines[1] = "7 7 7 7";
    let result =
        json(&answer(&["21", "--seed", "4", "--json"], (lines.join("\n") + "\n").as_bytes()));
    let verdicts: Vec<&str> = result["questions"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["correct", "incorrect"]);
    assert_eq!(result["questions"][0]["steps"][1]["answered"], "7 7 7 7");
}

#[test]
fn an_invalid_answer_is_explained_and_asked_again_up_to_three_times() {
    let right = correct_lines(&["2"]);
    let text = stdout(&answer(&["2"], format!("many\n1 2 3\n{right}").as_bytes()));
    assert!(
        text.contains("'many' is not a number") && text.contains("these are 3 numbers"),
        "{text}"
    );
    assert!(text.contains("1 of 1 steps correct"), "{text}");
    let text = stdout(&answer(&["2"], b"many\n\xff\xfe\nmore\n"));
    assert!(text.contains("0 of 1 steps correct") && text.contains("T×d_m"), "{text}");
    // A program that answers hears nothing, and is not asked again.
    let result = json(&answer(&["2", "--json"], format!("many\n{right}").as_bytes()));
    assert_eq!(result["questions"][0]["steps"][0]["verdict"], "incorrect");
    assert_eq!(result["questions"][0]["steps"][0]["answered"], "many");
    // ? shows how, an empty line goes on.
    let text = stdout(&answer(&["2"], b"?\n\n"));
    assert_eq!(text.matches("T×d_m: one row for each token").count(), 3, "{text}");
    assert!(text.contains("0 of 1 steps correct, 1 not answered"), "{text}");
}

#[test]
fn the_quiz_ends_at_the_end_of_the_input_or_on_request() {
    for lines in [&b""[..], b"a method is how", b"q\n", b"some words\nquit\n"] {
        let output = answer(&[], lines);
        assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.contains(" steps correct") && text.contains("quiz --seed 2"), "{text}");
    }
    let result = json(&answer(&["--json"], b""));
    assert_eq!(result["score"]["answered"], 0);
    assert!(
        stdout(&answer(&["1"], b"so\n")).contains("model answers"),
        "a question without steps has no score"
    );
}

#[test]
fn questions_that_do_not_exist_are_refused() {
    refused(&run(&["quiz", "0"]), "no question 0", "use 1 to ");
    refused(&run(&["quiz", "3", "99"]), "no question 99", "--answers");
    assert_eq!(run(&["quiz", "three"]).status.code(), Some(2));
}
