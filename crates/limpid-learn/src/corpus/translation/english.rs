//! English: how words change, and how they join.

use super::grammar::Agreement;
use super::lexicon::{Adjective, Degree};

/// Words whose last consonant doubles before -ing, -er and -est.
const DOUBLING: &[&str] = &[
    "run", "sit", "swim", "cut", "get", "stop", "forget", "begin", "big", "fat", "hot", "sad",
    "wet",
];

/// The stem of "cry" and "city" but not of "play": what stands before a y that turns into i.
fn before_y(word: &str) -> Option<&str> {
    word.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))
}

/// Adds -s, as nouns and verbs do.
pub(super) fn add_s(word: &str) -> String {
    if let Some(stem) = before_y(word) {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "ch", "sh", "z"].iter().any(|end| word.ends_with(end));
    format!("{word}{}", if hisses { "es" } else { "s" })
}

/// The third person singular: goes, has, cries.
pub(super) fn third(base: &str) -> String {
    match base {
        "be" => "is".to_owned(),
        "have" => "has".to_owned(),
        "go" | "do" => format!("{base}es"),
        _ => add_s(base),
    }
}

/// The -ing form.
pub(super) fn ing(base: &str) -> String {
    if DOUBLING.contains(&base) {
        return format!("{base}{}ing", &base[base.len() - 1..]);
    }
    match base.strip_suffix('e') {
        Some(stem) if base != "be" && !base.ends_with("ee") => format!("{stem}ing"),
        _ => format!("{base}ing"),
    }
}

/// am, is, are.
pub(super) fn be_present(who: &Agreement) -> &'static str {
    ["am", "are", "is", "are", "are", "are"][who.column()]
}

/// was, were.
pub(super) fn be_past(who: &Agreement) -> &'static str {
    ["was", "were", "was", "were", "were", "were"][who.column()]
}

/// older, better, more useful.
pub(super) fn comparative(adjective: &Adjective) -> String {
    match adjective.en {
        "good" => "better".to_owned(),
        "bad" => "worse".to_owned(),
        en if adjective.degree == Degree::Short => suffixed(en, "er"),
        en => format!("more {en}"),
    }
}

/// oldest, best, most useful.
pub(super) fn superlative(adjective: &Adjective) -> String {
    match adjective.en {
        "good" => "best".to_owned(),
        "bad" => "worst".to_owned(),
        en if adjective.degree == Degree::Short => suffixed(en, "est"),
        en => format!("most {en}"),
    }
}

fn suffixed(word: &str, ending: &str) -> String {
    if DOUBLING.contains(&word) {
        return format!("{word}{}{ending}", &word[word.len() - 1..]);
    }
    match (before_y(word), word.strip_suffix('e')) {
        (Some(stem), _) => format!("{stem}i{ending}"),
        (None, Some(stem)) => format!("{stem}{ending}"),
        (None, None) => format!("{word}{ending}"),
    }
}

/// True when "a" becomes "an" before this word.
fn takes_an(word: &str) -> bool {
    match word {
        "hour" | "honest" => true,
        _ if word.starts_with("uni") || word.starts_with("use") => false,
        _ => word.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']),
    }
}

/// Writes a sentence: a or an, punctuation and 's closed up, a capital first.
pub(super) fn sentence(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut out = String::with_capacity(words.len() * 7);
    for (i, &word) in words.iter().enumerate() {
        if !(out.is_empty() || [",", ".", "?", "!", "'s", "'"].contains(&word)) {
            out.push(' ');
        }
        out.push_str(match word {
            "a" if words.get(i + 1).is_some_and(|next| takes_an(next)) => "an",
            _ => word,
        });
    }
    super::french::capitalize(&out)
}
