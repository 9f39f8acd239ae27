//! Commands, and speaking to people one does not say "tu" to.

use super::super::french::{Mood, conjugate};
use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::Np;
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;

/// Close the door, please. Do not forget your umbrella! Let us visit the castle.
pub(super) fn imperative(sampler: &mut Sampler) -> (Phrase, End) {
    let you = Agreement::human(Person::Second, Number::Singular, Gender::Masculine);
    let us = Agreement::human(Person::First, Number::Plural, Gender::Masculine);
    let who = if sampler.chance(70) { you } else { us };
    let actor = Actor { np: Np { text: Phrase::default(), who }, class: HUMAN };
    let negation = if sampler.chance(30) { Negation::Not } else { Negation::None };
    if sampler.chance(25) && who == you && negation == Negation::None {
        return handing(sampler, &you);
    }
    let action = sampler.transitive_action(&actor, negation);
    let french = action.french(&who, Tense::Present, negation);
    // The -s of the tu form falls after -e: tu manges, mange!
    let verb = conjugate(
        action.verb.fr.split(' ').next().unwrap_or_default(),
        Mood::Present,
        who.column(),
    );
    let french = match verb.strip_suffix("es") {
        Some(stem) if who == you => french.replacen(&verb, &format!("{stem}e"), 1),
        _ => french,
    };
    let mut english = action.infinitive(&who).en;
    english = match (negation, who == you) {
        (Negation::None, true) => english,
        (Negation::None, false) => format!("let us {english}"),
        (_, true) => format!("do not {english}"),
        (_, false) => format!("let us not {english}"),
    };
    polite(sampler, phrase(english, french), who == you)
}

/// Give me the key, please.
fn handing(sampler: &mut Sampler, you: &Agreement) -> (Phrase, End) {
    let verb = sampler.pick(&[&GIVING[0], &GIVING[1], &GIVING[2], &GIVING[3]]);
    let to_us = sampler.chance(35);
    let object = sampler.object(verb.object, you, Negation::None);
    let form = conjugate(verb.fr, Mood::Present, 2);
    let (en, fr) = if to_us { ("us", "nous") } else { ("me", "moi") };
    let command = phrase(format!("{} {en}", verb.en), format!("{form}-{fr}")).then(&object.text);
    polite(sampler, command, true)
}

fn polite(sampler: &mut Sampler, command: Phrase, one: bool) -> (Phrase, End) {
    match sampler.below(4) {
        0 if one => (command.comma().then(("please", "s'il te plaît")), End::Stop),
        1 => (command, End::Exclaim),
        _ => (command, End::Stop),
    }
}

/// Sir, you forgot your hat.
pub(super) fn formal_address(sampler: &mut Sampler) -> (Phrase, End) {
    let who = Agreement::human(Person::Second, Number::Plural, Gender::Masculine);
    let actor = Actor { np: Np { text: who.pronoun(), who }, class: HUMAN };
    let title = sampler.both(&[
        ("sir", "monsieur"),
        ("madam", "madame"),
        ("doctor", "docteur"),
        ("my friends", "mes amis"),
        ("dear friends", "chers amis"),
        ("ladies and gentlemen", "mesdames et messieurs"),
    ]);
    if sampler.chance(30) {
        let modal = Predicate::new(sampler.pick(&[&MODAL[0], &MODAL[1], &MODAL[2]]));
        let inner = sampler.transitive_action(&actor, Negation::None).infinitive(&who);
        let modal = modal.with(inner);
        if sampler.chance(50) {
            let none = Phrase::default();
            return (
                title.comma().then(modal.question(
                    none,
                    &actor.np.text,
                    &who,
                    Tense::Present,
                    Negation::None,
                )),
                End::Ask,
            );
        }
        return (title.comma().then(actor.does(&modal, Tense::Present, Negation::None)), End::Stop);
    }
    let action = sampler.dynamic_transitive(&actor, Negation::None);
    let tense = sampler.pick(&[Tense::Past, Tense::Past, Tense::NearFuture]);
    let time = sampler.time(tense, action.verb);
    if sampler.chance(40) {
        return (
            title.comma().then(action.question(
                Phrase::default(),
                &actor.np.text,
                &who,
                tense,
                Negation::None,
            )),
            End::Ask,
        );
    }
    let clause = actor.does(&action, tense, Negation::None);
    let clause = match time {
        Some(time) => clause.then(time),
        None => clause,
    };
    (title.comma().then(clause), End::Stop)
}
