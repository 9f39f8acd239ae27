//! Comparing, marvelling, insisting.

use super::super::draw::{Actor, Draw};
use super::super::english;
use super::super::french::inflection::before_vowel;
use super::super::french::{agree, elides};
use super::super::grammar::{Negation, Number, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, agreement, english_noun, french_noun, noun_phrase};
use super::super::predicate::Predicate;
use super::End;
use super::basic::thing;

/// plus grand, meilleur.
fn french_more(adjective: &Adjective, with: &super::super::grammar::Agreement) -> String {
    match adjective.fr {
        "bon" => with.choose(["meilleur", "meilleure", "meilleurs", "meilleures"]).to_owned(),
        fr => format!("plus {}", agree(fr, with)),
    }
}

/// The sofa is more comfortable than the armchair. Anne is as tall as her brother.
pub(super) fn comparative(draw: &mut Draw) -> (Phrase, End) {
    let people = draw.chance(50);
    let one = if people { draw.anyone() } else { thing(draw) };
    let comparable = |a: &Adjective| a.degree != Degree::Absolute;
    let Some(adjective) = draw.adjective(one.class, comparable) else { return comparative(draw) };
    let Some(other) = rival(draw, &one, adjective) else { return comparative(draw) };
    let who = &one.np.who;
    let degree = match draw.below(4) {
        0 => phrase(format!("as {} as", adjective.en), format!("aussi {} que", agree(adjective.fr, who))),
        1 if adjective.degree == Degree::Long => {
            phrase(format!("less {} than", adjective.en), format!("moins {} que", agree(adjective.fr, who)))
        }
        _ => phrase(
            format!("{} than", english::comparative(adjective)),
            format!("{} que", french_more(adjective, who)),
        ),
    };
    let predicate = Predicate::new(&BE).with(degree).with(other);
    let tense = draw.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    (one.does(&predicate, tense, Negation::None), End::Stop)
}

/// What the first is compared with: a relative, a name, another thing of its kind.
fn rival(draw: &mut Draw, one: &Actor, adjective: &Adjective) -> Option<Phrase> {
    if one.class & HUMAN != 0 {
        if draw.chance(40) {
            return Some(draw.name().np.text);
        }
        return Some(draw.kin(&one.np.who).text);
    }
    let shared = one.class & adjective.suits & !MASS;
    let noun = draw.noun_where(|n| n.is(shared) && !n.is(MASS) && !one.np.text.en.contains(n.en))?;
    let number = if noun.is(WEATHER) { Number::Singular } else { one.np.who.number };
    Some(noun_phrase(noun, number, Determiner::The, &[]).text)
}

/// the most beautiful house in the village: in French before or after the noun, as the adjective stands.
fn best(draw: &mut Draw, noun: &Noun, adjective: &Adjective, number: Number) -> Np {
    let who = agreement(noun, number);
    let article = who.choose(["le", "la", "les", "les"]);
    let (more, french) = (french_more(adjective, &who), french_noun(noun, number));
    let fr = match adjective.position {
        Position::Before if elides(&french) && article == "le" => {
            let more = more
                .rsplit_once(' ')
                .map_or(more.clone(), |(plus, adjective)| format!("{plus} {}", before_vowel(adjective)));
            format!("{article} {more} {french}")
        }
        Position::Before => format!("{article} {more} {french}"),
        _ => format!("{article} {french} {article} {more}"),
    };
    let en = format!("the {} {}", english::superlative(adjective), english_noun(noun, number));
    let region = draw.noun_where(|n| n.is(SIGHT) && n.is(HOME)).expect("places");
    let region = if noun.is(PERSON) && draw.chance(50) {
        draw.noun_where(|n| ["école", "théâtre", "hôpital"].contains(&n.fr)).expect("places")
    } else {
        region
    };
    let within = noun_phrase(region, Number::Singular, Determiner::The, &[]).text;
    Np { text: phrase(en, fr).then(("in", "de")).then(within), who }
}

/// Lucas is the bravest sailor in the village.
pub(super) fn superlative(draw: &mut Draw) -> (Phrase, End) {
    let people = draw.chance(45);
    let noun = draw.noun(if people { PERSON } else { BUILT | PLANT | BROAD | VEHICLE });
    if noun.is(MASS | WEATHER | ROYAL) || noun.fr == "feuille" {
        return superlative(draw);
    }
    let comparable = |a: &Adjective| {
        a.degree != Degree::Absolute && a.position != Position::Predicate && a.en != "sad" && a.en != "calm"
    };
    let Some(adjective) = draw.adjective(noun.class, comparable) else { return superlative(draw) };
    let best = best(draw, noun, adjective, Number::Singular);
    if people && draw.chance(70) {
        let actor = draw.name_for(noun.gender);
        let tense = draw.pick(&[Tense::Present, Tense::Past]);
        return (actor.does(&Predicate::new(&BE).with(&best.text), tense, Negation::None), End::Stop);
    }
    if draw.chance(50) {
        let actor = draw.anyone();
        let verb = if people {
            verb_of(draw, &["meet", "help", "invite", "see"])
        } else {
            verb_of(draw, &["see", "draw"])
        };
        return (actor.does(&Predicate::new(verb).with(&best.text), Tense::Past, Negation::None), End::Stop);
    }
    (phrase("it is", "ce est").then(&best.text), End::Stop)
}

fn verb_of(draw: &mut Draw, names: &[&str]) -> &'static Verb {
    super::verbs::verb_named(draw.pick(names))
}

/// What a beautiful garden! How good this cake is!
pub(super) fn exclamation(draw: &mut Draw) -> (Phrase, End) {
    if draw.chance(45) {
        let actor = if draw.chance(50) { thing(draw) } else { draw.third_person() };
        let comparable = |a: &Adjective| a.degree != Degree::Absolute;
        let Some(adjective) = draw.adjective(actor.class, comparable) else { return exclamation(draw) };
        let tense = draw.pick(&[Tense::Present, Tense::Past]);
        let predicate = Predicate::new(&BE);
        let who = &actor.np.who;
        let (_, be) =
            predicate.english(who, tense, Negation::None, super::super::predicate::Order::Statement);
        let french = predicate.french(who, tense, Negation::None);
        let text = phrase(format!("how {}", adjective.en), "comme")
            .then(&actor.np.text)
            .then(phrase(be, format!("{french} {}", agree(adjective.fr, who))));
        return (text, End::Exclaim);
    }
    let noun = draw.noun(VIEW | GIFT | SIGHT | THOUGHT | STORY | ANIMAL | EVENT | CLOTHES);
    if noun.is(WEATHER | MASS) {
        return exclamation(draw);
    }
    let number = draw.number_of(noun);
    let Some(adjective) =
        draw.adjective(noun.class, |a| a.position != Position::Predicate && a.degree != Degree::Absolute)
    else {
        return exclamation(draw);
    };
    let np = noun_phrase(noun, number, Determiner::Kind, &[adjective]);
    let what =
        np.who.choose([("what a", "quel"), ("what a", "quelle"), ("what", "quels"), ("what", "quelles")]);
    // The phrase comes with the article; the exclamation takes its place.
    let bare = np.text.fr.split_once(' ').map_or("", |(_, rest)| rest);
    (phrase(what.0, what.1).then(phrase(np.text.en, bare)), End::Exclaim)
}

/// It is Marie who broke the vase. It is this book that I am looking for.
pub(super) fn cleft(draw: &mut Draw) -> (Phrase, End) {
    let actor = draw.third_person();
    let is = |np: &Np| {
        phrase("it is", if np.who.number == Number::Plural { "ce sont" } else { "ce est" }).then(&np.text)
    };
    let verb = draw.verb(TRANSITIVE, actor.class);
    if draw.chance(55) {
        let action = draw.action(&actor, Negation::None);
        let relative = Actor { np: Np { text: phrase("who", "qui"), who: actor.np.who }, class: actor.class };
        let (tense, time) = draw.when(action.verb, &actor.np.who);
        let clause = relative.does(&action, tense, Negation::None);
        let text = is(&actor.np).then(clause);
        return (time.map_or(text.clone(), |time| text.then(time)), End::Stop);
    }
    if verb.fr.ends_with(" de") {
        return cleft(draw);
    }
    let object = draw.object(verb.object & !FAMILY, &actor.np.who, Negation::None);
    if !(object.text.en.starts_with("the ") || object.text.en.starts_with("this ")) {
        return cleft(draw);
    }
    let mut action = Predicate::new(verb);
    action.preceding = Some(object.who);
    let subject = if draw.chance(50) { draw.pronoun() } else { actor };
    let (tense, time) = draw.when(verb, &subject.np.who);
    let clause = subject.does(&action, tense, Negation::None);
    let text = is(&object).then(("that", "que")).then(clause);
    (time.map_or(text.clone(), |time| text.then(time)), End::Stop)
}
