//! The constructions: each turns choices into one sentence, said in both languages.

mod basic;
mod clauses;
mod compare;
mod fixed;
mod long;
mod pronouns;
mod questions;
mod relatives;
mod verbs;

pub(super) use fixed::PHRASES;

use super::draw::Draw;
use super::grammar::Phrase;

/// How a sentence ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// "." (now and then left off)
    Stop,
    /// "?"
    Ask,
    /// "!"
    Exclaim,
}

/// A way to make a sentence.
pub(super) struct Construction {
    pub name: &'static str,
    /// How often, relative to the others.
    pub weight: usize,
    pub make: fn(&mut Draw) -> (Phrase, End),
}

const fn c(name: &'static str, weight: usize, make: fn(&mut Draw) -> (Phrase, End)) -> Construction {
    Construction { name, weight, make }
}

/// All constructions but the fixed phrases.
pub(super) static ALL: &[Construction] = &[
    c("statement", 60, basic::statement),
    c("profession", 16, basic::profession),
    c("adjective", 22, basic::adjective),
    c("possession", 20, basic::possession),
    c("possessor", 22, basic::possessor),
    c("partitive", 14, basic::partitive),
    c("quantity", 14, basic::quantity),
    c("kind", 16, basic::kind),
    c("there is", 24, basic::there_is),
    c("this is", 14, basic::this_is),
    c("location", 20, basic::location),
    c("coordination", 22, basic::coordination),
    c("negation", 40, verbs::negation),
    c("negative words", 24, verbs::negative_words),
    c("frequency", 22, verbs::frequency),
    c("manner", 12, verbs::manner),
    c("reflexive", 22, verbs::reflexive),
    c("motion", 24, verbs::motion),
    c("modal", 44, verbs::modal),
    c("just done", 12, verbs::just_done),
    c("since", 12, verbs::since),
    c("passive", 28, verbs::passive),
    c("imperative", 26, verbs::imperative),
    c("formal address", 12, verbs::formal_address),
    c("have idiom", 14, verbs::have_idiom),
    c("age", 10, verbs::age),
    c("name", 6, verbs::name),
    c("pain", 10, verbs::pain),
    c("time of day", 16, verbs::time_of_day),
    c("weather", 10, verbs::weather),
    c("yes or no question", 34, questions::yes_no),
    c("question with an adverb", 30, questions::adverb),
    c("question about the object", 28, questions::object),
    c("question about the subject", 16, questions::subject),
    c("question how many", 16, questions::how_many),
    c("question where", 10, questions::place),
    c("comparative", 28, compare::comparative),
    c("superlative", 20, compare::superlative),
    c("exclamation", 16, compare::exclamation),
    c("cleft", 24, compare::cleft),
    c("subject pronoun", 30, pronouns::subject),
    c("object pronoun", 44, pronouns::object),
    c("indirect object", 24, pronouns::indirect),
    c("indirect pronoun", 34, pronouns::indirect_pronoun),
    c("speaker's pronouns", 24, pronouns::speakers),
    c("relative subject", 30, relatives::subject),
    c("relative object", 36, relatives::object),
    c("relative place", 14, relatives::place),
    c("relative whose", 18, relatives::whose),
    c("distant agreement", 24, relatives::distant),
    c("when", 36, clauses::when),
    c("because", 34, clauses::because),
    c("if", 28, clauses::if_),
    c("condition", 18, clauses::condition),
    c("although", 16, clauses::although),
    c("while", 16, clauses::while_),
    c("reported", 30, clauses::reported),
    c("wish for another", 20, clauses::wish),
    c("purpose", 24, clauses::purpose),
    c("before and after", 26, clauses::before_after),
    c("gerund", 14, clauses::gerund),
    c("already", 16, clauses::already),
    c("two sentences in one", 60, long::compound),
    c("long story", 46, long::story),
];
