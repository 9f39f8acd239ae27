//! Pronouns that refer back.

use super::super::grammar::{Agreement, Negation, Number, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, noun_phrase};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;
use super::basic::{described, sayable, thing};
use super::verbs::verb_named;

/// What cannot both be true.
fn opposite(one: &str, other: &str) -> bool {
    const PAIRS: &[(&str, &str)] = &[
        ("small", "big"),
        ("hot", "cold"),
        ("clean", "dirty"),
        ("dry", "wet"),
        ("heavy", "light"),
        ("open", "closed"),
        ("empty", "full"),
        ("strong", "weak"),
        ("young", "old"),
        ("new", "old"),
        ("easy", "difficult"),
        ("fast", "slow"),
        ("happy", "sad"),
        ("good", "bad"),
        ("interesting", "boring"),
        ("broken", "new"),
        ("small", "tall"),
    ];
    // Two colors exclude each other as well.
    let colors = ["red", "blue", "green", "yellow", "black", "white", "gray", "brown", "purple"];
    PAIRS.contains(&(one, other))
        || PAIRS.contains(&(other, one))
        || colors.contains(&one) && colors.contains(&other)
}

/// The table is old, but it is solid.
pub(super) fn subject(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = if sampler.chance(60) { thing(sampler) } else { sampler.third_person() };
    let Some(first) = sampler.adjective(actor.class, |a| sayable(a, &actor)) else {
        return subject(sampler);
    };
    let Some(second) = sampler.adjective(actor.class, |a| {
        a.en != first.en && !opposite(a.en, first.en) && sayable(a, &actor)
    }) else {
        return subject(sampler);
    };
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let join = sampler.pick(&[("but", "mais"), ("and", "et"), ("but", "mais")]);
    let human = actor.class & HUMAN != 0;
    let negation = if join.0 == "but" && (human || sampler.chance(50)) {
        Negation::Not
    } else {
        Negation::None
    };
    let one = described(sampler, first, &actor.np.who, 40);
    let two = described(sampler, second, &actor.np.who, 40);
    let text = actor
        .does(&one, tense, Negation::None)
        .comma()
        .then(join)
        .then(actor.again().does(&two, tense, negation));
    (text, End::Stop)
}

/// Paul likes Geneva, and he often goes there: "y".
pub(super) fn there(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let city = sampler.both(CITIES);
    let liking = actor.does(
        &Predicate::new(sampler.pick(&[&TASTE[0], &TASTE[1]])).with(&city),
        Tense::Present,
        Negation::None,
    );
    let liking = if sampler.chance(50) {
        liking
    } else {
        let noun = sampler.noun(SIGHT | AT);
        let place = noun_phrase(noun, Number::Singular, Determiner::This, &[]);
        let verb = sampler.pick(&[&TASTE[0], &TASTE[1]]);
        actor.does(&Predicate::new(verb).with(&place.text), Tense::Present, Negation::None)
    };
    let mut going = Predicate::new(&GO);
    going.clitics = "y".to_owned();
    going = going.with(phrase("there", ""));
    let again = actor.again();
    let (join, going) = match sampler.below(4) {
        0 => (("but", "mais"), again.does(&going, Tense::Present, Negation::Never)),
        1 => (
            ("and", "et"),
            again.does(&going, Tense::NearFuture, Negation::None).then(sampler.both(FUTURE_TIMES)),
        ),
        2 => (
            ("and", "et"),
            again
                .does(&going, Tense::Present, Negation::None)
                .then(sampler.both(&HABIT_TIMES[3..])),
        ),
        _ => {
            let how_often = sampler.both(FREQUENCY);
            (("and", "et"), again.does(&going.middle(how_often), Tense::Present, Negation::None))
        }
    };
    (liking.comma().then(join).then(going), End::Stop)
}

/// Marie bought some apples, and she ate three of them: "en".
pub(super) fn of_them(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let (one, two, class) = sampler.pick(&[
        ("buy", "eat", FRUIT),
        ("prepare", "eat", DISH),
        ("buy", "sell", CLOTHES | FRUIT | FURNITURE),
        ("find", "keep", OBJECT),
        ("receive", "open", MAIL),
        ("write", "finish", MAIL),
        ("see", "follow", ANIMAL),
        ("look for", "find", OBJECT | CLOTHES),
        ("buy", "read", BOOK),
    ]);
    let noun = sampler
        .noun_where(|n| n.is(class) && !n.is(MASS | PAIRED | PERSON) && n.fr != "repas")
        .expect("things");
    let n = 8 + sampler.below(13);
    let many = sampler.pick(&[
        Determiner::A,
        Determiner::Count(n),
        Determiner::Quantity(("many", "beaucoup de")),
    ]);
    let object = sampler.dressed(noun, Number::Plural, many, 35);
    let first = actor.does(
        &Predicate::new(verb_named(one)).with(&object.text),
        Tense::Past,
        Negation::None,
    );
    let (en, fr) = NUMBERS[1 + sampler.below(6)];
    let only = sampler.chance(40);
    let mut some = Predicate::new(verb_named(two)).with(phrase(format!("{en} of them"), fr));
    some.clitics = "en".to_owned();
    let (join, negation) =
        if only { (("but", "mais"), Negation::Only) } else { (("and", "et"), Negation::None) };
    let second = actor.again().does(&some, Tense::Past, negation);
    (first.comma().then(join).then(second), End::Stop)
}

/// What people do to one thing, twice: (first verb, connective, second verb, how the second is
/// said).
pub(super) static SEQUELS: &[(&str, Both, &str, Negation, Tense)] = &[
    ("lose", ("but", "mais"), "find", Negation::None, Tense::Past),
    ("lose", ("and", "et"), "look for", Negation::None, Tense::Progressive),
    ("look for", ("but", "mais"), "find", Negation::Not, Tense::Past),
    ("find", ("and", "et"), "keep", Negation::None, Tense::Past),
    ("find", ("but", "mais"), "need", Negation::Not, Tense::Present),
    ("buy", ("but", "mais"), "wear", Negation::Never, Tense::Present),
    ("buy", ("and", "et"), "eat", Negation::None, Tense::Past),
    ("buy", ("and", "et"), "hide", Negation::None, Tense::Past),
    ("buy", ("but", "mais"), "forget", Negation::None, Tense::Past),
    ("buy", ("and", "et"), "read", Negation::None, Tense::NearFuture),
    ("choose", ("but", "mais"), "buy", Negation::Not, Tense::Past),
    ("choose", ("and", "et"), "buy", Negation::None, Tense::Past),
    ("write", ("but", "mais"), "finish", Negation::Not, Tense::Past),
    ("receive", ("but", "mais"), "read", Negation::Not, Tense::Past),
    ("receive", ("and", "et"), "open", Negation::None, Tense::Past),
    ("break", ("but", "mais"), "repair", Negation::None, Tense::NearFuture),
    ("wash", ("and", "et"), "paint", Negation::None, Tense::Past),
    ("repair", ("and", "et"), "sell", Negation::None, Tense::NearFuture),
    ("repair", ("and", "et"), "clean", Negation::None, Tense::Past),
    ("see", ("but", "mais"), "hear", Negation::Not, Tense::Past),
    ("see", ("and", "et"), "follow", Negation::None, Tense::Past),
    ("see", ("and", "et"), "draw", Negation::None, Tense::NearFuture),
    ("see", ("but", "mais"), "catch", Negation::Not, Tense::Past),
    ("meet", ("and", "et"), "invite", Negation::None, Tense::Past),
    ("meet", ("and", "et"), "help", Negation::None, Tense::Past),
    ("invite", ("and", "et"), "wait for", Negation::None, Tense::Progressive),
    ("wait for", ("but", "mais"), "see", Negation::Not, Tense::Past),
    ("help", ("but", "mais"), "know", Negation::Not, Tense::Present),
    ("listen to", ("but", "mais"), "understand", Negation::Not, Tense::Past),
    ("learn", ("but", "mais"), "forget", Negation::None, Tense::Past),
    ("explain", ("but", "mais"), "understand", Negation::NoLonger, Tense::Present),
    ("prepare", ("and", "et"), "taste", Negation::None, Tense::Past),
    ("prepare", ("but", "mais"), "eat", Negation::Not, Tense::NearFuture),
    ("cut", ("and", "et"), "eat", Negation::None, Tense::Past),
    ("steal", ("and", "et"), "hide", Negation::None, Tense::Past),
    ("hide", ("but", "mais"), "find", Negation::NoLonger, Tense::Present),
    ("catch", ("and", "et"), "feed", Negation::None, Tense::Past),
    ("feed", ("and", "et"), "protect", Negation::None, Tense::Present),
    ("build", ("and", "et"), "sell", Negation::None, Tense::NearFuture),
    ("paint", ("but", "mais"), "finish", Negation::Not, Tense::Past),
    ("forget", ("and", "et"), "look for", Negation::None, Tense::Progressive),
    ("take", ("but", "mais"), "keep", Negation::Not, Tense::Future),
];

/// A first clause with an object, and a second that says it as a pronoun.
pub(super) fn sequel(
    sampler: &mut Sampler,
    actor: &Actor,
    again: &Actor,
) -> (Phrase, &'static Both, Phrase) {
    loop {
        let (first, join, second, negation, tense) = &SEQUELS[sampler.below(SEQUELS.len())];
        let (one, two) = (verb_named(first), verb_named(second));
        if two.fr.ends_with(" de") {
            continue;
        }
        let Some(noun) = sampler.noun_where(|n| {
            n.is(one.object) && n.is(two.object) && !n.is(WEATHER) && n.fr != "mari"
        }) else {
            continue;
        };
        let number = sampler.number_of(noun);
        let determiner = match sampler.below(4) {
            _ if noun.is(FAMILY) => Determiner::Of(actor.np.who),
            0 | 1 if !noun.is(ROYAL) => Determiner::A,
            2 if noun.is(THING) => Determiner::Of(actor.np.who),
            _ => Determiner::The,
        };
        let object = sampler.dressed(noun, number, determiner, 30);
        let opening =
            actor.does(&Predicate::new(one).with(&object.text), Tense::Past, Negation::None);
        let mut pronoun = Predicate::new(two).pronoun(object.who.object());
        pronoun.preceding = Some(object.who);
        return (opening, join, again.does(&pronoun, *tense, *negation));
    }
}

/// Julie lost her keys, but she found them.
pub(super) fn object(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let again = actor.again();
    let (first, join, second) = sequel(sampler, &actor, &again);
    let time = Some(sampler.past_time()).filter(|_| sampler.chance(35));
    let first = time.map_or(first.clone(), |time| time.comma().then(first));
    (first.comma().then(*join).then(second), End::Stop)
}

/// The teacher explained the rule to the pupils.
pub(super) fn indirect(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let negation = if sampler.chance(20) { Negation::Not } else { Negation::None };
    let action = match sampler.below(6) {
        0 => {
            let person = sampler.receiver(&actor.np.who);
            Predicate::new(&CALL).with(&person.text)
        }
        1 => {
            let person = sampler.receiver(&actor.np.who);
            Predicate::new(&ANSWER).with(&person.text)
        }
        2 => {
            let person = sampler.receiver(&actor.np.who);
            let question = if negation == Negation::Not {
                phrase("any questions", "de questions")
            } else {
                phrase("a question", "une question")
            };
            let question = if question.en == "any questions" {
                question
            } else {
                described_question(sampler, question)
            };
            let to = person.text;
            let mut action = Predicate::new(&ASK);
            // ask Marie a question / poser une question à Marie: the two objects change places.
            action.after = phrase(
                format!("{} {}", to.en, question.en),
                format!("{} à {}", question.fr, to.fr),
            );
            action
        }
        _ => {
            let verb = sampler.verb(GIVING, HUMAN);
            let gift = sampler.object(verb.object, &actor.np.who, negation);
            let person = sampler.receiver(&actor.np.who);
            Predicate::new(verb).with(&gift.text).with(("to", "à")).with(&person.text)
        }
    };
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

fn described_question(sampler: &mut Sampler, question: Phrase) -> Phrase {
    if sampler.chance(50) {
        return question;
    }
    sampler.both(&[
        ("a difficult question", "une question difficile"),
        ("an important question", "une question importante"),
        ("a strange question", "une question étrange"),
    ])
}

/// Paul met his niece and he gave her a doll.
pub(super) fn indirect_pronoun(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let verb = verb_named(sampler.pick(&[
        "meet",
        "help",
        "invite",
        "thank",
        "wait for",
        "see",
        "listen to",
    ]));
    let person = loop {
        let person = match sampler.below(3) {
            0 => sampler.name().np,
            1 => {
                let noun = sampler.noun(PERSON);
                noun_phrase(noun, sampler.number_of(noun), Determiner::The, &[])
            }
            _ => sampler.kin(&actor.np.who),
        };
        if person.text != actor.np.text {
            break person;
        }
    };
    let first = actor.does(&Predicate::new(verb).with(&person.text), Tense::Past, Negation::None);
    let action = handed(sampler, &actor, &person.who);
    let join = sampler.pick(&[("and", "et"), ("then", "puis"), ("and", "et")]);
    let second = actor.again().does(&action, Tense::Past, Negation::None);
    let time = Some(sampler.past_time()).filter(|_| sampler.chance(25));
    let first = time.map_or(first.clone(), |time| time.comma().then(first));
    (first.comma().then(join).then(second), End::Stop)
}

/// A verb that takes its receiver without "to": give him, but not return him.
fn to_someone(sampler: &mut Sampler) -> &'static Verb {
    loop {
        let verb = sampler.verb(GIVING, HUMAN);
        if !["return", "recommend"].contains(&verb.en) {
            return verb;
        }
    }
}

/// give him the book, call her: lui and leur.
fn handed(sampler: &mut Sampler, actor: &Actor, to: &Agreement) -> Predicate {
    if sampler.chance(15) {
        return Predicate {
            verb: &CALL_PLAIN,
            ..Predicate::new(&CALL_PLAIN).pronoun(to.indirect())
        };
    }
    let verb = to_someone(sampler);
    let gift = sampler.object(verb.object, &actor.np.who, Negation::None);
    Predicate::new(verb).pronoun(to.indirect()).with(&gift.text)
}

/// I see you. They are waiting for us. She gave me a ring.
pub(super) fn speakers(sampler: &mut Sampler) -> (Phrase, End) {
    let target = sampler.speaker();
    let mut actor = if sampler.chance(40) { sampler.pronoun() } else { sampler.person() };
    while actor.np.who.person == target.person {
        actor = sampler.person();
    }
    let negation = if sampler.chance(25) { Negation::Not } else { Negation::None };
    let action = if sampler.chance(55) {
        let verb = verb_named(sampler.pick(&[
            "see",
            "help",
            "invite",
            "thank",
            "follow",
            "wait for",
            "listen to",
            "hear",
            "understand",
            "look for",
            "find",
            "watch",
            "admire",
            "know",
            "protect",
        ]));
        let mut action = Predicate::new(verb).pronoun(target.object());
        action.preceding = Some(target);
        action
    } else {
        let verb = to_someone(sampler);
        let gift = sampler.object(verb.object & !FAMILY, &actor.np.who, negation);
        Predicate::new(verb).pronoun(target.indirect()).with(&gift.text)
    };
    let (tense, time) = sampler.when_for(action.verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}
