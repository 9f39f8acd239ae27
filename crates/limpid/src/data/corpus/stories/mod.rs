//! Small English stories with a one-line summary, written by us: a grammar that knows its own probabilities.
//!
//! ```text
//! Once there was a curious girl called Nora who lived on a green island. One windy day, she saw a bat hang upside
//! down in the cave. When she came home, her blue kite was missing. … At last Leo found the kite under a bush. …
//!     Nora lost her blue kite, and Leo found it for her under a bush.
//! ```
//!
//! A story is a plot with one of three endings, told in steps; each step has several templates, and their slots (hero, friend,
//! thing, place, …) are filled once and come back. Every story has one of twenty words with two senses ([`two_sense_words`]):
//! first in words that tell the sense, and mostly once more where only the beginning of the story does. The summary follows from the story.
//!
//! All choices are independent and equally likely, and no text can be written in two ways. So the probability of a story is known
//! ([`log_probability`]), its entropy exactly ([`entropy`]), and so is what the best possible guesser of a masked word knows
//! ([`masked`]): p(w | the other words) = p(story with w) / Σ p(story with any word there).
//!
//! "Words" are words and marks; all stories are written with capital letters at the beginning of sentences, `.` and `,`, and
//! nothing else, so that the word tokenizer ([`crate::text`]) has one token for each.

mod entropy;
mod grammar;
mod lexicon;
mod measure;
mod plots;
mod read;
mod senses;
mod splits;
mod template;
#[cfg(test)]
mod tests;
mod triples;
mod write;

pub use entropy::Entropy;
pub use measure::{Guess, MaskedCeiling, ceiling, entropy, log_probability, masked, summarize, words};
pub use splits::{Splits, generate};
pub use triples::{SenseTriple, TwoSenseWord, diary, triple, two_sense_words};

use grammar::{Grammar, Node, Slot};
use lexicon::{SLOTS, TABLES};
use limpid_tensor::rng::Stream;
use plots::{CLOSING, DAY, OPENING, PLOTS, RECALL};
use senses::WORDS;
use std::sync::LazyLock;
use template::{Place, Templates};

/// The part of the words that is hidden from a BERT that learns stories. The usual 0.15 leaves a small model too little to learn from in a step
/// (docs/results.md).
pub const HIDDEN_SHARE: f32 = 0.4;

/// A story and what happens in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Nine to twelve sentences, in one line.
    pub text: String,
    /// Who did what with which result, in one sentence.
    pub summary: String,
    /// The name of its plot.
    pub plot: &'static str,
}

/// The texts of some stories.
pub fn texts(stories: &[Story]) -> Vec<&str> {
    stories.iter().map(|story| story.text.as_str()).collect()
}

/// Story number `n` of a seed: a pure function, so any part of a corpus can be made alone.
pub fn story(seed: u64, n: u64) -> Story {
    let tree = &*TREE;
    let (mut rng, mut filled) = (Stream::new(seed, n), vec![None; tree.grammar.slots.len()]);
    let text = write::write(&tree.grammar, &tree.story, &mut filled, &mut rng);
    // All slots of the summary are filled, and it has no choices: nothing is drawn.
    let summary = write::write(&tree.grammar, &tree.summary, &mut filled, &mut rng);
    let plot = PLOTS[filled[tree.plot].expect("a story has a plot")].name;
    Story { text: tree.grammar.text(&text), summary: tree.grammar.text(&summary), plot }
}

/// The names of the plots.
pub fn plot_names() -> [&'static str; PLOTS.len()] {
    PLOTS.map(|plot| plot.name)
}

/// The whole grammar.
struct Tree {
    grammar: Grammar,
    story: Node,
    summary: Node,
    /// How the sentence with a two-sense word begins, in the order of `DAY`; "One morning, Nora", as none of them does; and for each sense of each word
    /// its predicates.
    days: Vec<Node>,
    named_day: Node,
    uses: Vec<Vec<Node>>,
    /// The slot that chooses the plot.
    plot: usize,
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

impl Tree {
    fn new() -> Self {
        let values = |table: &str| TABLES.iter().find(|t| t.name == table).map_or(0, |t| t.rows.len());
        let named = SLOTS.iter().map(|(name, table)| Slot { name, table, values: values(table) });
        let choices = [("plot", PLOTS.len()), ("ending", 3), ("sense", 2 * WORDS.len())];
        let choices = choices.map(|(name, values)| Slot { name, table: name, values });
        let mut grammar = Grammar::new(named.chain(choices).collect());
        let [plot, ending, sense] =
            ["plot", "ending", "sense"].map(|name| grammar.slot(name).expect("listed above"));

        let mut templates = Templates { grammar: &mut grammar, tables: TABLES };
        let opening = templates.choice(OPENING);
        let named_day = templates.parse("One morning, {hero}", Place::Start);
        let uses = sense_uses(&mut templates);
        let by_sense = Node::Case(sense, uses.iter().cloned().map(Node::Choice).collect());
        let days: Vec<Node> = DAY.iter().map(|day| templates.parse(day, Place::Start)).collect();
        let aside = Node::Sequence(vec![Node::Choice(days.clone()), by_sense]);
        let told = PLOTS.map(|plot| {
            let steps = templates.steps(plot.steps);
            let endings = plot.endings.iter().map(|ending| templates.steps(ending.steps)).collect();
            Node::Sequence(vec![steps, Node::Case(ending, endings)])
        });
        let recall = recall(&mut templates, sense);
        let closing = templates.choice(CLOSING);
        let summaries = PLOTS.map(|plot| {
            let endings = plot.endings.iter().map(|ending| templates.choice(&[ending.summary])).collect();
            Node::Case(ending, endings)
        });
        let story = Node::Sequence(vec![opening, aside, Node::Case(plot, told.to_vec()), recall, closing]);
        Self { grammar, story, summary: Node::Case(plot, summaries.to_vec()), days, named_day, uses, plot }
    }
}

/// For each sense of each word, its predicates, each closing the sentence.
fn sense_uses(templates: &mut Templates) -> Vec<Vec<Node>> {
    let mut close = |text: &&str| templates.parse(&format!("{text}."), Place::Inside);
    let senses = WORDS.iter().flat_map(|word| &word.senses);
    senses.map(|sense| sense.uses.iter().map(&mut close).collect()).collect()
}

/// The sentences in which the word comes back, whichever sense it has.
fn recall(templates: &mut Templates, sense: usize) -> Node {
    let sentences = RECALL.iter().map(|text| {
        let Some((before, after)) = text.split_once("{word}") else {
            return templates.parse(text, Place::Start);
        };
        let phrase = |word: &senses::TwoSenses| {
            let Node::Sequence(words) = templates.parse(word.word, Place::Inside) else {
                unreachable!("a template is a sequence")
            };
            let id = |node: &Node| match node {
                Node::Word(word) => *word,
                other => panic!("a two-sense word is plain words, not {other:?}"),
            };
            words.iter().map(id).collect::<Vec<_>>()
        };
        let phrases = WORDS.iter().map(phrase).flat_map(|phrase| [phrase.clone(), phrase]).collect();
        let before = templates.parse(before, Place::Start);
        let word = Node::Slot { slot: sense, phrases };
        Node::Sequence(vec![before, word, templates.parse(after, Place::Inside)])
    });
    Node::Choice(sentences.collect())
}
