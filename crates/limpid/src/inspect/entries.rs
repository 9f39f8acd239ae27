//! The table of examples: names, summaries, options and their usual values, in reading order.

use super::catalogue::{Example, ExampleOption, Takes, Usual};
use super::examples::{
    attention, backward, blocks, context, decoding, heads, masks, norms, positions, training,
};

const ANY: Takes = Takes::Row { min: -1e6, max: 1e6 };

const fn option(name: &'static str, takes: Takes, usual: &'static str, help: &'static str) -> ExampleOption {
    ExampleOption { name, aliases: &[], takes, help, usual: Usual::Text(usual) }
}

const fn derived(name: &'static str, takes: Takes, usual: &'static str, help: &'static str) -> ExampleOption {
    ExampleOption { name, aliases: &[], takes, help, usual: Usual::Derived(usual) }
}

const fn rows(usual: &'static str, help: &'static str) -> ExampleOption {
    ExampleOption { name: "rows", aliases: &["row"], takes: Takes::Matrix, help, usual: Usual::Text(usual) }
}

const THE_CAT_SAT: &str = "1 0 1 0; 0 1 0 1; 1 1 1 1";
const TOKENS: ExampleOption =
    option("tokens", Takes::Matrix, THE_CAT_SAT, "one row of numbers for each token");
const WORDS: ExampleOption = option("words", Takes::Words, "The CAT SAT", "a name for each token");
const IDENTITY: &str = "the identity: every vector stays as it is";
const FIVE: &str = "0.5 0.2 0.15 0.1 0.05";
const CANDIDATES: &str = "mat rug sofa roof moon";
const UNIT: Takes = Takes::Row { min: 0.0, max: 1.0 };

/// All examples, in reading order.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "self-attention",
        title: "every word looks at every word",
        summary: "Three words become queries, keys and values, and come out as mixtures of each other.",
        options: &[
            TOKENS,
            WORDS,
            derived("w-q", Takes::Matrix, IDENTITY, "the matrix W_Q that makes queries"),
            derived("w-k", Takes::Matrix, IDENTITY, "the matrix W_K that makes keys"),
            derived("w-v", Takes::Matrix, IDENTITY, "the matrix W_V that makes values"),
            option("mask", Takes::Choice(&["none", "causal"]), "none", "who may look where"),
        ],
        see_also: &["scaling", "causal-mask", "multi-head", "backward"],
        compute: attention::self_attention,
    },
    Example {
        name: "scaling",
        title: "why scores are divided by √d",
        summary: "One query, two keys: without the division softmax picks one key and stops learning.",
        options: &[
            option("query", ANY, "2 3 4 1", "the query"),
            option("keys", Takes::Matrix, "1 0 1 0; 0 1 0 1", "one row for each key"),
        ],
        see_also: &["self-attention", "backward"],
        compute: attention::scaling,
    },
    Example {
        name: "causal-mask",
        title: "nobody looks ahead",
        summary: "A word may look at itself and at what came before, so the future cannot change the past.",
        options: &[option("length", Takes::Count { min: 1, max: 16 }, "4", "how many tokens")],
        see_also: &["padding-mask", "teacher-forcing"],
        compute: masks::causal,
    },
    Example {
        name: "padding-mask",
        title: "padding is not a word",
        summary: "Four tokens, the last only fills up the row: masked, combined with the causal mask, and averaged.",
        options: &[
            option(
                "tokens",
                Takes::Matrix,
                "0.1 0.2 0.3 0.4; 0.5 0.6 0.7 0.8; 0.9 1.0 1.1 1.2; 0 0 0 0",
                "one row of numbers for each token",
            ),
            option("padding", UNIT, "1 1 1 0", "1 for a word, 0 for padding"),
            option(
                "kind",
                Takes::Choice(&["keys", "keys-and-queries"]),
                "keys",
                "whether padding is only not looked at, or does not look either",
            ),
        ],
        see_also: &["causal-mask", "self-attention"],
        compute: masks::padding,
    },
    Example {
        name: "multi-head",
        title: "several looks at once",
        summary: "The columns are shared out to heads; each attends on its own, and the results stand side by side.",
        options: &[
            option("tokens", Takes::Matrix, "1 0 1 0; 0 1 1 0; 1 1 0 1", "one row of numbers for each token"),
            WORDS,
            option("heads", Takes::Count { min: 1, max: 16 }, "2", "how many heads; must divide the width"),
            derived("w-o", Takes::Matrix, IDENTITY, "the matrix W_O that mixes the heads"),
        ],
        see_also: &["self-attention", "cross-attention"],
        compute: heads::multi_head,
    },
    Example {
        name: "cross-attention",
        title: "the translation looks at the source",
        summary: "Queries come from the decoder, keys and values from the encoder: the weights align two sentences.",
        options: &[
            option("tokens", Takes::Matrix, "1 0 1 0; 0 1 0 1", "the decoder's tokens, one row each"),
            option(
                "memory",
                Takes::Matrix,
                "2 0 1 0; 0 2 0 1; 1 1 0 0",
                "the encoder's output, one row for each source token",
            ),
            option("words", Takes::Words, "I am", "a name for each decoder token"),
            option("memory-words", Takes::Words, "Je suis étudiant", "a name for each source token"),
        ],
        see_also: &["self-attention", "teacher-forcing"],
        compute: heads::cross_attention,
    },
    Example {
        name: "context",
        title: "one word, two vectors",
        summary: "A table has one vector for a word; attention makes another of it in every sentence.",
        options: &[
            option("first", Takes::Words, "the cat sat on the mat", "a sentence"),
            option("second", Takes::Words, "the cat lay on the rug", "another one"),
            option("word", Takes::Words, "cat", "a word that both have"),
        ],
        see_also: &["self-attention", "output-layer"],
        compute: context::context,
    },
    Example {
        name: "positions",
        title: "where a word stands",
        summary: "Waves of different lengths number the places; added to the words, they carry the order.",
        options: &[
            derived(
                "width",
                Takes::Count { min: 2, max: 64 },
                "as wide as the tokens: 4",
                "columns of a position",
            ),
            option("length", Takes::Count { min: 1, max: 64 }, "4", "how many positions"),
            option(
                "layout",
                Takes::Choice(&["interleaved", "split"]),
                "interleaved",
                "sin, cos in turn (Vaswani et al. 2017), or all sines first (Marian)",
            ),
            option(
                "tokens",
                Takes::Matrix,
                "0.1 0.2 0.3 0.4; 0.5 0.6 0.7 0.8; 0.9 1.0 1.1 1.2",
                "the words to add positions to, one row each",
            ),
            WORDS,
        ],
        see_also: &["self-attention", "residual"],
        compute: positions::positions,
    },
    Example {
        name: "layer-norm",
        title: "each row gets mean 0 and variance 1",
        summary: "A row is centred and scaled by its own mean and deviation; batch norm, beside it, does it by column.",
        options: &[
            rows("2 4 6 8", "the rows to normalise"),
            derived("gamma", ANY, "1 everywhere", "the learned scale γ, one for each column"),
            derived("beta", ANY, "0 everywhere", "the learned shift β, one for each column"),
            option(
                "eps",
                Takes::Number { min: 1e-12, max: 1.0 },
                "1e-5",
                "ε, which keeps the division finite",
            ),
            option(
                "houses",
                Takes::Matrix,
                "1200 2 45; 1500 3 70",
                "for the comparison with batch norm: size, rooms and price, one row a house",
            ),
        ],
        see_also: &["residual"],
        compute: norms::layer_norm,
    },
    Example {
        name: "feed-forward",
        title: "each word by itself",
        summary: "Widen, bend, narrow: two matrices and a non-linearity, the same for every word.",
        options: &[
            rows("1 2; 2 -1", "one row for each word"),
            option("w-1", Takes::Matrix, "1 -1 0 2; 0 1 1 -1", "W₁, which widens"),
            option("b-1", ANY, "0 0 -1 0.5", "b₁"),
            option("w-2", Takes::Matrix, "1 0; 0 1; 1 1; -1 0.5", "W₂, which narrows"),
            option("b-2", ANY, "0.1 -0.1", "b₂"),
            option("activation", Takes::Choice(&["relu", "gelu"]), "relu", "what bends"),
        ],
        see_also: &["residual", "output-layer"],
        compute: blocks::feed_forward,
    },
    Example {
        name: "residual",
        title: "x + f(x), then normalise",
        summary: "A layer adds to what is there; so gradients have a straight way down.",
        options: &[
            TOKENS,
            WORDS,
            option(
                "slope",
                Takes::Number { min: -2.0, max: 2.0 },
                "0.1",
                "the derivative of one layer, for the last step",
            ),
        ],
        see_also: &["layer-norm", "backward"],
        compute: norms::residual,
    },
    Example {
        name: "output-layer",
        title: "from a vector to a word",
        summary: "Six words, six scores: a linear layer makes logits, softmax makes probabilities, the largest is the word.",
        options: &[
            option("vocabulary", Takes::Words, "a am I thanks student <eos>", "the words"),
            option("word", Takes::Words, "am", "the word to write as one-hot"),
            derived("logits", ANY, "computed from a vector and a matrix", "one score for each word"),
        ],
        see_also: &["cross-entropy", "decoding"],
        compute: blocks::output_layer,
    },
    Example {
        name: "teacher-forcing",
        title: "learning with the right answer at hand",
        summary: "The decoder is given the true words, shifted right, and is asked for the next one at every place at once.",
        options: &[
            option("target", Takes::Words, "I am a student <eos>", "the words to be learned"),
            option("source", Takes::Words, "Je suis étudiant", "the sentence they translate"),
            option(
                "probabilities",
                Takes::Row { min: 1e-6, max: 1.0 },
                "0.6 0.9 0.5 0.8 0.95",
                "what the model gives to each right word",
            ),
        ],
        see_also: &["cross-entropy", "causal-mask"],
        compute: training::teacher_forcing,
    },
    Example {
        name: "cross-entropy",
        title: "how surprised the model is",
        summary: "The loss is −ln of the probability of what came; its gradient is what was said minus what came.",
        options: &[
            option("logits", ANY, "6 4", "one score for each class"),
            option("target", Takes::Count { min: 0, max: 63 }, "0", "which class is right, counted from 0"),
            option("smoothing", Takes::Number { min: 0.0, max: 0.9 }, "0", "label smoothing ε"),
        ],
        see_also: &["teacher-forcing", "backward", "output-layer"],
        compute: training::cross_entropy,
    },
    Example {
        name: "backward",
        title: "how the error finds its way back",
        summary: "The gradient of a small attention model, step by step, beside the slope found by trying.",
        options: &[TOKENS, WORDS],
        see_also: &["cross-entropy", "residual"],
        compute: backward::backward,
    },
    Example {
        name: "soft-retrieval",
        title: "looking up what is not there",
        summary: "A table holds values at 70 and 80; asked for 75, attention answers with a weighted average.",
        options: &[
            option("query", Takes::Number { min: -1e6, max: 1e6 }, "75", "what is asked for"),
            option("keys", ANY, "70 80", "where values are stored"),
            option("values", ANY, "1000 1500", "the values, one for each key"),
        ],
        see_also: &["self-attention"],
        compute: decoding::soft_retrieval,
    },
    Example {
        name: "roulette",
        title: "drawing a word",
        summary: "A wheel with a slice for each word, as wide as it is probable: a number in [0, 1) picks one.",
        options: &[
            option("probabilities", UNIT, FIVE, "one for each word; they sum to 1"),
            option("words", Takes::Words, CANDIDATES, "a name for each word"),
            option("draws", Takes::Row { min: 0.0, max: 0.999_999 }, "0.4 0.6", "numbers in [0, 1)"),
        ],
        see_also: &["decoding"],
        compute: decoding::roulette,
    },
    Example {
        name: "decoding",
        title: "bold or careful",
        summary: "Greedy, temperature, top-k, top-p on one distribution, alone and together.",
        options: &[
            option("probabilities", UNIT, FIVE, "one for each word; they sum to 1"),
            option("words", Takes::Words, CANDIDATES, "a name for each word"),
            option("temperature", Takes::Row { min: 0.0, max: 1e6 }, "0 0.1 0.5 1 2 100", "one or more T"),
            option("top-k", Takes::Row { min: 1.0, max: 64.0 }, "1 2 5", "one or more k"),
            option("top-p", UNIT, "0 0.69 0.71 1", "one or more p"),
        ],
        see_also: &["roulette", "output-layer"],
        compute: decoding::decoding,
    },
];
