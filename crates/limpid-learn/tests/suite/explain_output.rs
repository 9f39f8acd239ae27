//! What a reader and a program are given: the text at any width, the list, the JSON.

use limpid_learn::explain::{
    Cell, Explanation, Inputs, Note, Step, Style, Table, examples, explain, list, options, render,
};
use serde_json::Value;

fn all() -> impl Iterator<Item = Explanation> {
    examples().iter().map(|example| explain(example.name, &Inputs::default()).unwrap())
}

/// Columns of a terminal, for text without wide letters.
fn width(line: &str) -> usize {
    line.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count()
}

#[test]
fn the_examples_are_the_promised_ones_in_reading_order() {
    let names: Vec<&str> = examples().iter().map(|example| example.name).collect();
    assert_eq!(
        names.join(" "),
        "self-attention scaling causal-mask padding-mask multi-head cross-attention context \
         positions layer-norm feed-forward residual output-layer teacher-forcing cross-entropy \
         backward soft-retrieval roulette decoding beam-search encoder-decoder \
         byte-pair-encoding recurrent-cell lstm gru additive-attention"
    );
}

#[test]
fn every_example_stands_alone_and_points_on() {
    for explanation in all() {
        let name = explanation.name;
        assert!(explanation.introduction.len() > 60 && explanation.steps.len() >= 3, "{name}");
        assert!(explanation.steps.iter().all(|step| !step.formula.is_empty()), "{name}");
        assert!(!explanation.see_also.is_empty(), "{name}");
        for other in explanation.see_also {
            assert!(
                *other != name && examples().iter().any(|example| example.name == *other),
                "{name} → {other}"
            );
        }
        let titles: Vec<&str> = explanation.steps.iter().map(|step| step.title.as_str()).collect();
        assert!(
            titles.iter().enumerate().all(|(i, title)| !titles[..i].contains(title)),
            "{name}: {titles:?}"
        );
    }
}

#[test]
fn json_contains_every_step_and_every_number() {
    for explanation in all() {
        let json: Value =
            serde_json::from_str(&serde_json::to_string(&explanation).unwrap()).unwrap();
        assert_eq!(json["name"], explanation.name);
        let steps = json["steps"].as_array().unwrap();
        assert_eq!(steps.len(), explanation.steps.len());
        for (json, step) in steps.iter().zip(&explanation.steps) {
            assert_eq!(json["title"], *step.title);
            assert_eq!(json["formula"], *step.formula);
            assert_eq!(json["notes"].as_array().unwrap().len(), step.notes.len());
            for (json, table) in json["tables"].as_array().unwrap().iter().zip(&step.tables) {
                for (json, row) in json["cells"].as_array().unwrap().iter().zip(&table.cells) {
                    for (json, cell) in json.as_array().unwrap().iter().zip(row) {
                        match cell {
                            Cell::Number(x) => assert_eq!(json.as_f64(), Some(*x)),
                            Cell::Masked => assert_eq!(json, "-inf"),
                            Cell::Text(text) => assert_eq!(json, text.as_str()),
                            Cell::Empty => assert!(json.is_null()),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn notes_say_their_kind_in_json() {
    let explanation = explain("self-attention", &Inputs::default()).unwrap();
    let json = serde_json::to_value(explanation.step("Output")).unwrap();
    assert_eq!(json["notes"][0]["kind"], "remark");
    let explanation = explain("causal-mask", &Inputs::default()).unwrap();
    let json = serde_json::to_value(explanation.step("The mask")).unwrap();
    assert_eq!(json["notes"][0]["kind"], "misconception");
    assert_eq!(json["notes"][0]["correct"], "0 where a key is visible");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [40, 60, 80, 100, 140] {
        for explanation in all() {
            for line in render(&explanation, Style::Plain, columns).lines() {
                // A table with one column and its labels cannot be cut, and a word cannot be
                // broken.
                let is_whole = line.split("  ").filter(|part| !part.is_empty()).count() <= 2;
                assert!(
                    width(line) <= columns || is_whole,
                    "{} at {columns}: {line}",
                    explanation.name
                );
                assert_eq!(line.trim_end(), line);
            }
        }
        assert!(
            list(Style::Plain, columns.max(80)).lines().all(|line| width(line) <= columns.max(80))
        );
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for explanation in all() {
        let coloured = render(&explanation, Style::Colour, 80);
        assert!(coloured.contains("\x1b["));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\x1b') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
        }
        plain.push_str(rest);
        let trimmed: String = plain.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(trimmed, render(&explanation, Style::Plain, 80), "{}", explanation.name);
    }
}

fn sample() -> Explanation {
    let names = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let cells = vec![
        vec![Cell::Number(1.0), Cell::Number(-0.5), Cell::Masked, Cell::Text("mat".to_owned())],
        vec![Cell::Number(20.0), Cell::Number(10.123_456), Cell::Number(0.25), Cell::Empty],
    ];
    let table = Table::new(
        "numbers",
        &names(&["étudiant", "x̂"]),
        &names(&["n", "real", "masked", "word"]),
        cells,
    );
    let mut step = Step::new("A step", "a = b    c = d").why("Because.").table(table);
    step.notes.push(Note::Remark { text: "Seen.".to_owned() });
    let step = step.misconception("1", "2", "it is so");
    Explanation {
        name: "sample",
        title: "a sample",
        introduction: "An introduction.".to_owned(),
        steps: vec![step],
        see_also: &["x"],
    }
}

#[test]
fn numbers_are_aligned_at_the_decimal_point_whatever_the_letters() {
    let want = "\
sample: a sample
════════════════

An introduction.

1  A step
   a = b    c = d
   Because.

   numbers
              n     real   masked  word
   étudiant   1  −0.5000  −∞       mat
   x̂         20  10.1235   0.2500

   · Seen.
   ! A common misconception: 1. Correct: 2; it is so.

See also: x
";
    assert_eq!(render(&sample(), Style::Plain, 80), want);
}

#[test]
fn a_table_that_does_not_fit_is_cut_and_continued() {
    let text = render(&sample(), Style::Plain, 30);
    assert!(text.contains("numbers, continued"), "{text}");
    assert_eq!(text.matches("étudiant").count(), 2, "{text}");
}

#[test]
fn a_row_of_numbers_in_a_sentence_is_not_broken() {
    for columns in 45..100 {
        let text =
            render(&explain("padding-mask", &Inputs::default()).unwrap(), Style::Plain, columns);
        assert!(text.contains("[0.1152 0.2668 0.618 0]"), "{columns}: {text}");
        assert!(text.contains("[1 1 1 0]"), "{columns}: {text}");
    }
}

#[test]
fn the_list_and_the_options_name_everything() {
    let text = list(Style::Plain, 100);
    assert!(examples().iter().all(|example| text.contains(example.name)), "{text}");
    for example in examples() {
        let text = options(example, "+", Style::Plain, 80);
        assert!(
            example.options.iter().all(|option| text.contains(&format!("+{}", option.name))),
            "{text}"
        );
    }
}
