//! The sources of a crate as tokens: its modules, without tests and documentation.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::path::{Path, PathBuf};

/// A file or an inline module, without the modules inside it.
pub struct Module {
    /// Its path from the root of the crate: `["train", "config"]`, nothing for the root itself.
    pub path: Vec<String>,
    /// The file it is in.
    pub file: PathBuf,
    /// Its tokens, without `#[cfg(test)]` items, documentation and inline modules.
    pub tokens: Vec<TokenTree>,
}

/// A string in a file.
pub struct StringLiteral {
    /// The line it begins in.
    pub line: usize,
    /// Its text as written, with line continuations joined.
    pub text: String,
}

/// All modules of the crate in this folder, found by walking its `mod` declarations from the root.
pub fn modules_of(crate_folder: &Path) -> Vec<Module> {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| crate_folder.join(root));
    let root = roots.into_iter().find(|root| root.exists()).expect("a crate has a root");
    let mut found = Vec::new();
    visit_file(&root, Vec::new(), &mut found);
    found
}

fn visit_file(file: &Path, path: Vec<String>, found: &mut Vec<Module>) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let stream: TokenStream =
        text.parse().unwrap_or_else(|e| panic!("{} is not Rust: {e}", file.display()));
    visit_module(file, path, without_tests(stream), found);
}

fn visit_module(file: &Path, path: Vec<String>, tokens: Vec<TokenTree>, found: &mut Vec<Module>) {
    let (mut own, mut rest) = (Vec::new(), tokens.into_iter().peekable());
    while let Some(token) = rest.next() {
        let inner = match (&token, rest.peek()) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if *word == "mod" => {
                let mut inner = path.clone();
                inner.push(name.to_string());
                inner
            }
            _ => {
                own.push(token);
                continue;
            }
        };
        rest.next();
        match rest.next() {
            Some(TokenTree::Group(body)) => {
                visit_module(file, inner, body.stream().into_iter().collect(), found)
            }
            _ => visit_file(&file_of(file, &inner), inner, found),
        }
    }
    found.push(Module { path, file: file.to_path_buf(), tokens: own });
}

/// The file of the module `inner`, declared in `parent`: `x.rs` or `x/mod.rs`.
fn file_of(parent: &Path, inner: &[String]) -> PathBuf {
    let name = inner.last().expect("a module has a name");
    let stem = parent.file_stem().and_then(|stem| stem.to_str()).expect("sources have names");
    let folder = parent.parent().expect("a file is in a folder");
    let folder = match stem {
        "lib" | "main" | "mod" => folder.to_path_buf(),
        stem => folder.join(stem),
    };
    let file = folder.join(format!("{name}.rs"));
    if file.exists() { file } else { folder.join(name).join("mod.rs") }
}

/// The tokens without documentation and without what is compiled for tests only.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let (mut kept, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        match attribute(&tokens[i..]) {
            Some((attribute, length)) if is_for_tests(&attribute) => {
                // `#![cfg(test)]`, with its exclamation mark, is about everything that follows.
                if length == 3 {
                    return kept;
                }
                i += length;
                i += item_length(&tokens[i..]);
            }
            Some((attribute, length)) if starts_with(&attribute, "doc") => i += length,
            _ => {
                kept.push(filtered(&tokens[i]));
                i += 1;
            }
        }
    }
    kept
}

/// A token, a group of them filtered inside.
fn filtered(token: &TokenTree) -> TokenTree {
    let TokenTree::Group(group) = token else { return token.clone() };
    let inside = without_tests(group.stream()).into_iter().collect();
    let mut copy = Group::new(group.delimiter(), inside);
    copy.set_span(group.span());
    TokenTree::Group(copy)
}

/// What is in the brackets of an attribute that begins here, and its length in tokens.
fn attribute(tokens: &[TokenTree]) -> Option<(Vec<TokenTree>, usize)> {
    let inside = |token: &TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some(group.stream().into_iter().collect())
        }
        _ => None,
    };
    match tokens {
        [hash, brackets, ..] if is_punct(hash, '#') && !is_punct(brackets, '!') => {
            Some((inside(brackets)?, 2))
        }
        [hash, bang, brackets, ..] if is_punct(hash, '#') && is_punct(bang, '!') => {
            Some((inside(brackets)?, 3))
        }
        _ => None,
    }
}

/// Whether an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_for_tests(attribute: &[TokenTree]) -> bool {
    if !starts_with(attribute, "cfg") {
        return false;
    }
    let Some(TokenTree::Group(condition)) = attribute.get(1) else { return false };
    let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
    let all_of = |tokens: &[TokenTree]| match tokens {
        [TokenTree::Ident(all), TokenTree::Group(list)] if *all == "all" => {
            list.stream().into_iter().any(|token| is_ident(&token, "test"))
        }
        _ => false,
    };
    starts_with(&condition, "test") || all_of(&condition)
}

/// Tokens of the item that begins here: to its body, or to its semicolon.
fn item_length(tokens: &[TokenTree]) -> usize {
    // Braces of a `use` are a list of names, not its end.
    let is_use = tokens.iter().take(4).any(|token| is_ident(token, "use"));
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use,
        token => is_punct(token, ';'),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

/// Whether the first of these tokens is this word.
fn starts_with(tokens: &[TokenTree], word: &str) -> bool {
    tokens.first().is_some_and(|token| is_ident(token, word))
}

pub fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

pub fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Every string among the tokens, those inside macros and attributes too.
pub fn strings(tokens: impl IntoIterator<Item = TokenTree>) -> Vec<StringLiteral> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(strings(group.stream())),
            TokenTree::Literal(literal) if literal.to_string().contains('"') => {
                let (line, text) = (literal.span().start().line, literal.to_string());
                found.push(StringLiteral { line, text: joined(&text) });
            }
            _ => {}
        }
    }
    found
}

/// The text with lines that end in a backslash joined to the next, as the compiler does.
fn joined(literal: &str) -> String {
    let mut parts = literal.split("\\\n");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + part.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(source: &str) -> String {
        without_tests(source.parse().unwrap()).into_iter().collect::<TokenStream>().to_string()
    }

    #[test]
    fn code_for_tests_and_documentation_are_left_out() {
        assert_eq!(kept("/// Says --x.\nfn f() {}"), "fn f () { }");
        assert_eq!(kept("#[cfg(test)] mod tests { fn g() {} } fn f() {}"), "fn f () { }");
        assert_eq!(kept("#[cfg(test)] use a::{b, c}; fn f() {}"), "fn f () { }");
        assert_eq!(kept("#[cfg(all(test, unix))] #[allow(x)] fn g() {} fn f() {}"), "fn f () { }");
        assert_eq!(kept("fn f() { #[cfg(test)] call(); }"), "fn f () { }");
        assert_eq!(kept("#![cfg(test)] fn f() {}"), "");
        assert!(kept("#[cfg(unix)] fn f() {}").contains("fn f"));
        assert!(kept("#[cfg(not(test))] fn f() {}").contains("fn f"));
    }

    #[test]
    fn strings_inside_macros_and_attributes_are_found() {
        let source =
            "#[error(\"one\")] fn f() { format!(\"two {}\", r#\"three\"#); 'c'; b\"four\" }";
        let texts: Vec<String> =
            strings(without_tests(source.parse().unwrap())).into_iter().map(|s| s.text).collect();
        assert_eq!(texts, ["\"one\"", "\"two {}\"", "r#\"three\"#", "b\"four\""]);
    }

    #[test]
    fn a_continued_line_is_one_text() {
        assert_eq!(joined("\"limpid \\\n        train\""), "\"limpid train\"");
    }

    #[test]
    fn every_file_of_this_crate_is_a_module_or_a_test() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let modules = modules_of(folder);
        assert!(modules.iter().any(|module| module.path == ["commands", "train"]));
        assert!(modules.iter().any(|module| module.path == ["hints", "file"]));
        assert!(!modules.iter().any(|module| module.path.contains(&"house".to_string())));
    }
}
