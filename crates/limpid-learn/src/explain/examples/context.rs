//! One word in two sentences: its static embedding is the same, its contextual vector is not.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims};
use crate::explain::maths::{AttentionOutput, Mask, Matrix, attend};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;
use limpid::encode::cosine;
use limpid::hash::hash_bytes;
use limpid_tensor::rng::Stream;

const WIDTH: usize = 4;
/// Embeddings of the words of the default sentences; the columns stand for: living thing, action,
/// place, function word.
const KNOWN: [(&str, [f32; WIDTH]); 7] = [
    ("the", [0.0, 0.0, 0.0, 1.0]),
    ("cat", [2.0, 0.0, 0.0, 0.0]),
    ("sat", [1.0, 2.0, 0.0, 0.0]),
    ("lay", [1.0, 1.0, 1.0, 0.0]),
    ("on", [0.0, 0.0, 1.0, 1.0]),
    ("mat", [0.0, 0.0, 2.0, 0.0]),
    ("rug", [0.0, 1.0, 2.0, 0.0]),
];

/// The static embedding of a word. One that is not in the table gets whole numbers from −2 to 2,
/// derived from a hash of its letters.
fn vector(word: &str) -> [f32; WIDTH] {
    let known = KNOWN.iter().find(|(known, _)| *known == word).map(|(_, vector)| *vector);
    known.unwrap_or_else(|| {
        let mut rng = Stream::new(hash_bytes(word.as_bytes()), 0);
        let mut vector = std::array::from_fn(|_| rng.below(5) as f32 - 2.0);
        if vector == [0.0; WIDTH] {
            // The zero vector has no cosine.
            vector[0] = 1.0;
        }
        vector
    })
}

/// A sentence, the position of the word in it, and the attention over it.
struct Sentence {
    words: Vec<String>,
    position: usize,
    attended: AttentionOutput,
}

impl Sentence {
    fn new(args: &Arguments, option: &'static str, word: &str) -> Result<Self> {
        let words = args.words(option);
        let position = words.iter().position(|other| other == word).ok_or_else(|| {
            let (sentence, word) = (words.join(" "), word.to_owned());
            ExampleError::WordNotInSentence { option, sentence, word }
        })?;
        let x =
            Matrix::new(words.len(), WIDTH, words.iter().flat_map(|word| vector(word)).collect());
        Ok(Self { attended: attend(&x, &x, &x, 1, Mask::FULL), words, position })
    }

    fn weights(&self) -> &[f32] {
        self.attended.weights[0].row(self.position)
    }

    fn contextual(&self) -> &[f32] {
        self.attended.z.row(self.position)
    }

    fn text(&self) -> String {
        self.words.join(" ")
    }
}

pub fn context(args: &Arguments) -> Result<Walkthrough> {
    let word = &args.word("word")?;
    let both = [Sentence::new(args, "first", word)?, Sentence::new(args, "second", word)?];
    let mut all: Vec<String> = Vec::new();
    for word in both.iter().flat_map(|sentence| &sentence.words) {
        if !all.contains(word) {
            all.push(word.clone());
        }
    }
    let table = Matrix::new(all.len(), WIDTH, all.iter().flat_map(|word| vector(word)).collect());
    let one = vector(word);
    let twice = Matrix::new(2, WIDTH, [one, one].concat());
    let names = both.each_ref().map(Sentence::text);
    let similarity = |a: &[f32], b: &[f32]| short(cosine(a, b) as f32);
    let contextual = both.iter().flat_map(|sentence| sentence.contextual()).copied().collect();
    let steps =
        vec![
        Step::new("Static embeddings", "a table: one row for each word, whatever its context")
            .why("This is how word2vec and the embedding layer of every Transformer represent \
                  words.")
            .table(Table::matrix("", &all, &dims(WIDTH), &table)),
        Step::new("The same word twice", format!("x[{word}] in both sentences: the same row"))
            .table(Table::matrix("", &names, &dims(WIDTH), &twice))
            .remark(format!(
                "Their cosine similarity is {}: this vector cannot tell one sentence, or one \
                 sense, from the other.",
                similarity(&one, &one)
            )),
        Step::new("Attention weights", "a = softmax(x·Xᵀ/√4)   (W_Q = W_K = W_V = identity)")
            .why(format!("In its sentence, '{word}' attends to every word, itself included."))
            .tables(both.iter().map(|sentence| {
                Table::columns(sentence.text(), &sentence.words, &[("weight", sentence.weights())])
            })),
        Step::new("Contextual vectors", "z = a·X")
            .why("A weighted average of the words of the sentence: another context, another \
                  vector.")
            .table(Table::matrix("", &names, &dims(WIDTH), &Matrix::new(2, WIDTH, contextual)))
            .remark(format!(
                "Their cosine similarity is {}. {} a trained model has many layers, with learned \
                 matrices. Words with two senses are the clearest case: set first to \"a red flag \
                 on the ship\", second to \"this offer is a red flag\" and word to flag.",
                similarity(both[0].contextual(), both[1].contextual()),
                match both[0].contextual() == both[1].contextual() {
                    true => "Another context would give another vector;",
                    false => "One layer has begun to tell them apart;",
                }
            )),
        objectives(&both[0]),
        number_of_vectors(&both[0]),
    ];
    let introduction = format!(
        "\"{}\" and \"{}\" share the word '{word}'. A static embedding gives it one vector; \
         attention gives it one for each sentence.",
        names[0], names[1]
    );
    Ok(walkthrough(introduction, steps))
}

/// Inputs and targets of masked language modelling, and of the two objectives of word2vec.
fn objectives(sentence: &Sentence) -> Step {
    let (words, position) = (&sentence.words, sentence.position);
    let word = &words[position];
    let masked: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(i, word)| if i == position { "[MASK]" } else { word })
        .collect();
    let context: Vec<&str> = [position.checked_sub(1), Some(position + 1)]
        .into_iter()
        .flatten()
        .filter_map(|i| words.get(i).map(String::as_str))
        .collect();
    let row = |input: String, target: String| vec![Cell::Text(input), Cell::Text(target)];
    let rows = vec![
        row(masked.join(" "), word.clone()),
        row(context.join(" _ "), word.clone()),
        row(word.clone(), context.join(", ")),
    ];
    Step::new("Training objectives", "p(word | all other words)")
        .why("BERT masks a word and predicts it from both sides.")
        .table(Table::new(
            "",
            &strings(&["masked LM (BERT)", "CBOW (word2vec)", "skip-gram (word2vec)"]),
            &strings(&["input", "target"]),
            rows,
        ))
        .misconception(
            "masked language modelling is like skip-gram",
            "like CBOW",
            "both predict a word from its context; skip-gram predicts the context from a word",
        )
}

/// How many vectors an encoder gives.
fn number_of_vectors(sentence: &Sentence) -> Step {
    let count = sentence.words.len() as f32;
    Step::new("How many vectors", "one for each token, and one for [CLS], which precedes them")
        .table(Table::columns(
            "",
            &strings(&["words", "vectors of BERT, with [CLS]", "static embeddings"]),
            &[("number", &[count, count + 1.0, count])],
        ))
        .misconception(
            "BERT has one vector per sentence",
            "one per token",
            "[CLS] is the one that summarizes the sentence, refined layer by layer",
        )
}
