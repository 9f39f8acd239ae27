//! The table of examples: names, summaries, options and their defaults, in reading order.

mod sequence;

use super::catalogue::{DefaultValue, Example, ExampleOption, ValueKind};
use super::examples::{
    attention, backward, blocks, context, decoding, heads, masks, norms, positions, training,
};

const ANY: ValueKind = ValueKind::Row { min: -1e6, max: 1e6 };

const fn option(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    help: &'static str,
) -> ExampleOption {
    ExampleOption { name, aliases: &[], kind, help, default: DefaultValue::Text(default) }
}

const fn computed(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    help: &'static str,
) -> ExampleOption {
    ExampleOption { name, aliases: &[], kind, help, default: DefaultValue::Computed(default) }
}

const fn rows(default: &'static str, help: &'static str) -> ExampleOption {
    ExampleOption {
        name: "rows",
        aliases: &["row"],
        kind: ValueKind::Matrix,
        help,
        default: DefaultValue::Text(default),
    }
}

const THE_CAT_SAT: &str = "1 0 1 0; 0 1 0 1; 1 1 1 1";
const TOKENS: ExampleOption =
    option("tokens", ValueKind::Matrix, THE_CAT_SAT, "one row of numbers for each token");
const WORDS: ExampleOption =
    option("words", ValueKind::Words, "The CAT SAT", "a name for each token");
const IDENTITY: &str = "the identity matrix";
const FIVE: &str = "0.5 0.2 0.15 0.1 0.05";
const CANDIDATES: &str = "mat rug sofa roof moon";
const UNIT: ValueKind = ValueKind::Row { min: 0.0, max: 1.0 };

/// All examples, in reading order.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "self-attention",
        title: "every word attends to every word",
        summary: "Three words become queries, keys and values; each output is a weighted average.",
        options: &[
            TOKENS,
            WORDS,
            computed("w-q", ValueKind::Matrix, IDENTITY, "the matrix W_Q that makes queries"),
            computed("w-k", ValueKind::Matrix, IDENTITY, "the matrix W_K that makes keys"),
            computed("w-v", ValueKind::Matrix, IDENTITY, "the matrix W_V that makes values"),
            option("mask", ValueKind::Choice(&["none", "causal"]), "none", "the attention mask"),
        ],
        see_also: &["scaling", "causal-mask", "multi-head", "backward"],
        compute: attention::self_attention,
    },
    Example {
        name: "scaling",
        title: "why scores are divided by √d",
        summary: "One query, two keys: without the division softmax saturates, and its gradient \
                  vanishes.",
        options: &[
            option("query", ANY, "2 3 4 1", "the query"),
            option("keys", ValueKind::Matrix, "1 0 1 0; 0 1 0 1", "one row for each key"),
        ],
        see_also: &["self-attention", "backward"],
        compute: attention::scaling,
    },
    Example {
        name: "causal-mask",
        title: "no token attends to a later one",
        summary: "A token attends to itself and to earlier ones, so the future cannot change the \
                  past.",
        options: &[option(
            "length",
            ValueKind::Count { min: 1, max: 16 },
            "4",
            "the number of tokens",
        )],
        see_also: &["padding-mask", "teacher-forcing"],
        compute: masks::causal,
    },
    Example {
        name: "padding-mask",
        title: "no token attends to padding",
        summary: "Four tokens, the last one padding: its mask, combined with the causal mask, and \
                  the output.",
        options: &[
            option(
                "tokens",
                ValueKind::Matrix,
                "0.1 0.2 0.3 0.4; 0.5 0.6 0.7 0.8; 0.9 1.0 1.1 1.2; 0 0 0 0",
                "one row of numbers for each token",
            ),
            option("padding", UNIT, "1 1 1 0", "1 for a word, 0 for padding"),
            option(
                "kind",
                ValueKind::Choice(&["keys", "keys-and-queries"]),
                "keys",
                "what is masked: keys that are padding, or queries as well",
            ),
        ],
        see_also: &["causal-mask", "self-attention"],
        compute: masks::padding,
    },
    Example {
        name: "multi-head",
        title: "several attentions in parallel",
        summary: "The columns are split among heads; each attends by itself, and the results are \
                  concatenated.",
        options: &[
            option(
                "tokens",
                ValueKind::Matrix,
                "1 0 1 0; 0 1 1 0; 1 1 0 1",
                "one row of numbers for each token",
            ),
            WORDS,
            option(
                "heads",
                ValueKind::Count { min: 1, max: 16 },
                "2",
                "the number of heads; must divide the width",
            ),
            computed("w-o", ValueKind::Matrix, IDENTITY, "the matrix W_O that mixes the heads"),
        ],
        see_also: &["self-attention", "cross-attention"],
        compute: heads::multi_head,
    },
    Example {
        name: "cross-attention",
        title: "the decoder attends to the source",
        summary: "Queries come from the decoder, keys and values from the encoder: the weights \
                  align two sentences.",
        options: &[
            option(
                "tokens",
                ValueKind::Matrix,
                "1 0 1 0; 0 1 0 1",
                "the decoder's tokens, one row each",
            ),
            option(
                "memory",
                ValueKind::Matrix,
                "2 0 1 0; 0 2 0 1; 1 1 0 0",
                "the encoder's output, one row for each source token",
            ),
            option("words", ValueKind::Words, "I am", "a name for each decoder token"),
            option(
                "memory-words",
                ValueKind::Words,
                "Je suis étudiant",
                "a name for each source token",
            ),
        ],
        see_also: &["self-attention", "teacher-forcing"],
        compute: heads::cross_attention,
    },
    Example {
        name: "context",
        title: "static and contextual vectors of one word",
        summary: "An embedding table has one vector for a word; attention gives it another in \
                  every sentence.",
        options: &[
            option("first", ValueKind::Words, "the cat sat on the mat", "a sentence"),
            option("second", ValueKind::Words, "the cat lay on the rug", "another one"),
            option("word", ValueKind::Words, "cat", "a word that both contain"),
        ],
        see_also: &["self-attention", "output-layer"],
        compute: context::context,
    },
    Example {
        name: "positions",
        title: "sinusoidal position encodings",
        summary: "Sines and cosines of several wavelengths encode positions; added to the words, \
                  they carry the order.",
        options: &[
            computed(
                "width",
                ValueKind::Count { min: 2, max: 64 },
                "as wide as the tokens: 4",
                "numbers per position",
            ),
            option("length", ValueKind::Count { min: 1, max: 64 }, "4", "the number of positions"),
            option(
                "layout",
                ValueKind::Choice(&["interleaved", "split"]),
                "interleaved",
                "sin, cos in turn (Vaswani et al. 2017), or all sines first (Marian)",
            ),
            option(
                "tokens",
                ValueKind::Matrix,
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
        summary: "A row is normalized by its own mean and variance; batch norm, for comparison, \
                  does it by column.",
        options: &[
            rows("2 4 6 8", "the rows to normalize"),
            computed("gamma", ANY, "1 everywhere", "the learned scale γ, one for each column"),
            computed("beta", ANY, "0 everywhere", "the learned shift β, one for each column"),
            option(
                "eps",
                ValueKind::Number { min: 1e-12, max: 1.0 },
                "1e-5",
                "ε, added to the variance",
            ),
            option(
                "houses",
                ValueKind::Matrix,
                "1200 2 45; 1500 3 70",
                "for the comparison with batch norm: size, rooms and price, one row per house",
            ),
        ],
        see_also: &["residual"],
        compute: norms::layer_norm,
    },
    Example {
        name: "feed-forward",
        title: "a small network applied to each word",
        summary: "Expand, activate, project back: two matrices and a non-linearity, the same for \
                  every word.",
        options: &[
            rows("1 2; 2 -1", "one row for each word"),
            option("w-1", ValueKind::Matrix, "1 -1 0 2; 0 1 1 -1", "W₁, which expands"),
            option("b-1", ANY, "0 0 -1 0.5", "b₁"),
            option("w-2", ValueKind::Matrix, "1 0; 0 1; 1 1; -1 0.5", "W₂, which projects back"),
            option("b-2", ANY, "0.1 -0.1", "b₂"),
            option("activation", ValueKind::Choice(&["relu", "gelu"]), "relu", "the activation φ"),
        ],
        see_also: &["residual", "output-layer"],
        compute: blocks::feed_forward,
    },
    Example {
        name: "residual",
        title: "x + f(x), then normalize",
        summary: "A sub-layer adds to its input, so gradients reach early layers undiminished; \
                  post-norm and pre-norm.",
        options: &[
            TOKENS,
            WORDS,
            option(
                "slope",
                ValueKind::Number { min: -2.0, max: 2.0 },
                "0.1",
                "the derivative f′ of one layer, for the last step",
            ),
        ],
        see_also: &["layer-norm", "backward"],
        compute: norms::residual,
    },
    Example {
        name: "output-layer",
        title: "from a vector to a word",
        summary: "A linear layer gives a logit for each of six words, softmax gives probabilities, \
                  the largest is chosen.",
        options: &[
            option("vocabulary", ValueKind::Words, "a am I thanks student <eos>", "the words"),
            option("word", ValueKind::Words, "am", "the word whose one-hot vector is shown"),
            computed(
                "logits",
                ANY,
                "computed from a vector and a matrix",
                "one logit for each word",
            ),
        ],
        see_also: &["cross-entropy", "decoding"],
        compute: blocks::output_layer,
    },
    Example {
        name: "teacher-forcing",
        title: "training on the true prefix",
        summary: "The decoder's input is the target, shifted right; it predicts the next word at \
                  every position at once.",
        options: &[
            option("target", ValueKind::Words, "I am a student <eos>", "the target sentence"),
            option("source", ValueKind::Words, "Je suis étudiant", "the sentence they translate"),
            option(
                "probabilities",
                ValueKind::Row { min: 1e-6, max: 1.0 },
                "0.6 0.9 0.5 0.8 0.95",
                "the model's probability of each target word",
            ),
        ],
        see_also: &["cross-entropy", "causal-mask"],
        compute: training::teacher_forcing,
    },
    Example {
        name: "cross-entropy",
        title: "the loss and its gradient",
        summary: "The loss is −ln of the target's probability; its gradient by the logits is \
                  prediction minus target.",
        options: &[
            option("logits", ANY, "6 4", "one logit for each class"),
            option(
                "target",
                ValueKind::Count { min: 0, max: 63 },
                "0",
                "the target class, counted from 0",
            ),
            option("smoothing", ValueKind::Number { min: 0.0, max: 0.9 }, "0", "label smoothing ε"),
        ],
        see_also: &["teacher-forcing", "backward", "output-layer"],
        compute: training::cross_entropy,
    },
    Example {
        name: "backward",
        title: "gradients of a small attention model",
        summary: "The backward pass, step by step, beside the numerical gradient (finite \
                  differences).",
        options: &[TOKENS, WORDS],
        see_also: &["cross-entropy", "residual"],
        compute: backward::backward,
    },
    Example {
        name: "soft-retrieval",
        title: "attention as a soft dictionary lookup",
        summary: "A table holds values under the keys 70 and 80; the query 75 gets a weighted \
                  average.",
        options: &[
            option("query", ValueKind::Number { min: -1e6, max: 1e6 }, "75", "the query"),
            option("keys", ANY, "70 80", "the keys"),
            option("values", ANY, "1000 1500", "the values, one for each key"),
        ],
        see_also: &["self-attention"],
        compute: decoding::soft_retrieval,
    },
    Example {
        name: "roulette",
        title: "sampling a word",
        summary: "A wheel with a slice for each word, as wide as its probability: a random number \
                  in [0, 1) selects one.",
        options: &[
            option("probabilities", UNIT, FIVE, "one for each word; they sum to 1"),
            option("words", ValueKind::Words, CANDIDATES, "a name for each word"),
            option(
                "draws",
                ValueKind::Row { min: 0.0, max: 0.999_999 },
                "0.4 0.6",
                "numbers in [0, 1)",
            ),
        ],
        see_also: &["decoding"],
        compute: decoding::roulette,
    },
    Example {
        name: "decoding",
        title: "greedy, temperature, top-k, top-p",
        summary: "The decoding strategies on one distribution, alone and combined.",
        options: &[
            option("probabilities", UNIT, FIVE, "one for each word; they sum to 1"),
            option("words", ValueKind::Words, CANDIDATES, "a name for each word"),
            option(
                "temperature",
                ValueKind::Row { min: 0.0, max: 1e6 },
                "0 0.1 0.5 1 2 100",
                "one or more T",
            ),
            option("top-k", ValueKind::Row { min: 1.0, max: 64.0 }, "1 2 5", "one or more k"),
            option("top-p", UNIT, "0 0.69 0.71 1", "one or more p"),
        ],
        see_also: &["roulette", "output-layer"],
        compute: decoding::decoding,
    },
    sequence::BEAM_SEARCH,
    sequence::ENCODER_DECODER,
    sequence::BYTE_PAIR_ENCODING,
    sequence::RECURRENT_CELL,
    sequence::LSTM,
    sequence::GRU,
    sequence::ADDITIVE_ATTENTION,
];
