//! Families are known in one place: nothing outside `hub/families` names a `model_type` or a class
//! of `transformers`, and every family is documented.

use limpid::hub::model_types;
use std::path::{Path, PathBuf};

/// Sources of the crates, without `hub/families`.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("hub/families") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The string literals of code that is neither a comment nor a test, each with its line.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside: Option<(usize, String)> = None;
    for (i, line) in source.lines().take_while(|line| *line != "#[cfg(test)]").enumerate() {
        if inside.is_none() && line.trim_start().starts_with("//") {
            continue;
        }
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match (&mut inside, c) {
                (Some((_, text)), '\\') => text.extend(chars.next()),
                (Some(_), '"') => found.extend(inside.take()),
                (Some((_, text)), c) => text.push(c),
                (None, '"') => inside = Some((i + 1, String::new())),
                // '"' is a character.
                (None, '\'') if chars.as_str().starts_with("\"'") => drop(chars.nth(1)),
                (None, '/') if chars.as_str().starts_with('/') => break,
                (None, _) => {}
            }
        }
    }
    found
}

/// The name of a task and of a purpose of tokenizers, which is also a `model_type`.
fn is_task_name(text: &str, path: &Path) -> bool {
    text == "bert"
        && !path
            .components()
            .any(|part| ["hub", "model", "nn"].contains(&part.as_os_str().to_str().unwrap()))
}

/// llama.cpp's names of architectures and tokenizers, some of which are also `model_type`s: they
/// are chosen by what the layers compute.
fn is_llama_cpp_name(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("hub/gguf"))
}

/// "BertForMaskedLM", "GPT2LMHeadModel": a class of `transformers`.
fn is_class(word: &str) -> bool {
    let ends = ["Model", "MTModel", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration"];
    let is_named = word.starts_with(|c: char| c.is_ascii_uppercase());
    is_named && (ends.iter().any(|end| word.ends_with(end)) || word.contains("ForSequence"))
}

#[test]
fn no_source_outside_the_families_names_a_family() {
    let (families, sources) = (model_types(), sources());
    assert!(sources.len() > 100, "only {} sources were found", sources.len());
    let mut named = Vec::new();
    for path in &sources {
        let source = std::fs::read_to_string(path).unwrap();
        for (line, text) in literals(&source) {
            let words = || text.split(|c: char| !c.is_ascii_alphanumeric());
            let is_family = families.contains(&text.as_str())
                && !is_task_name(&text, path)
                && !is_llama_cpp_name(path);
            if is_family || words().any(is_class) {
                named.push(format!("{}:{line}: \"{text}\"", path.display()));
            }
        }
    }
    assert!(named.is_empty(), "families are named outside hub/families:\n{}", named.join("\n"));
}

#[test]
fn every_family_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    for family in model_types() {
        assert!(text.contains(&format!("**{family}**")), "docs/formats.md has no {family}");
    }
}

#[test]
fn literals_are_found_and_comments_and_tests_are_not() {
    let source = "let a = \"one\"; // \"two\"\n/// \"three\"\nlet b = ('\"', \"four \\\" five\");\n\
                  #[cfg(test)]\nlet c = \"six\";";
    let found: Vec<String> = literals(source).into_iter().map(|(_, text)| text).collect();
    assert_eq!(found, ["one", "four \" five"]);
}
