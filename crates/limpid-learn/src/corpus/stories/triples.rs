//! Words with two senses. Diaries, for training: a word keeps its sense within a text, as in real
//! texts. Triples, to test whether vectors encode the sense: two sentences with one sense, a third
//! with the other.

use super::grammar::Node;
use super::plots::DAY;
use super::senses::WORDS;
use super::{TREE, measure, sample};
use limpid_tensor::rng::Stream;

/// Templates are sampled from a random stream of their own.
const PICK: u64 = 0x7469_7072_6c65_7331;
/// So are those of diaries.
const DIARY: u64 = 0x6469_6172_6965_7331;

/// A word with two senses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoSenseWord {
    /// The word; the last one of "red flag".
    pub word: &'static str,
    /// As it occurs in stories.
    pub phrase: &'static str,
    /// What it means in one sense and in the other.
    pub meanings: [&'static str; 2],
}

/// Three sentences with the same word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenseTriple {
    /// The word.
    pub word: &'static str,
    /// What it means in the first two sentences, and in the third.
    pub meanings: [&'static str; 2],
    /// Two with the first meaning in different words, and one with the other.
    pub sentences: [String; 3],
    /// The position of the word in each: an index into [`words`](super::words).
    pub places: [usize; 3],
}

/// The twenty words with two senses.
pub fn two_sense_words() -> [TwoSenseWord; WORDS.len()] {
    std::array::from_fn(|i| TwoSenseWord {
        word: last(WORDS[i].word),
        phrase: WORDS[i].word,
        meanings: [0, 1].map(|s| WORDS[i].senses[s].meaning),
    })
}

fn last(phrase: &'static str) -> &'static str {
    phrase.rsplit(' ').next().expect("a word is not empty")
}

/// Diary number `n` of a seed: three days of one hero, each with the same word in the same sense.
/// Word and sense go round, so that 40 of them have each once.
///
/// In stories nothing but the sentence itself depends on the sense, so they cannot tell which
/// sentences belong together; diaries can. The days begin as in stories, so no sentence of a
/// [`triple`] stands in one.
pub fn diary(seed: u64, n: u64) -> String {
    let tree = &*TREE;
    let mut rng = Stream::new(seed ^ DIARY, n);
    let mut filled = vec![None; tree.grammar.slots.len()];
    // The first day says who it is about, and none begins as another does.
    let mut days: Vec<usize> = (0..DAY.len()).collect();
    let naming: Vec<usize> =
        days.iter().copied().filter(|day| DAY[*day].contains("{hero}")).collect();
    let mut of = naming[rng.below(naming.len())];
    let mut uses: Vec<&Node> = tree.uses[(n % 40) as usize].iter().collect();
    let mut parts = Vec::new();
    while !uses.is_empty() {
        parts.push(tree.days[days.swap_remove(of)].clone());
        parts.push(uses.swap_remove(rng.below(uses.len())).clone());
        of = rng.below(days.len());
    }
    tree.grammar.text(&sample::sample(&tree.grammar, &Node::Sequence(parts), &mut filled, &mut rng))
}

/// Triple number `n` of a seed; word and sense go round, so that 40 of them have each once.
///
/// The sentences begin alike and have one hero, so that only the sense tells the first two from the
/// third.
pub fn triple(seed: u64, n: u64) -> SenseTriple {
    let tree = &*TREE;
    let (word, sense) = ((n % 20) as usize, (n / 20 % 2) as usize);
    let mut rng = Stream::new(seed, n);
    let hero = tree.grammar.slot("hero").expect("there is a hero");
    let mut filled = vec![None; tree.grammar.slots.len()];
    filled[hero] = Some(rng.below(tree.grammar.slots[hero].values));
    let mut sentence_of = |sense: usize, i: usize| {
        let uses = &tree.uses[2 * word + sense];
        let sentence = Node::Sequence(vec![tree.named_day.clone(), uses[i].clone()]);
        tree.grammar.text(&sample::sample(&tree.grammar, &sentence, &mut filled, &mut rng))
    };
    // Three templates a sense: two different ones, and any of the other sense.
    let mut pick = Stream::new(seed ^ PICK, n);
    let (first, other) = (pick.below(3), pick.below(3));
    let second = (first + 1 + pick.below(2)) % 3;
    let sentences =
        [sentence_of(sense, first), sentence_of(sense, second), sentence_of(1 - sense, other)];
    let position = |text: &String| {
        let words = measure::words(text);
        words.iter().position(|w| *w == last(WORDS[word].word)).expect("every use has its word")
    };
    let places = [0, 1, 2].map(|i| position(&sentences[i]));
    let meaning = |sense: usize| WORDS[word].senses[sense].meaning;
    SenseTriple {
        word: last(WORDS[word].word),
        meanings: [meaning(sense), meaning(1 - sense)],
        sentences,
        places,
    }
}
