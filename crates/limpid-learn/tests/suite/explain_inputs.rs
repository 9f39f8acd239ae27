//! Inputs that cannot be used: typed errors that say what was found and what was expected. (Hints
//! are the command line's, and tested there.)

use limpid_learn::error::{Error, ExampleError};
use limpid_learn::explain::{DefaultValue, Inputs, ValueKind, examples, explain, find};

fn refused(example: &str, options: &[(&str, &str)]) -> ExampleError {
    match Inputs::parse(example, options).and_then(|inputs| explain(example, &inputs)) {
        Err(Error::Example(error)) => error,
        other => panic!("{example} {options:?}: {other:?}"),
    }
}

#[test]
fn every_bad_input_is_refused_with_what_was_found_and_what_was_expected() {
    let long = "1 ".repeat(65);
    for (example, option, text, found) in [
        ("self-attention", "tokens", "1 0 1; 0 1", "row 2 has 2 numbers, row 1 has 3"),
        ("self-attention", "tokens", "1 0; 0 x1", "\"x1\" (row 2, number 2) is not a number"),
        ("self-attention", "tokens", "1 nan", "\"nan\" (row 1, number 2) is not a finite"),
        ("self-attention", "tokens", "1 -inf", "\"-inf\" (row 1, number 2) is not a finite"),
        ("self-attention", "tokens", "1 1e39", "1e39 (row 1, number 2) is larger than 1000000"),
        ("self-attention", "tokens", "1 1e7", "1e7 (row 1, number 2) is larger than 1000000"),
        ("self-attention", "tokens", "", "option tokens is empty"),
        ("self-attention", "tokens", " ; ;", "option tokens is empty"),
        ("self-attention", "tokens", "1 2; ; 3 4", "row 2 is empty"),
        ("self-attention", "tokens", &long, "65 numbers in a row, the maximum is 64"),
        ("self-attention", "words", "The CAT", "2 words for 3 tokens"),
        ("self-attention", "words", "a\u{1b}[2J b c", "control character U+001B"),
        ("self-attention", "words", "abcdefghijklmnopqrstuvwxyz b c", "more than 24 characters"),
        (
            "self-attention",
            "w-q",
            "1 0; 0 1",
            "option w-q is 2×2 (rows×columns), but must be 4×any",
        ),
        (
            "self-attention",
            "w-k",
            "1; 1; 1; 1",
            "option w-k is 4×1 (rows×columns), but must be any×4",
        ),
        ("self-attention", "mask", "casual", "not one of none, causal"),
        ("self-attention", "toknes", "1", "has no option toknes"),
        ("scaling", "query", "1 2; 3 4", "takes one row of numbers"),
        ("scaling", "query", "1 2 3", "must be any×3"),
        ("causal-mask", "length", "0", "option length: 0 is not a whole number from 1 to 16"),
        ("causal-mask", "length", "1000000", "is not a whole number from 1 to 16"),
        ("causal-mask", "length", "four", "four is not a whole number from 1 to 16"),
        ("causal-mask", "length", "-3", "-3 is not a whole number from 1 to 16"),
        ("padding-mask", "padding", "1 1 0", "3 numbers, but needs 4"),
        ("padding-mask", "padding", "1 1 1 0.5", "0.5 is not 0 or 1"),
        ("padding-mask", "padding", "1 1 1 2", "2 (number 4) is not in 0 to 1"),
        ("multi-head", "heads", "3", "3 heads cannot share a width of 4 equally"),
        ("multi-head", "w-o", "1 0", "must be 4×any"),
        ("cross-attention", "memory", "1 0; 0 1", "must be any×4"),
        ("cross-attention", "memory-words", "Je", "1 word for 3 sources"),
        ("positions", "width", "1", "is not a whole number from 2 to 64"),
        ("layer-norm", "eps", "0", "0 (number 1) is not in"),
        ("layer-norm", "eps", "1e-5 1e-6", "takes one number"),
        ("layer-norm", "gamma", "1 1", "2 numbers, but needs 4"),
        ("feed-forward", "row", "1 2 3", "option w-1 is 2×4 (rows×columns), but must be 3×any"),
        ("feed-forward", "b-1", "1", "1 number, but needs 4"),
        ("output-layer", "word", "merci", "merci is not in the vocabulary"),
        ("output-layer", "word", "am I", "takes one word, found 2"),
        ("output-layer", "logits", "1 2", "2 numbers, but needs 6"),
        (
            "teacher-forcing",
            "target",
            "Thanks <eos>",
            "has 5 numbers, but needs 2: one for each target word, <eos> included",
        ),
        ("teacher-forcing", "probabilities", "0 1 1 1 1", "0 (number 1) is not in"),
        ("cross-entropy", "target", "2", "option target: 2 is not a whole number from 0 to 1"),
        ("cross-entropy", "smoothing", "1", "1 (number 1) is not in 0 to 0.9"),
        ("soft-retrieval", "values", "1", "1 number, but needs 2"),
        ("roulette", "probabilities", "0.5 0.2", "sum to 0.7, not to 1"),
        ("roulette", "probabilities", "1.5 -0.5", "1.5 (number 1) is not in 0 to 1"),
        ("roulette", "draws", "1", "1 (number 1) is not in 0 to"),
        ("decoding", "top-k", "1.5", "1.5 is not a whole number from 1 to 64"),
        ("decoding", "top-k", "0", "0 (number 1) is not in 1 to 64"),
        ("decoding", "top-p", "1.1", "1.1 (number 1) is not in 0 to 1"),
        ("decoding", "temperature", "-1", "-1 (number 1) is not at least 0"),
    ] {
        let error = refused(example, &[(option, text)]);
        assert!(error.to_string().contains(found), "{example} {option} {text:?}: {error}");
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let twice = refused("layer-norm", &[("row", "1 2"), ("rows", "3 4")]);
    assert_eq!(twice, ExampleError::Duplicate { option: "rows" });
    let width = refused("positions", &[("width", "6"), ("tokens", "1 2")]);
    assert_eq!(width, ExampleError::PositionWidth { width: 6, tokens: 2 });
    let odd = refused("positions", &[("width", "5")]);
    assert!(odd.to_string().contains("a sine without its cosine"), "{odd}");
    let odd = refused("positions", &[("tokens", "1 2 3")]);
    assert_eq!(odd, ExampleError::OddWidth { option: "tokens", width: 3 });
    let length = refused("positions", &[("length", "1"), ("tokens", "1 2; 3 4")]);
    assert_eq!(length, ExampleError::TooFewPositions { length: 1, tokens: 2 });
}

#[test]
fn an_unknown_example_or_option_is_refused_with_the_nearest_and_all() {
    for (name, near) in [("self-atention", Some("self-attention")), ("zzz", None)] {
        let Err(Error::Example(ExampleError::Unknown { nearest, examples: all, .. })) = find(name)
        else {
            panic!("{name} was found")
        };
        assert_eq!(nearest, near);
        assert!(all.iter().copied().eq(examples().iter().map(|example| example.name)));
    }
    for (key, near) in [("lenght", Some("length")), ("zz", None)] {
        let error = refused("causal-mask", &[(key, "1")]);
        let (example, options) = ("causal-mask", vec!["length"]);
        let want =
            ExampleError::UnknownOption { example, option: key.to_owned(), nearest: near, options };
        assert_eq!(error, want);
    }
}

#[test]
fn an_example_is_found_by_its_name_and_by_its_number() {
    for (i, example) in examples().iter().enumerate() {
        let number = (i + 1).to_string();
        assert_eq!(find(&number).unwrap().name, example.name);
        assert_eq!(find(example.name).unwrap().name, example.name);
        assert_eq!(explain(&number, &Inputs::default()).unwrap().name, example.name);
    }
    let beyond = (examples().len() + 1).to_string();
    for number in ["0", "-1", "1.0", beyond.as_str(), "99999999999999999999"] {
        assert!(find(number).is_err(), "{number}");
    }
    // Options go with a number as with a name.
    let inputs = Inputs::parse("3", &[("length", "2")]).unwrap();
    assert_eq!(explain("causal-mask", &inputs).unwrap().step("The mask").tables[0].cells.len(), 2);
}

#[test]
fn inputs_parsed_for_one_example_are_not_used_for_another() {
    let inputs = Inputs::parse("roulette", &[("draws", "0.5")]).unwrap();
    let error = explain("decoding", &inputs).unwrap_err();
    let text = "these inputs were parsed for the example 'roulette', not for 'decoding'";
    assert_eq!(error.to_string(), text);
}

#[test]
fn the_defaults_set_explicitly_give_the_default_explanation() {
    for example in examples() {
        let options: Vec<(&str, &str)> = example
            .options
            .iter()
            .filter_map(|option| match option.default {
                DefaultValue::Text(text) => Some((option.name, text)),
                DefaultValue::Computed(_) => None,
            })
            .collect();
        let explicit =
            explain(example.name, &Inputs::parse(example.name, &options).unwrap()).unwrap();
        let default = explain(example.name, &Inputs::default()).unwrap();
        let name = example.name;
        for step in &explicit.steps {
            // Steps that are there only for the defaults are missing, and one list becomes a
            // choice.
            if name == "decoding" && step.title == "Combined" {
                continue;
            }
            let same = default.steps.iter().find(|other| other.title == step.title).unwrap();
            let cells = |step: &limpid_learn::explain::Step| {
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
            let texts: &[&str] = match option.kind {
                ValueKind::Matrix => &[
                    "1000000 -1000000 1000000 -1000000; 0 0 0 0; -1000000 1000000 0 1e-30",
                    "0",
                    "1e6",
                ],
                ValueKind::Row { .. } => &["1", "1000000 -1000000", "0 1 0 0 0", "0 0", "1e-30 1"],
                ValueKind::Number { .. } => &["0", "1000000", "1e-12", "-1000000", "0.9"],
                ValueKind::Count { .. } => &["1", "2", "64", "16"],
                ValueKind::Words => &["a", "é e\u{301} 猫", "<eos>"],
                ValueKind::Choice(choices) => choices,
            };
            for text in texts {
                // Refused is fine; NaN and panics are not.
                let inputs = Inputs::parse(example.name, &[(option.name, *text)]);
                let Ok(explanation) = inputs.and_then(|inputs| explain(example.name, &inputs))
                else {
                    continue;
                };
                for cell in explanation
                    .steps
                    .iter()
                    .flat_map(|s| &s.tables)
                    .flat_map(|t| t.cells.iter().flatten())
                {
                    if let limpid_learn::explain::Cell::Number(x) = cell {
                        assert!(x.is_finite(), "{} {} {text}: {x}", example.name, option.name);
                    }
                }
            }
        }
    }
}
