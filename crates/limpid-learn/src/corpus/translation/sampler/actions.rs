//! What they do: verbs with objects, places and company that go with them.

use super::super::grammar::{Agreement, Negation, Number, Phrase, phrase};
use super::super::lexicon::*;
use super::super::noun_phrase::{Determiner, Np, QUANTITIES, belonging, noun_phrase};
use super::super::predicate::Predicate;
use super::times::rare;
use super::{Actor, Sampler};

impl Sampler {
    /// The object of a verb. `owner` may own it; a negation turns "un" into "de".
    pub(in super::super) fn object(
        &mut self,
        class: Class,
        owner: &Agreement,
        negation: Negation,
    ) -> Np {
        let noun = self.noun(class);
        self.object_noun(noun, owner, negation)
    }

    /// This noun as an object.
    pub(in super::super) fn object_noun(
        &mut self,
        noun: &Noun,
        owner: &Agreement,
        negation: Negation,
    ) -> Np {
        if noun.is(FAMILY) {
            return self.kin(owner);
        }
        if noun.is(THING | TAME | HOME | VEHICLE | FURNITURE) && !noun.is(MASS) && self.chance(16) {
            let number = self.number_of(noun);
            let np = self.dressed(noun, number, Determiner::The, 30);
            return belonging(np, &self.owner());
        }
        let number = self.number_of(noun);
        let number = if noun.is(BUILT | ROOM | AT | CROSSED) { Number::Singular } else { number };
        let indefinite = match negation {
            Negation::Not | Negation::Never | Negation::NoLonger => Determiner::No,
            _ => Determiner::A,
        };
        let determiner = if noun.is(WEATHER | ROYAL)
            || noun.is(PERSON) && negation != Negation::None
        {
            Determiner::The
        } else if noun.is(MASS) {
            self.pick(&[Determiner::The, indefinite, indefinite])
        } else if noun.is(ROOM | AT | CROSSED) {
            self.pick(&[Determiner::The, Determiner::The, Determiner::This])
        } else {
            match self.below(20) {
                0..7 => Determiner::The,
                7..12 => indefinite,
                12..14 => Determiner::This,
                14..18 if noun.is(OWNABLE) || !noun.is(PERSON | SIGHT | ANIMAL | FOOD | VIEW) => {
                    Determiner::Of(*owner)
                }
                18 if noun.is(PAIRED | PERSON | BODY | BUILT) => Determiner::The,
                18 if negation == Negation::None => Determiner::Count(2 + self.below(9)),
                19 if negation == Negation::None => Determiner::Quantity(self.pick(QUANTITIES)),
                _ => Determiner::The,
            }
        };
        let number = determiner.number().unwrap_or(number);
        self.dressed(noun, number, determiner, 48)
    }

    /// A verb with a direct object that both go with the subject.
    pub(in super::super) fn transitive(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        let verb = self.verb(TRANSITIVE, actor.class);
        if actor.class & HUMAN == 0 {
            let object = self.object(verb.object & !FAMILY, &actor.np.who, negation);
            return Predicate::new(verb).with(&object.text);
        }
        let object = self.object(verb.object, &actor.np.who, negation);
        let action = Predicate::new(verb).with(&object.text);
        if self.chance(58) {
            return action;
        }
        let company = self.company(verb, &actor.np.who);
        action.with(company)
    }

    /// with his sister, for her nephew, in the garden: what can follow most things people do.
    fn company(&mut self, verb: &Verb, who: &Agreement) -> Phrase {
        const FOR_SOMEONE: &[&str] = &[
            "buy", "prepare", "choose", "build", "draw", "write", "repair", "paint", "organize",
            "keep", "take",
        ];
        const TOGETHER: &[&str] = &[
            "eat",
            "drink",
            "prepare",
            "read",
            "watch",
            "visit",
            "clean",
            "wash",
            "build",
            "paint",
            "repair",
            "learn",
            "organize",
            "sell",
            "buy",
            "cross",
            "look for",
            "listen to",
            "finish",
            "taste",
        ];
        const INDOORS: &[&str] =
            &["eat", "drink", "read", "prepare", "taste", "write", "find", "hide", "meet", "see"];
        if FOR_SOMEONE.contains(&verb.en) && self.chance(60) {
            return phrase("for", "pour").then(&self.receiver(who).text);
        }
        if INDOORS.contains(&verb.en) && self.chance(50) {
            return self.place();
        }
        if TOGETHER.contains(&verb.en) {
            return phrase("with", "avec").then(&self.receiver(who).text);
        }
        Phrase::default()
    }

    /// A direct object of a verb of action, whatever the negation.
    pub(in super::super) fn transitive_action(
        &mut self,
        actor: &Actor,
        negation: Negation,
    ) -> Predicate {
        loop {
            let action = self.transitive(actor, negation);
            if action.verb.aspect == Aspect::Action {
                return action;
            }
        }
    }

    /// A verb with an object that is no state.
    pub(in super::super) fn dynamic_transitive(
        &mut self,
        actor: &Actor,
        negation: Negation,
    ) -> Predicate {
        loop {
            let action = self.transitive(actor, negation);
            if action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something to do that can be said in the present.
    pub(in super::super) fn present(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.action(actor, negation);
            if !rare(action.verb, &actor.np.who) {
                return action;
            }
        }
    }

    /// Something to do, with a verb said in every tense.
    pub(in super::super) fn common(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.action(actor, negation);
            if action.verb.common() && action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something that lasts, so that something else can happen meanwhile.
    pub(in super::super) fn lasting(&mut self, actor: &Actor) -> Predicate {
        loop {
            let action = self.common(actor, Negation::None);
            if action.verb.aspect == Aspect::Action && action.verb.aux == Aux::Avoir {
                return action;
            }
        }
    }

    /// Something to do that is no state.
    pub(in super::super) fn dynamic(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.action(actor, negation);
            if action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something to do: with or without an object, a place, a manner.
    pub(in super::super) fn action(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        let human = actor.class & HUMAN != 0;
        match self.below(20) {
            0..12 => self.transitive(actor, negation),
            12..15 => {
                let verb = self.verb(INTRANSITIVE, actor.class);
                let adverbial = self.setting(verb, &actor.np.who);
                Predicate::new(verb).with(adverbial)
            }
            15 if human => self.play(),
            16 if human => {
                let verb = self.verb(GIVING, actor.class);
                let gift = self.object(verb.object, &actor.np.who, negation);
                let receiver = self.receiver(&actor.np.who);
                Predicate::new(verb).with(&gift.text).with(("to", "à")).with(&receiver.text)
            }
            17 if human => {
                let place = self.destination();
                Predicate::new(&GO).with(place)
            }
            18 => self.reflexive(actor),
            _ => self.motion(actor),
        }
    }

    /// A reflexive verb, often with a place or a time.
    pub(in super::super) fn reflexive(&mut self, actor: &Actor) -> Predicate {
        let verb = self.verb(REFLEXIVE, actor.class);
        let action = Predicate::new(verb);
        match verb.en {
            "rest" | "have fun" | "go for a walk" | "get bored" | "hide" | "stop" | "sit down"
                if self.chance(65) =>
            {
                let place = self.setting(verb, &actor.np.who);
                action.with(place)
            }
            "get up" | "wake up" | "go to bed" if self.chance(65) => action.with(self.pick(&[
                ("early", "tôt"),
                ("late", "tard"),
                ("before dawn", "avant l'aube"),
            ])),
            _ => action,
        }
    }

    /// A verb of motion with what it needs: stay in the house, get on the train.
    pub(in super::super) fn motion(&mut self, actor: &Actor) -> Predicate {
        if actor.class & HUMAN != 0 && self.chance(30) {
            let (verb, class) =
                self.pick(&[(&ENTER, ROOM | SIGHT), (&BOARD, RIDE), (&ALIGHT, RIDE)]);
            let noun = self
                .noun_where(|n| n.is(class) && !(n.is(SIGHT) && n.is(AT | HOME)) && n.fr != "île");
            let np = noun_phrase(noun.expect("places"), Number::Singular, Determiner::The, &[]);
            return Predicate::new(verb).with(&np.text);
        }
        let verb = self.verb(MOTION, actor.class);
        let action = Predicate::new(verb);
        match verb.en {
            "stay" | "fall" => {
                let place = self.setting(verb, &actor.np.who);
                action.with(place)
            }
            "leave" | "come" | "come back" | "go out" | "go home"
                if actor.class & HUMAN != 0 && self.chance(60) =>
            {
                let friend = self.receiver(&actor.np.who);
                action.with(("with", "avec")).with(&friend.text)
            }
            _ => action,
        }
    }

    /// The piano or tennis.
    pub(in super::super) fn play(&mut self) -> Predicate {
        if self.chance(50) {
            let instrument = self.noun(INSTRUMENT);
            let np = noun_phrase(instrument, Number::Singular, Determiner::The, &[]);
            Predicate::new(&PLAY_MUSIC).with(&np.text)
        } else {
            let game = self.both(GAMES);
            Predicate::new(&PLAY_GAME).with(game)
        }
    }

    /// Someone who is given something.
    pub(in super::super) fn receiver(&mut self, giver: &Agreement) -> Np {
        match self.below(3) {
            0 => self.name().np,
            1 => self.kin(giver),
            _ => {
                let noun = self.noun(PERSON);
                noun_phrase(noun, self.number_of(noun), Determiner::The, &[])
            }
        }
    }

    /// in the garden, at the station.
    pub(in super::super) fn place(&mut self) -> Phrase {
        let noun = self.noun(PLACE);
        let np = self.dressed(noun, Number::Singular, Determiner::The, 12);
        let preposition = if noun.is(INSIDE) { phrase("in", "dans") } else { phrase("at", "à") };
        preposition.then(&np.text)
    }

    /// to the station, to Paris.
    pub(in super::super) fn destination(&mut self) -> Phrase {
        if self.chance(20) {
            return phrase("to", "à").then(self.both(CITIES));
        }
        let noun = self.noun(AT);
        phrase("to", "à").then(&self.dressed(noun, Number::Singular, Determiner::The, 10).text)
    }

    /// Where or how one does what the verb says.
    pub(in super::super) fn setting(&mut self, verb: &Verb, who: &Agreement) -> Phrase {
        let among: &[&str] = match verb.en {
            "walk" | "eat" | "speak" | "work" | "swim" if self.chance(30) => {
                return self.both(&MANNERS[..2]);
            }
            "cry" | "smile" | "laugh" if self.chance(40) => return self.both(&MANNERS[2..3]),
            "travel" => return phrase("with", "avec").then(&self.receiver(who).text),
            "fly" => return phrase("in the sky", "dans le ciel"),
            "swim" => &["lac", "rivière", "mer", "piscine"],
            "rest" | "sit down" => &["jardin", "salon", "parc", "chambre", "cuisine"],
            "hide" => &["jardin", "forêt", "champ", "maison", "cuisine"],
            "fall" => &["rue", "jardin", "cuisine", "forêt", "parc", "piscine"],
            "stay" => {
                &["maison", "hôtel", "village", "chambre", "ferme", "hôpital", "école", "plage"]
            }
            "stop" => &["rue", "village", "forêt", "gare"],
            "dance" | "sing" | "laugh" | "cry" | "smile" | "speak" | "have fun" | "get bored" => &[
                "maison",
                "rue",
                "jardin",
                "parc",
                "salon",
                "cuisine",
                "théâtre",
                "restaurant",
                "plage",
                "école",
            ],
            "run" | "walk" | "go for a walk" => {
                &["parc", "forêt", "rue", "jardin", "champ", "village"]
            }
            "sleep" => &["chambre", "maison", "salon", "jardin", "hôtel", "appartement"],
            "jump" | "play" => &["jardin", "parc", "champ", "rue"],
            "eat" => &["cuisine", "jardin", "restaurant", "salon", "parc"],
            _ => return self.place(),
        };
        let noun = self.noun_where(|n| among.contains(&n.fr)).expect("the places are in the table");
        let preposition = if noun.is(AT) { phrase("at", "à") } else { phrase("in", "dans") };
        preposition.then(&self.dressed(noun, Number::Singular, Determiner::The, 15).text)
    }
}
