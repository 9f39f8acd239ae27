//! One word in two sentences: its vector in a table stays, its vector after attention does not.

use super::{Told, strings, told};
use crate::encode::cosine;
use crate::error::{Error, Result};
use crate::hash::hash_bytes;
use crate::inspect::inputs::{Given, dims};
use crate::inspect::maths::{Attended, Matrix, Sight, attend};
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::short;
use limpid_tensor::rng::Stream;

const WIDTH: usize = 4;
/// What the words of the usual sentences are like: a thing that lives, a doing, a place to be, a small word.
const KNOWN: [(&str, [f32; WIDTH]); 7] = [
    ("the", [0.0, 0.0, 0.0, 1.0]),
    ("cat", [2.0, 0.0, 0.0, 0.0]),
    ("sat", [1.0, 2.0, 0.0, 0.0]),
    ("lay", [1.0, 1.0, 1.0, 0.0]),
    ("on", [0.0, 0.0, 1.0, 1.0]),
    ("mat", [0.0, 0.0, 2.0, 0.0]),
    ("rug", [0.0, 1.0, 2.0, 0.0]),
];

/// The one vector of a word. One that is not in the table gets whole numbers from −2 to 2 that follow from its letters.
fn vector(word: &str) -> [f32; WIDTH] {
    let known = KNOWN.iter().find(|(known, _)| *known == word).map(|(_, vector)| *vector);
    known.unwrap_or_else(|| {
        let mut rng = Stream::new(hash_bytes(word.as_bytes()), 0);
        let mut vector = std::array::from_fn(|_| rng.below(5) as f32 - 2.0);
        if vector == [0.0; WIDTH] {
            // Nothing has no direction.
            vector[0] = 1.0;
        }
        vector
    })
}

/// A sentence, where the word stands in it, and what becomes of it.
struct Sentence {
    words: Vec<String>,
    place: usize,
    attended: Attended,
}

impl Sentence {
    fn new(given: &Given, option: &str, word: &str) -> Result<Self> {
        let words = given.words(option);
        let place = words.iter().position(|other| other == word).ok_or_else(|| {
            Error::config(format!("--{option}: '{}' does not have the word '{word}'", words.join(" ")))
                .hint("--first, --second and --word go together: a word that both sentences have")
        })?;
        let x = Matrix::new(words.len(), WIDTH, words.iter().flat_map(|word| vector(word)).collect());
        Ok(Self { attended: attend(&x, &x, &x, 1, Sight::FULL), words, place })
    }

    fn weights(&self) -> &[f32] {
        self.attended.weights[0].row(self.place)
    }

    fn contextual(&self) -> &[f32] {
        self.attended.z.row(self.place)
    }

    fn text(&self) -> String {
        self.words.join(" ")
    }
}

pub fn context(given: &Given) -> Result<Told> {
    let asked = given.words("word");
    let [word] = &asked[..] else {
        return Err(Error::config(format!("--word takes one word, not {}", asked.len()))
            .hint("give one that both sentences have"));
    };
    let both = [Sentence::new(given, "first", word)?, Sentence::new(given, "second", word)?];
    let mut all: Vec<String> = Vec::new();
    for word in both.iter().flat_map(|sentence| &sentence.words) {
        if !all.contains(word) {
            all.push(word.clone());
        }
    }
    let table = Matrix::new(all.len(), WIDTH, all.iter().flat_map(|word| vector(word)).collect());
    let one = vector(word);
    let names = both.each_ref().map(Sentence::text);
    let near = |a: &[f32], b: &[f32]| short(cosine(a, b) as f32);
    let contextual = both.iter().flat_map(|sentence| sentence.contextual()).copied().collect();
    let steps = vec![
        Step::new("Static vectors", "a table: one row for each word, whatever stands around it")
            .why("So word2vec and the first layer of every Transformer know words.")
            .table(Table::matrix("", &all, &dims(WIDTH), &table)),
        Step::new("The same word twice", format!("x[{word}] in both sentences: the same row"))
            .table(Table::matrix("", &names, &dims(WIDTH), &Matrix::new(2, WIDTH, [one, one].concat())))
            .remark(format!(
                "Their cosine is {}: this vector cannot tell one sentence, or one sense, from the other.",
                near(&one, &one)
            )),
        Step::new("Who is looked at", "a = softmax(x·Xᵀ/√4)   (W_Q = W_K = W_V = identity)")
            .why(format!("In its sentence, '{word}' looks at every word, itself included."))
            .tables(both.iter().map(|sentence| {
                Table::columns(sentence.text(), &sentence.words, &[("weight", sentence.weights())])
            })),
        Step::new("Contextual vectors", "z = a·X")
            .why("A weighted average of the words around it: other words, another vector.")
            .table(Table::matrix("", &names, &dims(WIDTH), &Matrix::new(2, WIDTH, contextual)))
            .remark(format!(
                "Their cosine is {}. {} a trained model has many layers, with matrices \
                 that learn what matters. `limpid experiment context` measures it on words with two senses, such as \
                 \"red flag\"; `--first \"a red flag on the ship\" --second \"this offer is a red flag\" --word flag` \
                 shows one here.",
                near(both[0].contextual(), both[1].contextual()),
                match both[0].contextual() == both[1].contextual() {
                    true => "Other words around it would make it another vector;",
                    false => "One layer has begun to tell them apart;",
                }
            )),
        how_it_is_learnt(&both[0]),
        one_for_each(&both[0]),
    ];
    let story = format!(
        "\"{}\" and \"{}\" share the word '{word}'. A static embedding gives it one vector; attention gives it one for \
         each sentence.",
        names[0], names[1]
    );
    Ok(told(story, steps))
}

/// What is given and what is asked for: masked words beside the two ways of word2vec.
fn how_it_is_learnt(sentence: &Sentence) -> Step {
    let (words, place) = (&sentence.words, sentence.place);
    let word = &words[place];
    let masked: Vec<&str> =
        words.iter().enumerate().map(|(i, word)| if i == place { "[MASK]" } else { word }).collect();
    let around: Vec<&str> = [place.checked_sub(1), Some(place + 1)]
        .into_iter()
        .flatten()
        .filter_map(|i| words.get(i).map(String::as_str))
        .collect();
    let row = |given: String, asked: String| vec![Cell::Text(given), Cell::Text(asked)];
    let rows = vec![
        row(masked.join(" "), word.clone()),
        row(around.join(" _ "), word.clone()),
        row(word.clone(), around.join(", ")),
    ];
    Step::new("How it is learnt", "p(word | all words around it)")
        .why("BERT hides a word and guesses it from both sides.")
        .table(Table::new(
            "",
            &strings(&["masked words (BERT)", "CBOW (word2vec)", "skip-gram (word2vec)"]),
            &strings(&["given", "asked for"]),
            rows,
        ))
        .often_printed(
            "masked words are like skip-gram",
            "like CBOW",
            "both guess a word from its surroundings; skip-gram guesses the surroundings from a word",
        )
}

/// How many vectors come out.
fn one_for_each(sentence: &Sentence) -> Step {
    let count = sentence.words.len() as f32;
    Step::new("How many vectors", "one for each token, and one for [CLS], which stands before them")
        .table(Table::columns(
            "",
            &strings(&["words", "vectors of BERT, with [CLS]", "vectors of a table"]),
            &[("number", &[count, count + 1.0, count])],
        ))
        .often_printed(
            "BERT has one vector a sentence",
            "one for each token",
            "[CLS] is the one that stands for the whole, refined layer by layer",
        )
}
