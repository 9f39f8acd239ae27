//! Comparing, marvelling, insisting.

use super::super::english;
use super::super::french::inflection::before_vowel;
use super::super::french::{agree, elides};
use super::super::grammar::{Negation, Number, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{
    Determiner, Np, agreement, english_noun, french_noun, noun_phrase,
};
use super::super::predicate::Predicate;
use super::super::sampler::{Actor, Sampler};
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
pub(super) fn comparative(sampler: &mut Sampler) -> (Phrase, End) {
    let people = sampler.chance(50);
    let one = if people { sampler.anyone() } else { thing(sampler) };
    let comparable = |a: &Adjective| a.degree != Degree::Absolute;
    let Some(adjective) = sampler.adjective(one.class, comparable) else {
        return comparative(sampler);
    };
    let Some(other) = rival(sampler, &one, adjective) else { return comparative(sampler) };
    let who = &one.np.who;
    let degree = match sampler.below(4) {
        0 => phrase(
            format!("as {} as", adjective.en),
            format!("aussi {} que", agree(adjective.fr, who)),
        ),
        1 if adjective.degree == Degree::Long => phrase(
            format!("less {} than", adjective.en),
            format!("moins {} que", agree(adjective.fr, who)),
        ),
        _ => phrase(
            format!("{} than", english::comparative(adjective)),
            format!("{} que", french_more(adjective, who)),
        ),
    };
    let predicate = Predicate::new(&BE).with(degree).with(other);
    let tense = sampler.pick(&[Tense::Present, Tense::Present, Tense::Past]);
    (one.does(&predicate, tense, Negation::None), End::Stop)
}

/// What the first is compared with: a relative, a name, another thing of its kind.
fn rival(sampler: &mut Sampler, one: &Actor, adjective: &Adjective) -> Option<Phrase> {
    if one.class & HUMAN != 0 {
        if sampler.chance(40) {
            return Some(sampler.name().np.text);
        }
        return Some(sampler.kin(&one.np.who).text);
    }
    let shared = one.class & adjective.suits & !MASS;
    let noun =
        sampler.noun_where(|n| n.is(shared) && !n.is(MASS) && !one.np.text.en.contains(n.en))?;
    let number = if noun.is(WEATHER) { Number::Singular } else { one.np.who.number };
    Some(noun_phrase(noun, number, Determiner::The, &[]).text)
}

/// the most beautiful house in the village: in French before or after the noun, as the adjective
/// stands.
fn best(sampler: &mut Sampler, noun: &Noun, adjective: &Adjective, number: Number) -> Np {
    let who = agreement(noun, number);
    let article = who.choose(["le", "la", "les", "les"]);
    let (more, french) = (french_more(adjective, &who), french_noun(noun, number));
    let fr = match adjective.position {
        Position::Before if elides(&french) && article == "le" => {
            let more = more.rsplit_once(' ').map_or(more.clone(), |(plus, adjective)| {
                format!("{plus} {}", before_vowel(adjective))
            });
            format!("{article} {more} {french}")
        }
        Position::Before => format!("{article} {more} {french}"),
        _ => format!("{article} {french} {article} {more}"),
    };
    let en = format!("the {} {}", english::superlative(adjective), english_noun(noun, number));
    let region = sampler.noun_where(|n| n.is(SIGHT) && n.is(HOME)).expect("places");
    let region = if noun.is(PERSON) && sampler.chance(50) {
        sampler.noun_where(|n| ["école", "théâtre", "hôpital"].contains(&n.fr)).expect("places")
    } else {
        region
    };
    let within = noun_phrase(region, Number::Singular, Determiner::The, &[]).text;
    Np { text: phrase(en, fr).then(("in", "de")).then(within), who }
}

/// Lucas is the bravest sailor in the village.
pub(super) fn superlative(sampler: &mut Sampler) -> (Phrase, End) {
    let people = sampler.chance(45);
    let noun = sampler.noun(if people { PERSON } else { BUILT | PLANT | BROAD | VEHICLE });
    if noun.is(MASS | WEATHER | ROYAL) || noun.fr == "feuille" {
        return superlative(sampler);
    }
    let comparable = |a: &Adjective| {
        a.degree != Degree::Absolute
            && a.position != Position::Predicate
            && a.en != "sad"
            && a.en != "calm"
    };
    let Some(adjective) = sampler.adjective(noun.class, comparable) else {
        return superlative(sampler);
    };
    let best = best(sampler, noun, adjective, Number::Singular);
    if people && sampler.chance(70) {
        let actor = sampler.name_for(noun.gender);
        let tense = sampler.pick(&[Tense::Present, Tense::Past]);
        return (
            actor.does(&Predicate::new(&BE).with(&best.text), tense, Negation::None),
            End::Stop,
        );
    }
    if sampler.chance(50) {
        let actor = sampler.anyone();
        let verb = if people {
            verb_of(sampler, &["meet", "help", "invite", "see"])
        } else {
            verb_of(sampler, &["see", "draw"])
        };
        return (
            actor.does(&Predicate::new(verb).with(&best.text), Tense::Past, Negation::None),
            End::Stop,
        );
    }
    (phrase("it is", "ce est").then(&best.text), End::Stop)
}

fn verb_of(sampler: &mut Sampler, names: &[&str]) -> &'static Verb {
    super::verbs::verb_named(sampler.pick(names))
}

/// What a beautiful garden! How good this cake is!
pub(super) fn exclamation(sampler: &mut Sampler) -> (Phrase, End) {
    if sampler.chance(45) {
        let actor = if sampler.chance(50) { thing(sampler) } else { sampler.third_person() };
        let comparable = |a: &Adjective| a.degree != Degree::Absolute;
        let Some(adjective) = sampler.adjective(actor.class, comparable) else {
            return exclamation(sampler);
        };
        let tense = sampler.pick(&[Tense::Present, Tense::Past]);
        let predicate = Predicate::new(&BE);
        let who = &actor.np.who;
        let (_, be) = predicate.english(
            who,
            tense,
            Negation::None,
            super::super::predicate::Order::Statement,
        );
        let french = predicate.french(who, tense, Negation::None);
        let text = phrase(format!("how {}", adjective.en), "comme")
            .then(&actor.np.text)
            .then(phrase(be, format!("{french} {}", agree(adjective.fr, who))));
        return (text, End::Exclaim);
    }
    let noun = sampler.noun(VIEW | GIFT | SIGHT | THOUGHT | STORY | ANIMAL | EVENT | CLOTHES);
    if noun.is(WEATHER | MASS) {
        return exclamation(sampler);
    }
    let number = sampler.number_of(noun);
    let Some(adjective) = sampler.adjective(noun.class, |a| {
        a.position != Position::Predicate && a.degree != Degree::Absolute
    }) else {
        return exclamation(sampler);
    };
    let np = noun_phrase(noun, number, Determiner::Kind, &[adjective]);
    let what = np.who.choose([
        ("what a", "quel"),
        ("what a", "quelle"),
        ("what", "quels"),
        ("what", "quelles"),
    ]);
    // The phrase comes with the article; the exclamation takes its place.
    let bare = np.text.fr.split_once(' ').map_or("", |(_, rest)| rest);
    (phrase(what.0, what.1).then(phrase(np.text.en, bare)), End::Exclaim)
}

/// It is Marie who broke the vase. It is this book that I am looking for.
pub(super) fn cleft(sampler: &mut Sampler) -> (Phrase, End) {
    let actor = sampler.third_person();
    let is = |np: &Np| {
        phrase("it is", if np.who.number == Number::Plural { "ce sont" } else { "ce est" })
            .then(&np.text)
    };
    let verb = sampler.verb(TRANSITIVE, actor.class);
    if sampler.chance(55) {
        let action = sampler.action(&actor, Negation::None);
        let relative =
            Actor { np: Np { text: phrase("who", "qui"), who: actor.np.who }, class: actor.class };
        let (tense, time) = sampler.when(action.verb, &actor.np.who);
        let clause = relative.does(&action, tense, Negation::None);
        let text = is(&actor.np).then(clause);
        return (time.map_or(text.clone(), |time| text.then(time)), End::Stop);
    }
    if verb.fr.ends_with(" de") {
        return cleft(sampler);
    }
    let object = sampler.object(verb.object & !FAMILY, &actor.np.who, Negation::None);
    if !(object.text.en.starts_with("the ") || object.text.en.starts_with("this ")) {
        return cleft(sampler);
    }
    let mut action = Predicate::new(verb);
    action.preceding = Some(object.who);
    let subject = if sampler.chance(50) { sampler.pronoun() } else { actor };
    let (tense, time) = sampler.when(verb, &subject.np.who);
    let clause = subject.does(&action, tense, Negation::None);
    let text = is(&object).then(("that", "que")).then(clause);
    (time.map_or(text.clone(), |time| text.then(time)), End::Stop)
}
