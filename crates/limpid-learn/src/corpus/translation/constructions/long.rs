//! Long sentences: clauses that follow one another, tied by pronouns.

use super::super::grammar::{Negation, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;
use super::clauses::two;
use super::pronouns::sequel;
use super::reasons::homeward;
use super::relatives::{that_clause, who_clause};

/// The baker washed the plates, but his brother did not wash the glasses.
pub(super) fn compound(sampler: &mut Sampler) -> (Phrase, End) {
    let (one, other) = two(sampler);
    let tense = sampler.pick(&[Tense::Past, Tense::Past, Tense::NearFuture]);
    let first = sampler.dynamic_transitive(&one, Negation::None);
    let (join, second) = if sampler.chance(50) {
        // A contrast: the same verb, another object, denied.
        let object = sampler.object(first.verb.object, &other.np.who, Negation::Not);
        let denied = Predicate::new(first.verb).with(&object.text);
        (phrase("but", "mais"), other.does(&denied, tense, Negation::Not))
    } else {
        let second = sampler.dynamic(&other, Negation::None);
        (phrase("and", "et"), other.does(&second, tense, Negation::None))
    };
    let time = if tense == Tense::Past { sampler.past_time() } else { sampler.both(FUTURE_TIMES) };
    let first = one.does(&first, tense, Negation::None);
    let first = if sampler.chance(55) { time.comma().then(first) } else { first };
    (first.comma().then(join).then(second), End::Stop)
}

/// One thing more that the hero of a story did.
fn step(sampler: &mut Sampler, hero: &Actor) -> Phrase {
    let action = sampler.dynamic(hero, Negation::None);
    hero.does(&action, Tense::Past, Negation::None)
}

/// Last week, the farmer who … lost his hat, but he found it, then he …, because he was ….
pub(super) fn story(sampler: &mut Sampler) -> (Phrase, End) {
    let hero = match sampler.below(3) {
        0 => who_clause(sampler, PERSON),
        _ => sampler.third_person(),
    };
    let again = hero.again();
    let mut text = sampler.past_time().comma();
    let (first, join, second) = sequel_past(sampler, &hero, &again);
    text = text.then(first).comma().then(join).then(second);
    // Most stories stop soon; a few go on and on.
    let steps = match sampler.below(20) {
        0..7 => 0,
        7..11 => 1,
        11..15 => 2,
        15..18 => 3,
        _ => 4,
    };
    for n in 0..steps {
        let link = if n % 2 == 0 { phrase("then", "puis") } else { phrase("and", "et") };
        text = text.comma().then(link);
        text = match sampler.below(4) {
            0 => {
                let verb = sampler.pick(&["find", "buy", "see", "read"]);
                let verb = super::verbs::verb_named(verb);
                let object = that_clause(sampler, verb.object & !(PERSON | FAMILY)).np.text;
                text.then(again.does(
                    &Predicate::new(verb).with(object),
                    Tense::Past,
                    Negation::None,
                ))
            }
            1 => {
                let (first, join, second) = sequel_past(sampler, &again, &again);
                text.then(first).comma().then(join).then(second)
            }
            _ => text.then(step(sampler, &again)),
        };
    }
    match sampler.below(3) {
        0 => text = text.comma().then(("and", "et")).then(homeward(sampler, &again)),
        1 if steps > 0 => {
            let other = sampler.relative();
            let action = sampler.lasting(&other);
            let main = other.does(&action, Tense::Imperfect, Negation::None);
            text = text.comma().then(("while", "pendant que")).then(main);
        }
        _ => {}
    }
    (text, End::Stop)
}

/// Two clauses about one object, both in the past.
fn sequel_past(sampler: &mut Sampler, hero: &Actor, again: &Actor) -> (Phrase, Phrase, Phrase) {
    loop {
        let (first, join, second) = sequel(sampler, hero, again);
        // A story stays in its tense: take the pairs whose second verb is past.
        let now = [" is ", " are ", " never ", " no longer ", " will ", " does ", " do "];
        if !now.iter().any(|word| format!(" {} ", second.en).contains(word)) {
            return (first, (*join).into(), second);
        }
    }
}
