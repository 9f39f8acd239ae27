//! Questions: est-ce que in French, an auxiliary in front in English.

use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, english_noun, french_noun, noun_phrase};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;
use super::basic::be_adjective;

/// Who is asked about: often "you".
fn asked(sampler: &mut Sampler) -> Actor {
    if sampler.chance(35) {
        let who = Agreement::human(Person::Second, Number::Singular, Gender::Masculine);
        return Actor { np: Np { text: who.pronoun(), who }, class: HUMAN };
    }
    loop {
        // Nobody asks what "I" did.
        let actor = sampler.actor();
        if actor.np.who.column() != 0 {
            return actor;
        }
    }
}

/// Did your sister find her keys? Is the soup hot?
pub(super) fn yes_no(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = asked(sampler);
    if sampler.chance(20) {
        let predicate = be_adjective(sampler, &actor, 15);
        let tense = sampler.pick(&[Tense::Present, Tense::Past]);
        let negation = Negation::None;
        return (
            predicate.question(Phrase::default(), &actor.np.text, &actor.np.who, tense, negation),
            End::Ask,
        );
    }
    let negation = if sampler.chance(15) { Negation::Not } else { Negation::None };
    let action = sampler.action(&actor, negation);
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let question =
        action.question(Phrase::default(), &actor.np.text, &actor.np.who, tense, negation);
    (with_time(question, time), End::Ask)
}

fn with_time(question: Phrase, time: Option<Phrase>) -> Phrase {
    match time {
        Some(time) => question.then(time),
        None => question,
    }
}

/// When will the guests arrive? Why did you close the window?
pub(super) fn adverb(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = asked(sampler);
    let word = sampler.pick(&[
        ("when", "quand"),
        ("why", "pourquoi"),
        ("how", "comment"),
        ("where", "où"),
    ]);
    let negation =
        if word.0 == "why" && sampler.chance(40) { Negation::Not } else { Negation::None };
    let action = match word.0 {
        "why" => sampler.action(&actor, negation),
        _ => sampler.dynamic_transitive(&actor, negation),
    };
    let tense = sampler.pick(&[
        Tense::Past,
        Tense::Past,
        Tense::NearFuture,
        Tense::Future,
        Tense::Progressive,
    ]);
    let tense = super::super::sampler::settle(tense, action.verb, &actor.np.who);
    let tense = if word.0 == "when" && tense == Tense::Progressive { Tense::Future } else { tense };
    let question = action.question(word.into(), &actor.np.text, &actor.np.who, tense, negation);
    (question, End::Ask)
}

/// What are you looking for? Which dress did Marie choose?
pub(super) fn object(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = asked(sampler);
    let verb = sampler.verb(TRANSITIVE, actor.class);
    let tense = sampler.pick(&[Tense::Past, Tense::Past, Tense::NearFuture, Tense::Progressive]);
    let tense = super::super::sampler::settle(tense, verb, &actor.np.who);
    let mut action = Predicate::new(verb);
    if verb.fr.ends_with(" de") {
        return object(sampler);
    }
    let words = match sampler.below(3) {
        0 if verb.object & (PERSON | ANIMAL) == 0 => phrase("what", "que"),
        1 if verb.object & PERSON != 0 => phrase("who", "qui"),
        _ => {
            let noun = sampler.noun_where(|n| n.is(verb.object) && !n.is(FAMILY | WEATHER | MASS));
            let Some(noun) = noun else { return object(sampler) };
            let number = sampler.number_of(noun);
            let who = super::super::noun_phrase::agreement(noun, number);
            // The object stands before the participle, which agrees with it.
            action.preceding = Some(who);
            let which = who.choose(["quel", "quelle", "quels", "quelles"]);
            phrase(
                format!("which {}", english_noun(noun, number)),
                format!("{which} {}", french_noun(noun, number)),
            )
        }
    };
    let question = action.question(words, &actor.np.text, &actor.np.who, tense, Negation::None);
    let time =
        sampler.time(tense, verb).filter(|_| tense != Tense::Progressive && sampler.chance(50));
    (with_time(question, time), End::Ask)
}

/// Who broke the mirror?
pub(super) fn subject(sampler: &mut Sampler) -> (Phrase, End) {
    let who = Agreement::human(Person::Third, Number::Singular, Gender::Masculine);
    let asked = Actor { np: Np { text: phrase("who", "qui"), who }, class: HUMAN };
    let negation = if sampler.chance(10) { Negation::Not } else { Negation::None };
    let action = sampler.action(&asked, negation);
    // "Who bought their coat" has no owner inside the sentence.
    if [" his ", " her "].iter().any(|own| format!(" {} ", action.after.en).contains(own)) {
        return subject(sampler);
    }
    let (tense, time) = sampler.when(action.verb, &who);
    (with_time(asked.does(&action, tense, negation), time), End::Ask)
}

/// How many apples did you eat?
pub(super) fn how_many(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = asked(sampler);
    let actor = if actor.class & HUMAN == 0 { sampler.person() } else { actor };
    if sampler.chance(25) {
        let noun =
            sampler.noun_where(|n| n.is(THING | PERSON | ANIMAL) && !n.is(MASS)).expect("things");
        let np = noun_phrase(noun, Number::Plural, Determiner::No, &[]);
        let things = np.text.en.trim_start_matches("any ").to_owned();
        let small = !noun.is(PERSON | ANIMAL);
        let place = super::basic::spot(sampler, small);
        let many = phrase(
            format!("how many {things} are there"),
            format!("combien {} est-ce que il y a", np.text.fr),
        );
        return (many.then(place), End::Ask);
    }
    let (verb, class) = sampler.pick(&[
        (&TRANSITIVE[0], FOOD),
        (&TRANSITIVE[2], FOOD | CLOTHES | BOOK),
        (&TRANSITIVE[3], FOOD | CLOTHES | BOOK),
        (&HAVE, THING | TAME | VEHICLE),
        (&TRANSITIVE[7], MAIL),
    ]);
    let noun = sampler.noun_where(|n| n.is(class) && !n.is(MASS)).expect("things");
    let np = noun_phrase(noun, Number::Plural, Determiner::No, &[]);
    let things = np.text.en.trim_start_matches("any ").to_owned();
    let mut action = Predicate::new(verb);
    action.preceding = Some(np.who);
    let tense = if verb.en == "have" {
        Tense::Present
    } else {
        sampler.pick(&[Tense::Past, Tense::NearFuture])
    };
    let words = phrase(format!("how many {things}"), format!("combien {}", np.text.fr));
    let question = action.question(words, &actor.np.text, &actor.np.who, tense, Negation::None);
    let time = sampler.time(tense, verb).filter(|_| sampler.chance(40));
    (with_time(question, time), End::Ask)
}

/// Where are my gloves?
pub(super) fn place(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.noun_actor(THING | AT | FAMILY | VEHICLE);
    let plural = actor.np.who.number == Number::Plural;
    let (en, fr) = match (sampler.chance(20), plural) {
        (true, true) => ("where were", "où étaient"),
        (true, false) => ("where was", "où était"),
        (false, true) => ("where are", "où sont"),
        (false, false) => ("where is", "où est"),
    };
    (phrase(en, fr).then(&actor.np.text), End::Ask)
}
