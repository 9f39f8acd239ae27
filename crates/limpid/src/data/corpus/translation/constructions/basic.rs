//! Statements: who does what, who is what, what is where.

use super::super::draw::{Actor, Draw};
use super::super::french::agree;
use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, QUANTITIES, belonging, noun_phrase};
use super::super::predicate::Predicate;
use super::End;

/// Marie bought a red dress yesterday.
pub(super) fn statement(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.actor();
    let action = draw.action(&actor, Negation::None);
    let (tense, time) = draw.when(action.verb, &actor.np.who);
    let clause = actor.does(&action, tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// A trade that this person can have: no article in French, and a form for women.
pub(super) fn trade(draw: &mut Draw, who: &Agreement) -> Phrase {
    let noun = draw
        .noun_where(|noun| noun.is(PERSON) && !noun.is(CHILD) && !noun.fr_feminine.is_empty())
        .expect("there are trades with a form for women");
    let fr = match who.gender {
        Gender::Feminine => noun.fr_feminine.to_owned(),
        Gender::Masculine => noun.fr.to_owned(),
    };
    match who.number {
        Number::Singular => phrase(format!("a {}", noun.en), fr),
        Number::Plural => phrase(super::super::english::add_s(noun.en), super::super::french::plural(&fr)),
    }
}

/// I am a student. Her sister will be a doctor.
pub(super) fn profession(draw: &mut Draw) -> (Phrase, End) {
    let actor = match draw.below(10) {
        0..5 => draw.pronoun(),
        5..8 => draw.name(),
        _ => draw.relative(),
    };
    let what = trade(draw, &actor.np.who);
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let negation = if draw.chance(15) { Negation::Not } else { Negation::None };
    if draw.chance(25) && tense == Tense::Present {
        // become: devenir is an action, être a state.
        let want = Predicate::new(&BECOME).with(what).infinitive(&actor.np.who);
        return (actor.does(&Predicate::new(&WANT_TO).with(want), Tense::Present, negation), End::Stop);
    }
    (actor.does(&Predicate::new(&BE).with(what), tense, negation), End::Stop)
}

/// "Sophie is new" says too little; "the new teacher" is fine.
pub(super) fn sayable(adjective: &Adjective, actor: &Actor) -> bool {
    adjective.en != "new" || actor.class & HUMAN == 0
}

/// to be (very) tired: an adjective that agrees with whoever it is said of.
pub(super) fn be_adjective(draw: &mut Draw, actor: &Actor, percent: usize) -> Predicate {
    let adjective =
        draw.adjective(actor.class, |a| sayable(a, actor)).expect("every subject has an adjective");
    described(draw, adjective, &actor.np.who, percent)
}

/// "être" and this adjective, with "very" or the like `percent` times in a hundred.
pub(super) fn described(
    draw: &mut Draw,
    adjective: &Adjective,
    who: &Agreement,
    percent: usize,
) -> Predicate {
    let word = phrase(adjective.en, agree(adjective.fr, who));
    if adjective.degree != Degree::Absolute && draw.chance(percent) {
        let how = draw.both(INTENSITY);
        return Predicate::new(&BE).with(how).with(word);
    }
    Predicate::new(&BE).with(word)
}

/// The children were very tired.
pub(super) fn adjective(draw: &mut Draw) -> (Phrase, End) {
    let actor = if draw.chance(45) { draw.anyone() } else { thing(draw) };
    let predicate = be_adjective(draw, &actor, 60);
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let negation = if draw.chance(20) { Negation::Not } else { Negation::None };
    (actor.does(&predicate, tense, negation), End::Stop)
}

/// A thing as a subject, without an adjective (one is about to be said of it).
pub(super) fn thing(draw: &mut Draw) -> Actor {
    let noun = draw.noun(
        THING
            | FURNITURE
            | VEHICLE
            | RIDE
            | FOOD
            | DRINK
            | PLACE
            | EVENT
            | THOUGHT
            | CROSSED
            | ANIMAL
            | PLANT,
    );
    if noun.is(WEATHER) || ["argent", "herbe"].contains(&noun.fr) {
        return thing(draw);
    }
    let number = draw.number_of(noun);
    let determiner = match draw.below(4) {
        0 => Determiner::This,
        1 if noun.is(OBJECT | CLOTHES | ROOM) => Determiner::Of(draw.speaker()),
        _ => Determiner::The,
    };
    Actor { np: noun_phrase(noun, number, determiner, &[]), class: noun.class }
}

/// Paul has a new car. We do not have any money.
pub(super) fn possession(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let negation = if draw.chance(35) { Negation::Not } else { Negation::None };
    let noun = draw.noun(OBJECT | CLOTHES | READ | VEHICLE | FURNITURE | TAME | TOOL | HOME);
    let number = draw.number_of(noun);
    let determiner = match (negation, draw.below(6)) {
        (Negation::Not, _) => Determiner::No,
        (_, 0) => Determiner::Count(2 + draw.below(19)),
        (_, 1) => Determiner::Quantity(draw.pick(&QUANTITIES[..4])),
        _ => Determiner::A,
    };
    let number = if noun.is(MASS) { Number::Singular } else { determiner.number().unwrap_or(number) };
    let dressed = if negation == Negation::Not { 0 } else { 55 };
    let object = draw.dressed(noun, number, determiner, dressed);
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    (actor.does(&Predicate::new(&HAVE).with(&object.text), tense, negation), End::Stop)
}

/// Marie's bag, the doctor's car: owner last in French.
pub(super) fn owned(draw: &mut Draw, class: Class) -> Actor {
    let noun = draw.noun(class);
    let number = draw.number_of(noun);
    let np = draw.dressed(noun, number, Determiner::The, 0);
    Actor { np: belonging(np, &draw.owner()), class: noun.class }
}

/// Marie's bag is heavy. The teacher found Paul's key.
pub(super) fn possessor(draw: &mut Draw) -> (Phrase, End) {
    let tense = draw.pick(&[Tense::Present, Tense::Past]);
    if draw.chance(50) {
        let mut actor = owned(draw, OBJECT | CLOTHES | HOME | TAME | VEHICLE | FURNITURE);
        let predicate = be_adjective(draw, &actor, 50);
        actor.class = 0;
        return (actor.does(&predicate, tense, Negation::None), End::Stop);
    }
    let actor = draw.anyone();
    let verb = draw.verb(TRANSITIVE, actor.class);
    let class = verb.object & (OBJECT | CLOTHES | READ | HOME | TAME | FURNITURE | FAMILY | MACHINE);
    if class == 0 {
        return possessor(draw);
    }
    let object = owned(draw, class);
    if object.np.text.en.contains(&actor.np.text.en) {
        return possessor(draw);
    }
    let (tense, time) = draw.when(verb, &actor.np.who);
    let clause = actor.does(&Predicate::new(verb).with(&object.np.text), tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// I drink some coffee every morning.
pub(super) fn partitive(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let noun = draw.noun_where(|n| n.is(MASS) && n.is(FOOD | DRINK)).expect("there is food");
    let verb = if draw.chance(30) {
        &TRANSITIVE[2]
    } else if noun.is(FOOD) {
        &TRANSITIVE[0]
    } else {
        &TRANSITIVE[1]
    };
    let negation = if draw.chance(30) { Negation::Not } else { Negation::None };
    let determiner = if negation == Negation::Not { Determiner::No } else { Determiner::A };
    let object = draw.dressed(noun, Number::Singular, determiner, 15);
    let (tense, time) = draw.when_for(verb, &actor.np.who, negation);
    let clause = actor.does(&Predicate::new(verb).with(&object.text), tense, negation);
    (draw.timed(clause, time), End::Stop)
}

/// The boy ate too many cherries. She drinks a lot of water.
pub(super) fn quantity(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let noun = draw.noun(FOOD | DRINK | READ | CLOTHES);
    let verb = match noun.class {
        class if class & FOOD != 0 => &TRANSITIVE[0],
        class if class & DRINK != 0 => &TRANSITIVE[1],
        _ => &TRANSITIVE[2],
    };
    let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
    let quantities = if noun.is(MASS) { &QUANTITIES[2..4] } else { QUANTITIES };
    let determiner = Determiner::Quantity(draw.pick(quantities));
    let object = noun_phrase(noun, number, determiner, &[]);
    let (tense, time) = draw.when(verb, &actor.np.who);
    let clause = actor.does(&Predicate::new(verb).with(&object.text), tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// Cats, bread: the whole kind.
pub(super) fn kind_of(draw: &mut Draw, class: Class) -> Np {
    let noun = draw.noun_where(|n| n.is(class) && n.fr != "herbe").expect("every class has a noun");
    let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
    noun_phrase(noun, number, Determiner::Kind, &[])
}

/// My brother likes cheese, but he hates fish.
pub(super) fn kind(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let verb = draw.verb(TASTE, HUMAN);
    let object = kind_of(draw, verb.object);
    let negation = if verb.en == "like" && draw.chance(50) { Negation::Not } else { Negation::None };
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let first = actor.does(&Predicate::new(verb).with(&object.text), tense, negation);
    if draw.chance(50) {
        return (first, End::Stop);
    }
    let again = actor.again();
    let (other, object) = loop {
        // But: from liking to hating, and back.
        let likes = verb.en != "hate" && negation == Negation::None;
        let other = if likes { &TASTE[2] } else { draw.pick(&[&TASTE[0], &TASTE[1], &TASTE[3]]) };
        let second = kind_of(draw, other.object);
        if other.en != verb.en && second.text != object.text {
            break (other, second);
        }
    };
    let second = again.does(&Predicate::new(other).with(&object.text), tense, Negation::None);
    (first.comma().then(("but", "mais")).then(second), End::Stop)
}

/// on the table, in the box, next to the station.
pub(super) fn spot(draw: &mut Draw, small: bool) -> Phrase {
    let (class, preposition) = match draw.below(6) {
        0 | 1 if small => (SURFACE, phrase("on", "sur")),
        2 | 3 if small => (CONTAINER, phrase("in", "dans")),
        4 if small => (SURFACE, phrase("under", "sous")),
        0..3 => (INSIDE, phrase("in", "dans")),
        _ => (BUILT, draw.both(POSITIONS)),
    };
    let noun = draw.noun(class);
    preposition.then(&draw.dressed(noun, Number::Singular, Determiner::The, 18).text)
}

/// There are three books on the table. There is no milk in the bottle.
pub(super) fn there_is(draw: &mut Draw) -> (Phrase, End) {
    let small = draw.chance(60);
    let noun = draw
        .noun_where(|n| {
            n.is(if small { THING | FRUIT } else { PERSON | ANIMAL | VEHICLE | RIDE }) && !n.is(MASS | ROYAL)
        })
        .expect("things");
    let number = if noun.is(PAIRED) { Number::Plural } else { draw.number() };
    let none = draw.chance(25);
    let determiner = match draw.below(4) {
        _ if none => Determiner::No,
        0 => Determiner::Count(2 + draw.below(19)),
        1 => Determiner::Quantity(draw.pick(&QUANTITIES[..4])),
        _ => Determiner::A,
    };
    let number = determiner.number().unwrap_or(number);
    let mut np = draw.dressed(noun, number, determiner, if none { 0 } else { 40 });
    let plural = number == Number::Plural;
    let (en, fr) = match (draw.below(5), plural) {
        (0, true) => ("there were", "avait"),
        (0, false) => ("there was", "avait"),
        (1, _) => ("there will be", "aura"),
        (_, true) => ("there are", "a"),
        (_, false) => ("there is", "a"),
    };
    let fr = if none {
        let bare = np.text.en.trim_start_matches("any ").trim_start_matches("a ").to_owned();
        np.text.en = format!("no {bare}");
        format!("il ne y {fr} pas")
    } else {
        format!("il y {fr}")
    };
    let place = spot(draw, small);
    (phrase(en, fr).then(&np.text).then(place), End::Stop)
}

/// It is an interesting book. These are my new shoes.
pub(super) fn this_is(draw: &mut Draw) -> (Phrase, End) {
    let noun = draw.noun(THING | VEHICLE | SIGHT | THOUGHT | PERSON);
    let number = draw.number_of(noun);
    let determiner = match draw.below(3) {
        0 if noun.is(OWNABLE) || !noun.is(THOUGHT | SIGHT | PERSON) => Determiner::Of(draw.speaker()),
        _ => Determiner::A,
    };
    let np = draw.dressed(noun, number, determiner, 75);
    let past = draw.chance(20);
    let (en, fr) = match (number, past) {
        (Number::Singular, false) => ("it is", "ce est"),
        (Number::Singular, true) => ("it was", "ce était"),
        (Number::Plural, false) => ("these are", "ce sont"),
        (Number::Plural, true) => ("these were", "ce étaient"),
    };
    (phrase(en, fr).then(&np.text), End::Stop)
}

/// The keys are under the armchair.
pub(super) fn location(draw: &mut Draw) -> (Phrase, End) {
    let small = draw.chance(70);
    let actor = if small { draw.noun_actor(THING) } else { draw.actor() };
    let predicate = Predicate::new(&BE).with(spot(draw, small));
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let negation = if draw.chance(20) { Negation::Not } else { Negation::None };
    (actor.does(&predicate, tense, negation), End::Stop)
}

/// The baker and his brother bought some flour and two eggs.
pub(super) fn coordination(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.person();
    if actor.np.text.en.contains(" and ") {
        return coordination(draw);
    }
    let verb = draw.verb(TRANSITIVE, HUMAN);
    let first = draw.noun(verb.object);
    let Some(second) =
        draw.noun_where(|n| n.is(verb.object) && n.en != first.en && n.is(FAMILY) == first.is(FAMILY))
    else {
        return coordination(draw);
    };
    let one = draw.object_noun(first, &actor.np.who, Negation::None);
    let other = draw.object_noun(second, &actor.np.who, Negation::None);
    if one.text == other.text {
        return coordination(draw);
    }
    if draw.chance(60) {
        // French says the verb's preposition again: rêver du papillon et du chat.
        let again =
            ["de", "à"].into_iter().find(|word| verb.fr.rsplit_once(' ').is_some_and(|v| v.1 == *word));
        let and = phrase("and", "et").then(("", again.unwrap_or("")));
        let objects = one.text.then(and).then(&other.text);
        let (tense, time) = draw.when(verb, &actor.np.who);
        let clause = actor.does(&Predicate::new(verb).with(objects), tense, Negation::None);
        return (draw.timed(clause, time), End::Stop);
    }
    // Two people: their verb is plural, and masculine unless both are women.
    let kin = draw.kin(&actor.np.who);
    let feminine = actor.np.who.gender == Gender::Feminine && kin.who.gender == Gender::Feminine;
    let gender = if feminine { Gender::Feminine } else { Gender::Masculine };
    let who = Agreement::human(Person::Third, Number::Plural, gender);
    let text = actor.np.text.then(("and", "et")).then(&kin.text);
    let pair = Actor { np: Np { text, who }, class: HUMAN };
    let action = draw.action(&pair, Negation::None);
    let (tense, time) = draw.when(action.verb, &who);
    let clause = pair.does(&action, tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// The roses grow in the garden in spring. The moon was shining.
pub(super) fn nature(draw: &mut Draw) -> (Phrase, End) {
    let sky = draw.chance(35);
    let noun = draw
        .noun_where(|n| if sky { ["soleil", "lune", "étoile"].contains(&n.fr) } else { n.is(PLANT | FRUIT) });
    let noun = noun.expect("there are plants and stars");
    let number = if noun.is(MASS | WEATHER) { Number::Singular } else { Number::Plural };
    let np = draw.dressed(noun, number, Determiner::The, 30);
    let verb = if sky { &SHINE } else { &GROW };
    let action = if sky {
        Predicate::new(verb).with(("in the sky", "dans le ciel"))
    } else {
        let place = draw.noun(GREEN);
        let place = draw.dressed(place, Number::Singular, Determiner::The, 25);
        Predicate::new(verb).with(("in", "dans")).with(&place.text)
    };
    let actor = Actor { np, class: noun.class };
    let negation = if draw.chance(20) { Negation::Not } else { Negation::None };
    if draw.chance(50) {
        let how = draw.both(&MANNERS[..2]);
        let season = draw.both(SEASONS);
        let action = if sky || draw.chance(50) { action } else { action.with(how) };
        return (actor.does(&action.with(season), Tense::Present, negation), End::Stop);
    }
    let (tense, time) = draw.when_for(verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (draw.timed(clause, time), End::Stop)
}
