//! The words. Each entry pairs one English lemma with one French lemma, so that neither side is a
//! guess.
//!
//! Nouns carry classes (what kind of thing it is); verbs and adjectives say which classes they go
//! with. That is what keeps a baker selling bread and keeps a chair from eating an idea.

mod adjectives;
mod adverbs;
mod classes;
mod nouns_life;
mod nouns_things;
mod nouns_world;
mod verbs;

pub(super) use adjectives::ADJECTIVES;
pub(super) use adverbs::*;
pub(super) use classes::*;
pub(super) use verbs::*;

use super::grammar::Gender;

/// A noun and its irregular forms; an empty form follows the rule of its language.
#[derive(Debug)]
pub(super) struct Noun {
    pub en: &'static str,
    pub en_plural: &'static str,
    pub fr: &'static str,
    pub fr_plural: &'static str,
    /// What a woman is called ("étudiante"), where English does not say.
    pub fr_feminine: &'static str,
    pub gender: Gender,
    pub class: Class,
}

impl Noun {
    const fn new(en: &'static str, fr: &'static str, gender: Gender, class: Class) -> Self {
        Self { en, en_plural: "", fr, fr_plural: "", fr_feminine: "", gender, class }
    }

    /// The same noun with irregular plurals.
    const fn plural(mut self, en: &'static str, fr: &'static str) -> Self {
        self.en_plural = en;
        self.fr_plural = fr;
        self
    }

    /// The same noun with the form for a woman.
    const fn she(mut self, fr: &'static str) -> Self {
        self.fr_feminine = fr;
        self
    }

    /// True when the noun belongs to one of these classes.
    pub(super) fn is(&self, class: Class) -> bool {
        self.class & class != 0
    }
}

const fn m(en: &'static str, fr: &'static str, class: Class) -> Noun {
    Noun::new(en, fr, Gender::Masculine, class)
}

const fn f(en: &'static str, fr: &'static str, class: Class) -> Noun {
    Noun::new(en, fr, Gender::Feminine, class)
}

/// All nouns, in a fixed order.
pub(super) fn nouns() -> impl Iterator<Item = &'static Noun> {
    nouns_life::NOUNS.iter().chain(nouns_things::NOUNS).chain(nouns_world::NOUNS)
}

/// Where an adjective stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// Before the French noun: "une petite maison".
    Before,
    /// After the French noun: "une maison blanche".
    After,
    /// Only after "être": "Paul est prêt".
    Predicate,
}

/// How English compares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Degree {
    /// older, oldest
    Short,
    /// more useful, most useful
    Long,
    /// cannot be compared (closed, wooden)
    Absolute,
}

/// An adjective.
#[derive(Debug)]
pub(super) struct Adjective {
    pub en: &'static str,
    pub fr: &'static str,
    pub position: Position,
    pub degree: Degree,
    /// The nouns it goes with.
    pub suits: Class,
}

/// A verb: English base, past and participle (of the first word), and the French infinitive. Words
/// after the first follow the inflected one: "look for", "avoir besoin de"; "se" in front makes it
/// reflexive.
#[derive(Debug)]
pub(super) struct Verb {
    pub en: &'static str,
    pub past: &'static str,
    pub done: &'static str,
    pub fr: &'static str,
    pub subject: Class,
    pub object: Class,
    pub aux: Aux,
    pub aspect: Aspect,
}

/// The auxiliary of the French passé composé.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aux {
    Avoir,
    Etre,
}

/// What the past of a verb means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aspect {
    /// An action: "a mangé" / "ate", "mangeait" / "was eating".
    Action,
    /// A state: always "savait" / "knew".
    State,
    /// An action without duration: "voit" / "sees", "a vu" / "saw", never "is seeing".
    Instant,
}

/// A word or fixed phrase with one translation.
pub(super) type Both = (&'static str, &'static str);

/// How many different lemmas each side has: (English, French).
pub(super) fn lemma_counts() -> (usize, usize) {
    let mut english = std::collections::BTreeSet::new();
    let mut french = std::collections::BTreeSet::new();
    let mut count = |en: &'static str, fr: &'static str| {
        english.insert(en);
        french.insert(fr);
    };
    nouns().for_each(|noun| count(noun.en, noun.fr));
    ADJECTIVES.iter().for_each(|a| count(a.en, a.fr));
    all_verbs().for_each(|v| count(v.en, v.fr));
    small_words().for_each(|(en, fr)| count(en, fr));
    (english.len(), french.len())
}
