//! The two rule-based tokenizers of sacreBLEU: `13a` and `intl`.
//!
//! Their rules were regular expressions applied one after the other, each to the result of the one
//! before. None of them looks at more than two characters, so here each is one scan. The order
//! matters: a comma that rule 2 of 13a has split off is seen again by rule 3, with a space beside
//! it.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The tokenizer of `mteval-v14`'s option for all languages, `intl`: punctuation and symbols of any
/// script are tokens, except punctuation between digits. A full stop after a digit at the end of a
/// line stays with it, because no character follows that is not a digit; so it does in the script.
pub(super) fn intl(line: &str) -> String {
    use GeneralCategoryGroup::{Number, Punctuation, Symbol};
    let is = |c: char, group| c.general_category_group() == group;
    let text =
        replace_pairs(line, |a, b| !is(a, Number) && is(b, Punctuation), |a, b| [a, ' ', b, ' ']);
    let text =
        replace_pairs(&text, |a, b| is(a, Punctuation) && !is(b, Number), |a, b| [' ', a, ' ', b]);
    split_off(&text, |c| is(c, Symbol))
}

/// The tokenizer of `mteval-v13a`, NIST's scoring script, as sacreBLEU runs it.
///
/// Puts spaces around the tokens of a line. There may be several spaces in a row, and at both ends.
pub(super) fn v13a(line: &str) -> String {
    let text = format!(" {} ", plain_text(line));
    let is_stop = |c| c == '.' || c == ',';
    // Rule 1: spaces around symbols, wherever they stand.
    let text = split_off(&text, is_symbol);
    // Rule 2: a period or comma is a token unless a digit comes before it …
    let text =
        replace_pairs(&text, |a, b| !a.is_ascii_digit() && is_stop(b), |a, b| [a, ' ', b, ' ']);
    // Rule 3: … or after it: of `1,000.50.` only the last is split off.
    let text =
        replace_pairs(&text, |a, b| is_stop(a) && !b.is_ascii_digit(), |a, b| [' ', a, ' ', b]);
    // Rule 4: a hyphen is a token after a digit: `1990-1995`, but not `well-known`.
    replace_pairs(&text, |a, b| a.is_ascii_digit() && b == '-', |a, b| [a, ' ', b, ' '])
}

/// Undoes the markup of NIST's files: lines broken at a hyphen are joined, entities become
/// characters.
fn plain_text(line: &str) -> String {
    let text = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    // In this order `&amp;lt;` ends as `<` but `&amp;quot;` as `&quot;`. So did the script's.
    text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

/// ASCII punctuation other than `'`, `-`, `.` and `,`.
fn is_symbol(c: char) -> bool {
    matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/')
}

fn split_off(text: &str, is_token: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(2 * text.len());
    for c in text.chars() {
        if is_token(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// Rewrites neighbours that match, from left to right. Both are used up: of `a..b` the rule "any
/// character, then a period" takes `a.` and then meets `.b`.
fn replace_pairs(
    text: &str,
    matches: impl Fn(char, char) -> bool,
    rewrite: impl Fn(char, char) -> [char; 4],
) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut chars = text.chars().peekable();
    while let Some(a) = chars.next() {
        match chars.next_if(|&b| matches(a, b)) {
            Some(b) => out.extend(rewrite(a, b)),
            None => out.push(a),
        }
    }
    out
}
