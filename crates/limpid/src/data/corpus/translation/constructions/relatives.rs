//! Relative clauses: qui, que, où, dont; and agreement across them.

use super::super::draw::{Actor, Draw};
use super::super::grammar::{Negation, Number, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, noun_phrase};
use super::super::predicate::Predicate;
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
pub(super) fn who_clause(draw: &mut Draw, class: Class) -> Actor {
    let noun = draw.noun(class);
    let head = Actor { np: noun_phrase(noun, draw.number_of(noun), Determiner::The, &[]), class: noun.class };
    let action = draw.action(&head, Negation::None);
    let tense = draw.pick(&[Tense::Progressive, Tense::Past, Tense::Past, Tense::Imperfect]);
    let tense = super::super::draw::settle(tense, action.verb, &head.np.who);
    let clause = which(&head).does(&action, tense, Negation::None);
    extend(head, clause)
}

/// the letters that the postman brought this morning
pub(super) fn that_clause(draw: &mut Draw, also: Class) -> Actor {
    loop {
        let subject = draw.anyone();
        let verb = draw.verb(TRANSITIVE, subject.class);
        if verb.fr.ends_with(" de") || verb.object & also == 0 {
            continue;
        }
        let fits = |n: &Noun| n.is(verb.object) && n.is(also) && !n.is(FAMILY | WEATHER);
        let Some(noun) = draw.noun_where(fits) else { continue };
        let number = draw.number_of(noun);
        let head = Actor { np: noun_phrase(noun, number, Determiner::The, &[]), class: noun.class };
        let mut action = Predicate::new(verb);
        action.preceding = Some(head.np.who);
        let tense = draw.pick(&[Tense::Past, Tense::Past, Tense::Progressive, Tense::NearFuture]);
        let tense = super::super::draw::settle(tense, verb, &subject.np.who);
        let clause = subject.does(&action, tense, Negation::None);
        let time = draw.time(tense, verb).filter(|_| tense == Tense::Past && draw.chance(50));
        let clause = time.map_or(clause.clone(), |time| clause.then(time));
        return extend(head, phrase("that", "que").then(clause));
    }
}

/// What is said of the whole: an adjective, a trade, an action.
fn said(draw: &mut Draw, actor: &Actor) -> Phrase {
    let human = actor.class & HUMAN != 0;
    if human && draw.chance(60) {
        let action = draw.action(actor, Negation::None);
        let tense = draw.pick(&[Tense::Past, Tense::NearFuture, Tense::Progressive]);
        let tense = super::super::draw::settle(tense, action.verb, &actor.np.who);
        return actor.does(&action, tense, Negation::None);
    }
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    let predicate = be_adjective(draw, actor, 45);
    let negation = if draw.chance(15) { Negation::Not } else { Negation::None };
    actor.does(&predicate, tense, negation)
}

/// The woman who sells flowers at the market is very kind.
pub(super) fn subject(draw: &mut Draw) -> (Phrase, End) {
    if draw.chance(35) {
        // As an object: I know the girl who is playing the piano.
        let actor = draw.anyone();
        let verb =
            super::verbs::verb_named(draw.pick(&["see", "know", "meet", "help", "wait for", "admire"]));
        let object = who_clause(draw, PERSON);
        let tense = draw.pick(&[Tense::Past, Tense::Progressive]);
        let tense = super::super::draw::settle(tense, verb, &actor.np.who);
        return (actor.does(&Predicate::new(verb).with(&object.np.text), tense, Negation::None), End::Stop);
    }
    let class = if draw.chance(85) { PERSON } else { ANIMAL };
    let actor = who_clause(draw, class);
    (said(draw, &actor), End::Stop)
}

/// The dress that Emma chose is too expensive.
pub(super) fn object(draw: &mut Draw) -> (Phrase, End) {
    let actor = that_clause(
        draw,
        THING | FOOD | DISH | FURNITURE | VEHICLE | VIEW | SIGHT | PERSON | MACHINE | ANIMAL,
    );
    (said(draw, &actor), End::Stop)
}

/// The village where my aunt lives is quiet.
pub(super) fn place(draw: &mut Draw) -> (Phrase, End) {
    let noun = draw.noun(HOME | AT);
    let head = Actor { np: noun_phrase(noun, Number::Singular, Determiner::The, &[]), class: noun.class };
    let subject = draw.anyone();
    let action = if noun.is(HOME) && draw.chance(70) {
        Predicate::new(&LIVE)
    } else {
        Predicate::new(&INTRANSITIVE[1])
    };
    let tense = if action.verb.en == "live" { Tense::Present } else { Tense::Progressive };
    let past = draw.chance(30);
    let tense = if past { Tense::Imperfect } else { tense };
    let clause = phrase("where", "où").then(subject.does(&action, tense, Negation::None));
    let actor = extend(head, clause);
    let predicate = be_adjective(draw, &actor, 60);
    let tense = if past { Tense::Past } else { Tense::Present };
    (actor.does(&predicate, tense, Negation::None), End::Stop)
}

/// The boy whose father is a pilot; the book that I need.
pub(super) fn whose(draw: &mut Draw) -> (Phrase, End) {
    if draw.chance(45) {
        let noun = draw.noun(THING | TOOL);
        let head =
            Actor { np: noun_phrase(noun, draw.number_of(noun), Determiner::The, &[]), class: noun.class };
        let subject = draw.anyone();
        let need = Predicate::new(&NEED_PLAIN);
        let tense = draw.pick(&[Tense::Present, Tense::Past]);
        let clause = phrase("that", "dont").then(subject.does(&need, tense, Negation::None));
        let actor = extend(head, clause);
        let predicate = be_adjective(draw, &actor, 40);
        return (actor.does(&predicate, tense, Negation::None), End::Stop);
    }
    let noun = draw.noun(PERSON);
    let head = Actor { np: noun_phrase(noun, Number::Singular, Determiner::The, &[]), class: noun.class };
    let kin = draw.noun_where(|n| n.is(FAMILY) && n.fr != "mari").expect("relatives");
    let kin = noun_phrase(kin, Number::Singular, Determiner::The, &[]);
    let bare = kin.text.en.trim_start_matches("the ").to_owned();
    let what = trade(draw, &kin.who);
    let tense = draw.pick(&[Tense::Present, Tense::Past]);
    let kin = Actor { np: Np { text: phrase(bare, kin.text.fr), who: kin.who }, class: HUMAN };
    let clause =
        phrase("whose", "dont").then(kin.does(&Predicate::new(&BE).with(what), tense, Negation::None));
    let actor = extend(head, clause);
    (said(draw, &actor), End::Stop)
}

/// The letters that the postman brought this morning are important: the verb is far from its subject.
pub(super) fn distant(draw: &mut Draw) -> (Phrase, End) {
    let number = Number::Plural;
    let noun = draw.noun(OBJECT | CLOTHES | PERSON | PLANT);
    if noun.is(MASS | ROYAL) {
        return distant(draw);
    }
    let head = noun_phrase(noun, number, Determiner::The, &[]);
    let (class, preposition) = if noun.is(PERSON) {
        (INSIDE, phrase("in", "dans"))
    } else if noun.is(PLANT) {
        (GREEN, phrase("in", "dans"))
    } else {
        self::SPOTS[draw.below(SPOTS.len())].clone_phrase()
    };
    let place = draw.noun(class);
    let place = draw.dressed(place, Number::Singular, Determiner::The, 25);
    let text = head.text.then(preposition).then(&place.text);
    let head = Actor { np: Np { text, who: head.who }, class: noun.class };
    let predicate = be_adjective(draw, &head, 50);
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
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
