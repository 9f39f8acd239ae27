//! If: what will happen, and what would.

use super::super::french::agree;
use super::super::grammar::{Negation, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;
use super::reasons::named;

/// If the weather is nice, we will go to the beach. If you break the vase, your mother will be
/// angry.
pub(super) fn if_(sampler: &mut Sampler) -> (Phrase, End) {
    let (condition, main) =
        if sampler.chance(40) { weather_plan(sampler) } else { feeling(sampler) };
    let condition = phrase("if", "si").then(condition);
    if sampler.chance(65) {
        (condition.comma().then(main), End::Stop)
    } else {
        (main.then(condition), End::Stop)
    }
}

/// What people will do in this or that weather.
fn weather_plan(sampler: &mut Sampler) -> (Phrase, Phrase) {
    let actor = sampler.anyone();
    let nice = sampler.chance(50);
    if nice {
        let weather = sampler
            .both(&[("the weather is nice", "il fait beau"), ("it is hot", "il fait chaud")]);
        let action = match sampler.below(3) {
            0 => Predicate::new(&GO).with(sampler.both(&[
                ("to the beach", "à la plage"),
                ("to the swimming pool", "à la piscine"),
                ("to the park", "à le parc"),
                ("to the market on foot", "à le marché à pied"),
            ])),
            1 => Predicate::new(&INTRANSITIVE[12]).with(("in the garden", "dans le jardin")),
            _ => {
                let noun = sampler.noun(CLOTHES | WASHED);
                let np = sampler.object_noun(noun, &actor.np.who, Negation::None);
                Predicate::new(super::verbs::verb_named("wash")).with(&np.text)
            }
        };
        return (weather, actor.does(&action, Tense::Future, Negation::None));
    }
    let weather = sampler.both(&[
        ("it is cold", "il fait froid"),
        ("it rains", "il pleut"),
        ("it snows", "il neige"),
    ]);
    let action = match sampler.below(3) {
        0 => Predicate::new(&MOTION[7]).with(sampler.both(&[
            ("in the house", "dans la maison"),
            ("at the hotel", "à l'hôtel"),
            ("in the living room", "dans le salon"),
        ])),
        1 => {
            let noun = sampler.noun(READ);
            let np = sampler.object_noun(noun, &actor.np.who, Negation::None);
            Predicate::new(super::verbs::verb_named("read")).with(&np.text)
        }
        _ => {
            let place = sampler.destination();
            return (
                weather,
                actor.does(&Predicate::new(&GO).with(place), Tense::Future, Negation::Not),
            );
        }
    };
    (weather, actor.does(&action, Tense::Future, Negation::None))
}

/// Someone does something, and someone else will be happy or angry about it.
fn feeling(sampler: &mut Sampler) -> (Phrase, Phrase) {
    let actor = sampler.anyone();
    let action = loop {
        let action = sampler.dynamic_transitive(&actor, Negation::None);
        if action.verb.en != action.verb.past {
            break action;
        }
    };
    let condition = actor.does(&action, Tense::Present, Negation::None);
    let kin = Actor { np: sampler.kin(&actor.np.who), class: HUMAN };
    let adjective = named(match action.verb.en {
        "lose" | "break" | "forget" | "steal" | "hide" => {
            sampler.pick(&["angry", "sad", "worried"])
        }
        _ => sampler.pick(&["happy", "proud", "surprised"]),
    });
    let predicate = super::basic::described(sampler, adjective, &kin.np.who, 40);
    (condition, kin.does(&predicate, Tense::Future, Negation::None))
}

/// Verbs and what to do them to.
type Deeds = &'static [(&'static str, Class)];

/// What one would do with what one lacks: (English, French, what then).
static DREAMS: &[(&str, &str, Deeds)] = &[
    (
        "some money",
        "_du argent",
        &[("buy", VEHICLE | TOOL | CLOTHES | FURNITURE), ("visit", SIGHT)],
    ),
    (
        "a lot of money",
        "beaucoup de argent",
        &[("buy", VEHICLE | FURNITURE | TAME), ("help", HUMAN)],
    ),
    ("a car", "une voiture", &[("visit", SIGHT), ("help", HUMAN), ("sell", VEHICLE)]),
    (
        "more time",
        "plus de temps",
        &[("read", BOOK), ("learn", STUDY), ("write", WRITTEN), ("help", HUMAN)],
    ),
    ("a big house", "une grande maison", &[("buy", FURNITURE), ("invite", HUMAN)]),
    ("a new computer", "un nouvel ordinateur", &[("write", WRITTEN), ("sell", TOOL)]),
];

/// If I had a car, I would visit the castle.
pub(super) fn condition(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.anyone();
    let (having, then) = if sampler.chance(65) {
        let (en, fr, then) = sampler.pick(DREAMS);
        (actor.does(&Predicate::new(&HAVE).with((en, fr)), Tense::Imperfect, Negation::None), then)
    } else {
        let adjective = named(sampler.pick(&["rich", "young", "famous"]));
        let predicate =
            Predicate::new(&BE).with(phrase(adjective.en, agree(adjective.fr, &actor.np.who)));
        let then: Deeds =
            &[("buy", VEHICLE | CLOTHES), ("visit", SIGHT), ("help", HUMAN), ("write", WRITTEN)];
        let mut condition = actor.does(&predicate, Tense::Imperfect, Negation::None);
        // Unreal: "if he were rich".
        condition.en = condition.en.replace(" was ", " were ");
        (condition, then)
    };
    let (verb, class) = sampler.pick(then);
    let object = sampler.object(class, &actor.np.who, Negation::None);
    let action = Predicate::new(super::verbs::verb_named(verb)).with(&object.text);
    let main = actor.again().does(&action, Tense::Conditional, Negation::None);
    (phrase("if", "si").then(having).comma().then(main), End::Stop)
}
