//! Noun phrases: determiner, adjectives on their sides, noun.

use super::english;
use super::french::elides;
use super::french::inflection::{agree, before_vowel, plural};
use super::grammar::{Agreement, Animacy, Gender, Number, Person, Phrase, append, phrase};
use super::lexicon::{Adjective, Both, CHILD, HUMAN, NUMBERS, Noun, Position};

/// A phrase that others agree with.
#[derive(Clone, Debug)]
pub(super) struct Np {
    pub text: Phrase,
    pub who: Agreement,
}

/// What stands before the noun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Determiner {
    /// le / the
    The,
    /// un / a; des / some
    A,
    /// After a negated verb: pas de / a, any
    No,
    /// The whole kind: "aimer le pain" / "like bread"
    Kind,
    /// ce / this, ces / these
    This,
    /// The owner's: mon / my
    Of(Agreement),
    /// A number from two
    Count(usize),
    /// plusieurs, quelques, beaucoup de, trop de …: only with a plural (or mass) noun
    Quantity(Both),
}

impl Determiner {
    /// The number it forces, if any.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Determiner::Count(_) | Determiner::Quantity(_) => Some(Number::Plural),
            _ => None,
        }
    }
}

/// Quantities that count.
pub(super) static QUANTITIES: &[Both] = &[
    ("several", "plusieurs"),
    ("a few", "quelques"),
    ("many", "beaucoup de"),
    ("too many", "trop de"),
    ("all the", "tous les"),
];

/// What a noun makes others agree with.
pub(super) fn agreement(noun: &Noun, number: Number) -> Agreement {
    let animacy = if noun.is(HUMAN | CHILD) { Animacy::Human } else { Animacy::Other };
    Agreement { person: Person::Third, number, gender: noun.gender, animacy }
}

/// The English noun in a number.
pub(super) fn english_noun(noun: &Noun, number: Number) -> String {
    match number {
        Number::Singular => noun.en.to_owned(),
        Number::Plural if noun.en_plural.is_empty() => english::add_s(noun.en),
        Number::Plural => noun.en_plural.to_owned(),
    }
}

/// The French noun in a number.
pub(super) fn french_noun(noun: &Noun, number: Number) -> String {
    match number {
        Number::Singular => noun.fr.to_owned(),
        Number::Plural if noun.fr_plural.is_empty() => plural(noun.fr),
        Number::Plural => noun.fr_plural.to_owned(),
    }
}

/// Builds the phrase. Of the adjectives, those that stand before the French noun come first in
/// English too ("une belle maison blanche" / "a beautiful white house").
pub(super) fn noun_phrase(
    noun: &Noun,
    number: Number,
    determiner: Determiner,
    adjectives: &[&Adjective],
) -> Np {
    let who = agreement(noun, number);
    let mass = noun.is(super::lexicon::MASS);
    let (mut en, mut fr) = (String::new(), String::new());
    for adjective in adjectives {
        append(&mut en, adjective.en);
    }
    append(&mut en, &english_noun(noun, number));
    // French from the noun outwards: what stands before looks at the first letter of what follows.
    let mut before = french_noun(noun, number);
    let mut adjective_first = false;
    for adjective in adjectives.iter().rev().filter(|a| a.position == Position::Before) {
        let form = agree(adjective.fr, &who);
        let form = if singular_masculine(&who) && elides(&before) {
            before_vowel(&form).to_owned()
        } else {
            form
        };
        before = format!("{form} {before}");
        adjective_first = true;
    }
    append(&mut fr, &before);
    for adjective in adjectives.iter().filter(|a| a.position != Position::Before) {
        append(&mut fr, &agree(adjective.fr, &who));
    }
    let (en_det, fr_det) = determiner_words(determiner, &who, mass, adjective_first, elides(&fr));
    let mut text = phrase(en_det, fr_det);
    append(&mut text.en, &en);
    append(&mut text.fr, &fr);
    Np { text, who }
}

fn singular_masculine(who: &Agreement) -> bool {
    who.gender == Gender::Masculine && who.number == Number::Singular
}

fn determiner_words(
    determiner: Determiner,
    who: &Agreement,
    mass: bool,
    adjective_first: bool,
    vowel: bool,
) -> (&'static str, &'static str) {
    let plural = who.number == Number::Plural;
    let the = who.choose(["le", "la", "les", "les"]);
    match determiner {
        Determiner::The => ("the", the),
        Determiner::Kind => ("", the),
        Determiner::A if plural && adjective_first => ("some", "de"),
        Determiner::A if plural => ("some", "_des"),
        Determiner::A if mass => ("some", who.choose(["_du", "_dela", "", ""])),
        Determiner::A => ("a", who.choose(["un", "une", "", ""])),
        Determiner::No if plural || mass => ("any", "de"),
        Determiner::No => ("a", who.choose(["_un", "_une", "", ""])),
        Determiner::This if plural => ("these", "ces"),
        Determiner::This if singular_masculine(who) && vowel => ("this", "cet"),
        Determiner::This => ("this", who.choose(["ce", "cette", "", ""])),
        Determiner::Of(owner) => possessive(&owner, who, vowel),
        Determiner::Count(n) => NUMBERS[n - 1],
        Determiner::Quantity(("all the", _)) => {
            ("all the", who.choose(["", "", "tous les", "toutes les"]))
        }
        Determiner::Quantity(("too many", fr)) if !plural => ("too much", fr),
        Determiner::Quantity(("many", fr)) if !plural => ("a lot of", fr),
        Determiner::Quantity(words) => words,
    }
}

/// my, your, his …; the French one agrees with the thing, and "ma" yields to "mon" before a vowel.
pub(super) fn possessive(
    owner: &Agreement,
    thing: &Agreement,
    vowel: bool,
) -> (&'static str, &'static str) {
    let en = match (owner.column(), owner.animacy, owner.gender) {
        (0, ..) => "my",
        (1 | 4, ..) => "your",
        (2, Animacy::Other, _) => "its",
        (2, _, Gender::Masculine) => "his",
        (2, ..) => "her",
        (3, ..) => "our",
        _ => "their",
    };
    let forms: [[&str; 3]; 6] = [
        ["mon", "ma", "mes"],
        ["ton", "ta", "tes"],
        ["son", "sa", "ses"],
        ["notre", "notre", "nos"],
        ["votre", "votre", "vos"],
        ["leur", "leur", "leurs"],
    ];
    let form = match (thing.number, thing.gender) {
        (Number::Plural, _) => 2,
        (_, Gender::Feminine) if !vowel => 1,
        _ => 0,
    };
    (en, forms[owner.column()][form])
}

/// The owner's thing: "the red bag" becomes "Marie's red bag", "le sac rouge de Marie".
pub(super) fn belonging(thing: Np, owner: &Np) -> Np {
    let bare = thing.text.en.strip_prefix("the ").unwrap_or(&thing.text.en);
    let en = format!("{} 's {bare}", owner.text.en);
    Np { text: phrase(en, format!("{} de {}", thing.text.fr, owner.text.fr)), who: thing.who }
}
