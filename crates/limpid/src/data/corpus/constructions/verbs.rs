//! What verbs can do: be denied, be reflexive, be passive, command, and the idioms.

use super::super::draw::{Actor, Draw};
use super::super::french::{Mood, agree, conjugate, participle};
use super::super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, french_noun, noun_phrase, possessive};
use super::super::predicate::{Predicate, Reflexive};
use super::End;

/// The cook did not wash the plates. Paul no longer plays the piano.
pub(super) fn negation(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.actor();
    let negation = draw.pick(&[Negation::Not, Negation::Not, Negation::Never, Negation::NoLonger]);
    let action = draw.action(&actor, negation);
    if negation != Negation::Not {
        return (actor.does(&action, Tense::Present, negation), End::Stop);
    }
    let (tense, time) = draw.when(action.verb, &actor.np.who);
    let clause = actor.does(&action, tense, negation);
    (draw.timed(clause, time), End::Stop)
}

/// I do not see anyone. Nobody understood the question. She eats only bread.
pub(super) fn negative_words(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let (tense, time) = match draw.below(3) {
        0 => (Tense::Past, Some(draw.past_time())),
        1 => (Tense::NearFuture, Some(draw.both(FUTURE_TIMES))),
        _ => (Tense::Progressive, None),
    };
    let clause = match draw.below(4) {
        0 => {
            let verb = verb_named(draw.pick(&[
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
            let verb =
                verb_named(draw.pick(&["see", "hear", "meet", "invite", "help", "wait for", "listen to"]));
            actor.does(&Predicate::new(verb), tense, Negation::Anyone)
        }
        2 => {
            let nobody = Agreement::human(Person::Third, Number::Singular, Gender::Masculine);
            let actor = Actor { np: Np { text: phrase("nobody", "personne ne"), who: nobody }, class: HUMAN };
            let action = draw.transitive(&actor, Negation::None);
            actor.does(&action, tense, Negation::None)
        }
        _ => {
            let verb = verb_named(draw.pick(&["eat", "drink", "buy"]));
            let noun = draw.noun_where(|n| n.is(verb.object) && n.is(FOOD | DRINK)).expect("there is food");
            let number = if noun.is(MASS) { Number::Singular } else { Number::Plural };
            let object = noun_phrase(noun, number, Determiner::A, &[]);
            let mut object = object.text;
            object.en = object.en.trim_start_matches("some ").to_owned();
            actor.does(&Predicate::new(verb).with(object), tense, Negation::Only)
        }
    };
    let time = time.filter(|_| draw.chance(60));
    (draw.timed(clause, time), End::Stop)
}

/// A transitive verb by its English name.
pub(super) fn verb_named(en: &str) -> &'static Verb {
    TRANSITIVE.iter().find(|verb| verb.en == en).expect("the verb is in the table")
}

/// The musician often plays the violin.
pub(super) fn frequency(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.actor();
    let action = draw.action(&actor, Negation::None);
    let how_often = draw.both(FREQUENCY);
    (actor.does(&action.middle(how_often), Tense::Present, Negation::None), End::Stop)
}

/// The singer danced well. Marie carefully … : well goes before the French participle, after the English verb.
pub(super) fn manner(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    if draw.chance(50) {
        let action = draw.transitive(&actor, Negation::None);
        if action.verb.aspect == Aspect::Action {
            let (tense, _) = draw.when(action.verb, &actor.np.who);
            let tense = if tense == Tense::Present { Tense::Past } else { tense };
            let how = draw.both(&[MANNERS[0], MANNERS[1], MANNERS[3], MANNERS[4]]);
            return (actor.does(&action.with(how), tense, Negation::None), End::Stop);
        }
    }
    let verb = draw.pick(&["sleep", "work", "swim", "dance", "sing", "eat"]);
    let verb = INTRANSITIVE.iter().find(|v| v.en == verb).expect("the verb is in the table");
    let (en, fr) = draw.pick(&[("well", "bien"), ("badly", "mal")]);
    let tense = draw.pick(&[Tense::Past, Tense::Progressive, Tense::Future]);
    let action = Predicate::new(verb).middle(phrase("", fr)).with(phrase(en, ""));
    let time = draw.time(tense, verb);
    let clause = actor.does(&action, tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// The girls woke up early. She washed her hands.
pub(super) fn reflexive(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.actor();
    let human = actor.class & HUMAN != 0;
    let negation = if draw.chance(15) { Negation::Not } else { Negation::None };
    let action = match draw.below(10) {
        0 | 1 if human => {
            let part = draw.noun_where(|n| ["main", "pied", "dent"].contains(&n.fr)).expect("hands");
            let mut action = Predicate::new(&WASH_SELF);
            action.reflexive = Reflexive::Indirect;
            let kind = noun_phrase(part, Number::Plural, Determiner::Of(actor.np.who), &[]);
            action.with(phrase(kind.text.en, format!("les {}", french_noun(part, Number::Plural))))
        }
        2 if human => {
            let object = draw.object(PERSON | EVENT | STORY, &actor.np.who, Negation::None);
            Predicate::new(&REMEMBER).with(&object.text)
        }
        _ => {
            let verb = draw.verb(REFLEXIVE, actor.class);
            let action = Predicate::new(verb);
            let indoors = ["rest", "have fun", "go for a walk", "get bored", "hide", "stop", "sit down"];
            if indoors.contains(&verb.en) && draw.chance(60) {
                let place = draw.place();
                action.with(place)
            } else if ["get up", "wake up", "go to bed"].contains(&verb.en) && draw.chance(70) {
                let time = draw.pick(&[("early", "tôt"), ("late", "tard"), ("before dawn", "avant l'aube")]);
                action.with(time)
            } else {
                action
            }
        }
    };
    let (tense, time) = draw.when(action.verb, &actor.np.who);
    let clause = actor.does(&action, tense, negation);
    (draw.timed(clause, time), End::Stop)
}

/// The travelers arrived at the station. We are going to Paris.
pub(super) fn motion(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let negation = if draw.chance(15) { Negation::Not } else { Negation::None };
    let action = if draw.chance(45) {
        let place = draw.destination();
        let action = Predicate::new(&GO).with(place);
        if draw.chance(40) {
            let (en, fr) = draw.pick(&[
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
        draw.motion(&actor)
    };
    let (tense, time) = draw.when(action.verb, &actor.np.who);
    let clause = actor.does(&action, tense, negation);
    (draw.timed(clause, time), End::Stop)
}

/// The pupil cannot open the window. They tried to repair the roof.
pub(super) fn modal(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let modal = draw.verb(MODAL, HUMAN);
    let negation = if draw.chance(25) && modal.en != "must" { Negation::Not } else { Negation::None };
    let inner = draw.action(&actor, negation);
    let inner = match modal.en {
        // One knows how to do a kind of thing, not this one thing.
        "know how to" => draw.play(),
        "begin to" | "continue to" => draw.lasting(&actor),
        _ if inner.verb.aspect == Aspect::State => draw.transitive_action(&actor, negation),
        _ => inner,
    };
    let complement = inner.infinitive(&actor.np.who);
    let tense = match modal.aspect {
        Aspect::State => draw.pick(&[Tense::Present, Tense::Present, Tense::Past]),
        Aspect::Instant => Tense::Past,
        Aspect::Action => draw.pick(&[Tense::Past, Tense::Past, Tense::NearFuture]),
    };
    let time = match tense {
        Tense::Past | Tense::NearFuture => draw.time(tense, &GO),
        _ => None,
    };
    let clause = actor.does(&Predicate::new(modal).with(complement), tense, negation);
    (draw.timed(clause, time), End::Stop)
}

/// The train has just left.
pub(super) fn just_done(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let action = draw.dynamic(&actor, Negation::None);
    (actor.does(&action, Tense::JustDone, Negation::None), End::Stop)
}

/// My aunt has lived in Geneva for six years: a present in French.
pub(super) fn since(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let action = match draw.below(3) {
        0 => Predicate::new(&LIVE).with(phrase("in", "à").then(draw.both(CITIES))),
        1 => Predicate::new(&INTRANSITIVE[1]).with(draw.place()),
        _ => draw.play(),
    };
    let (n, (_, en, _, fr)) = (1 + draw.below(12), draw.pick(&SPANS[1..4]));
    let (en_n, fr_n) = NUMBERS[n];
    let span = phrase(format!("for {en_n} {en}"), format!("depuis {fr_n} {fr}"));
    (actor.does(&action.with(span), Tense::Since, Negation::None), End::Stop)
}

/// The letters were written by the queen.
pub(super) fn passive(draw: &mut Draw) -> (Phrase, End) {
    const REFUSED: &[&str] =
        &["look for", "wait for", "listen to", "take", "wear", "keep", "forget", "lose", "watch"];
    let verb = draw.verb(TRANSITIVE, HUMAN);
    if verb.aspect == Aspect::State || REFUSED.contains(&verb.en) {
        return passive(draw);
    }
    let noun = draw.noun(verb.object & !FAMILY);
    let number = if noun.is(MASS | WEATHER) { Number::Singular } else { draw.number() };
    let determiner = if noun.is(WEATHER) || draw.chance(75) { Determiner::The } else { Determiner::This };
    let thing = draw.dressed(noun, number, determiner, 20);
    let agent = draw.person();
    let done = agree(&participle(verb.fr), &thing.who);
    let plural = number == Number::Plural;
    let negation = if draw.chance(20) { ("not", "pas") } else { ("", "") };
    let ne = if negation.0.is_empty() { "" } else { "ne" };
    let (en, fr, time) = if draw.chance(75) {
        let time = draw.past_time();
        let be = if plural { "were" } else { "was" };
        let has = if plural { "ont" } else { "a" };
        (format!("{be} {}", negation.0), format!("{ne} {has} {} été", negation.1), time)
    } else {
        let be = conjugate("être", Mood::Future, if plural { 5 } else { 2 });
        (format!("will {} be", negation.0), format!("{ne} {be} {}", negation.1), draw.both(FUTURE_TIMES))
    };
    let clause = thing
        .text
        .then(phrase(en, fr))
        .then(phrase(verb.done, done))
        .then(("by", "par"))
        .then(&agent.np.text);
    let time = Some(time).filter(|_| draw.chance(35));
    (draw.timed(clause, time), End::Stop)
}

/// Close the door, please. Do not forget your umbrella! Let us visit the castle.
pub(super) fn imperative(draw: &mut Draw) -> (Phrase, End) {
    let you = Agreement::human(Person::Second, Number::Singular, Gender::Masculine);
    let us = Agreement::human(Person::First, Number::Plural, Gender::Masculine);
    let who = if draw.chance(70) { you } else { us };
    let actor = Actor { np: Np { text: Phrase::default(), who }, class: HUMAN };
    let negation = if draw.chance(30) { Negation::Not } else { Negation::None };
    if draw.chance(25) && who == you && negation == Negation::None {
        return handing(draw, &you);
    }
    let action = draw.transitive_action(&actor, negation);
    let french = action.french(&who, Tense::Present, negation);
    // The -s of the tu form falls after -e: tu manges, mange!
    let verb = conjugate(action.verb.fr.split(' ').next().unwrap_or_default(), Mood::Present, who.column());
    let french = match verb.strip_suffix("es") {
        Some(stem) if who == you => french.replacen(&verb, &format!("{stem}e"), 1),
        _ => french,
    };
    let mut english = action.infinitive(&who).en;
    english = match (negation, who == you) {
        (Negation::None, true) => english,
        (Negation::None, false) => format!("let us {english}"),
        (_, true) => format!("do not {english}"),
        (_, false) => format!("let us not {english}"),
    };
    polite(draw, phrase(english, french), who == you)
}

/// Give me the key, please.
fn handing(draw: &mut Draw, you: &Agreement) -> (Phrase, End) {
    let verb = draw.pick(&[&GIVING[0], &GIVING[1], &GIVING[2], &GIVING[3]]);
    let to_us = draw.chance(35);
    let object = draw.object(verb.object, you, Negation::None);
    let form = conjugate(verb.fr, Mood::Present, 2);
    let (en, fr) = if to_us { ("us", "nous") } else { ("me", "moi") };
    let command = phrase(format!("{} {en}", verb.en), format!("{form}-{fr}")).then(&object.text);
    polite(draw, command, true)
}

fn polite(draw: &mut Draw, command: Phrase, one: bool) -> (Phrase, End) {
    match draw.below(4) {
        0 if one => (command.comma().then(("please", "s'il te plaît")), End::Stop),
        1 => (command, End::Exclaim),
        _ => (command, End::Stop),
    }
}

/// Sir, you forgot your hat.
pub(super) fn formal_address(draw: &mut Draw) -> (Phrase, End) {
    let who = Agreement::human(Person::Second, Number::Plural, Gender::Masculine);
    let actor = Actor { np: Np { text: who.pronoun(), who }, class: HUMAN };
    let title = draw.both(&[
        ("sir", "monsieur"),
        ("madam", "madame"),
        ("doctor", "docteur"),
        ("my friends", "mes amis"),
        ("dear friends", "chers amis"),
        ("ladies and gentlemen", "mesdames et messieurs"),
    ]);
    if draw.chance(30) {
        let modal = Predicate::new(draw.pick(&[&MODAL[0], &MODAL[1], &MODAL[2]]));
        let inner = draw.transitive_action(&actor, Negation::None).infinitive(&who);
        let modal = modal.with(inner);
        if draw.chance(50) {
            let none = Phrase::default();
            return (
                title.comma().then(modal.question(
                    none,
                    &actor.np.text,
                    &who,
                    Tense::Present,
                    Negation::None,
                )),
                End::Ask,
            );
        }
        return (title.comma().then(actor.does(&modal, Tense::Present, Negation::None)), End::Stop);
    }
    let action = draw.dynamic_transitive(&actor, Negation::None);
    let tense = draw.pick(&[Tense::Past, Tense::Past, Tense::NearFuture]);
    let time = draw.time(tense, action.verb);
    if draw.chance(40) {
        return (
            title.comma().then(action.question(
                Phrase::default(),
                &actor.np.text,
                &who,
                tense,
                Negation::None,
            )),
            End::Ask,
        );
    }
    let clause = actor.does(&action, tense, Negation::None);
    let clause = match time {
        Some(time) => clause.then(time),
        None => clause,
    };
    (title.comma().then(clause), End::Stop)
}

/// The children are very hungry: they "have hunger".
pub(super) fn have_idiom(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let idiom = draw.pick(&IDIOMS.iter().collect::<Vec<_>>());
    let mut action = Predicate::new(idiom);
    let denied = draw.chance(25);
    let negation = match (denied, draw.chance(50)) {
        (false, _) => Negation::None,
        (true, true) => Negation::Not,
        (true, false) => Negation::NoLonger,
    };
    if idiom.en == "be lucky" && denied {
        action = Predicate::new(&IDIOMS[0]);
    } else if negation == Negation::None && idiom.en != "be lucky" && draw.chance(40) {
        action = action.middle(draw.pick(&[("always", "toujours"), ("often", "souvent")]));
    } else if draw.chance(40) {
        let (_, fr) = action.verb.fr.split_once(' ').unwrap_or_default();
        if ["faim", "soif", "froid", "chaud", "sommeil", "peur"].contains(&fr) && negation == Negation::None {
            action = action.middle(("very", "très"));
        }
    }
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    (actor.does(&action, tense, negation), End::Stop)
}

/// A relative who can be less than twenty-one years old.
fn young_relative(draw: &mut Draw) -> Actor {
    const YOUNG: &[&str] = &["brother", "sister", "son", "daughter", "cousin", "nephew", "niece"];
    let noun = draw.noun_where(|n| n.is(FAMILY) && YOUNG.contains(&n.en)).expect("young relatives");
    let owner = draw.speaker();
    Actor { np: noun_phrase(noun, Number::Singular, Determiner::Of(owner), &[]), class: HUMAN }
}

/// My cousin is twelve years old.
pub(super) fn age(draw: &mut Draw) -> (Phrase, End) {
    let actor = match draw.below(3) {
        0 => draw.name(),
        1 => young_relative(draw),
        _ => draw.pronoun(),
    };
    if draw.chance(20) && actor.np.who.person == Person::Third && actor.np.who.pronoun() != actor.np.text {
        let question = phrase("how old is", "quel âge a").then(&actor.np.text);
        return (question, End::Ask);
    }
    let (en, fr) = NUMBERS[1 + draw.below(19)];
    let years = phrase(format!("{en} years old"), format!("{fr} ans"));
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past, Tense::Future]);
    let mut action = Predicate::new(&AGE).with(years);
    let mut time = None;
    match tense {
        Tense::Future => time = Some(draw.both(&FUTURE_TIMES[3..6])),
        Tense::Past => time = Some(draw.both(&PAST_TIMES[4..5])),
        _ if draw.chance(30) => action = action.middle(("already", "déjà")),
        _ => {}
    }
    let clause = actor.does(&action, tense, Negation::None);
    (draw.timed(clause, time), End::Stop)
}

/// My brother's name is Paul.
pub(super) fn name(draw: &mut Draw) -> (Phrase, End) {
    let name = draw.name().np.text;
    if draw.chance(35) {
        let actor = draw.pronoun();
        if actor.np.who.number == Number::Singular && actor.np.who.person != Person::Third {
            let (en, _) = possessive(&actor.np.who, &actor.np.who, false);
            let french = Predicate::new(&CALLED).french(&actor.np.who, Tense::Present, Negation::None);
            return (
                phrase(format!("{en} name is"), format!("{} {french}", actor.np.text.fr)).then(name),
                End::Stop,
            );
        }
    }
    let owner = if draw.chance(50) { draw.relative() } else { draw.noun_actor(ANIMAL) };
    if owner.np.who.number == Number::Plural {
        return self::name(draw);
    }
    let text = owner.np.text;
    (phrase(format!("{} 's name is", text.en), format!("{} se appelle", text.fr)).then(name), End::Stop)
}

/// Marie's head hurts. My teeth hurt.
pub(super) fn pain(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.anyone();
    let part = draw.noun(BODY);
    let number = match part.fr {
        "dent" | "œil" | "pied" | "jambe" => Number::Plural,
        _ => Number::Singular,
    };
    let np = noun_phrase(part, number, Determiner::The, &[]);
    if actor.np.who.number == Number::Plural {
        return pain(draw);
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
    let mut text =
        phrase(format!("{owner} {bare} {hurts}"), format!("{} {has} mal à {}", actor.np.text.fr, np.text.fr));
    if draw.chance(50) {
        let because = draw.pick(&[
            ("today", "aujourd'hui"),
            ("every morning", "tous les matins"),
            ("every evening", "tous les soirs"),
        ]);
        text = text.then(because);
    }
    (text, End::Stop)
}

/// three o'clock, a quarter past nine, half past one.
pub(super) fn clock(draw: &mut Draw) -> Phrase {
    let hour = 1 + draw.below(11);
    let (en, fr) = NUMBERS[hour - 1];
    let hours =
        |n: usize| if n == 1 { "une heure".to_owned() } else { format!("{} heures", NUMBERS[n - 1].1) };
    match draw.below(5) {
        0 => phrase(format!("a quarter past {en}"), format!("{} et quart", hours(hour))),
        1 => phrase(format!("half past {en}"), format!("{} et demie", hours(hour))),
        2 if hour > 1 => phrase(format!("a quarter to {en}"), format!("{} moins le quart", hours(hour - 1))),
        3 => {
            let (en_m, fr_m) = draw.pick(&[("five", "cinq"), ("ten", "dix"), ("twenty", "vingt")]);
            phrase(format!("{en_m} past {en}"), format!("{} {fr_m}", hours(hour)))
        }
        _ => {
            phrase(format!("{en} o'clock"), if hour == 1 { hours(1) } else { format!("{} {}", fr, "heures") })
        }
    }
}

/// It is half past three. The train leaves at eight o'clock.
pub(super) fn time_of_day(draw: &mut Draw) -> (Phrase, End) {
    let clock = clock(draw);
    if draw.chance(25) {
        let day = draw.pick(&[("in the morning", "de le matin"), ("in the evening", "de le soir")]);
        return (phrase("it is", "il est").then(clock).then(day), End::Stop);
    }
    let at = phrase("at", "à").then(clock);
    let (actor, verb) = match draw.below(4) {
        0 => (draw.noun_actor(RIDE), draw.pick(&[&MOTION[0], &MOTION[1]])),
        1 => (draw.noun_actor(EVENT), draw.pick(&[&START, &END])),
        2 => (draw.anyone(), draw.pick(&[&REFLEXIVE[0], &REFLEXIVE[1], &REFLEXIVE[2]])),
        _ => (draw.anyone(), draw.pick(&[&MOTION[0], &MOTION[1], &MOTION[3], &MOTION[4], &MOTION[5]])),
    };
    let (mut tense, time) = draw.when(verb, &actor.np.who);
    if tense == Tense::Imperfect || tense == Tense::Progressive {
        tense = Tense::Past;
    }
    let clause = actor.does(&Predicate::new(verb).with(at), tense, Negation::None);
    let time = time.filter(|_| tense == Tense::Present || draw.chance(40));
    (draw.timed(clause, time), End::Stop)
}

/// It was cold yesterday. It is going to rain tomorrow.
pub(super) fn weather(draw: &mut Draw) -> (Phrase, End) {
    let (words, time) = match draw.below(3) {
        0 => {
            let time = draw.both(&[("today", "aujourd'hui"), ("this morning", "ce matin")]);
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
                draw.both(now),
                if time.en == "today" || draw.chance(20) {
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
            (draw.both(before), draw.past_time())
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
            (draw.both(later), draw.both(FUTURE_TIMES))
        }
    };
    let place = draw.pick(&[
        ("", ""),
        ("in Paris", "à Paris"),
        ("in London", "à Londres"),
        ("in the mountains", "à la montagne"),
        ("in the village", "dans le village"),
        ("in Brussels", "à Bruxelles"),
    ]);
    let clause = words.then(place);
    (draw.timed(clause, Some(time)), End::Stop)
}
