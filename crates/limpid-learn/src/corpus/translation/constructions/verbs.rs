//! What verbs can do: be denied, be reflexive, be passive, command, and the idioms.

use super::super::french::{Mood, agree, conjugate, participle};
use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, french_noun, noun_phrase};
use super::super::predicate::{Predicate, Reflexive};
use super::super::sampler::{Actor, Sampler, settle};
use super::End;
use super::idioms::clock;

/// The cook did not wash the plates. Paul no longer plays the piano.
pub(super) fn negation(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.actor();
    let negation =
        sampler.pick(&[Negation::Not, Negation::Not, Negation::Never, Negation::NoLonger]);
    let action = if negation == Negation::Not {
        sampler.action(&actor, negation)
    } else {
        sampler.present(&actor, negation)
    };
    if negation != Negation::Not {
        return (actor.does(&action, Tense::Present, negation), End::Stop);
    }
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

/// I do not see anyone. Nobody understood the question. She eats only bread.
pub(super) fn negative_words(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let (tense, time) = match sampler.below(3) {
        0 => (Tense::Past, Some(sampler.past_time())),
        1 => (Tense::NearFuture, Some(sampler.both(FUTURE_TIMES))),
        _ => (Tense::Progressive, None),
    };
    let clause = match sampler.below(4) {
        0 => {
            let verb = verb_named(sampler.pick(&[
                "eat",
                "drink",
                "buy",
                "see",
                "hear",
                "understand",
                "find",
                "look for",
            ]));
            actor.does(&Predicate::new(verb), tense, Negation::Anything)
        }
        1 => {
            let verb = verb_named(sampler.pick(&[
                "see",
                "hear",
                "meet",
                "invite",
                "help",
                "wait for",
                "listen to",
            ]));
            actor.does(&Predicate::new(verb), tense, Negation::Anyone)
        }
        2 => {
            let nobody = Agreement::human(Person::Third, Number::Singular, Gender::Masculine);
            let actor = Actor {
                np: Np { text: phrase("nobody", "personne ne"), who: nobody },
                class: HUMAN,
            };
            // Nobody bought any bread: the object is denied too.
            let action = sampler.transitive(&actor, Negation::Not);
            actor.does(&action, tense, Negation::None)
        }
        _ => {
            let verb = verb_named(sampler.pick(&["eat", "drink", "buy"]));
            let noun = sampler
                .noun_where(|n| n.is(verb.object) && n.is(FOOD | DRINK))
                .expect("there is food");
            let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
            let object = noun_phrase(noun, number, Determiner::A, &[]);
            let mut object = object.text;
            object.en = object.en.trim_start_matches("some ").to_owned();
            actor.does(&Predicate::new(verb).with(object), tense, Negation::Only)
        }
    };
    let time = time.filter(|_| sampler.chance(60));
    (sampler.timed(clause, time), End::Stop)
}

/// A transitive verb by its English name.
pub(super) fn verb_named(en: &str) -> &'static Verb {
    TRANSITIVE.iter().find(|verb| verb.en == en).expect("the verb is in the table")
}

/// The musician often plays the violin.
pub(super) fn frequency(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.actor();
    let action = loop {
        let action = sampler.present(&actor, Negation::None);
        if action.verb.aspect != Aspect::State {
            break action;
        }
    };
    let how_often = sampler.both(FREQUENCY);
    (actor.does(&action.middle(how_often), Tense::Present, Negation::None), End::Stop)
}

/// The singer danced well. Marie carefully … : well goes before the French participle, after the
/// English verb.
pub(super) fn manner(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    if sampler.chance(50) {
        let verb = verb_named(sampler.pick(&[
            "eat", "drink", "read", "write", "prepare", "wash", "clean", "open", "close", "repair",
            "paint", "draw", "cross", "finish",
        ]));
        let object = sampler.object(verb.object, &actor.np.who, Negation::None);
        let (tense, _) = sampler.when(verb, &actor.np.who);
        let tense =
            if tense == Tense::Present { settle(Tense::Past, verb, &actor.np.who) } else { tense };
        let how = sampler.both(&[MANNERS[0], MANNERS[1], MANNERS[3], MANNERS[4], MANNERS[5]]);
        let action = Predicate::new(verb).with(&object.text).with(how);
        return (actor.does(&action, tense, Negation::None), End::Stop);
    }
    let verb = sampler.pick(&["sleep", "work", "swim", "dance", "sing", "eat"]);
    let verb = INTRANSITIVE.iter().find(|v| v.en == verb).expect("the verb is in the table");
    let (en, fr) = sampler.pick(&[("well", "bien"), ("badly", "mal")]);
    let tense = sampler.pick(&[Tense::Past, Tense::Progressive, Tense::Future]);
    let action = Predicate::new(verb).middle(phrase("", fr)).with(phrase(en, ""));
    let time = sampler.time(tense, verb);
    let clause = actor.does(&action, tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// The girls woke up early. She washed her hands.
pub(super) fn reflexive(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.actor();
    let human = actor.class & HUMAN != 0;
    let negation = if sampler.chance(15) { Negation::Not } else { Negation::None };
    let action = match sampler.below(10) {
        0 | 1 if human => {
            let part = sampler.noun_where(|n| ["main", "pied"].contains(&n.fr)).expect("hands");
            let mut action = Predicate::new(&WASH_SELF);
            action.reflexive = Reflexive::Indirect;
            let kind = noun_phrase(part, Number::Plural, Determiner::Of(actor.np.who), &[]);
            action.with(phrase(kind.text.en, format!("les {}", french_noun(part, Number::Plural))))
        }
        2 if human => {
            let object = sampler.object(PERSON | EVENT | STORY, &actor.np.who, Negation::None);
            Predicate::new(&REMEMBER).with(&object.text)
        }
        _ => sampler.reflexive(&actor),
    };
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

/// The travelers arrived at the station. We are going to Paris.
pub(super) fn motion(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let negation = if sampler.chance(15) { Negation::Not } else { Negation::None };
    let action = if sampler.chance(45) {
        let place = sampler.destination();
        let action = Predicate::new(&GO).with(place);
        if sampler.chance(40) {
            let (en, fr) = sampler.pick(&[
                ("by train", "en train"),
                ("by car", "en voiture"),
                ("by bus", "en bus"),
                ("on foot", "à pied"),
                ("by plane", "en avion"),
            ]);
            action.with((en, fr))
        } else {
            action
        }
    } else {
        sampler.motion(&actor)
    };
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

/// The pupil cannot open the window. They tried to repair the roof.
pub(super) fn modal(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let modal = sampler.verb(MODAL, HUMAN);
    let negation =
        if sampler.chance(25) && modal.en != "must" { Negation::Not } else { Negation::None };
    let inner = sampler.action(&actor, negation);
    let inner = match modal.en {
        // One knows how to do a kind of thing, not this one thing.
        "know how to" => sampler.play(),
        "begin to" | "continue to" => sampler.lasting(&actor),
        _ if inner.verb.aspect == Aspect::State => sampler.transitive_action(&actor, negation),
        _ => inner,
    };
    let complement = inner.infinitive(&actor.np.who);
    let tense = match modal.aspect {
        Aspect::State => sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]),
        Aspect::Instant => Tense::Past,
        Aspect::Action => sampler.pick(&[Tense::Past, Tense::Past, Tense::NearFuture]),
    };
    let time = match tense {
        Tense::Past | Tense::NearFuture => sampler.time(tense, &GO),
        _ => None,
    };
    let clause = actor.does(&Predicate::new(modal).with(complement), tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

/// It is necessary to close the door before nine o'clock.
pub(super) fn necessity(sampler: &mut Sampler) -> (Phrase, End) {
    let we = Agreement::human(Person::First, Number::Plural, Gender::Masculine);
    let actor = Actor { np: Np { text: Phrase::default(), who: we }, class: HUMAN };
    let inner = sampler.transitive_action(&actor, Negation::None).infinitive(&we);
    let (en, fr) = sampler.pick(&[
        ("it is necessary to", "il faut"),
        ("it is forbidden to", "il est interdit de"),
        ("it is easy to", "il est facile de"),
        ("it is difficult to", "il est difficile de"),
        ("it is important to", "il est important de"),
        ("it will be necessary to", "il faudra"),
    ]);
    let text = phrase(en, fr).then(inner);
    if sampler.chance(35) {
        return (text.then(("before", "avant")).then(clock(sampler)), End::Stop);
    }
    (text, End::Stop)
}

/// The train has just left.
pub(super) fn just_done(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let action = sampler.dynamic(&actor, Negation::None);
    (actor.does(&action, Tense::JustDone, Negation::None), End::Stop)
}

/// My aunt has lived in Geneva for six years: a present in French.
pub(super) fn since(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let action = match sampler.below(3) {
        0 => Predicate::new(&LIVE).with(phrase("in", "à").then(sampler.both(CITIES))),
        1 => Predicate::new(&INTRANSITIVE[1]).with(sampler.place()),
        _ => sampler.play(),
    };
    let (n, (_, en, _, fr)) = (1 + sampler.below(12), sampler.pick(&SPANS[1..4]));
    let (en_n, fr_n) = NUMBERS[n];
    let span = phrase(format!("for {en_n} {en}"), format!("depuis {fr_n} {fr}"));
    (actor.does(&action.with(span), Tense::Since, Negation::None), End::Stop)
}

/// The letters were written by the queen.
pub(super) fn passive(sampler: &mut Sampler) -> (Phrase, End) {
    const REFUSED: &[&str] =
        &["look for", "wait for", "listen to", "take", "wear", "keep", "forget", "lose", "watch"];
    let verb = sampler.verb(TRANSITIVE, HUMAN);
    if verb.aspect == Aspect::State || REFUSED.contains(&verb.en) {
        return passive(sampler);
    }
    let noun = sampler.noun(verb.object & !FAMILY);
    let number = sampler.number_of(noun);
    let unique = noun.is(WEATHER | ROYAL);
    let determiner = if unique || sampler.chance(75) { Determiner::The } else { Determiner::This };
    let thing = sampler.dressed(noun, number, determiner, 20);
    let agent = sampler.person();
    let done = agree(&participle(verb.fr), &thing.who);
    let plural = number == Number::Plural;
    let negation = if sampler.chance(20) { ("not", "pas") } else { ("", "") };
    let ne = if negation.0.is_empty() { "" } else { "ne" };
    let (en, fr, time) = if sampler.chance(75) {
        let time = sampler.past_time();
        let be = if plural { "were" } else { "was" };
        let has = if plural { "ont" } else { "a" };
        (format!("{be} {}", negation.0), format!("{ne} {has} {} été", negation.1), time)
    } else {
        let be = conjugate("être", Mood::Future, if plural { 5 } else { 2 });
        (
            format!("will {} be", negation.0),
            format!("{ne} {be} {}", negation.1),
            sampler.both(FUTURE_TIMES),
        )
    };
    let clause = thing
        .text
        .then(phrase(en, fr))
        .then(phrase(verb.done, done))
        .then(("by", "par"))
        .then(&agent.np.text);
    let time = Some(time).filter(|_| sampler.chance(35));
    (sampler.timed(clause, time), End::Stop)
}
