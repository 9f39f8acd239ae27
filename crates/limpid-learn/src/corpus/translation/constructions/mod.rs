//! The constructions: each turns choices into one sentence, said in both languages.

mod basic;
mod clauses;
mod commands;
mod compare;
mod conditions;
mod fixed;
mod idioms;
mod long;
mod pronouns;
mod questions;
mod reasons;
mod relatives;
mod verbs;

pub(super) use fixed::PHRASES;

use super::grammar::Phrase;
use super::sampler::Sampler;

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
    pub make: fn(&mut Sampler) -> (Phrase, End),
}

const fn c(
    name: &'static str,
    weight: usize,
    make: fn(&mut Sampler) -> (Phrase, End),
) -> Construction {
    Construction { name, weight, make }
}

/// All constructions but the fixed phrases.
pub(super) static ALL: &[Construction] = &[
    c("statement", 52, basic::statement),
    c("profession", 18, basic::profession),
    c("adjective", 14, basic::adjective),
    c("possession", 20, basic::possession),
    c("possessor", 24, basic::possessor),
    c("partitive", 14, basic::partitive),
    c("quantity", 18, basic::quantity),
    c("kind", 16, basic::kind),
    c("there is", 24, basic::there_is),
    c("this is", 14, basic::this_is),
    c("location", 12, basic::location),
    c("coordination", 20, basic::coordination),
    c("nature", 14, basic::nature),
    c("negation", 50, verbs::negation),
    c("negative words", 28, verbs::negative_words),
    c("frequency", 30, verbs::frequency),
    c("manner", 12, verbs::manner),
    c("reflexive", 22, verbs::reflexive),
    c("motion", 24, verbs::motion),
    c("modal", 50, verbs::modal),
    c("necessity", 18, verbs::necessity),
    c("just done", 12, verbs::just_done),
    c("since", 12, verbs::since),
    c("passive", 28, verbs::passive),
    c("imperative", 32, commands::imperative),
    c("formal address", 12, commands::formal_address),
    c("have idiom", 14, idioms::have_idiom),
    c("age", 12, idioms::age),
    c("name", 6, idioms::name),
    c("pain", 12, idioms::pain),
    c("time of day", 20, idioms::time_of_day),
    c("weather", 10, idioms::weather),
    c("yes or no question", 44, questions::yes_no),
    c("question with an adverb", 40, questions::adverb),
    c("question about the object", 38, questions::object),
    c("question about the subject", 16, questions::subject),
    c("question how many", 20, questions::how_many),
    c("question where", 10, questions::place),
    c("comparative", 32, compare::comparative),
    c("superlative", 26, compare::superlative),
    c("exclamation", 16, compare::exclamation),
    c("cleft", 24, compare::cleft),
    c("subject pronoun", 22, pronouns::subject),
    c("object pronoun", 50, pronouns::object),
    c("indirect object", 24, pronouns::indirect),
    c("indirect pronoun", 34, pronouns::indirect_pronoun),
    c("pronoun y", 18, pronouns::there),
    c("pronoun en", 24, pronouns::of_them),
    c("speaker's pronouns", 36, pronouns::speakers),
    c("relative subject", 30, relatives::subject),
    c("relative object", 34, relatives::object),
    c("relative place", 10, relatives::place),
    c("relative whose", 18, relatives::whose),
    c("distant agreement", 12, relatives::distant),
    c("when", 28, clauses::when),
    c("because", 40, reasons::because),
    c("if", 28, conditions::if_),
    c("condition", 18, conditions::condition),
    c("although", 16, clauses::although),
    c("while", 16, clauses::while_),
    c("reported", 22, clauses::reported),
    c("wish for another", 20, clauses::wish),
    c("purpose", 24, clauses::purpose),
    c("before and after", 26, clauses::before_after),
    c("gerund", 14, clauses::gerund),
    c("already", 12, clauses::already),
    c("two sentences in one", 54, long::compound),
    c("long story", 85, long::story),
];
