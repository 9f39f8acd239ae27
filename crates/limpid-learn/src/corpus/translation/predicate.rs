//! Predicates: a verb with its complements, said in any tense, denied or asked.

use super::english::{be_past, be_present, ing, third};
use super::french::{Mood, agree, conjugate, gerund, participle};
use super::grammar::{Agreement, Negation, Phrase, Tense, append, phrase};
use super::lexicon::{Aspect, Aux, Verb};

/// A verb with what follows it.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub verb: &'static Verb,
    /// Pronouns before the French verb: "_le", "lui".
    pub clitics: String,
    /// What follows the verb.
    pub after: Phrase,
    /// An adverb before the English verb and after the finite French one: often / souvent.
    pub middle: Phrase,
    /// The object before the verb that a participle with avoir agrees with.
    pub preceding: Option<Agreement>,
    /// Whether the reflexive pronoun is only the indirect object: "elle s'est lavé les mains".
    pub reflexive: Reflexive,
}

/// The role of "se".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reflexive {
    Direct,
    Indirect,
}

/// Whether the English auxiliary goes before the subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Statement,
    Question,
}

/// Splits "avoir besoin de" into the verb and the words that follow it, and takes "se" off.
fn french_parts(verb: &Verb) -> (&'static str, &'static str, bool) {
    let (reflexive, rest) = match verb.fr.strip_prefix("se ") {
        Some(rest) => (true, rest),
        None => (false, verb.fr),
    };
    let (head, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    (head, tail, reflexive)
}

impl Predicate {
    /// A verb alone.
    pub(super) fn new(verb: &'static Verb) -> Self {
        Self {
            verb,
            clitics: String::new(),
            after: Phrase::default(),
            middle: Phrase::default(),
            preceding: None,
            reflexive: Reflexive::Direct,
        }
    }

    /// The verb with something after it.
    pub(super) fn with(mut self, after: impl Into<Phrase>) -> Self {
        self.after = self.after.then(after);
        self
    }

    /// The verb with an adverb in the middle.
    pub(super) fn middle(mut self, adverb: impl Into<Phrase>) -> Self {
        self.middle = self.middle.then(adverb);
        self
    }

    /// The verb with a pronoun: after it in English, before it in French.
    pub(super) fn pronoun(mut self, pronoun: Phrase) -> Self {
        append(&mut self.after.en, &pronoun.en);
        append(&mut self.clitics, &pronoun.fr);
        self
    }

    fn tense(&self, tense: Tense) -> Tense {
        match (self.verb.aspect, tense) {
            (Aspect::State, Tense::Past) => Tense::Imperfect,
            (Aspect::State | Aspect::Instant, Tense::Progressive) => Tense::Present,
            (Aspect::Instant, Tense::Imperfect) => Tense::Past,
            _ => tense,
        }
    }

    /// The French clause after its subject.
    pub(super) fn french(&self, who: &Agreement, tense: Tense, negation: Negation) -> String {
        let (head, tail, _) = french_parts(self.verb);
        let clitics = self.french_clitics(who);
        let column = who.column();
        let simple = |mood| conjugate(head, mood, column);
        let (finite, clitics_first, nonfinite) = match self.tense(tense) {
            Tense::Present | Tense::Progressive | Tense::Since => {
                (simple(Mood::Present), true, String::new())
            }
            Tense::Imperfect => (simple(Mood::Imperfect), true, String::new()),
            Tense::Future => (simple(Mood::Future), true, String::new()),
            Tense::Conditional => (simple(Mood::Conditional), true, String::new()),
            Tense::Subjunctive => (simple(Mood::Subjunctive), true, String::new()),
            Tense::Past => {
                (conjugate(self.auxiliary(), Mood::Present, column), true, self.participle(who))
            }
            Tense::Pluperfect => {
                (conjugate(self.auxiliary(), Mood::Imperfect, column), true, self.participle(who))
            }
            Tense::NearFuture => {
                (conjugate("aller", Mood::Present, column), false, head.to_owned())
            }
            Tense::JustDone => {
                (conjugate("venir", Mood::Present, column) + " de", false, head.to_owned())
            }
        };
        let mut out = String::new();
        if negation != Negation::None {
            append(&mut out, "ne");
        }
        if clitics_first {
            append(&mut out, &clitics);
        }
        append(&mut out, &finite);
        append(&mut out, second_negation(negation));
        append(&mut out, &self.middle.fr);
        if !clitics_first {
            append(&mut out, &clitics);
        }
        append(&mut out, &nonfinite);
        append(&mut out, tail);
        match negation {
            Negation::Anyone => append(&mut out, "personne"),
            Negation::Only => append(&mut out, "que"),
            _ => {}
        }
        append(&mut out, &self.after.fr);
        out
    }

    fn french_clitics(&self, who: &Agreement) -> String {
        let (.., reflexive) = french_parts(self.verb);
        let mut clitics = String::new();
        if reflexive {
            append(&mut clitics, ["me", "te", "se", "nous", "vous", "se"][who.column()]);
        }
        append(&mut clitics, &self.clitics);
        clitics
    }

    fn auxiliary(&self) -> &'static str {
        let (.., reflexive) = french_parts(self.verb);
        if reflexive || self.verb.aux == Aux::Etre { "être" } else { "avoir" }
    }

    /// The past participle, agreeing with the subject (être) or the object before it (avoir).
    pub(super) fn participle(&self, who: &Agreement) -> String {
        let (head, ..) = french_parts(self.verb);
        let form = participle(head);
        match (self.auxiliary(), &self.preceding) {
            ("être", _) if self.reflexive == Reflexive::Indirect => form,
            ("être", _) => agree(&form, who),
            (_, Some(object)) => agree(&form, object),
            _ => form,
        }
    }

    /// The infinitive with its complements: "le voir", "se lever" / "see it", "get up".
    pub(super) fn infinitive(&self, who: &Agreement) -> Phrase {
        let (head, tail, _) = french_parts(self.verb);
        let mut fr = self.french_clitics(who);
        for words in [head, tail, &self.after.fr] {
            append(&mut fr, words);
        }
        let mut en = self.middle.en.clone();
        append(&mut en, self.verb.en);
        append(&mut en, &self.after.en);
        phrase(en, fr)
    }

    /// The form after "en" and "by": en marchant.
    pub(super) fn gerund(&self, who: &Agreement) -> Phrase {
        let (head, tail, _) = french_parts(self.verb);
        let mut fr = self.french_clitics(who);
        for words in [&gerund(head), tail, &self.after.fr] {
            append(&mut fr, words);
        }
        phrase(self.english_ing(), fr)
    }

    /// The English -ing form with its complements.
    pub(super) fn english_ing(&self) -> String {
        let (base, particle) = self.verb.en.split_once(' ').unwrap_or((self.verb.en, ""));
        let mut en = ing(base);
        append(&mut en, particle);
        append(&mut en, &self.after.en);
        en
    }

    /// The English clause around its subject: what goes before it (in a question) and what goes
    /// after.
    pub(super) fn english(
        &self,
        who: &Agreement,
        tense: Tense,
        negation: Negation,
        order: Order,
    ) -> (String, String) {
        let (base, particle) = self.verb.en.split_once(' ').unwrap_or((self.verb.en, ""));
        let tense = self.tense(tense);
        let (mut aux, mut main) = english_verb(self.verb, base, who, tense);
        let denied = matches!(negation, Negation::Not | Negation::Anything | Negation::Anyone);
        if aux.is_empty() && (denied || order == Order::Question) {
            aux = match tense {
                Tense::Past | Tense::Imperfect => "did",
                _ if who.third_singular() => "does",
                _ => "do",
            };
            main = base.to_owned();
        }
        let mut after = String::new();
        if order == Order::Statement {
            append(&mut after, aux);
        }
        match negation {
            Negation::Not | Negation::Anything | Negation::Anyone if after == "can" => {
                after.push_str("not")
            }
            Negation::Not | Negation::Anything | Negation::Anyone => append(&mut after, "not"),
            Negation::Never => append(&mut after, "never"),
            Negation::NoLonger => append(&mut after, "no longer"),
            _ => {}
        }
        if tense == Tense::JustDone {
            append(&mut after, "just");
        }
        append(&mut after, &self.middle.en);
        append(&mut after, &main);
        append(&mut after, particle);
        match negation {
            Negation::Anything => append(&mut after, "anything"),
            Negation::Anyone => append(&mut after, "anyone"),
            Negation::Only => append(&mut after, "only"),
            _ => {}
        }
        append(&mut after, &self.after.en);
        (if order == Order::Question { aux.to_owned() } else { String::new() }, after)
    }

    /// The whole clause as a statement.
    pub(super) fn clause(
        &self,
        subject: &Phrase,
        who: &Agreement,
        tense: Tense,
        negation: Negation,
    ) -> Phrase {
        let (_, english) = self.english(who, tense, negation, Order::Statement);
        subject.clone().then(phrase(english, self.french(who, tense, negation)))
    }

    /// The clause as a question that begins with these words: (English words) aux subject …? /
    /// (French words) est-ce que subject …?
    pub(super) fn question(
        &self,
        words: Phrase,
        subject: &Phrase,
        who: &Agreement,
        tense: Tense,
        negation: Negation,
    ) -> Phrase {
        let (aux, after) = self.english(who, tense, negation, Order::Question);
        let french = self.french(who, tense, negation);
        words.then(phrase(aux, "est-ce que")).then(subject).then(phrase(after, french))
    }
}

/// The second half of "ne … pas".
fn second_negation(negation: Negation) -> &'static str {
    match negation {
        Negation::Not => "pas",
        Negation::Never => "jamais",
        Negation::NoLonger => "plus",
        Negation::Anything => "rien",
        Negation::None | Negation::Anyone | Negation::Only => "",
    }
}

/// Auxiliary (may be empty) and main verb of an English tense.
fn english_verb(verb: &Verb, base: &str, who: &Agreement, tense: Tense) -> (&'static str, String) {
    let have = if who.third_singular() { "has" } else { "have" };
    let bare = match base {
        "can" => "be able to",
        "must" => "have to",
        _ => base,
    };
    match tense {
        Tense::Present | Tense::Subjunctive => match base {
            "be" => (be_present(who), String::new()),
            "can" => ("can", String::new()),
            "must" => ("must", String::new()),
            _ if who.third_singular() => ("", third(base)),
            _ => ("", base.to_owned()),
        },
        Tense::Past | Tense::Imperfect if verb.aspect == Aspect::State || tense == Tense::Past => {
            match base {
                "be" => (be_past(who), String::new()),
                "can" => ("could", String::new()),
                _ => ("", verb.past.to_owned()),
            }
        }
        Tense::Imperfect | Tense::Past => (be_past(who), ing(base)),
        Tense::Progressive => (be_present(who), ing(base)),
        Tense::Pluperfect => ("had", verb.done.to_owned()),
        Tense::Future => ("will", bare.to_owned()),
        Tense::Conditional => ("would", bare.to_owned()),
        Tense::NearFuture => (be_present(who), format!("going to {bare}")),
        Tense::JustDone | Tense::Since => (have, verb.done.to_owned()),
    }
}
