//! Documents: links lead somewhere, lines fit, and what is short by rule stays short.

use std::path::{Path, PathBuf};

/// The longest a document may be, in lines.
const LONGEST: [(&str, usize); 4] = [
    ("README.md", 150),
    ("ARCHITECTURE.md", 150),
    ("CONTRIBUTING.md", 120),
    ("docs/results.md", 110),
];

/// Every Markdown file that we write, except fixtures and copies of packages.
fn documents() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !name.starts_with('.') && !["target", "fixtures"].contains(&name) {
                below(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let root = super::repository().canonicalize().unwrap();
    let mut found = Vec::new();
    for folder in ["docs", "bench", "crates", "reference"] {
        below(&root.join(folder), &mut found);
    }
    found.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|n| root.join(n)),
    );
    found
}

/// The targets of `[text](target)` outside code blocks.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .collect()
}

/// The anchor that GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().unwrap().join(path),
            };
            let found = target.exists()
                && (fragment.is_empty()
                    || std::fs::read_to_string(&target).is_ok_and(|text| {
                        let headings = text.lines().filter(|line| line.starts_with('#'));
                        headings.into_iter().any(|h| anchor(h.trim_start_matches('#')) == fragment)
                    }));
            if !found {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// The public modules in a file and below it, each with its file.
fn public_modules(file: &Path, name: &str) -> Vec<(String, PathBuf)> {
    let text = std::fs::read_to_string(file).unwrap();
    let is_root = ["lib.rs", "mod.rs"].iter().any(|root| file.ends_with(root));
    let folder = if is_root { file.parent().unwrap().into() } else { file.with_extension("") };
    let (mut found, mut before) = (Vec::new(), "");
    for line in text.lines() {
        let module = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';'));
        if let Some(module) = module.filter(|_| before != "#[cfg(test)]") {
            let own = folder.join(format!("{module}.rs"));
            let own = if own.exists() { own } else { folder.join(module).join("mod.rs") };
            let name = format!("{name}::{module}");
            found.extend(public_modules(&own, &name));
            found.push((name, own));
        }
        before = line;
    }
    found
}

#[test]
fn the_page_of_every_public_module_of_the_library_has_an_example_or_a_formula() {
    let root = super::repository().join("crates/limpid/src/lib.rs");
    let modules = public_modules(&root, "limpid");
    assert!(modules.len() > 30, "only {} modules", modules.len());
    let is_bare = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap();
        !text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains("```"))
    };
    let bare: Vec<_> = modules.iter().filter(|(_, file)| is_bare(file)).collect();
    assert!(bare.is_empty(), "without an example or a formula: {bare:#?}");
}

#[test]
fn short_documents_stay_short() {
    for (name, longest) in LONGEST {
        let text = std::fs::read_to_string(super::repository().join(name)).unwrap();
        let lines = text.lines().count();
        assert!(lines <= longest, "{name} has {lines} lines, at most {longest}");
    }
}

#[test]
fn the_architecture_lists_the_modules_in_the_order_that_is_tested() {
    let text = std::fs::read_to_string(super::repository().join("ARCHITECTURE.md")).unwrap();
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&super::order::MODULES.join(", ")));
}

#[test]
fn the_walk_to_the_first_step_names_files_that_exist_and_at_most_25() {
    let root = super::repository();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let walk = text.split("## From main to the first step").nth(1).expect("it has this section");
    let block = walk.split("```").nth(1).expect("the walk is a block");
    // A name without a crate's letter is in the folder of the crate's part named before it.
    let mut base = "";
    let mut files = Vec::new();
    for name in block.split_whitespace().filter(|word| word.ends_with(".rs")) {
        let (folder, path) = match name.split_once('/') {
            Some(("C", path)) => ("limpid-cli/src/", path),
            Some(("L", path)) => ("limpid/src/", path),
            _ => (base, name),
        };
        base = match (folder, path.starts_with("train/")) {
            ("limpid/src/", true) => "limpid/src/train/",
            (folder, _) => folder,
        };
        files.push(root.join("crates").join(folder).join(path));
    }
    assert!((15..=25).contains(&files.len()), "{} files", files.len());
    for file in files {
        assert!(file.is_file(), "{} does not exist", file.display());
    }
}
