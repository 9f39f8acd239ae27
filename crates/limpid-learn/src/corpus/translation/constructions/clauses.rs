//! One clause inside another: when, because, if, although, that, in order to.

use super::super::french::participle;
use super::super::grammar::{Animacy, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::Determiner;
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler, settle};
use super::End;
use super::basic::be_adjective;
use super::reasons::reason;

/// Two different people.
pub(super) fn two(sampler: &mut Sampler) -> (Actor, Actor) {
    let one = sampler.anyone();
    loop {
        let other = sampler.person();
        if !other.np.text.en.contains(&one.np.text.en)
            && !one.np.text.en.contains(&other.np.text.en)
        {
            return (one, other);
        }
    }
}

/// When Paul arrived, Marie was preparing the meal.
pub(super) fn when(sampler: &mut Sampler) -> (Phrase, End) {
    let (one, other) = two(sampler);
    let verb = sampler.pick(&[&MOTION[0], &MOTION[3], &MOTION[5], &REFLEXIVE[1]]);
    let arrival = one.does(&Predicate::new(verb), Tense::Past, Negation::None);
    let main = other.does(&sampler.lasting(&other), Tense::Imperfect, Negation::None);
    let arrival = phrase("when", "quand").then(arrival);
    if sampler.chance(60) {
        (arrival.comma().then(main), End::Stop)
    } else {
        (main.then(arrival), End::Stop)
    }
}

/// Although he is tired, Paul is working: a subjunctive.
pub(super) fn although(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let predicate = be_adjective(sampler, &actor, 50);
    let concession = phrase("although", "bien que").then(actor.does(
        &predicate,
        Tense::Subjunctive,
        Negation::None,
    ));
    let again = actor.again();
    let negation = if sampler.chance(30) { Negation::Not } else { Negation::None };
    let action = sampler.common(&actor, negation);
    let tense = settle(
        sampler.pick(&[Tense::Progressive, Tense::NearFuture, Tense::Future]),
        action.verb,
        &actor.np.who,
    );
    let tense = if tense == Tense::Past { Tense::NearFuture } else { tense };
    (concession.comma().then(again.does(&action, tense, negation)), End::Stop)
}

/// Paul was sleeping while the children were playing in the garden.
pub(super) fn while_(sampler: &mut Sampler) -> (Phrase, End) {
    let (one, other) = two(sampler);
    let (first, second) = (sampler.lasting(&one), sampler.lasting(&other));
    let tense = sampler.pick(&[Tense::Imperfect, Tense::Imperfect, Tense::Progressive]);
    let main = one.does(&first, tense, Negation::None);
    let aside = other.does(&second, tense, Negation::None);
    (main.then(("while", "pendant que")).then(aside), End::Stop)
}

/// Anne thinks that the exam was difficult. He said that he was tired.
pub(super) fn reported(sampler: &mut Sampler) -> (Phrase, End) {
    let speaker = sampler.anyone();
    let verb = sampler.verb(SAYING, HUMAN);
    let past = verb.en == "say" || verb.en != "hope" && sampler.chance(25);
    let head = Predicate::new(verb).with(("that", "que"));
    let said = speaker.does(&head, if past { Tense::Past } else { Tense::Present }, Negation::None);
    let who = if sampler.chance(40) { speaker.again() } else { other_than(sampler, &speaker) };
    let content = if verb.en != "hope" && sampler.chance(40) {
        reason(sampler, &who, if past { Tense::Past } else { Tense::Present })
    } else {
        let denied = if sampler.chance(25) { Negation::Not } else { Negation::None };
        let action = sampler.dynamic(&who, denied);
        let tense = match (past, sampler.below(2)) {
            (true, _) => Tense::Pluperfect,
            (false, 0) if verb.en != "hope" => Tense::Past,
            (false, _) => Tense::Future,
        };
        who.does(&action, settle(tense, action.verb, &who.np.who), denied)
    };
    (said.then(content), End::Stop)
}

fn other_than(sampler: &mut Sampler, one: &Actor) -> Actor {
    loop {
        let other = sampler.person();
        if other.np.text != one.np.text {
            return other;
        }
    }
}

/// My mother wants me to …: "veut que", with a subjunctive.
pub(super) fn wish(sampler: &mut Sampler) -> (Phrase, End) {
    let wisher = sampler.anyone();
    let doer = if sampler.chance(35) {
        let doer = sampler.pronoun();
        if doer.np.who.person == Person::Third || doer.np.who.person == wisher.np.who.person {
            other_than(sampler, &wisher)
        } else {
            doer
        }
    } else {
        other_than(sampler, &wisher)
    };
    let action = sampler.common(&doer, Negation::None);
    let english = if doer.np.text == doer.np.who.pronoun() {
        doer.np.who.stressed().en
    } else {
        doer.np.text.en.clone()
    };
    let clause = phrase(
        format!("{english} to {}", action.infinitive(&doer.np.who).en),
        format!(
            "que {} {}",
            doer.np.text.fr,
            action.french(&doer.np.who, Tense::Subjunctive, Negation::None)
        ),
    );
    let tense = Tense::Present;
    let negation = if sampler.chance(25) { Negation::Not } else { Negation::None };
    (wisher.does(&Predicate::new(&WANT).with(clause), tense, negation), End::Stop)
}

/// Why people go where: (place in French, verb, what).
static ERRANDS: &[(&str, &str, Class)] = &[
    ("marché", "buy", FRUIT | FOOD),
    ("boulangerie", "buy", SLICED),
    ("poste", "send", MAIL),
    ("gare", "take", RIDE),
    ("gare", "wait for", HUMAN | RIDE),
    ("aéroport", "wait for", HUMAN),
    ("bibliothèque", "read", READ),
    ("bibliothèque", "look for", BOOK),
    ("école", "learn", STUDY),
    ("université", "listen to", PERSON),
    ("musée", "admire", VIEW),
    ("hôpital", "see", HUMAN),
    ("restaurant", "eat", FOOD),
    ("restaurant", "meet", PERSON),
    ("théâtre", "listen to", MUSIC),
    ("stade", "watch", CHILD),
    ("plage", "watch", WEATHER),
    ("ferme", "feed", TAME),
    ("ferme", "buy", FRUIT),
    ("hôtel", "meet", PERSON),
    ("cinéma", "see", EVENT),
    ("jardin", "draw", PLANT),
];

/// What a bakery sells.
const BAKED: &[&str] = &["bread", "croissant", "cake", "chocolate cake", "apple pie"];

/// Nicolas went to the market to buy some bread.
pub(super) fn purpose(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let (place, verb, class) = sampler.pick(ERRANDS);
    let place = sampler.noun_where(|n| n.fr == place).expect("the place is in the table");
    let place = sampler.dressed(place, Number::Singular, Determiner::The, 10);
    let verb =
        TRANSITIVE.iter().chain(GIVING).find(|v| v.en == verb).expect("the verb is in the table");
    let noun = match class {
        SLICED => sampler
            .noun_where(|n| n.is(SLICED | DISH) && BAKED.contains(&n.en))
            .expect("bread and cakes"),
        EVENT => sampler.noun_where(|n| n.fr == "film").expect("a film"),
        WEATHER => sampler
            .noun_where(|n| ["mer", "lune", "ciel", "étoile"].contains(&n.fr))
            .expect("a view"),
        VIEW => {
            sampler.noun_where(|n| ["tableau", "statue", "photo"].contains(&n.fr)).expect("art")
        }
        _ => sampler.noun(class),
    };
    let object = sampler.object_noun(noun, &actor.np.who, Negation::None);
    let aim = Predicate::new(verb).with(&object.text).infinitive(&actor.np.who);
    let action = Predicate::new(&GO)
        .with(phrase("to", "à"))
        .with(&place.text)
        .with(phrase("to", "pour"))
        .with(aim);
    let (tense, time) = sampler.when(&GO, &actor.np.who);
    let clause = actor.does(&action, tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// Before leaving, Julie closed the window. After finishing her book, … He left without …
pub(super) fn before_after(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let who = &actor.np.who;
    debug_assert!(who.animacy == Animacy::Human);
    let aside = sampler.dynamic(&actor, Negation::None);
    let main = sampler.dynamic(&actor, Negation::None);
    let main = actor.does(&main, Tense::Past, Negation::None);
    match sampler.below(4) {
        3 => {
            let motion =
                Predicate::new(sampler.pick(&[&MOTION[1], &MOTION[4], &MOTION[5], &REFLEXIVE[2]]));
            let aside = sampler.transitive_action(&actor, Negation::Not);
            let without = phrase(
                format!("without {}", aside.english_ing()),
                format!("sans {}", aside.infinitive(who).fr),
            );
            let (tense, time) = (Tense::Past, sampler.past_time());
            let clause = actor.does(&motion.with(without), tense, Negation::None);
            let time = if sampler.chance(40) { Some(time) } else { None };
            (time.map_or(clause.clone(), |time| time.comma().then(clause)), End::Stop)
        }
        0 => {
            let before = phrase(
                format!("before {}", aside.english_ing()),
                format!("avant de {}", aside.infinitive(who).fr),
            );
            (before.comma().then(main), End::Stop)
        }
        1 => {
            let before = phrase(
                format!("before {}", aside.english_ing()),
                format!("avant de {}", aside.infinitive(who).fr),
            );
            (main.then(before), End::Stop)
        }
        _ => {
            let aside = sampler.transitive_action(&actor, Negation::None);
            let done = format!("après avoir {} {}", participle(aside.verb.fr), aside.after.fr);
            (phrase(format!("after {}", aside.english_ing()), done).comma().then(main), End::Stop)
        }
    }
}

/// The cook sings while preparing the soup.
pub(super) fn gerund(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let verb = INTRANSITIVE.iter().find(|v| v.en == "sing").expect("singing");
    let verb = sampler.pick(&[
        verb,
        &INTRANSITIVE[5],
        &INTRANSITIVE[6],
        &INTRANSITIVE[7],
        &INTRANSITIVE[10],
    ]);
    let aside = sampler.transitive_action(&actor, Negation::None).gerund(&actor.np.who);
    let action = Predicate::new(verb)
        .with(phrase(format!("while {}", aside.en), format!("en {}", aside.fr)));
    let tense = sampler.pick(&[Tense::Progressive, Tense::Imperfect, Tense::Past]);
    (actor.does(&action, tense, Negation::None), End::Stop)
}

/// When the guests arrived, the cook had already prepared the fish.
pub(super) fn already(sampler: &mut Sampler) -> (Phrase, End) {
    let (one, other) = two(sampler);
    let verb = sampler.pick(&[&MOTION[0], &MOTION[3], &MOTION[5], &REFLEXIVE[1]]);
    let arrival =
        phrase("when", "quand").then(one.does(&Predicate::new(verb), Tense::Past, Negation::None));
    let action = sampler.dynamic(&other, Negation::None).middle(("already", "déjà"));
    let main = other.does(&action, Tense::Pluperfect, Negation::None);
    (arrival.comma().then(main), End::Stop)
}
