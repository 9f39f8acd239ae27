//! Choosing words: random, but only among words that go together.

use limpid_tensor::rng::Stream;

use super::grammar::{Agreement, Gender, Negation, Number, Person, Phrase, Tense, phrase};
use super::lexicon::*;
use super::noun_phrase::{Determiner, Np, QUANTITIES, noun_phrase};
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

/// A source of choices.
pub(super) struct Draw {
    rng: Stream,
}

impl Draw {
    pub(super) fn new(rng: Stream) -> Self {
        Self { rng }
    }

    /// True this many times out of a hundred.
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

    fn verb_where(&mut self, from: &'static [Verb], fits: impl Fn(&Verb) -> bool) -> Option<&'static Verb> {
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
        if self.chance(percent) && !noun.is(FAMILY | WEATHER | BODY) {
            let first = self.adjective(noun.class, |a| a.position != Position::Predicate);
            adjectives.extend(first);
            if first.is_some_and(|a| a.position == Position::Before) && self.chance(20) {
                adjectives.extend(self.adjective(noun.class, |a| a.position == Position::After));
            }
        }
        noun_phrase(noun, number, determiner, &adjectives)
    }

    /// One of the six pronouns that stand alone: I, you, he, she, we, they.
    pub(super) fn pronoun(&mut self) -> Actor {
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
    pub(super) fn name(&mut self) -> Actor {
        let (name, gender) = self.pick(NAMES);
        let who = Agreement::human(Person::Third, Number::Singular, gender);
        Actor { np: Np { text: phrase(name, name), who }, class: HUMAN }
    }

    /// I, you or we, as owners.
    pub(super) fn speaker(&mut self) -> Agreement {
        let (person, number) = self.pick(&[
            (Person::First, Number::Singular),
            (Person::First, Number::Singular),
            (Person::Second, Number::Singular),
            (Person::First, Number::Plural),
        ]);
        Agreement::human(person, number, Gender::Masculine)
    }

    /// Someone who is named: a name, a trade, a relative, or two people.
    pub(super) fn person(&mut self) -> Actor {
        match self.below(20) {
            0..6 => self.name(),
            6..14 => self.noun_actor(PERSON),
            14..18 => self.relative(),
            _ => {
                let (one, other) = (self.name(), self.name());
                if one.np.text == other.np.text {
                    return one;
                }
                let masculine = [one.np.who.gender, other.np.who.gender].contains(&Gender::Masculine);
                let gender = if masculine { Gender::Masculine } else { Gender::Feminine };
                let who = Agreement::human(Person::Third, Number::Plural, gender);
                let text = one.np.text.then(("and", "et")).then(&other.np.text);
                Actor { np: Np { text, who }, class: HUMAN }
            }
        }
    }

    /// my sister, notre oncle.
    pub(super) fn relative(&mut self) -> Actor {
        let owner = self.speaker();
        let noun = self.noun(FAMILY);
        Actor { np: noun_phrase(noun, Number::Singular, Determiner::Of(owner), &[]), class: noun.class }
    }

    /// A noun of the class as a subject: the baker, this dog, some children.
    pub(super) fn noun_actor(&mut self, class: Class) -> Actor {
        let noun = self.noun(class);
        let number = self.number_of(noun);
        let owned =
            noun.is(OWNABLE) || !noun.is(WEATHER | MASS | PERSON | ANIMAL | PLACE | EVENT | PLANT | RIDE);
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
    pub(super) fn anyone(&mut self) -> Actor {
        if self.chance(42) { self.pronoun() } else { self.person() }
    }

    /// Someone in the third person, so that a pronoun can refer back to them.
    pub(super) fn third_person(&mut self) -> Actor {
        self.person()
    }

    /// Who or what does things: mostly people, sometimes animals.
    pub(super) fn actor(&mut self) -> Actor {
        if self.chance(88) { self.anyone() } else { self.noun_actor(ANIMAL) }
    }

    /// The object of a verb. `owner` may own it; a negation turns "un" into "de".
    pub(super) fn object(&mut self, class: Class, owner: &Agreement, negation: Negation) -> Np {
        let noun = self.noun(class);
        self.object_noun(noun, owner, negation)
    }

    /// This noun as an object.
    pub(super) fn object_noun(&mut self, noun: &Noun, owner: &Agreement, negation: Negation) -> Np {
        let number = self.number_of(noun);
        let number = if noun.is(BUILT | ROOM | AT | CROSSED) { Number::Singular } else { number };
        let indefinite = match negation {
            Negation::Not | Negation::Never | Negation::NoLonger => Determiner::No,
            _ => Determiner::A,
        };
        let determiner = if noun.is(FAMILY) {
            Determiner::Of(*owner)
        } else if noun.is(WEATHER | ROYAL) {
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
                14..18 if noun.is(OWNABLE) || !noun.is(PERSON | SIGHT | ANIMAL) => Determiner::Of(*owner),
                18 if noun.is(PAIRED | PERSON | BODY | BUILT) => Determiner::The,
                18 if negation == Negation::None => Determiner::Count(2 + self.below(9)),
                19 if negation == Negation::None => Determiner::Quantity(self.pick(QUANTITIES)),
                _ => Determiner::The,
            }
        };
        let number = determiner.number().unwrap_or(number);
        self.dressed(noun, number, determiner, 42)
    }

    /// A verb with a direct object that both go with the subject.
    pub(super) fn transitive(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        let verb = self.verb(TRANSITIVE, actor.class);
        let object = self.object(verb.object, &actor.np.who, negation);
        let action = Predicate::new(verb).with(&object.text);
        if actor.class & HUMAN == 0 || verb.aspect == Aspect::State || self.chance(70) {
            return action;
        }
        let company = self.company(verb, &actor.np.who);
        action.with(company)
    }

    /// with his sister, for her nephew, in the garden: what can follow most things people do.
    fn company(&mut self, verb: &Verb, who: &Agreement) -> Phrase {
        const FOR_SOMEONE: &[&str] = &[
            "buy", "prepare", "choose", "build", "draw", "write", "repair", "paint", "organize", "keep",
            "take",
        ];
        const INDOORS: &[&str] =
            &["eat", "drink", "read", "prepare", "taste", "write", "find", "hide", "meet", "see"];
        if FOR_SOMEONE.contains(&verb.en) && self.chance(60) {
            return phrase("for", "pour").then(&self.receiver(who).text);
        }
        if INDOORS.contains(&verb.en) && self.chance(50) {
            return self.place();
        }
        phrase("with", "avec").then(&self.receiver(who).text)
    }

    /// A direct object of a verb of action, whatever the negation.
    pub(super) fn transitive_action(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.transitive(actor, negation);
            if action.verb.aspect == Aspect::Action {
                return action;
            }
        }
    }

    /// A verb with an object that is no state.
    pub(super) fn dynamic_transitive(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.transitive(actor, negation);
            if action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something to do, with a verb said in every tense.
    pub(super) fn common(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.action(actor, negation);
            if action.verb.common() && action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something that lasts, so that something else can happen meanwhile.
    pub(super) fn lasting(&mut self, actor: &Actor) -> Predicate {
        loop {
            let action = self.common(actor, Negation::None);
            if action.verb.aspect == Aspect::Action && action.verb.aux == Aux::Avoir {
                return action;
            }
        }
    }

    /// Something to do that is no state.
    pub(super) fn dynamic(&mut self, actor: &Actor, negation: Negation) -> Predicate {
        loop {
            let action = self.action(actor, negation);
            if action.verb.aspect != Aspect::State {
                return action;
            }
        }
    }

    /// Something to do: with or without an object, a place, a manner.
    pub(super) fn action(&mut self, actor: &Actor, negation: Negation) -> Predicate {
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
            18 => {
                let verb = self.verb(REFLEXIVE, actor.class);
                Predicate::new(verb)
            }
            _ => self.motion(actor),
        }
    }

    /// A verb of motion with what it needs: stay in the house, get on the train.
    pub(super) fn motion(&mut self, actor: &Actor) -> Predicate {
        if actor.class & HUMAN != 0 && self.chance(30) {
            let (verb, class) = self.pick(&[(&ENTER, ROOM | SIGHT), (&BOARD, RIDE), (&ALIGHT, RIDE)]);
            let noun = self.noun_where(|n| n.is(class) && !(n.is(SIGHT) && n.is(AT | HOME)) && n.fr != "île");
            let np = noun_phrase(noun.expect("places"), Number::Singular, Determiner::The, &[]);
            return Predicate::new(verb).with(&np.text);
        }
        let verb = self.verb(MOTION, actor.class);
        let action = Predicate::new(verb);
        match verb.en {
            "stay" | "fall" => {
                let place = self.place();
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
    pub(super) fn play(&mut self) -> Predicate {
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
    pub(super) fn receiver(&mut self, giver: &Agreement) -> Np {
        match self.below(3) {
            0 => self.name().np,
            1 => {
                let noun = self.noun(FAMILY);
                noun_phrase(noun, Number::Singular, Determiner::Of(*giver), &[])
            }
            _ => {
                let noun = self.noun(PERSON);
                noun_phrase(noun, self.number_of(noun), Determiner::The, &[])
            }
        }
    }

    /// in the garden, at the station.
    pub(super) fn place(&mut self) -> Phrase {
        let noun = self.noun(PLACE);
        let np = self.dressed(noun, Number::Singular, Determiner::The, 12);
        let preposition = if noun.is(INSIDE) { phrase("in", "dans") } else { phrase("at", "à") };
        preposition.then(&np.text)
    }

    /// to the station, to Paris.
    pub(super) fn destination(&mut self) -> Phrase {
        if self.chance(20) {
            return phrase("to", "à").then(self.both(CITIES));
        }
        let noun = self.noun(AT);
        phrase("to", "à").then(&self.dressed(noun, Number::Singular, Determiner::The, 10).text)
    }

    /// Where or how one does what the verb says.
    pub(super) fn setting(&mut self, verb: &Verb, who: &Agreement) -> Phrase {
        let among: &[&str] = match verb.en {
            "walk" | "eat" | "speak" | "work" | "swim" if self.chance(30) => return self.both(&MANNERS[..2]),
            "cry" | "smile" | "laugh" if self.chance(40) => return self.both(&MANNERS[2..3]),
            "travel" => return phrase("with", "avec").then(&self.receiver(who).text),
            "fly" => return phrase("in the sky", "dans le ciel"),
            "swim" => &["lac", "rivière", "mer", "piscine"],
            "run" | "walk" => &["parc", "forêt", "rue", "jardin", "champ", "village"],
            "sleep" => &["chambre", "maison", "salon", "jardin", "hôtel", "appartement"],
            "jump" | "play" => &["jardin", "parc", "champ", "rue"],
            "eat" => &["cuisine", "jardin", "restaurant", "salon", "parc"],
            _ => return self.place(),
        };
        let noun = self.noun_where(|n| among.contains(&n.fr)).expect("the places are in the table");
        let preposition = if noun.is(AT) { phrase("at", "à") } else { phrase("in", "dans") };
        preposition.then(&self.dressed(noun, Number::Singular, Determiner::The, 15).text)
    }

    /// A tense for a verb, and words of time that go with it (often none).
    pub(super) fn when(&mut self, verb: &Verb, who: &Agreement) -> (Tense, Option<Phrase>) {
        let tense = self.pick(&[
            Tense::Present,
            Tense::Present,
            Tense::Progressive,
            Tense::Progressive,
            Tense::Past,
            Tense::Past,
            Tense::Past,
            Tense::Future,
            Tense::NearFuture,
            Tense::NearFuture,
            Tense::Imperfect,
        ]);
        let tense = settle(tense, verb, who);
        (tense, self.time(tense, verb))
    }

    /// Words of time for a tense. A present that is not a habit is said without them, or with "now".
    pub(super) fn time(&mut self, tense: Tense, verb: &Verb) -> Option<Phrase> {
        let state = verb.aspect == Aspect::State;
        match tense {
            Tense::Present if state => None,
            Tense::Present if self.chance(15) => Some(self.both(SEASONS)),
            Tense::Present => Some(self.both(HABIT_TIMES)),
            Tense::Progressive if self.chance(30) && verb.aspect == Aspect::Action => {
                Some(self.both(NOW_TIMES))
            }
            Tense::Past if self.chance(60) => Some(self.past_time()),
            Tense::Future | Tense::NearFuture if self.chance(60) => Some(self.both(FUTURE_TIMES)),
            _ => None,
        }
    }

    /// yesterday, last week, three days ago.
    pub(super) fn past_time(&mut self) -> Phrase {
        if self.chance(75) {
            return self.both(PAST_TIMES);
        }
        let (n, (_, en, _, fr)) = (1 + self.below(9), self.pick(&[SPANS[0], SPANS[1], SPANS[4]]));
        let (en_n, fr_n) = NUMBERS[n];
        phrase(format!("{en_n} {en} ago"), format!("il y a {fr_n} {fr}"))
    }

    /// A clause and its time, before or after it.
    pub(super) fn timed(&mut self, clause: Phrase, time: Option<Phrase>) -> Phrase {
        match time {
            Some(time) if self.chance(35) => time.comma().then(clause),
            Some(time) => clause.then(time),
            None => clause,
        }
    }
}

/// Keeps a tense that the English side can tell: "they read" and "they cut" are both present and past, and
/// an instant does not last.
pub(super) fn settle(tense: Tense, verb: &Verb, who: &Agreement) -> Tense {
    let blurred = verb.past == verb.en && !who.third_singular();
    match (tense, verb.aspect) {
        (Tense::Present | Tense::Past, _) if blurred => Tense::NearFuture,
        (Tense::Future, _) if !verb.common() => Tense::NearFuture,
        (Tense::Imperfect, _) if !verb.common() => Tense::Past,
        (Tense::Imperfect | Tense::Present, Aspect::Instant) => Tense::Past,
        (Tense::Progressive, Aspect::Instant) if !["see", "hear", "understand"].contains(&verb.en) => {
            Tense::Past
        }
        _ => tense,
    }
}
