//! Where the languages go separate ways: hunger, age, names, pain, the clock, the weather.

use super::super::french::{Mood, conjugate};
use super::super::grammar::{Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, noun_phrase, possessive};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;

/// The children are very hungry: they "have hunger".
pub(super) fn have_idiom(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let idiom = sampler.pick(&IDIOMS.iter().collect::<Vec<_>>());
    let mut action = Predicate::new(idiom);
    let denied = sampler.chance(25);
    let negation = match (denied, sampler.chance(50)) {
        (false, _) => Negation::None,
        (true, true) => Negation::Not,
        (true, false) => Negation::NoLonger,
    };
    if idiom.en == "be lucky" && denied {
        action = Predicate::new(&IDIOMS[0]);
    } else if negation == Negation::None && idiom.en != "be lucky" && sampler.chance(40) {
        action = action.middle(sampler.pick(&[("always", "toujours"), ("often", "souvent")]));
    } else if sampler.chance(40) {
        let (_, fr) = action.verb.fr.split_once(' ').unwrap_or_default();
        if ["faim", "soif", "froid", "chaud", "sommeil", "peur"].contains(&fr)
            && negation == Negation::None
        {
            action = action.middle(("very", "très"));
        }
    }
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    (actor.does(&action, tense, negation), End::Stop)
}

/// A relative who can be less than twenty-one years old.
fn young_relative(sampler: &mut Sampler) -> Actor {
    const YOUNG: &[&str] = &["brother", "sister", "son", "daughter", "cousin", "nephew", "niece"];
    let noun =
        sampler.noun_where(|n| n.is(FAMILY) && YOUNG.contains(&n.en)).expect("young relatives");
    let owner = sampler.speaker();
    Actor { np: noun_phrase(noun, Number::Singular, Determiner::Of(owner), &[]), class: HUMAN }
}

/// My cousin is twelve years old.
pub(super) fn age(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = match sampler.below(3) {
        0 => sampler.name(),
        1 => young_relative(sampler),
        _ => sampler.pronoun(),
    };
    if sampler.chance(20)
        && actor.np.who.person == Person::Third
        && actor.np.who.pronoun() != actor.np.text
    {
        let question = phrase("how old is", "quel âge a").then(&actor.np.text);
        return (question, End::Ask);
    }
    let (en, fr) = NUMBERS[1 + sampler.below(19)];
    let years = phrase(format!("{en} years old"), format!("{fr} ans"));
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let mut action = Predicate::new(&AGE).with(years);
    let mut time = None;
    match tense {
        Tense::Future => time = Some(sampler.both(&FUTURE_TIMES[3..6])),
        Tense::Past => time = Some(sampler.both(&PAST_TIMES[4..5])),
        _ if sampler.chance(30) => action = action.middle(("already", "déjà")),
        _ => {}
    }
    let clause = actor.does(&action, tense, Negation::None);
    (sampler.timed(clause, time), End::Stop)
}

/// My brother's name is Paul.
pub(super) fn name(sampler: &mut Sampler) -> (Phrase, End) {
    if sampler.chance(35) {
        let name = sampler.name().np.text;
        let actor = sampler.pronoun();
        if actor.np.who.number == Number::Singular && actor.np.who.person != Person::Third {
            let (en, _) = possessive(&actor.np.who, &actor.np.who, false);
            let french =
                Predicate::new(&CALLED).french(&actor.np.who, Tense::Present, Negation::None);
            return (
                phrase(format!("{en} name is"), format!("{} {french}", actor.np.text.fr))
                    .then(name),
                End::Stop,
            );
        }
    }
    let owner = if sampler.chance(50) { sampler.relative() } else { sampler.noun_actor(ANIMAL) };
    if owner.np.who.number == Number::Plural {
        return self::name(sampler);
    }
    let name = sampler.name_for(owner.np.who.gender).np.text;
    let text = owner.np.text;
    (
        phrase(format!("{} 's name is", text.en), format!("{} se appelle", text.fr)).then(name),
        End::Stop,
    )
}

/// Marie's head hurts. My teeth hurt.
pub(super) fn pain(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let part = sampler.noun(BODY);
    let number = match part.fr {
        "dent" | "œil" | "pied" | "jambe" => Number::Plural,
        _ => Number::Singular,
    };
    let np = noun_phrase(part, number, Determiner::The, &[]);
    if actor.np.who.number == Number::Plural {
        return pain(sampler);
    }
    let bare = np.text.en.trim_start_matches("the ").to_owned();
    let pronoun = actor.np.who.pronoun() == actor.np.text;
    let owner = if pronoun {
        possessive(&actor.np.who, &np.who, false).0.to_owned()
    } else {
        format!("{} 's", actor.np.text.en)
    };
    let hurts = if number == Number::Plural { "hurt" } else { "hurts" };
    let has = conjugate("avoir", Mood::Present, actor.np.who.column());
    let mut text = phrase(
        format!("{owner} {bare} {hurts}"),
        format!("{} {has} mal à {}", actor.np.text.fr, np.text.fr),
    );
    if sampler.chance(50) {
        let because = sampler.pick(&[
            ("today", "aujourd'hui"),
            ("every morning", "tous les matins"),
            ("every evening", "tous les soirs"),
        ]);
        text = text.then(because);
    }
    (text, End::Stop)
}

/// three o'clock, a quarter past nine, half past one.
pub(super) fn clock(sampler: &mut Sampler) -> Phrase {
    let hour = 1 + sampler.below(11);
    clock_at(sampler, hour)
}

fn clock_at(sampler: &mut Sampler, hour: usize) -> Phrase {
    let (en, fr) = NUMBERS[hour - 1];
    let hours = |n: usize| {
        if n == 1 { "une heure".to_owned() } else { format!("{} heures", NUMBERS[n - 1].1) }
    };
    match sampler.below(5) {
        0 => phrase(format!("a quarter past {en}"), format!("{} et quart", hours(hour))),
        1 => phrase(format!("half past {en}"), format!("{} et demie", hours(hour))),
        2 => phrase(format!("a quarter to {en}"), format!("{} moins le quart", hours(hour))),
        3 => {
            let (en_m, fr_m) =
                sampler.pick(&[("five", "cinq"), ("ten", "dix"), ("twenty", "vingt")]);
            phrase(format!("{en_m} past {en}"), format!("{} {fr_m}", hours(hour)))
        }
        _ => phrase(
            format!("{en} o'clock"),
            if hour == 1 { hours(1) } else { format!("{} {}", fr, "heures") },
        ),
    }
}

/// It is half past three. The train leaves at eight o'clock.
pub(super) fn time_of_day(sampler: &mut Sampler) -> (Phrase, End) {
    let clock = clock(sampler);
    if sampler.chance(25) {
        let day =
            sampler.pick(&[("in the morning", "de le matin"), ("in the evening", "de le soir")]);
        // Evening begins at six.
        let hour =
            if day.0 == "in the evening" { 7 + sampler.below(5) } else { 1 + sampler.below(11) };
        let clock = clock_at(sampler, hour);
        return (phrase("it is", "il est").then(clock).then(day), End::Stop);
    }
    let at = phrase("at", "à").then(clock);
    let (actor, verb) = match sampler.below(4) {
        0 => (sampler.noun_actor(RIDE), sampler.pick(&[&MOTION[0], &MOTION[1]])),
        1 => (sampler.noun_actor(EVENT), sampler.pick(&[&START, &END])),
        2 => (sampler.anyone(), sampler.pick(&[&REFLEXIVE[0], &REFLEXIVE[1], &REFLEXIVE[2]])),
        _ => (
            sampler.anyone(),
            sampler.pick(&[&MOTION[0], &MOTION[1], &MOTION[3], &MOTION[4], &MOTION[5]]),
        ),
    };
    let (mut tense, time) = sampler.when(verb, &actor.np.who);
    if tense == Tense::Imperfect || tense == Tense::Progressive {
        tense = Tense::Past;
    }
    let clause = actor.does(&Predicate::new(verb).with(at), tense, Negation::None);
    let time = time.filter(|_| tense == Tense::Present || sampler.chance(40));
    (sampler.timed(clause, time), End::Stop)
}

/// It was cold yesterday. It is going to rain tomorrow.
pub(super) fn weather(sampler: &mut Sampler) -> (Phrase, End) {
    let (words, time) = match sampler.below(3) {
        0 => {
            let time = sampler.both(&[("today", "aujourd'hui"), ("this morning", "ce matin")]);
            let now: &[Both] = &[
                ("it is cold", "il fait froid"),
                ("it is hot", "il fait chaud"),
                ("the weather is nice", "il fait beau"),
                ("it is raining", "il pleut"),
                ("it is snowing", "il neige"),
                ("the wind is strong", "le vent est fort"),
                ("the sun is shining", "le soleil brille"),
            ];
            (
                sampler.both(now),
                if time.en == "today" || sampler.chance(20) {
                    phrase("today", "aujourd'hui")
                } else {
                    phrase("here", "ici")
                },
            )
        }
        1 => {
            let before: &[Both] = &[
                ("it was cold", "il faisait froid"),
                ("it was hot", "il faisait chaud"),
                ("the weather was nice", "il faisait beau"),
                ("it was raining", "il pleuvait"),
                ("it was snowing", "il neigeait"),
                ("the wind was strong", "le vent était fort"),
                ("the sun was shining", "le soleil brillait"),
            ];
            (sampler.both(before), sampler.past_time())
        }
        _ => {
            let later: &[Both] = &[
                ("it will be cold", "il fera froid"),
                ("it will be hot", "il fera chaud"),
                ("the weather will be nice", "il fera beau"),
                ("it will rain", "il pleuvra"),
                ("it is going to rain", "il va pleuvoir"),
                ("it is going to snow", "il va neiger"),
                ("the sun will shine", "le soleil brillera"),
            ];
            (sampler.both(later), sampler.both(FUTURE_TIMES))
        }
    };
    let place = sampler.pick(&[
        ("", ""),
        ("in Paris", "à Paris"),
        ("in London", "à Londres"),
        ("in the mountains", "à la montagne"),
        ("in the village", "dans le village"),
        ("in Brussels", "à Bruxelles"),
    ]);
    let clause = words.then(place);
    (sampler.timed(clause, Some(time)), End::Stop)
}
