//! Examples of whole sequences: generation, tokenization, a whole pass, and recurrent networks.

use super::{ANY, option};
use crate::explain::catalogue::{Example, ExampleOption, ValueKind};
use crate::explain::examples::{additive, beam, bpe, recurrent, translation};

const STEPS: ExampleOption =
    option("tokens", ValueKind::Matrix, "1 0; 0 1; 1 1", "one row of numbers for each token");
const NAMES: ExampleOption =
    option("words", ValueKind::Words, "I am here", "a name for each token");

const fn weights(
    w_x: &'static str,
    w_h: &'static str,
    bias: &'static str,
    rows: [&'static str; 3],
) -> [ExampleOption; 5] {
    [
        STEPS,
        NAMES,
        option("w-x", ValueKind::Matrix, w_x, rows[0]),
        option("w-h", ValueKind::Matrix, w_h, rows[1]),
        option("bias", ANY, bias, rows[2]),
    ]
}

pub(super) const BEAM_SEARCH: Example = Example {
    name: "beam-search",
    title: "several texts at once",
    summary: "Two texts are followed at once: the most likely text does not begin with the most \
              likely word.",
    options: &[
        option("prompt", ValueKind::Words, "The", "the text that is continued"),
        option(
            "words",
            ValueKind::Words,
            "nice dog woman has <eos>",
            "the vocabulary; the last word ends a text",
        ),
        option(
            "next",
            ValueKind::Matrix,
            "0.5 0.4 0.1 0 0; 0 0.3 0.4 0 0.3; 0 0 0 0.9 0.1; 0 0 0 0.4 0.6; 0 0 0 0 1",
            "probabilities of the first word, then of the word after each word but the last; rows \
             sum to 1",
        ),
        option("beams", ValueKind::Count { min: 1, max: 8 }, "2", "the number of beams"),
        option(
            "length-penalty",
            ValueKind::Number { min: -5.0, max: 5.0 },
            "1",
            "α: the sum of log-probabilities is divided by length^α",
        ),
        option(
            "max-length",
            ValueKind::Count { min: 1, max: 12 },
            "5",
            "the maximum number of new tokens, the end included",
        ),
    ],
    see_also: &["decoding", "output-layer"],
    compute: beam::beam,
};

pub(super) const ENCODER_DECODER: Example = Example {
    name: "encoder-decoder",
    title: "one whole pass, from tokens to probabilities",
    summary: "A Transformer translates \"Je suis étudiant\": every layer of encoder and decoder, \
              step by step.",
    options: &[
        option("source", ValueKind::Words, "Je suis étudiant", "words of the source"),
        option(
            "target",
            ValueKind::Words,
            "I am a student",
            "words of the target so far; <start> precedes them",
        ),
        option(
            "vocabulary",
            ValueKind::Words,
            "<start> Je suis étudiant I am a student <eos>",
            "all words of source and target",
        ),
        option(
            "embeddings",
            ValueKind::Matrix,
            "1 0 0 1; 2 0 1 0; 0 2 0 1; 0 1 2 0; 1 0 1 1; 0 1 1 2; 1 1 0 0; 0 0 2 1; 0 0 0 1",
            "a row for each word of the vocabulary; the width must be even",
        ),
        option(
            "output",
            ValueKind::Matrix,
            "0 0 0 0; 0 0 0 0; 0 0 0 0; 0 0 0 0; 1.1 -1.4 -0.5 0.8; 1.1 -1.4 0.7 -0.4; \
             -1 0.3 -0.8 1.5; -0.2 1.4 -1.4 0.3; -1 -0.7 1.5 0.2",
            "the output layer: a row for each word of the vocabulary",
        ),
    ],
    see_also: &["self-attention", "cross-attention", "teacher-forcing", "output-layer"],
    compute: translation::encoder_decoder,
};

pub(super) const BYTE_PAIR_ENCODING: Example = Example {
    name: "byte-pair-encoding",
    title: "a vocabulary learned by merging",
    summary: "The most frequent pair of tokens becomes one token, again and again; then a new word \
              is tokenized.",
    options: &[
        option("words", ValueKind::Words, "low lower newest widest", "the words of the text"),
        option(
            "counts",
            ValueKind::Row { min: 1.0, max: 1000.0 },
            "5 2 6 3",
            "how often each word occurs",
        ),
        option("merges", ValueKind::Count { min: 1, max: 32 }, "6", "the number of merges"),
        option("encode", ValueKind::Words, "lowest", "a word to tokenize"),
    ],
    see_also: &["output-layer", "encoder-decoder"],
    compute: bpe::byte_pair_encoding,
};

pub(super) const RECURRENT_CELL: Example = Example {
    name: "recurrent-cell",
    title: "one state, updated at every token",
    summary: "A tanh cell reads three tokens; its last state is all that an encoder without \
              attention hands on.",
    options: &weights(
        "0.5 -0.5; 1 0.5",
        "0.5 0.25; -0.5 0.5",
        "0 0.1",
        [
            "W_x: a row for each number of the state, a column for each of a token",
            "W_h: a row and a column for each number of the state",
            "b: one for each number of the state",
        ],
    ),
    see_also: &["lstm", "gru", "additive-attention"],
    compute: recurrent::tanh_cell,
};

pub(super) const LSTM: Example = Example {
    name: "lstm",
    title: "a cell state behind gates",
    summary: "Input, forget and output gates decide what a cell state takes in, keeps and shows.",
    options: &weights(
        "1 0; 0 1; 0.5 0; 0 0.5; 1 -1; -1 1; 0.5 0.5; 0.5 -0.5",
        "0.5 0; 0 0.5; 0 0.5; 0.5 0; 1 0; 0 1; 0 -0.5; -0.5 0",
        "0 0 1 1 0 0 0 0",
        [
            "W_x: the rows of the gates i, f, g, o, a column for each number of a token",
            "W_h: the rows of the gates i, f, g, o, a column for each number of the state",
            "b: one for each row of W_h",
        ],
    ),
    see_also: &["gru", "recurrent-cell"],
    compute: recurrent::lstm,
};

pub(super) const GRU: Example = Example {
    name: "gru",
    title: "two gates and one state",
    summary: "A reset gate and an update gate mix the old state with a candidate.",
    options: &weights(
        "1 0; 0 1; 0.5 0; 0 0.5; 1 -1; -1 1",
        "0.5 0; 0 0.5; 0 0.5; 0.5 0; 1 0; 0 1",
        "0 0 0.5 0.5 0 0",
        [
            "W_x: the rows of the gates r, z, n, a column for each number of a token",
            "W_h: the rows of the gates r, z, n, a column for each number of the state",
            "b: one for each row of W_h",
        ],
    ),
    see_also: &["lstm", "recurrent-cell"],
    compute: recurrent::gru,
};

pub(super) const ADDITIVE_ATTENTION: Example = Example {
    name: "additive-attention",
    title: "attention before the Transformer (Bahdanau)",
    summary: "A recurrent decoder scores each source word with a small network; the weights give \
              its context vector.",
    options: &[
        option("state", ANY, "1 -1", "s: the decoder's state"),
        option(
            "memory",
            ValueKind::Matrix,
            "1 0; 0 1; -1 1",
            "h: the encoder's states, one row for each source word",
        ),
        option("words", ValueKind::Words, "Je suis étudiant", "a name for each source word"),
        option("w", ValueKind::Matrix, "1 0; 0 1; 0.5 -0.5", "W: projects the decoder's state"),
        option("u", ValueKind::Matrix, "1 0; 0 -1; 0.5 0.5", "U: projects the encoder's states"),
        option("v", ANY, "1 0.5 -1", "v: one for each row of W and U"),
    ],
    see_also: &["cross-attention", "soft-retrieval", "recurrent-cell"],
    compute: additive::additive,
};
