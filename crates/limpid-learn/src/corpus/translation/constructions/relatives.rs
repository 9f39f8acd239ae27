//! Relative clauses: qui, que, où, dont; and agreement across them.

use super::super::grammar::{Negation, Number, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, noun_phrase};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
use super::End;
use super::basic::{be_adjective, trade};

/// who for people, that for the rest; qui for all.
fn which(head: &Actor) -> Actor {
    let en = if head.class & (HUMAN | CHILD) != 0 { "who" } else { "that" };
    Actor { np: Np { text: phrase(en, "qui"), who: head.np.who }, class: head.class }
}

/// The noun phrase with a clause behind it.
fn extend(head: Actor, clause: Phrase) -> Actor {
    Actor { np: Np { text: head.np.text.then(clause), who: head.np.who }, class: head.class }
}

/// the man who is reading the newspaper
pub(super) fn who_clause(sampler: &mut Sampler, class: Class) -> Actor {
    let noun = sampler.noun(class);
    let head = Actor {
        np: noun_phrase(noun, sampler.number_of(noun), Determiner::The, &[]),
        class: noun.class,
    };
    let action = sampler.action(&head, Negation::None);
    let tense = sampler.pick(&[Tense::Progressive, Tense::Past, Tense::Past, Tense::Imperfect]);
    let tense = super::super::sampler::settle(tense, action.verb, &head.np.who);
    let clause = which(&head).does(&action, tense, Negation::None);
    extend(head, clause)
}

/// the letters that the postman brought this morning
pub(super) fn that_clause(sampler: &mut Sampler, also: Class) -> Actor {
    loop {
        let subject = sampler.anyone();
        let verb = sampler.verb(TRANSITIVE, subject.class);
        if verb.fr.ends_with(" de") || verb.object & also == 0 {
            continue;
        }
        let fits = |n: &Noun| n.is(verb.object) && n.is(also) && !n.is(FAMILY | WEATHER);
        let Some(noun) = sampler.noun_where(fits) else { continue };
        let number = sampler.number_of(noun);
        let head = Actor { np: noun_phrase(noun, number, Determiner::The, &[]), class: noun.class };
        let mut action = Predicate::new(verb);
        action.preceding = Some(head.np.who);
        let tense =
            sampler.pick(&[Tense::Past, Tense::Past, Tense::Progressive, Tense::NearFuture]);
        let tense = super::super::sampler::settle(tense, verb, &subject.np.who);
        let clause = subject.does(&action, tense, Negation::None);
        let time = sampler.time(tense, verb).filter(|_| tense == Tense::Past && sampler.chance(50));
        let clause = time.map_or(clause.clone(), |time| clause.then(time));
        return extend(head, phrase("that", "que").then(clause));
    }
}

/// What is said of the whole: an adjective, a trade, an action.
fn said(sampler: &mut Sampler, actor: &Actor) -> Phrase {
    let human = actor.class & HUMAN != 0;
    if human && sampler.chance(60) {
        let action = sampler.action(actor, Negation::None);
        let tense = sampler.pick(&[Tense::Past, Tense::NearFuture, Tense::Progressive]);
        let tense = super::super::sampler::settle(tense, action.verb, &actor.np.who);
        return actor.does(&action, tense, Negation::None);
    }
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let predicate = be_adjective(sampler, actor, 45);
    let negation = if sampler.chance(15) { Negation::Not } else { Negation::None };
    actor.does(&predicate, tense, negation)
}

/// The woman who sells flowers at the market is very kind.
pub(super) fn subject(sampler: &mut Sampler) -> (Phrase, End) {
    if sampler.chance(35) {
        // As an object: I know the girl who is playing the piano.
        let actor = sampler.anyone();
        let verb = super::verbs::verb_named(
            sampler.pick(&["see", "know", "meet", "help", "wait for", "admire"]),
        );
        let object = who_clause(sampler, PERSON);
        let tense = sampler.pick(&[Tense::Past, Tense::Progressive]);
        let tense = super::super::sampler::settle(tense, verb, &actor.np.who);
        return (
            actor.does(&Predicate::new(verb).with(&object.np.text), tense, Negation::None),
            End::Stop,
        );
    }
    let class = if sampler.chance(85) { PERSON } else { ANIMAL };
    let actor = who_clause(sampler, class);
    (said(sampler, &actor), End::Stop)
}

/// The dress that Emma chose is too expensive.
pub(super) fn object(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = that_clause(
        sampler,
        THING | FOOD | DISH | FURNITURE | VEHICLE | VIEW | SIGHT | PERSON | MACHINE | ANIMAL,
    );
    (said(sampler, &actor), End::Stop)
}

/// The village where my aunt lives is quiet.
pub(super) fn place(sampler: &mut Sampler) -> (Phrase, End) {
    let noun = sampler.noun(HOME | AT);
    let head =
        Actor { np: noun_phrase(noun, Number::Singular, Determiner::The, &[]), class: noun.class };
    let subject = sampler.anyone();
    let action = if noun.is(HOME) && sampler.chance(70) {
        Predicate::new(&LIVE)
    } else {
        Predicate::new(&INTRANSITIVE[1])
    };
    let tense = if action.verb.en == "live" { Tense::Present } else { Tense::Progressive };
    let past = sampler.chance(30);
    let tense = if past { Tense::Imperfect } else { tense };
    let clause = phrase("where", "où").then(subject.does(&action, tense, Negation::None));
    let actor = extend(head, clause);
    let predicate = be_adjective(sampler, &actor, 60);
    let tense = if past { Tense::Past } else { Tense::Present };
    (actor.does(&predicate, tense, Negation::None), End::Stop)
}

/// The boy whose father is a pilot; the book that I need.
pub(super) fn whose(sampler: &mut Sampler) -> (Phrase, End) {
    if sampler.chance(45) {
        let noun = sampler.noun(THING | TOOL);
        let head = Actor {
            np: noun_phrase(noun, sampler.number_of(noun), Determiner::The, &[]),
            class: noun.class,
        };
        let subject = sampler.anyone();
        let need = Predicate::new(&NEED_PLAIN);
        let tense = sampler.pick(&[Tense::Present, Tense::Past]);
        let clause = phrase("that", "dont").then(subject.does(&need, tense, Negation::None));
        let actor = extend(head, clause);
        let predicate = be_adjective(sampler, &actor, 40);
        return (actor.does(&predicate, tense, Negation::None), End::Stop);
    }
    let noun = sampler.noun(PERSON);
    let head =
        Actor { np: noun_phrase(noun, Number::Singular, Determiner::The, &[]), class: noun.class };
    let kin = sampler.noun_where(|n| n.is(FAMILY) && n.fr != "mari").expect("relatives");
    let kin = noun_phrase(kin, Number::Singular, Determiner::The, &[]);
    let bare = kin.text.en.trim_start_matches("the ").to_owned();
    let what = trade(sampler, &kin.who);
    let tense = sampler.pick(&[Tense::Present, Tense::Past]);
    let kin = Actor { np: Np { text: phrase(bare, kin.text.fr), who: kin.who }, class: HUMAN };
    let clause = phrase("whose", "dont").then(kin.does(
        &Predicate::new(&BE).with(what),
        tense,
        Negation::None,
    ));
    let actor = extend(head, clause);
    (said(sampler, &actor), End::Stop)
}

/// The letters that the postman brought this morning are important: the verb is far from its
/// subject.
pub(super) fn distant(sampler: &mut Sampler) -> (Phrase, End) {
    let number = Number::Plural;
    let noun = sampler.noun(OBJECT | CLOTHES | PERSON | PLANT);
    if noun.is(MASS | ROYAL) {
        return distant(sampler);
    }
    let head = noun_phrase(noun, number, Determiner::The, &[]);
    let (class, preposition) = if noun.is(PERSON) {
        (INSIDE, phrase("in", "dans"))
    } else if noun.is(PLANT) {
        (GREEN, phrase("in", "dans"))
    } else {
        self::SPOTS[sampler.below(SPOTS.len())].clone_phrase()
    };
    let place = sampler.noun(class);
    let place = sampler.dressed(place, Number::Singular, Determiner::The, 25);
    let text = head.text.then(preposition).then(&place.text);
    let head = Actor { np: Np { text, who: head.who }, class: noun.class };
    let predicate = be_adjective(sampler, &head, 50);
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    (head.does(&predicate, tense, Negation::None), End::Stop)
}

/// Where small things lie: on something, in something.
static SPOTS: &[Spot] =
    &[Spot(SURFACE, "on", "sur"), Spot(CONTAINER, "in", "dans"), Spot(SURFACE, "under", "sous")];

struct Spot(Class, &'static str, &'static str);

impl Spot {
    fn clone_phrase(&self) -> (Class, Phrase) {
        (self.0, phrase(self.1, self.2))
    }
}
