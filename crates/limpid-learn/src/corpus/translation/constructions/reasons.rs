//! Because: what people do out of a feeling, and what they leave undone.

use super::super::grammar::{Negation, Phrase, Tense};
use super::super::lexicon::*;
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;

/// Why something was not done: adjectives, and idioms of the table by position.
const NOT_DOING: (&[&str], &[usize]) =
    (&["tired", "sick", "late", "busy", "angry", "sad", "worried"], &[2, 4, 8]);

/// What one does when one feels so: (what, feelings).
static FEELINGS: &[(&str, &[&str])] = &[
    ("go home", &["tired", "sick", "cold", "afraid", "sad"]),
    ("leave", &["angry", "sad", "tired", "afraid"]),
    ("rest", &["tired", "sick", "sleepy"]),
    ("go to bed", &["tired", "sleepy", "sick"]),
    ("hurry", &["late", "hungry", "cold"]),
    ("cry", &["sad", "afraid", "alone", "angry"]),
    ("smile", &["happy", "proud"]),
    ("sing", &["happy", "proud"]),
    ("dance", &["happy"]),
    ("sit down", &["tired", "sick", "hot"]),
    ("eat an apple", &["hungry"]),
    ("drink some water", &["thirsty", "hot"]),
    ("open the window", &["hot"]),
    ("close the window", &["cold", "afraid"]),
    ("take a taxi", &["late", "tired", "sick"]),
    ("call the doctor", &["sick", "worried"]),
];

/// Something one does out of a feeling, and that feeling.
fn moved(sampler: &mut Sampler, actor: &Actor) -> (Predicate, Predicate) {
    let (what, feelings) = sampler.pick(FEELINGS);
    let feeling = sampler.pick(feelings);
    let idiom = IDIOMS.iter().find(|idiom| idiom.en.strip_prefix("be ") == Some(feeling));
    let cause = match idiom {
        Some(idiom) => Predicate::new(idiom),
        None => super::basic::described(sampler, named(feeling), &actor.np.who, 45),
    };
    let named_verb = |en: &str| {
        [TRANSITIVE, INTRANSITIVE, MOTION, REFLEXIVE]
            .into_iter()
            .flatten()
            .find(|verb| verb.en == en)
    };
    let action = match named_verb(what) {
        Some(verb) => Predicate::new(verb),
        None => {
            let (verb, object) = match what {
                "eat an apple" => ("eat", ("an apple", "une pomme")),
                "drink some water" => ("drink", ("some water", "_dela eau")),
                "open the window" => ("open", ("the window", "la fenêtre")),
                "close the window" => ("close", ("the window", "la fenêtre")),
                "take a taxi" => ("take", ("a taxi", "un taxi")),
                _ => return (Predicate::new(&CALL).with(("the doctor", "le médecin")), cause),
            };
            Predicate::new(super::verbs::verb_named(verb)).with(object)
        }
    };
    (action, cause)
}

/// "he went home because he was tired", to end a story.
pub(super) fn homeward(sampler: &mut Sampler, actor: &Actor) -> Phrase {
    let (action, cause) = moved(sampler, actor);
    let main = actor.does(&action, Tense::Past, Negation::None);
    main.then(("because", "parce que")).then(actor.does(&cause, Tense::Past, Negation::None))
}

/// A reason not to do something.
pub(super) fn reason(sampler: &mut Sampler, actor: &Actor, tense: Tense) -> Phrase {
    let (adjectives, idioms) = NOT_DOING;
    let predicate = if sampler.chance(30) {
        Predicate::new(&IDIOMS[sampler.pick(idioms)])
    } else {
        let adjective = named(sampler.pick(adjectives));
        super::basic::described(sampler, adjective, &actor.np.who, 45)
    };
    actor.does(&predicate, tense, Negation::None)
}

/// An adjective by its English name.
pub(super) fn named(en: &str) -> &'static Adjective {
    ADJECTIVES.iter().find(|a| a.en == en).expect("the adjective is in the table")
}

/// Sophie did not come because she was sick.
pub(super) fn because(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let past = sampler.chance(65);
    let tense = if past { Tense::Past } else { Tense::NearFuture };
    let now = if past { Tense::Past } else { Tense::Present };
    if sampler.chance(35) {
        let (action, cause) = moved(sampler, &actor);
        let main = actor.does(&action, tense, Negation::None);
        return (
            main.then(("because", "parce que")).then(actor.again().does(
                &cause,
                now,
                Negation::None,
            )),
            End::Stop,
        );
    }
    let action = loop {
        // One does not choose to fall or to lose things, so there is no reason not to.
        let action = sampler.dynamic(&actor, Negation::Not);
        if !["fall", "lose", "break", "forget", "get bored", "make a mistake"]
            .contains(&action.verb.en)
        {
            break action;
        }
    };
    let main = actor.does(&action, tense, Negation::Not);
    let cause = reason(sampler, &actor.again(), now);
    (main.then(("because", "parce que")).then(cause), End::Stop)
}
