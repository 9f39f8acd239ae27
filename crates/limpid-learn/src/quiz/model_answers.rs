//! The questions and their model answers in words.

/// A question and its model answer.
pub(super) struct QuestionText {
    pub title: &'static str,
    /// Empty if the text is made with sampled numbers.
    pub question: &'static str,
    pub answer: &'static str,
    /// The worked example that shows it.
    pub example: &'static str,
}

const fn ask(
    title: &'static str,
    question: &'static str,
    answer: &'static str,
    example: &'static str,
) -> QuestionText {
    QuestionText { title, question, answer, example }
}

/// A question with sampled numbers.
const fn compute(title: &'static str, answer: &'static str, example: &'static str) -> QuestionText {
    QuestionText { title, question: "", answer, example }
}

/// All seventeen.
pub(super) const QUESTION_TEXTS: [QuestionText; super::QUESTIONS] = [
    ask(
        "Method and architecture",
        "What is the difference between a method of generating and an architecture? Which of the \
         two is auto-regression, and which is a Transformer?",
        "A method says how a whole is made from predictions: auto-regression writes p(x) as the \
         product of p(next | all before) and samples one token after another. An architecture says \
         what computes one such prediction: a Transformer, or a recurrent network just as well. \
         The one can be changed without the other.",
        "teacher-forcing",
    ),
    compute(
        "The size of the input",
        "T×d_m: one row for each token, one column for each number of its embedding. Layers keep \
         this size, which is why they can be stacked.",
        "self-attention",
    ),
    ask(
        "Why divide by √d_k",
        "Scores are divided by √d_k before softmax. What would go wrong without it?",
        "A dot product of d_k numbers with mean 0 and variance 1 has variance d_k: the wider the \
         vectors, the larger the scores. Large gaps make softmax almost one-hot, and there its \
         slope a·(1 − a) is nearly 0, so little is learned. Divided by √d_k, scores have variance \
         1 whatever the width.",
        "scaling",
    ),
    compute(
        "Sizes in attention",
        "Keys are compared with queries number by number, so they have the same width; there is \
         one key for each value. Every row of Z is a weighted average of values, so Z is as wide \
         as V and as long as Q.",
        "self-attention",
    ),
    ask(
        "Why a causal mask",
        "Why must a Transformer that writes one token after another have a causal mask, and how \
         does the mask work?",
        "At every position it is trained to predict the next token, and all tokens are fed in at \
         once: unmasked, it would look at the answer. The mask adds −∞ to the score of every later \
         token; exp(−∞) = 0, so its weight is 0 and the others still sum to 1. What a position \
         computes then depends on its past alone, as it will when text is generated.",
        "causal-mask",
    ),
    ask(
        "Attention without a mask",
        "For which job is attention without a mask unfit, though it suits an encoder well? What \
         does masking change?",
        "For language modelling from left to right. Without a mask every token sees every other, \
         the future included; the training loss would become tiny by copying, and the model \
         useless when there is no future to copy from. With the mask, row i mixes tokens 1 to i \
         only, and one pass trains all positions at once without a leak.",
        "causal-mask",
    ),
    compute(
        "The mask as a matrix",
        "M[i][j] is 0 for j ≤ i and −∞ above the diagonal. Adding 0 changes nothing; adding −∞ \
         makes exp of the score 0, so softmax shares each row's weight among the tokens up to i. \
         Masking after softmax instead would leave rows that do not sum to 1.",
        "causal-mask",
    ),
    ask(
        "Why several heads",
        "Why do Transformers use several attention heads and not a single one?",
        "One head makes one set of weights: an average can follow one kind of relation at a time. \
         Several heads, each with its own projections into a narrower space, can follow several at \
         once (the word before, the subject, the antecedent of a pronoun), and at the same cost, \
         since the columns are split among them.",
        "multi-head",
    ),
    compute(
        "The width of a head",
        "The columns are split: d_k = d_v = d_m / h. So all heads together cost what one head \
         of full width costs, and side by side they are d_m wide again.",
        "multi-head",
    ),
    ask(
        "After the heads",
        "Each head has computed its Z. Which two things happen before the block is left?",
        "The outputs are put side by side, [Z₁ … Z_h], which is T×(h·d_v), and multiplied by the \
         learned matrix W_O, which mixes what the heads found and brings it back to width d_m. \
         (Then the residual is added and normalized.)",
        "multi-head",
    ),
    ask(
        "Position-wise",
        "The feed-forward layer is called position-wise. What does that mean, and what does it do \
         that attention does not?",
        "The same two matrices and the same non-linearity are applied to every row by itself; no \
         row sees another. Attention moves information between tokens, but a row of it is only an \
         average of values; the feed-forward layer works on what has arrived, token by token, and \
         its non-linearity lets it compute more than averages.",
        "feed-forward",
    ),
    ask(
        "The output layer",
        "What is the last layer of a decoder for, and what makes its output a probability \
         distribution?",
        "It turns the vector of each position into one score (logit) for every word of the \
         vocabulary, a product with a matrix of v rows, often the embedding table itself. Softmax \
         makes the scores positive and lets them sum to 1: the distribution of the next word, from \
         which one is sampled or the most likely taken.",
        "output-layer",
    ),
    ask(
        "Teacher forcing",
        "What is teacher forcing, why are models trained with it, and what would be hard without \
         it?",
        "During training the decoder is given the true words so far, not its own, and is asked for \
         the next one. So an early mistake does not spoil the rest of the sentence, and all \
         positions are trained in one pass. Without it, training would have to write word by word, \
         slowly, from prefixes that are nonsense at first. The price: at use the model meets its \
         own mistakes, which it has never seen.",
        "teacher-forcing",
    ),
    compute(
        "From likelihood to loss",
        "By the chain rule P(x) = Π_t p(x_t | x_1 … x_{t−1}). The logarithm grows with its \
         argument, so the same parameters maximize ln P = Σ_t ln p(x_t | …); products of small \
         numbers become sums. Maximizing is minimizing the negative: L = −Σ_t ln p(x_t | x_<t). \
         With a start token there is a term for every word.",
        "teacher-forcing",
    ),
    ask(
        "Three ways to choose",
        "Compare greedy search, top-k and top-p: is the result always the same, which words can be \
         chosen, what is each good at, and what is it bad at?",
        "Greedy: always the same; the single likeliest word; safe and short-sighted, dull and \
         repetitive. Top-k: sampled; always k words, however sure the model is; simple, but k is \
         too many where one word is certain and too few where many would do. Top-p: sampled; the \
         fewest words whose probabilities reach p, so their number follows the model's certainty; \
         but where the model is unsure the set can be long and its tail odd.",
        "decoding",
    ),
    compute(
        "Temperature",
        "Softmax of ln p / T. At T = 100 all logits are nearly 0 and the words nearly equally \
         likely: random text. At T = 0.1 gaps are ten times as large, and the likeliest words get \
         almost everything, the likeliest of all the more the further it is ahead: nearly greedy. \
         T = 1 leaves p as it is.",
        "decoding",
    ),
    ask(
        "A story and a summary",
        "You want a creative story from a language model, and then a factual summary. How would \
         you choose words in each case, and why?",
        "Story: sample, with temperature about 0.8 to 1 and top-p about 0.9 (perhaps top-k as a \
         second fence): varied, but the odd tail is cut off; try several and pick one. Summary: \
         greedy or a small beam, or temperature near 0: it should say what is in the text, the \
         likeliest wording is good enough, and the same input should give the same output.",
        "decoding",
    ),
];
