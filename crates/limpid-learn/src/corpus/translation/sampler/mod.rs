//! Sampling words: random, but only among words that go together.

mod actions;
mod people;
mod times;

use limpid_tensor::rng::Stream;

pub(super) use times::settle;

use super::grammar::{Negation, Number, Phrase, Tense};
use super::lexicon::*;
use super::noun_phrase::{Determiner, Np, noun_phrase};
use super::predicate::Predicate;

/// Someone or something that acts, and the classes it belongs to.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    pub np: Np,
    pub class: Class,
}

impl Actor {
    /// The same one, said again as a pronoun.
    pub(super) fn again(&self) -> Actor {
        Actor { np: Np { text: self.np.who.pronoun(), who: self.np.who }, class: self.class }
    }

    /// The clause with this as its subject.
    pub(super) fn does(&self, predicate: &Predicate, tense: Tense, negation: Negation) -> Phrase {
        predicate.clause(&self.np.text, &self.np.who, tense, negation)
    }
}

/// Adjectives that can follow another: a beautiful white house.
const SECOND: &[&str] = &[
    "red", "blue", "green", "yellow", "black", "white", "gray", "brown", "purple", "wooden", "wild",
];

/// Samples words and phrases.
pub(super) struct Sampler {
    rng: Stream,
}

impl Sampler {
    pub(super) fn new(rng: Stream) -> Self {
        Self { rng }
    }

    /// True with this probability in percent.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        // 32 bits are enough to choose a word; the bias is below one in a million.
        ((u64::from(self.rng.next_u32()) * n as u64) >> 32) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(super) fn both(&mut self, from: &[Both]) -> Phrase {
        self.pick(from).into()
    }

    pub(super) fn number(&mut self) -> Number {
        if self.chance(30) { Number::Plural } else { Number::Singular }
    }

    /// The number a noun can have: one queen, some bread, two shoes.
    pub(super) fn number_of(&mut self, noun: &Noun) -> Number {
        match noun.class {
            class if class & (MASS | WEATHER | ROYAL | FAMILY) != 0 => Number::Singular,
            class if class & PAIRED != 0 => Number::Plural,
            _ => self.number(),
        }
    }

    /// A noun of one of these classes that satisfies the condition.
    pub(super) fn noun_where(&mut self, fits: impl Fn(&Noun) -> bool) -> Option<&'static Noun> {
        let n = nouns().filter(|noun| fits(noun)).count();
        if n == 0 {
            return None;
        }
        let i = self.below(n);
        nouns().filter(|noun| fits(noun)).nth(i)
    }

    /// A noun of one of these classes.
    pub(super) fn noun(&mut self, class: Class) -> &'static Noun {
        self.noun_where(|noun| noun.is(class)).expect("every class has a noun")
    }

    fn verb_where(
        &mut self,
        from: &'static [Verb],
        fits: impl Fn(&Verb) -> bool,
    ) -> Option<&'static Verb> {
        let n = from.iter().filter(|verb| fits(verb)).count();
        if n == 0 {
            return None;
        }
        let i = self.below(n);
        from.iter().filter(|verb| fits(verb)).nth(i)
    }

    /// A verb that this kind of subject does.
    pub(super) fn verb(&mut self, from: &'static [Verb], subject: Class) -> &'static Verb {
        self.verb_where(from, |verb| verb.subject & subject != 0).expect("every subject has a verb")
    }

    /// An adjective for these classes, other than the ones already said.
    pub(super) fn adjective(
        &mut self,
        class: Class,
        fits: impl Fn(&Adjective) -> bool,
    ) -> Option<&'static Adjective> {
        let suits = |a: &&Adjective| a.suits & class != 0 && fits(a);
        let n = ADJECTIVES.iter().filter(suits).count();
        if n == 0 {
            return None;
        }
        let i = self.below(n);
        ADJECTIVES.iter().filter(suits).nth(i)
    }

    /// A noun phrase with up to two adjectives; `percent` is the chance of the first.
    pub(super) fn dressed(
        &mut self,
        noun: &Noun,
        number: Number,
        determiner: Determiner,
        percent: usize,
    ) -> Np {
        let mut adjectives: Vec<&Adjective> = Vec::new();
        // "my tired sister" is rare in life; relatives go without.
        if self.chance(percent) && !noun.is(FAMILY | WEATHER | BODY) && noun.fr != "argent" {
            let first = self.adjective(noun.class, |a| a.position != Position::Predicate);
            adjectives.extend(first);
            if first.is_some_and(|a| a.position == Position::Before) && self.chance(20) {
                adjectives.extend(self.adjective(noun.class, |a| SECOND.contains(&a.en)));
            }
        }
        noun_phrase(noun, number, determiner, &adjectives)
    }
}
