//! One clause inside another: when, because, if, although, that, in order to.

use super::super::draw::{Actor, Draw, settle};
use super::super::french::participle;
use super::super::grammar::{Animacy, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::Determiner;
use super::super::predicate::Predicate;
use super::End;
use super::basic::be_adjective;
use super::reasons::reason;

/// Two different people.
pub(super) fn two(draw: &mut Draw) -> (Actor, Actor) {
    let one = draw.anyone();
    loop {
        let other = draw.person();
        if !other.np.text.en.contains(&one.np.text.en) && !one.np.text.en.contains(&other.np.text.en) {
            return (one, other);
        }
    }
}

/// When Paul arrived, Marie was preparing the meal.
pub(super) fn when(draw: &mut Draw) -> (Phrase, End) {
    let (one, other) = two(draw);
    let verb = draw.pick(&[&MOTION[0], &MOTION[3], &MOTION[5], &REFLEXIVE[1]]);
    let arrival = one.does(&Predicate::new(verb), Tense::Past, Negation::None);
    let main = other.does(&draw.lasting(&other), Tense::Imperfect, Negation::None);
    let arrival = phrase("when", "quand").then(arrival);
    if draw.chance(60) { (arrival.comma().then(main), End::Stop) } else { (main.then(arrival), End::Stop) }
}

/// Although he is tired, Paul is working: a subjunctive.
pub(super) fn although(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let predicate = be_adjective(draw, &actor, 50);
    let concession =
        phrase("although", "bien que").then(actor.does(&predicate, Tense::Subjunctive, Negation::None));
    let again = actor.again();
    let negation = if draw.chance(30) { Negation::Not } else { Negation::None };
    let action = draw.common(&actor, negation);
    let tense = settle(
        draw.pick(&[Tense::Progressive, Tense::NearFuture, Tense::Future]),
        action.verb,
        &actor.np.who,
    );
    let tense = if tense == Tense::Past { Tense::NearFuture } else { tense };
    (concession.comma().then(again.does(&action, tense, negation)), End::Stop)
}

/// Paul was sleeping while the children were playing in the garden.
pub(super) fn while_(draw: &mut Draw) -> (Phrase, End) {
    let (one, other) = two(draw);
    let (first, second) = (draw.lasting(&one), draw.lasting(&other));
    let tense = draw.pick(&[Tense::Imperfect, Tense::Imperfect, Tense::Progressive]);
    let main = one.does(&first, tense, Negation::None);
    let aside = other.does(&second, tense, Negation::None);
    (main.then(("while", "pendant que")).then(aside), End::Stop)
}

/// Anne thinks that the exam was difficult. He said that he was tired.
pub(super) fn reported(draw: &mut Draw) -> (Phrase, End) {
    let speaker = draw.anyone();
    let verb = draw.verb(SAYING, HUMAN);
    let past = verb.en == "say" || verb.en != "hope" && draw.chance(25);
    let head = Predicate::new(verb).with(("that", "que"));
    let said = speaker.does(&head, if past { Tense::Past } else { Tense::Present }, Negation::None);
    let who = if draw.chance(40) { speaker.again() } else { other_than(draw, &speaker) };
    let content = if verb.en != "hope" && draw.chance(40) {
        reason(draw, &who, if past { Tense::Past } else { Tense::Present })
    } else {
        let denied = if draw.chance(25) { Negation::Not } else { Negation::None };
        let action = draw.dynamic(&who, denied);
        let tense = match (past, draw.below(2)) {
            (true, _) => Tense::Pluperfect,
            (false, 0) if verb.en != "hope" => Tense::Past,
            (false, _) => Tense::Future,
        };
        who.does(&action, settle(tense, action.verb, &who.np.who), denied)
    };
    (said.then(content), End::Stop)
}

fn other_than(draw: &mut Draw, one: &Actor) -> Actor {
    loop {
        let other = draw.person();
        if other.np.text != one.np.text {
            return other;
        }
    }
}

/// My mother wants me to …: "veut que", with a subjunctive.
pub(super) fn wish(draw: &mut Draw) -> (Phrase, End) {
    let wisher = draw.anyone();
    let doer = if draw.chance(35) {
        let doer = draw.pronoun();
        if doer.np.who.person == Person::Third || doer.np.who.person == wisher.np.who.person {
            other_than(draw, &wisher)
        } else {
            doer
        }
    } else {
        other_than(draw, &wisher)
    };
    let action = draw.common(&doer, Negation::None);
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
    let negation = if draw.chance(25) { Negation::Not } else { Negation::None };
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
pub(super) fn purpose(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let (place, verb, class) = draw.pick(ERRANDS);
    let place = draw.noun_where(|n| n.fr == place).expect("the place is in the table");
    let place = draw.dressed(place, Number::Singular, Determiner::The, 10);
    let verb = TRANSITIVE.iter().chain(GIVING).find(|v| v.en == verb).expect("the verb is in the table");
    let noun = match class {
        SLICED => draw.noun_where(|n| n.is(SLICED | DISH) && BAKED.contains(&n.en)).expect("bread and cakes"),
        EVENT => draw.noun_where(|n| n.fr == "film").expect("a film"),
        WEATHER => draw.noun_where(|n| ["mer", "lune", "ciel", "étoile"].contains(&n.fr)).expect("a view"),
        VIEW => draw.noun_where(|n| ["tableau", "statue", "photo"].contains(&n.fr)).expect("art"),
        _ => draw.noun(class),
    };
    let object = draw.object_noun(noun, &actor.np.who, Negation::None);
    let aim = Predicate::new(verb).with(&object.text).infinitive(&actor.np.who);
    let action =
        Predicate::new(&GO).with(phrase("to", "à")).with(&place.text).with(phrase("to", "pour")).with(aim);
    let (tense, time) = draw.when(&GO, &actor.np.who);
    let clause = actor.does(&action, tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// Before leaving, Julie closed the window. After finishing her book, … He left without …
pub(super) fn before_after(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let who = &actor.np.who;
    debug_assert!(who.animacy == Animacy::Human);
    let aside = draw.dynamic(&actor, Negation::None);
    let main = draw.dynamic(&actor, Negation::None);
    let main = actor.does(&main, Tense::Past, Negation::None);
    match draw.below(4) {
        3 => {
            let motion = Predicate::new(draw.pick(&[&MOTION[1], &MOTION[4], &MOTION[5], &REFLEXIVE[2]]));
            let aside = draw.transitive_action(&actor, Negation::Not);
            let without = phrase(
                format!("without {}", aside.english_ing()),
                format!("sans {}", aside.infinitive(who).fr),
            );
            let (tense, time) = (Tense::Past, draw.past_time());
            let clause = actor.does(&motion.with(without), tense, Negation::None);
            let time = if draw.chance(40) { Some(time) } else { None };
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
            let aside = draw.transitive_action(&actor, Negation::None);
            let done = format!("après avoir {} {}", participle(aside.verb.fr), aside.after.fr);
            (phrase(format!("after {}", aside.english_ing()), done).comma().then(main), End::Stop)
        }
    }
}

/// The cook sings while preparing the soup.
pub(super) fn gerund(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let verb = INTRANSITIVE.iter().find(|v| v.en == "sing").expect("singing");
    let verb = draw.pick(&[verb, &INTRANSITIVE[5], &INTRANSITIVE[6], &INTRANSITIVE[7], &INTRANSITIVE[10]]);
    let aside = draw.transitive_action(&actor, Negation::None).gerund(&actor.np.who);
    let action = Predicate::new(verb).with(phrase(format!("while {}", aside.en), format!("en {}", aside.fr)));
    let tense = draw.pick(&[Tense::Progressive, Tense::Imperfect, Tense::Past]);
    (actor.does(&action, tense, Negation::None), End::Stop)
}

/// When the guests arrived, the cook had already prepared the fish.
pub(super) fn already(draw: &mut Draw) -> (Phrase, End) {
    let (one, other) = two(draw);
    let verb = draw.pick(&[&MOTION[0], &MOTION[3], &MOTION[5], &REFLEXIVE[1]]);
    let arrival = phrase("when", "quand").then(one.does(&Predicate::new(verb), Tense::Past, Negation::None));
    let action = draw.dynamic(&other, Negation::None).middle(("already", "déjà"));
    let main = other.does(&action, Tense::Pluperfect, Negation::None);
    (arrival.comma().then(main), End::Stop)
}
