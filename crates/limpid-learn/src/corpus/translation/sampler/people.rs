//! Who: pronouns, names, relatives, people by trade.

use super::super::grammar::{Agreement, Gender, Number, Person, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, belonging, noun_phrase};
use super::{Actor, Sampler};

impl Sampler {
    /// One of the six pronouns that stand alone: I, you, he, she, we, they.
    pub(in super::super) fn pronoun(&mut self) -> Actor {
        use Gender::{Feminine, Masculine};
        use Number::{Plural, Singular};
        use Person::{First, Second, Third};
        let (person, number, gender) = self.pick(&[
            (First, Singular, Masculine),
            (First, Singular, Masculine),
            (Second, Singular, Masculine),
            (Third, Singular, Masculine),
            (Third, Singular, Feminine),
            (First, Plural, Masculine),
            (Third, Plural, Masculine),
        ]);
        let who = Agreement::human(person, number, gender);
        Actor { np: Np { text: who.pronoun(), who }, class: HUMAN }
    }

    /// A first name.
    pub(in super::super) fn name(&mut self) -> Actor {
        let (name, gender) = self.pick(NAMES);
        let who = Agreement::human(Person::Third, Number::Singular, gender);
        Actor { np: Np { text: phrase(name, name), who }, class: HUMAN }
    }

    /// A first name for a man or a woman.
    pub(in super::super) fn name_for(&mut self, gender: Gender) -> Actor {
        loop {
            let actor = self.name();
            if actor.np.who.gender == gender {
                return actor;
            }
        }
    }

    /// I, you or we, as owners.
    pub(in super::super) fn speaker(&mut self) -> Agreement {
        let (person, number) = self.pick(&[
            (Person::First, Number::Singular),
            (Person::First, Number::Singular),
            (Person::Second, Number::Singular),
            (Person::First, Number::Plural),
        ]);
        Agreement::human(person, number, Gender::Masculine)
    }

    /// Someone who is named: a name, a trade, a relative, or two people.
    pub(in super::super) fn person(&mut self) -> Actor {
        match self.below(20) {
            0..5 => self.name(),
            5..12 => self.noun_actor(PERSON),
            12..16 => self.relative(),
            16..18 => {
                // Not "my nephew's nephew".
                let owner = loop {
                    let owner = self.owner();
                    if !["my ", "your ", "our "].iter().any(|own| owner.text.en.starts_with(own)) {
                        break owner;
                    }
                };
                let noun = self.noun_where(|n| n.is(FAMILY) && n.fr != "mari").expect("relatives");
                let np = noun_phrase(noun, Number::Singular, Determiner::The, &[]);
                Actor { np: belonging(np, &owner), class: noun.class }
            }
            _ => {
                let (one, other) = (self.name(), self.name());
                if one.np.text == other.np.text {
                    return one;
                }
                let masculine =
                    [one.np.who.gender, other.np.who.gender].contains(&Gender::Masculine);
                let gender = if masculine { Gender::Masculine } else { Gender::Feminine };
                let who = Agreement::human(Person::Third, Number::Plural, gender);
                let text = one.np.text.then(("and", "et")).then(&other.np.text);
                Actor { np: Np { text, who }, class: HUMAN }
            }
        }
    }

    /// my sister, notre oncle.
    pub(in super::super) fn relative(&mut self) -> Actor {
        let owner = self.speaker();
        Actor { np: self.kin(&owner), class: FAMILY }
    }

    /// A relative of this owner: her husband, their aunt.
    pub(in super::super) fn kin(&mut self, owner: &Agreement) -> Np {
        let married = owner.number == Number::Singular
            && (owner.person != Person::Third || owner.gender == Gender::Feminine);
        let noun =
            self.noun_where(|n| n.is(FAMILY) && (married || n.fr != "mari")).expect("relatives");
        noun_phrase(noun, Number::Singular, Determiner::Of(*owner), &[])
    }

    /// Whose something is: a name, a relative, someone with a trade.
    pub(in super::super) fn owner(&mut self) -> Np {
        match self.below(3) {
            0 => self.name().np,
            1 => self.relative().np,
            _ => {
                let noun = self.noun(PERSON);
                noun_phrase(noun, Number::Singular, Determiner::The, &[])
            }
        }
    }

    /// A noun of the class as a subject: the baker, this dog, some children.
    pub(in super::super) fn noun_actor(&mut self, class: Class) -> Actor {
        let noun = self.noun(class);
        let number = self.number_of(noun);
        let owned = noun.is(OWNABLE)
            || !noun.is(WEATHER | MASS | PERSON | ANIMAL | PLACE | EVENT | PLANT | RIDE);
        let determiner = match self.below(10) {
            _ if noun.is(FAMILY) => Determiner::Of(self.speaker()),
            0..6 => Determiner::The,
            6 if !noun.is(WEATHER | ROYAL) => Determiner::This,
            7..9 if owned => Determiner::Of(self.speaker()),
            _ => Determiner::The,
        };
        Actor { np: self.dressed(noun, number, determiner, 28), class: noun.class }
    }

    /// Anyone: a pronoun or someone named.
    pub(in super::super) fn anyone(&mut self) -> Actor {
        if self.chance(42) { self.pronoun() } else { self.person() }
    }

    /// Someone in the third person, so that a pronoun can refer back to them.
    pub(in super::super) fn third_person(&mut self) -> Actor {
        self.person()
    }

    /// Who or what does things: mostly people, sometimes animals.
    pub(in super::super) fn actor(&mut self) -> Actor {
        if self.chance(88) { self.anyone() } else { self.noun_actor(ANIMAL) }
    }
}
