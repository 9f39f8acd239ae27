//! Plurals and feminines.

use super::super::grammar::{Agreement, Gender, Number};

/// The plural of a noun or of a masculine adjective.
pub(in super::super) fn plural(word: &str) -> String {
    const IRREGULAR: &[(&str, &str)] = &[
        ("œil", "yeux"),
        ("travail", "travaux"),
        ("ciel", "cieux"),
        ("bleu", "bleus"),
        ("pneu", "pneus"),
    ];
    const OU_X: &[&str] = &["hibou", "genou", "bijou", "caillou", "chou", "joujou", "pou"];
    if let Some((_, many)) = IRREGULAR.iter().find(|(one, _)| *one == word) {
        return (*many).to_owned();
    }
    if word.ends_with(['s', 'x', 'z']) {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("al") {
        return format!("{stem}aux");
    }
    if word.ends_with("eau") || word.ends_with("eu") || OU_X.contains(&word) {
        return format!("{word}x");
    }
    format!("{word}s")
}

/// The feminine singular of an adjective or participle.
pub(in super::super) fn feminine(word: &str) -> String {
    const IRREGULAR: &[(&str, &str)] = &[
        ("beau", "belle"),
        ("nouveau", "nouvelle"),
        ("vieux", "vieille"),
        ("blanc", "blanche"),
        ("frais", "fraîche"),
        ("sec", "sèche"),
        ("long", "longue"),
        ("doux", "douce"),
        ("faux", "fausse"),
        ("jaloux", "jalouse"),
        ("gros", "grosse"),
        ("bas", "basse"),
        ("gentil", "gentille"),
        ("bon", "bonne"),
        ("violet", "violette"),
        ("favori", "favorite"),
    ];
    if let Some((_, feminine)) = IRREGULAR.iter().find(|(masculine, _)| *masculine == word) {
        return (*feminine).to_owned();
    }
    for (ending, feminine) in
        [("eux", "euse"), ("er", "ère"), ("et", "ète"), ("f", "ve"), ("el", "elle"), ("e", "e")]
    {
        if let Some(stem) = word.strip_suffix(ending) {
            return format!("{stem}{feminine}");
        }
    }
    format!("{word}e")
}

/// An adjective or participle made to agree. Phrases ("en bois", "en colère") do not change.
pub(in super::super) fn agree(word: &str, with: &Agreement) -> String {
    if word.contains(' ') {
        return word.to_owned();
    }
    match (with.gender, with.number) {
        (Gender::Masculine, Number::Singular) => word.to_owned(),
        (Gender::Masculine, Number::Plural) => plural(word),
        (Gender::Feminine, Number::Singular) => feminine(word),
        (Gender::Feminine, Number::Plural) => feminine(word) + "s",
    }
}

/// The form that masculine adjectives before the noun take before a vowel: un bel arbre.
pub(in super::super) fn before_vowel(masculine: &str) -> &str {
    match masculine {
        "beau" => "bel",
        "nouveau" => "nouvel",
        "vieux" => "vieil",
        "ce" => "cet",
        other => other,
    }
}
