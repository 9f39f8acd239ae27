//! What happens with numbers that cannot be used: an error that says what was found, and a hint that says what to do.

use limpid::error::{Error, ErrorKind};
use limpid::inspect::{Inputs, Takes, Usual, examples, explain, find};

fn refused(example: &str, options: &[(&str, &str)]) -> Error {
    match Inputs::parse(example, options).and_then(|inputs| explain(example, &inputs)) {
        Ok(_) => panic!("{example} {options:?} was accepted"),
        Err(error) => error,
    }
}

#[test]
fn every_bad_input_is_refused_with_what_was_found_and_what_to_do() {
    let long = "1 ".repeat(65);
    for (example, option, text, found, hint) in [
        ("self-attention", "tokens", "1 0 1; 0 1", "row 2 has 2 numbers, row 1 has 3", "separated by ;"),
        (
            "self-attention",
            "tokens",
            "1 0; 0 x1",
            "\"x1\" (row 2, number 2) is not a number",
            "write numbers like",
        ),
        ("self-attention", "tokens", "1 nan", "\"nan\" (row 1, number 2) is not a finite", "mask"),
        ("self-attention", "tokens", "1 -inf", "\"-inf\" (row 1, number 2) is not a finite", "mask"),
        ("self-attention", "tokens", "1 1e39", "1e39 (row 1, number 2) is larger than 1000000", "smaller"),
        ("self-attention", "tokens", "1 1e7", "1e7 (row 1, number 2) is larger than 1000000", "smaller"),
        ("self-attention", "tokens", "", "--tokens is empty", "leave --tokens out"),
        ("self-attention", "tokens", " ; ;", "--tokens is empty", "leave --tokens out"),
        ("self-attention", "tokens", "1 2; ; 3 4", "row 2 is empty", "semicolon"),
        ("self-attention", "tokens", &long, "65 numbers in a row, the limit is 64", "smaller"),
        ("self-attention", "words", "The CAT", "2 words for 3 tokens", "one word for each token"),
        ("self-attention", "words", "a\u{1b}[2J b c", "control character U+001B", "printed"),
        ("self-attention", "words", "abcdefghijklmnopqrstuvwxyz b c", "more than 24 letters", "shorter"),
        ("self-attention", "w-q", "1 0; 0 1", "--w-q is 2×2 (rows×columns), but must be 4×any", "4 rows"),
        (
            "self-attention",
            "w-k",
            "1; 1; 1; 1",
            "--w-k is 4×1 (rows×columns), but must be any×4",
            "of 4 numbers",
        ),
        ("self-attention", "mask", "casual", "not one of none, causal", "use --mask causal"),
        (
            "self-attention",
            "toknes",
            "1",
            "no option --toknes",
            "did you mean --tokens? it takes --tokens, --words",
        ),
        ("scaling", "query", "1 2; 3 4", "takes one row of numbers", "semicolons"),
        ("scaling", "query", "1 2 3", "must be any×3", "of 3 numbers"),
        ("causal-mask", "length", "0", "--length 0 is not in 1 to 16", "1 to 16"),
        ("causal-mask", "length", "1000000", "is not in 1 to 16", "1 to 16"),
        ("causal-mask", "length", "four", "\"four\" is not a whole number", "1 to 16"),
        ("causal-mask", "length", "-3", "\"-3\" is not a whole number", "1 to 16"),
        ("padding-mask", "padding", "1 1 0", "3 numbers, but needs 4", "4 numbers"),
        ("padding-mask", "padding", "1 1 1 0.5", "0.5 is neither 1 nor 0", "1 for a word"),
        ("padding-mask", "padding", "1 1 1 2", "2 (number 4) is not in 0 to 1", "0 to 1"),
        ("multi-head", "heads", "3", "a width of 4 cannot be shared out to 3 heads", "--heads 1 or 2 or 4"),
        ("multi-head", "w-o", "1 0", "must be 4×any", "4 rows"),
        ("cross-attention", "memory", "1 0; 0 1", "must be any×4", "of 4 numbers"),
        ("cross-attention", "memory-words", "Je", "1 word for 3 sources", "one word"),
        ("positions", "width", "1", "is not in 2 to 64", "2 to 64"),
        ("layer-norm", "eps", "0", "0 (number 1) is not in", "use a number in"),
        ("layer-norm", "eps", "1e-5 1e-6", "takes one number", "single"),
        ("layer-norm", "gamma", "1 1", "2 numbers, but needs 4", "4 numbers"),
        ("feed-forward", "row", "1 2 3", "--w-1 is 2×4 (rows×columns), but must be 3×any", "3 rows"),
        ("feed-forward", "b-1", "1", "1 number, but needs 4", "4 numbers"),
        ("output-layer", "word", "merci", "merci is not in the vocabulary", "a, am, I, thanks"),
        ("output-layer", "word", "am I", "takes one word, found 2", "--word am"),
        ("output-layer", "logits", "1 2", "2 numbers, but needs 6", "6 numbers"),
        (
            "teacher-forcing",
            "target",
            "Thanks <eos>",
            "has 5 numbers, the target has 2 words",
            "<eos> included",
        ),
        ("teacher-forcing", "probabilities", "0 1 1 1 1", "0 (number 1) is not in", "use a number in"),
        ("cross-entropy", "target", "2", "--target 2, but there are 2 logits", "0 to 1"),
        ("cross-entropy", "smoothing", "1", "1 (number 1) is not in 0 to 0.9", "0 to 0.9"),
        ("soft-retrieval", "values", "1", "1 number, but needs 2", "2 numbers"),
        ("roulette", "probabilities", "0.5 0.2", "sum to 0.7, not to 1", "sum to 1"),
        ("roulette", "probabilities", "1.5 -0.5", "1.5 (number 1) is not in 0 to 1", "0 to 1"),
        ("roulette", "draws", "1", "1 (number 1) is not in 0 to", "use a number"),
        ("decoding", "top-k", "1.5", "1.5 is not a whole number", "counts words"),
        ("decoding", "top-k", "0", "0 (number 1) is not in 1 to 64", "1 to 64"),
        ("decoding", "top-p", "1.1", "1.1 (number 1) is not in 0 to 1", "0 to 1"),
        ("decoding", "temperature", "-1", "-1 (number 1) is not at least 0", "at least 0"),
    ] {
        let error = refused(example, &[(option, text)]);
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(found), "{example} --{option} {text:?}: {error}");
        let said = error.hint_text().unwrap_or_default();
        assert!(said.contains(hint), "{example} --{option} {text:?}: hint {said:?}");
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let twice = refused("layer-norm", &[("row", "1 2"), ("rows", "3 4")]);
    assert_eq!(twice.to_string(), "--rows is given twice");
    let width = refused("positions", &[("width", "6"), ("tokens", "1 2")]);
    assert!(width.to_string().contains("--width 6, but --tokens has 2"), "{width}");
    let odd = refused("positions", &[("width", "5")]);
    assert!(odd.to_string().contains("a sine without its cosine"), "{odd}");
    assert_eq!(odd.hint_text(), Some("use --width 4 or 6"));
    let odd = refused("positions", &[("tokens", "1 2 3")]);
    assert_eq!(odd.hint_text(), Some("give 4 numbers a row"));
    let length = refused("positions", &[("length", "1"), ("tokens", "1 2; 3 4")]);
    assert_eq!(length.hint_text(), Some("use --length 2"));
}

#[test]
fn an_unknown_example_is_answered_with_the_nearest_and_all() {
    let error = find("self-atention").err().unwrap();
    assert_eq!(error.to_string(), "there is no example 'self-atention'");
    let hint = error.hint_text().unwrap();
    assert!(hint.starts_with("did you mean 'self-attention'?"), "{hint}");
    assert!(examples().iter().all(|example| hint.contains(example.name)), "{hint}");
}

#[test]
fn a_name_that_resembles_nothing_is_answered_with_the_list_alone() {
    let hint = find("zzz").err().unwrap().hint_text().unwrap().to_owned();
    assert!(hint.starts_with("there are self-attention, scaling"), "{hint}");
    let hint = refused("causal-mask", &[("zz", "1")]).hint_text().unwrap().to_owned();
    assert_eq!(hint, "it takes --length");
}

#[test]
fn inputs_read_for_one_example_are_not_used_for_another() {
    let inputs = Inputs::parse("roulette", &[("draws", "0.5")]).unwrap();
    let error = explain("decoding", &inputs).unwrap_err();
    assert_eq!(error.to_string(), "these options were read for 'roulette', not for 'decoding'");
}

#[test]
fn the_usual_numbers_typed_out_give_the_usual_explanation() {
    for example in examples() {
        let options: Vec<(&str, &str)> = example
            .options
            .iter()
            .filter_map(|option| match option.usual {
                Usual::Text(text) => Some((option.name, text)),
                Usual::Derived(_) => None,
            })
            .collect();
        let typed = explain(example.name, &Inputs::parse(example.name, &options).unwrap()).unwrap();
        let usual = explain(example.name, &Inputs::default()).unwrap();
        let name = example.name;
        for step in &typed.steps {
            // Steps that are there only for the usual numbers are missing, and one list becomes a choice.
            if name == "decoding" && step.title == "Together" {
                continue;
            }
            let same = usual.steps.iter().find(|other| other.title == step.title).unwrap();
            let cells = |step: &limpid::inspect::Step| {
                step.tables.iter().map(|table| table.cells.clone()).collect::<Vec<_>>()
            };
            assert_eq!(cells(same), cells(step), "{name}: {}", step.title);
        }
    }
}

#[test]
fn extreme_but_legal_numbers_never_give_nan() {
    for example in examples() {
        for option in example.options {
            let texts: &[&str] = match option.takes {
                Takes::Matrix => {
                    &["1000000 -1000000 1000000 -1000000; 0 0 0 0; -1000000 1000000 0 1e-30", "0", "1e6"]
                }
                Takes::Row { .. } => &["1", "1000000 -1000000", "0 1 0 0 0", "0 0", "1e-30 1"],
                Takes::Number { .. } => &["0", "1000000", "1e-12", "-1000000", "0.9"],
                Takes::Count { .. } => &["1", "2", "64", "16"],
                Takes::Words => &["a", "é e\u{301} 猫", "<eos>"],
                Takes::Choice(choices) => choices,
            };
            for text in texts {
                // Refused is fine; NaN and panics are not.
                let inputs = Inputs::parse(example.name, &[(option.name, *text)]);
                let Ok(explanation) = inputs.and_then(|inputs| explain(example.name, &inputs)) else {
                    continue;
                };
                for cell in
                    explanation.steps.iter().flat_map(|s| &s.tables).flat_map(|t| t.cells.iter().flatten())
                {
                    if let limpid::inspect::Cell::Number(x) = cell {
                        assert!(x.is_finite(), "{} --{} {text}: {x}", example.name, option.name);
                    }
                }
            }
        }
    }
}
