//! What both grammars share: gender, number, person, tense, and a phrase said in two languages.

/// Grammatical gender of the French word (and of people).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gender {
    Masculine,
    Feminine,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    Singular,
    Plural,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Person {
    First,
    Second,
    Third,
}

/// Whether English says he and she, or it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Animacy {
    Human,
    Other,
}

/// What a verb, an adjective or a pronoun has to agree with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agreement {
    pub person: Person,
    pub number: Number,
    pub gender: Gender,
    pub animacy: Animacy,
}

impl Agreement {
    /// Someone spoken to or of: (person, number, gender) of a human.
    pub(super) const fn human(person: Person, number: Number, gender: Gender) -> Self {
        Self { person, number, gender, animacy: Animacy::Human }
    }

    /// Column of a conjugation table: je tu il nous vous ils.
    pub(super) fn column(&self) -> usize {
        let person = match self.person {
            Person::First => 0,
            Person::Second => 1,
            Person::Third => 2,
        };
        person + if self.number == Number::Plural { 3 } else { 0 }
    }

    /// True for he, she, it, and any singular noun.
    pub(super) fn third_singular(&self) -> bool {
        self.column() == 2
    }

    /// One of four by gender and number: masculine, feminine, masculine plural, feminine plural.
    pub(super) fn choose<T: Copy>(&self, forms: [T; 4]) -> T {
        let plural = if self.number == Number::Plural { 2 } else { 0 };
        forms[plural + if self.gender == Gender::Feminine { 1 } else { 0 }]
    }

    /// The subject pronoun.
    pub(super) fn pronoun(&self) -> Phrase {
        let english = match (self.column(), self.animacy, self.gender) {
            (0, ..) => "I",
            (1 | 4, ..) => "you",
            (2, Animacy::Other, _) => "it",
            (2, _, Gender::Masculine) => "he",
            (2, ..) => "she",
            (3, ..) => "we",
            _ => "they",
        };
        let third = self.choose(["il", "elle", "ils", "elles"]);
        phrase(english, ["je", "tu", third, "nous", "vous", third][self.column()])
    }

    /// The pronoun after a preposition or a comparison: with him, avec lui.
    pub(super) fn stressed(&self) -> Phrase {
        let third = self.choose(["lui", "elle", "eux", "elles"]);
        phrase(self.english_object(), ["moi", "toi", third, "nous", "vous", third][self.column()])
    }

    /// The direct object pronoun. The mark keeps it from contracting: "de le voir" is not "du
    /// voir".
    pub(super) fn object(&self) -> Phrase {
        let third = if self.number == Number::Plural {
            "_les"
        } else {
            self.choose(["_le", "_la", "", ""])
        };
        phrase(self.english_object(), ["me", "te", third, "nous", "vous", third][self.column()])
    }

    /// The indirect object pronoun: lui, leur.
    pub(super) fn indirect(&self) -> Phrase {
        let fr = ["me", "te", "lui", "nous", "vous", "leur"][self.column()];
        phrase(self.english_object(), fr)
    }

    fn english_object(&self) -> &'static str {
        match (self.column(), self.animacy, self.gender) {
            (0, ..) => "me",
            (1 | 4, ..) => "you",
            (2, Animacy::Other, _) => "it",
            (2, _, Gender::Masculine) => "him",
            (2, ..) => "her",
            (3, ..) => "us",
            _ => "them",
        }
    }
}

/// When something happens, as the pair of tenses that translate each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tense {
    /// mange / eats
    Present,
    /// mange (en ce moment) / is eating
    Progressive,
    /// a mangé / ate; for states savait / knew
    Past,
    /// mangeait / was eating
    Imperfect,
    /// avait mangé / had eaten
    Pluperfect,
    /// mangera / will eat
    Future,
    /// va manger / is going to eat
    NearFuture,
    /// mangerait / would eat
    Conditional,
    /// vient de manger / has just eaten
    JustDone,
    /// mange (depuis) / has eaten (for)
    Since,
    /// mange, in the subjunctive / eats
    Subjunctive,
}

/// The ways to deny.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Negation {
    None,
    /// ne … pas / not
    Not,
    /// ne … jamais / never
    Never,
    /// ne … plus / no longer
    NoLonger,
    /// ne … rien / not … anything
    Anything,
    /// ne … personne / not … anyone
    Anyone,
    /// ne … que / only
    Only,
}

/// The same words in English and in French. French articles and prepositions stand uncontracted
/// until
/// [`super::french::sentence`] writes the sentence out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Phrase {
    pub en: String,
    pub fr: String,
}

/// A phrase from its two sides.
pub(super) fn phrase(en: impl Into<String>, fr: impl Into<String>) -> Phrase {
    Phrase { en: en.into(), fr: fr.into() }
}

impl Phrase {
    /// This, then that.
    pub(super) fn then(mut self, next: impl Into<Phrase>) -> Self {
        let next = next.into();
        append(&mut self.en, &next.en);
        append(&mut self.fr, &next.fr);
        self
    }

    /// This with a comma.
    pub(super) fn comma(self) -> Self {
        self.then((",", ","))
    }
}

/// Adds words with a space between.
pub(super) fn append(text: &mut String, words: &str) {
    if !text.is_empty() && !words.is_empty() {
        text.push(' ');
    }
    text.push_str(words);
}

impl From<(&str, &str)> for Phrase {
    fn from((en, fr): (&str, &str)) -> Self {
        phrase(en, fr)
    }
}

impl From<&Phrase> for Phrase {
    fn from(other: &Phrase) -> Self {
        other.clone()
    }
}
