//! Crates and modules depend in one direction.
//!
//! Both lists below are in order: a crate or module may use those before it, never those after it.

use super::sources::{Module, is_punct, modules_of};
use proc_macro2::{Delimiter, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The crates, the lowest first.
pub const CRATES: [&str; 7] = [
    "limpid-tensor",
    "limpid",
    "limpid-mpi",
    "limpid-python",
    "limpid-learn",
    "limpid-server",
    "limpid-cli",
];

/// The modules of `limpid`, the lowest first.
pub const MODULES: [&str; 18] = [
    "error",
    "hash",
    "files",
    "text",
    "data",
    "distributed",
    "optim",
    "nn",
    "model",
    "hub",
    "generate",
    "encode",
    "eval",
    "quantize",
    "inspect",
    "report",
    "pipeline",
    "train",
];

/// A path that code names: `["crate", "hub", "load"]`.
type Path = Vec<String>;

/// All paths among the tokens, the members of `use a::{b, c}` each on its own.
fn paths(tokens: &[TokenTree]) -> Vec<Path> {
    let (mut found, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        match &tokens[i] {
            TokenTree::Ident(first) => {
                let (ends, next) = path_from(vec![first.to_string()], tokens, i + 1);
                found.extend(ends);
                i = next;
            }
            TokenTree::Group(group) => {
                found.extend(paths(&group.stream().into_iter().collect::<Vec<_>>()));
                i += 1;
            }
            _ => i += 1,
        }
    }
    found
}

/// The paths that begin with `path` and go on at `tokens[i]`, and where they end.
fn path_from(mut path: Path, tokens: &[TokenTree], mut i: usize) -> (Vec<Path>, usize) {
    while i + 2 < tokens.len() && is_punct(&tokens[i], ':') && is_punct(&tokens[i + 1], ':') {
        match &tokens[i + 2] {
            TokenTree::Ident(name) => path.push(name.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let members = inside.split(|token| is_punct(token, ','));
                let ends = members.flat_map(|member| match member {
                    [TokenTree::Ident(name), ..] => {
                        let mut longer = path.clone();
                        longer.push(name.to_string());
                        path_from(longer, member, 1).0
                    }
                    _ => Vec::new(),
                });
                return (ends.collect(), i + 3);
            }
            _ => return (vec![path], i + 2),
        }
        i += 3;
    }
    (vec![path], i)
}

/// A path from the root of the crate, if it is one of this crate.
fn from_the_root(path: &[String], module: &[String]) -> Option<Path> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {}
        _ => return None,
    }
    while let Some("super") = rest.first().map(String::as_str) {
        base.pop()?;
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// Which top-level modules each top-level module names, with one file that does.
fn module_edges(modules: &[Module]) -> BTreeMap<(String, String), String> {
    let names: BTreeSet<&String> =
        modules.iter().filter_map(|module| module.path.first()).collect();
    let mut edges = BTreeMap::new();
    for module in modules {
        let Some(user) = module.path.first() else { continue };
        for path in paths(&module.tokens) {
            let Some(used) = from_the_root(&path, &module.path).and_then(|p| p.first().cloned())
            else {
                continue;
            };
            if used != *user && names.contains(&used) {
                let place = format!("{}: {}", module.file.display(), path.join("::"));
                edges.entry((user.clone(), used)).or_insert(place);
            }
        }
    }
    edges
}

fn crate_folder(name: &str) -> std::path::PathBuf {
    super::repository().join("crates").join(name)
}

#[test]
fn modules_of_the_library_depend_in_one_direction() {
    let modules = modules_of(&crate_folder("limpid"));
    let named: BTreeSet<&str> =
        modules.iter().filter_map(|m| m.path.first()).map(|m| &**m).collect();
    let unlisted: Vec<_> = named.iter().filter(|name| !MODULES.contains(name)).collect();
    assert!(unlisted.is_empty(), "give these modules a place in the order: {unlisted:?}");
    let place = |name: &str| MODULES.iter().position(|module| *module == name);
    let upward: Vec<String> = module_edges(&modules)
        .into_iter()
        .filter(|((user, used), _)| place(used) > place(user))
        .map(|((user, used), file)| format!("{user} uses {used} ({file})"))
        .collect();
    assert!(upward.is_empty(), "upward edges:\n{}", upward.join("\n"));
}

#[test]
fn root_names_of_the_library_are_used_by_nobody_inside() {
    // `crate::Generator` would hide which module is meant.
    let modules = modules_of(&crate_folder("limpid"));
    let names: BTreeSet<String> =
        modules.iter().filter_map(|module| module.path.first().cloned()).collect();
    for module in modules.iter().filter(|module| !module.path.is_empty()) {
        for path in paths(&module.tokens).iter().filter(|path| path[0] == "crate") {
            let Some(first) = path.get(1) else { continue };
            let file = module.file.display();
            assert!(names.contains(first), "{file}: crate::{first} is not a module");
        }
    }
}

#[test]
fn crates_depend_in_one_direction() {
    for (i, name) in CRATES.iter().enumerate() {
        let above: Vec<String> =
            CRATES[i + 1..].iter().map(|name| name.replace('-', "_")).collect();
        for module in modules_of(&crate_folder(name)) {
            for path in paths(&module.tokens).iter().filter(|path| path.len() > 1) {
                let (file, used) = (module.file.display(), &path[0]);
                assert!(!above.contains(used), "{file} uses {used}, which is above {name}");
            }
        }
    }
}

#[test]
fn manifests_depend_in_one_direction_tests_included() {
    for (i, name) in CRATES.iter().enumerate() {
        let text = std::fs::read_to_string(crate_folder(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(toml::Value::Table(section)) = manifest.get(section) else { continue };
            for above in &CRATES[i + 1..] {
                assert!(!section.contains_key(*above), "{name} depends on {above}, above it");
            }
        }
    }
}

#[test]
fn paths_are_resolved_from_where_they_stand() {
    let tokens: Vec<TokenTree> = "use crate::{hub::load, text}; super::super::data::x(self::y)"
        .parse::<proc_macro2::TokenStream>()
        .unwrap()
        .into_iter()
        .collect();
    let module = ["train".to_string(), "config".to_string()];
    let resolved: Vec<String> = paths(&tokens)
        .iter()
        .filter_map(|path| from_the_root(path, &module))
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(resolved, ["hub::load", "text", "data::x", "train::config::y"]);
}
