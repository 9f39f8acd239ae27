//! `limpid explain`, from outside.

use super::*;

#[test]
fn every_example_is_listed_and_explained_as_text_and_as_json() {
    let names = [
        "self-attention",
        "scaling",
        "causal-mask",
        "padding-mask",
        "multi-head",
        "cross-attention",
        "context",
        "positions",
        "layer-norm",
        "feed-forward",
        "residual",
        "output-layer",
        "teacher-forcing",
        "cross-entropy",
        "backward",
        "soft-retrieval",
        "roulette",
        "decoding",
        "beam-search",
        "encoder-decoder",
        "byte-pair-encoding",
        "recurrent-cell",
        "lstm",
        "gru",
        "additive-attention",
    ];
    let list = stdout(&run(&["explain"]));
    let mut place = 0;
    for name in names {
        place += list[place..]
            .find(name)
            .unwrap_or_else(|| panic!("{name} is not in its place:\n{list}"));
        let output = run(&["explain", name]);
        assert!(
            output.status.success() && stdout(&output).starts_with(name),
            "{}",
            stderr(&output)
        );
        let json: serde_json::Value =
            serde_json::from_str(&stdout(&run(&["explain", name, "--json"]))).unwrap();
        assert!(json["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{name}");
    }
    let all: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["explain", "--json"]))).unwrap();
    assert_eq!(all.as_array().unwrap().len(), names.len());
}

#[test]
fn numbers_of_an_example_can_be_changed_and_bad_ones_are_refused() {
    let text = stdout(&run(&["explain", "self-attention", "--tokens", "1 0; 0 1"]));
    assert!(text.contains("√2"), "{text}");
    let equals = stdout(&run(&["explain", "self-attention", "--tokens=1 0; 0 1"]));
    assert_eq!(text, equals);
    refused(
        &run(&["explain", "self-attention", "--tokens", "1 0; 0"]),
        "row 2 has 1 number",
        "row",
    );
    refused(&run(&["explain", "self-attention", "--tokens", "1 zero"]), "zero", "number");
    refused(&run(&["explain", "self-atention"]), "no example 'self-atention'", "self-attention");
    refused(&run(&["explain", "scaling", "--colour", "red"]), "colour", "query");
    refused(
        &run(&["explain", "scaling", "--query"]),
        "--query needs a value",
        "limpid explain scaling --options",
    );
    assert_eq!(
        stdout(&run(&["explain", "self-attention", "--tokens=1 0; 0 1", "--threads", "1"])),
        text
    );
    refused(
        &run(&["explain", "scaling", "--query", "1 1", "--threads", "none"]),
        "--threads none",
        "1 to 256",
    );
    refused(&run(&["explain", "layer-norm", "--houses", "1 2; 1 3"]), "variance is 0", "--houses");
    let options = stdout(&run(&["explain", "padding-mask", "--options"]));
    assert!(options.contains("--kind") && options.contains("keys-and-queries"), "{options}");
}

#[test]
fn an_example_is_shown_by_its_number_in_the_list() {
    let list = stdout(&run(&["explain"]));
    assert!(list.contains("   3  causal-mask"), "{list}");
    assert_eq!(stdout(&run(&["explain", "3"])), stdout(&run(&["explain", "causal-mask"])));
    let shorter = stdout(&run(&["explain", "3", "--length", "2"]));
    assert_eq!(shorter, stdout(&run(&["explain", "causal-mask", "--length", "2"])));
    refused(&run(&["explain", "0"]), "no example '0'", "1 to ");
    // Every command below the list runs.
    let commands: Vec<&str> =
        list.lines().filter_map(|line| line.trim().strip_prefix("limpid ")).collect();
    assert_eq!(commands.len(), 5, "{list}");
    for command in commands {
        let command = command.split("  #").next().unwrap();
        let words = command.split('"').enumerate().flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().collect::<Vec<_>>(),
            _ => vec![part],
        });
        let output = run(&words.collect::<Vec<_>>());
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
}
