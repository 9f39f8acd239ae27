//! Statements: who does what, who is what, what is where.

use super::super::french::agree;
use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, QUANTITIES, belonging, noun_phrase};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;

/// Marie bought a red dress yesterday.
pub(super) fn statement(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.actor();
    let action = sampler.action(&actor, Negation::None);
    let (tense, time) = sampler.when(action.verb, &actor.np.who);
    let clause = actor.does(&action, tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// A trade that this person can have: no article in French, and a form for women.
pub(super) fn trade(sampler: &mut Sampler, who: &Agreement) -> Phrase {
    let noun = sampler
        .noun_where(|noun| noun.is(PERSON) && !noun.is(CHILD) && !noun.fr_feminine.is_empty())
        .expect("there are trades with a form for women");
    let fr = match who.gender {
        Gender::Feminine => noun.fr_feminine.to_owned(),
        Gender::Masculine => noun.fr.to_owned(),
    };
    match who.number {
        Number::Singular => phrase(format!("a {}", noun.en), fr),
        Number::Plural => {
            phrase(super::super::english::add_s(noun.en), super::super::french::plural(&fr))
        }
    }
}

/// I am a student. Her sister will be a doctor.
pub(super) fn profession(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = match sampler.below(10) {
        0..5 => sampler.pronoun(),
        5..8 => sampler.name(),
        _ => sampler.relative(),
    };
    let what = trade(sampler, &actor.np.who);
    let tense =
        sampler.pick(&[Tense::Present, Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let negation = if sampler.chance(15) { Negation::Not } else { Negation::None };
    if sampler.chance(25) && tense == Tense::Present {
        // become: devenir is an action, être a state.
        let want = Predicate::new(&BECOME).with(what).infinitive(&actor.np.who);
        return (
            actor.does(&Predicate::new(&WANT_TO).with(want), Tense::Present, negation),
            End::Stop,
        );
    }
    (actor.does(&Predicate::new(&BE).with(what), tense, negation), End::Stop)
}

/// "Sophie is new" says too little; "the new teacher" is fine.
pub(super) fn sayable(adjective: &Adjective, actor: &Actor) -> bool {
    adjective.en != "new" || actor.class & HUMAN == 0
}

/// to be (very) tired: an adjective that agrees with whoever it is said of.
pub(super) fn be_adjective(sampler: &mut Sampler, actor: &Actor, percent: usize) -> Predicate {
    let adjective = sampler
        .adjective(actor.class, |a| sayable(a, actor))
        .expect("every subject has an adjective");
    described(sampler, adjective, &actor.np.who, percent)
}

/// "être" and this adjective, with "very" or the like `percent` times in a hundred.
pub(super) fn described(
    sampler: &mut Sampler,
    adjective: &Adjective,
    who: &Agreement,
    percent: usize,
) -> Predicate {
    let word = phrase(adjective.en, agree(adjective.fr, who));
    if adjective.degree != Degree::Absolute && sampler.chance(percent) {
        let how = sampler.both(INTENSITY);
        return Predicate::new(&BE).with(how).with(word);
    }
    Predicate::new(&BE).with(word)
}

/// The children were very tired.
pub(super) fn adjective(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = if sampler.chance(45) { sampler.anyone() } else { thing(sampler) };
    let predicate = be_adjective(sampler, &actor, 60);
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let negation = if sampler.chance(20) { Negation::Not } else { Negation::None };
    (actor.does(&predicate, tense, negation), End::Stop)
}

/// A thing as a subject, without an adjective (one is about to be said of it).
pub(super) fn thing(sampler: &mut Sampler) -> Actor {
    let noun = sampler.noun(
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
        return thing(sampler);
    }
    let number = sampler.number_of(noun);
    let determiner = match sampler.below(4) {
        0 => Determiner::This,
        1 if noun.is(OBJECT | CLOTHES | ROOM) => Determiner::Of(sampler.speaker()),
        _ => Determiner::The,
    };
    Actor { np: noun_phrase(noun, number, determiner, &[]), class: noun.class }
}

/// Paul has a new car. We do not have any money.
pub(super) fn possession(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let negation = if sampler.chance(35) { Negation::Not } else { Negation::None };
    let noun = sampler.noun(OBJECT | CLOTHES | READ | VEHICLE | FURNITURE | TAME | TOOL | HOME);
    let number = sampler.number_of(noun);
    let determiner = match (negation, sampler.below(6)) {
        (Negation::Not, _) => Determiner::No,
        (_, 0) => Determiner::Count(2 + sampler.below(19)),
        (_, 1) => Determiner::Quantity(sampler.pick(&QUANTITIES[..4])),
        _ => Determiner::A,
    };
    let number =
        if noun.is(MASS) { Number::Singular } else { determiner.number().unwrap_or(number) };
    let dressed = if negation == Negation::Not { 0 } else { 55 };
    let object = sampler.dressed(noun, number, determiner, dressed);
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    (actor.does(&Predicate::new(&HAVE).with(&object.text), tense, negation), End::Stop)
}

/// Marie's bag, the doctor's car: owner last in French.
pub(super) fn owned(sampler: &mut Sampler, class: Class) -> Actor {
    let noun = sampler.noun(class);
    let number = sampler.number_of(noun);
    let np = sampler.dressed(noun, number, Determiner::The, 0);
    Actor { np: belonging(np, &sampler.owner()), class: noun.class }
}

/// Marie's bag is heavy. The teacher found Paul's key.
pub(super) fn possessor(sampler: &mut Sampler) -> (Phrase, End) {
    let tense = sampler.pick(&[Tense::Present, Tense::Past]);
    if sampler.chance(50) {
        let mut actor = owned(sampler, OBJECT | CLOTHES | HOME | TAME | VEHICLE | FURNITURE);
        let predicate = be_adjective(sampler, &actor, 50);
        actor.class = 0;
        return (actor.does(&predicate, tense, Negation::None), End::Stop);
    }
    let actor = sampler.anyone();
    let verb = sampler.verb(TRANSITIVE, actor.class);
    let class =
        verb.object & (OBJECT | CLOTHES | READ | HOME | TAME | FURNITURE | FAMILY | MACHINE);
    if class == 0 {
        return possessor(sampler);
    }
    let object = owned(sampler, class);
    if object.np.text.en.contains(&actor.np.text.en) {
        return possessor(sampler);
    }
    let (tense, time) = sampler.when(verb, &actor.np.who);
    let clause = actor.does(&Predicate::new(verb).with(&object.np.text), tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// I drink some coffee every morning.
pub(super) fn partitive(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let noun = sampler.noun_where(|n| n.is(MASS) && n.is(FOOD | DRINK)).expect("there is food");
    let verb = if sampler.chance(30) {
        &TRANSITIVE[2]
    } else if noun.is(FOOD) {
        &TRANSITIVE[0]
    } else {
        &TRANSITIVE[1]
    };
    let negation = if sampler.chance(30) { Negation::Not } else { Negation::None };
    let determiner = if negation == Negation::Not { Determiner::No } else { Determiner::A };
    let object = sampler.dressed(noun, Number::Singular, determiner, 15);
    let (tense, time) = sampler.when_for(verb, &actor.np.who, negation);
    let clause = actor.does(&Predicate::new(verb).with(&object.text), tense, negation);
    (sampler.timed(clause, time), End::Stop)
}

/// The boy ate too many cherries. She drinks a lot of water.
pub(super) fn quantity(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let noun = sampler.noun(FOOD | DRINK | READ | CLOTHES);
    let verb = match noun.class {
        class if class & FOOD != 0 => &TRANSITIVE[0],
        class if class & DRINK != 0 => &TRANSITIVE[1],
        _ => &TRANSITIVE[2],
    };
    let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
    let quantities = if noun.is(MASS) { &QUANTITIES[2..4] } else { QUANTITIES };
    let determiner = Determiner::Quantity(sampler.pick(quantities));
    let object = noun_phrase(noun, number, determiner, &[]);
    let (tense, time) = sampler.when(verb, &actor.np.who);
    let clause = actor.does(&Predicate::new(verb).with(&object.text), tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// Cats, bread: the whole kind.
pub(super) fn kind_of(sampler: &mut Sampler, class: Class) -> Np {
    let noun =
        sampler.noun_where(|n| n.is(class) && n.fr != "herbe").expect("every class has a noun");
    let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
    noun_phrase(noun, number, Determiner::Kind, &[])
}

/// My brother likes cheese, but he hates fish.
pub(super) fn kind(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let verb = sampler.verb(TASTE, HUMAN);
    let object = kind_of(sampler, verb.object);
    let negation =
        if verb.en == "like" && sampler.chance(50) { Negation::Not } else { Negation::None };
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let first = actor.does(&Predicate::new(verb).with(&object.text), tense, negation);
    if sampler.chance(50) {
        return (first, End::Stop);
    }
    let again = actor.again();
    let (other, object) = loop {
        // But: from liking to hating, and back.
        let likes = verb.en != "hate" && negation == Negation::None;
        let other =
            if likes { &TASTE[2] } else { sampler.pick(&[&TASTE[0], &TASTE[1], &TASTE[3]]) };
        let second = kind_of(sampler, other.object);
        if other.en != verb.en && second.text != object.text {
            break (other, second);
        }
    };
    let second = again.does(&Predicate::new(other).with(&object.text), tense, Negation::None);
    (first.comma().then(("but", "mais")).then(second), End::Stop)
}

/// on the table, in the box, next to the station.
pub(super) fn spot(sampler: &mut Sampler, small: bool) -> Phrase {
    let (class, preposition) = match sampler.below(6) {
        0 | 1 if small => (SURFACE, phrase("on", "sur")),
        2 | 3 if small => (CONTAINER, phrase("in", "dans")),
        4 if small => (SURFACE, phrase("under", "sous")),
        0..3 => (INSIDE, phrase("in", "dans")),
        _ => (BUILT, sampler.both(POSITIONS)),
    };
    let noun = sampler.noun(class);
    preposition.then(&sampler.dressed(noun, Number::Singular, Determiner::The, 18).text)
}

/// There are three books on the table. There is no milk in the bottle.
pub(super) fn there_is(sampler: &mut Sampler) -> (Phrase, End) {
    let small = sampler.chance(60);
    let noun = sampler
        .noun_where(|n| {
            n.is(if small { THING | FRUIT } else { PERSON | ANIMAL | VEHICLE | RIDE })
                && !n.is(MASS | ROYAL)
        })
        .expect("things");
    let number = if noun.is(PAIRED) { Number::Plural } else { sampler.number() };
    let none = sampler.chance(25);
    let determiner = match sampler.below(4) {
        _ if none => Determiner::No,
        0 => Determiner::Count(2 + sampler.below(19)),
        1 => Determiner::Quantity(sampler.pick(&QUANTITIES[..4])),
        _ => Determiner::A,
    };
    let number = determiner.number().unwrap_or(number);
    let mut np = sampler.dressed(noun, number, determiner, if none { 0 } else { 40 });
    let plural = number == Number::Plural;
    let (en, fr) = match (sampler.below(5), plural) {
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
    let place = spot(sampler, small);
    (phrase(en, fr).then(&np.text).then(place), End::Stop)
}

/// It is an interesting book. These are my new shoes.
pub(super) fn this_is(sampler: &mut Sampler) -> (Phrase, End) {
    let noun = sampler.noun(THING | VEHICLE | SIGHT | THOUGHT | PERSON);
    let number = sampler.number_of(noun);
    let determiner = match sampler.below(3) {
        0 if noun.is(OWNABLE) || !noun.is(THOUGHT | SIGHT | PERSON) => {
            Determiner::Of(sampler.speaker())
        }
        _ => Determiner::A,
    };
    let np = sampler.dressed(noun, number, determiner, 75);
    let past = sampler.chance(20);
    let (en, fr) = match (number, past) {
        (Number::Singular, false) => ("it is", "ce est"),
        (Number::Singular, true) => ("it was", "ce était"),
        (Number::Plural, false) => ("these are", "ce sont"),
        (Number::Plural, true) => ("these were", "ce étaient"),
    };
    (phrase(en, fr).then(&np.text), End::Stop)
}

/// The keys are under the armchair.
pub(super) fn location(sampler: &mut Sampler) -> (Phrase, End) {
    let small = sampler.chance(70);
    let actor = if small { sampler.noun_actor(THING) } else { sampler.actor() };
    let predicate = Predicate::new(&BE).with(spot(sampler, small));
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let negation = if sampler.chance(20) { Negation::Not } else { Negation::None };
    (actor.does(&predicate, tense, negation), End::Stop)
}

/// The baker and his brother bought some flour and two eggs.
pub(super) fn coordination(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.person();
    if actor.np.text.en.contains(" and ") {
        return coordination(sampler);
    }
    let verb = sampler.verb(TRANSITIVE, HUMAN);
    let first = sampler.noun(verb.object);
    let Some(second) = sampler
        .noun_where(|n| n.is(verb.object) && n.en != first.en && n.is(FAMILY) == first.is(FAMILY))
    else {
        return coordination(sampler);
    };
    let one = sampler.object_noun(first, &actor.np.who, Negation::None);
    let other = sampler.object_noun(second, &actor.np.who, Negation::None);
    if one.text == other.text {
        return coordination(sampler);
    }
    if sampler.chance(60) {
        // French says the verb's preposition again: rêver du papillon et du chat.
        let again = ["de", "à"]
            .into_iter()
            .find(|word| verb.fr.rsplit_once(' ').is_some_and(|v| v.1 == *word));
        let and = phrase("and", "et").then(("", again.unwrap_or("")));
        let objects = one.text.then(and).then(&other.text);
        let (tense, time) = sampler.when(verb, &actor.np.who);
        let clause = actor.does(&Predicate::new(verb).with(objects), tense, Negation::None);
        return (sampler.timed(clause, time), End::Stop);
    }
    // Two people: their verb is plural, and masculine unless both are women.
    let kin = sampler.kin(&actor.np.who);
    let feminine = actor.np.who.gender == Gender::Feminine && kin.who.gender == Gender::Feminine;
    let gender = if feminine { Gender::Feminine } else { Gender::Masculine };
    let who = Agreement::human(Person::Third, Number::Plural, gender);
    let text = actor.np.text.then(("and", "et")).then(&kin.text);
    let pair = Actor { np: Np { text, who }, class: HUMAN };
    let action = sampler.action(&pair, Negation::None);
    let (tense, time) = sampler.when(action.verb, &who);
    let clause = pair.does(&action, tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// The roses grow in the garden in spring. The moon was shining.
pub(super) fn nature(sampler: &mut Sampler) -> (Phrase, End) {
    let sky = sampler.chance(35);
    let noun = sampler.noun_where(|n| {
        if sky { ["soleil", "lune", "étoile"].contains(&n.fr) } else { n.is(PLANT | FRUIT) }
    });
    let noun = noun.expect("there are plants and stars");
    let number = if noun.is(MASS | WEATHER) { Number::Singular } else { Number::Plural };
    let np = sampler.dressed(noun, number, Determiner::The, 30);
    let verb = if sky { &SHINE } else { &GROW };
    let action = if sky {
        Predicate::new(verb).with(("in the sky", "dans le ciel"))
    } else {
        let place = sampler.noun(GREEN);
        let place = sampler.dressed(place, Number::Singular, Determiner::The, 25);
        Predicate::new(verb).with(("in", "dans")).with(&place.text)
    };
    let actor = Actor { np, class: noun.class };
    let negation = if sampler.chance(20) { Negation::Not } else { Negation::None };
    if sampler.chance(50) {
        let how = sampler.both(&MANNERS[..2]);
        let season = sampler.both(SEASONS);
        let action = if sky || sampler.chance(50) { action } else { action.with(how) };
        return (actor.does(&action.with(season), Tense::Present, negation), End::Stop);
    }
    let (tense, time) = sampler.when_for(verb, &actor.np.who, negation);
    let clause = actor.does(&action, tense, negation);
    (sampler.timed(clause, time), End::Stop)
}
