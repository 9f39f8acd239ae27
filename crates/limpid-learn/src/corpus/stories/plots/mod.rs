//! What happens: ten plots, each with three endings, and what all stories have in common.
//!
//! A step is one or two sentences, said in several ways. The summary of an ending says who did what
//! with which result; all it needs is in the story, but no sentence of the story says it.

mod contests;
mod deeds;
mod things;

/// A list of steps, each with its templates.
pub(super) type Steps = &'static [&'static [&'static str]];

/// One thing that can happen to the hero.
pub(super) struct Plot {
    /// What it is called.
    pub name: &'static str,
    pub steps: Steps,
    pub endings: [Ending; 3],
}

/// How it can end.
pub(super) struct Ending {
    pub steps: Steps,
    /// The story in one sentence.
    pub summary: &'static str,
}

/// All of them, equally likely.
pub(super) const PLOTS: [&Plot; 10] = [
    &things::LOST,
    &things::SWAP,
    &things::QUARREL,
    &things::PRESENT,
    &deeds::RESCUE,
    &deeds::CAKE,
    &deeds::VISIT,
    &contests::RACE,
    &contests::FEAR,
    &contests::NOISE,
];

/// How every story begins: who the hero is.
pub(super) const OPENING: &[&str] = &[
    "{hero} was {trait.a} [little|young] {boy} who lived {home}.",
    "Once there was {trait.a} {boy} called {hero} who lived {home}.",
    "There was once {trait.a} {boy} named {hero}, and {he} lived {home}.",
    "{hero} [lived|grew up] {home} and was {trait.a} {boy}.",
    "A {boy} named {hero} lived {home}, and everyone called {him} {trait}.",
];

/// The beginning of the sentence with a word that has two senses; its predicate follows.
pub(super) const DAY: &[&str] = &[
    "One morning, {he}",
    "One [sunny|windy|cold|quiet|warm] day, {he}",
    "One [Saturday|Sunday|Monday|Friday], {hero}",
    "Early one [Saturday|Sunday|Monday|Friday], {he}",
    "On {his} birthday, {hero}",
    "On the first day of the holidays, {he}",
];

/// The same word comes back, where only what came before says which sense it has; or it does not.
pub(super) const RECALL: &[&str] = &[
    "",
    "When {hero} told {his} family everything, {he} began with the {word}.",
    "Later, {hero} also remembered the {word}.",
    "By then {hero} had [almost|nearly] forgotten the {word}.",
];

/// How every story ends.
pub(super) const CLOSING: &[&str] = &[
    "{hero} slept [well|deeply|without a worry] that night.",
    "Everyone {home.there} agreed that {hero} was [still|really] {trait.a} {boy}.",
    "It was a day that {hero} would [never|not] forget.",
    "People {home.there} talked about it for [days|weeks|years].",
    "It was good to be {hero}, and good to live {home}.",
    "Afterwards {hero} sat by the window and [smiled|thought about everything|hummed a song].",
];
