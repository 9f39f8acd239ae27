//! Exercises: the worked examples with sampled numbers, to be computed step by step.

use super::Question;
use super::sampler::{Sampler, WorkedExample, decimal_text, text};
use crate::error::Result;

/// In the order of the examples, those that build on others last. (The causal mask and teacher
/// forcing are among the questions.) A new one goes to the end: seeds count from 100 in this order.
pub(super) fn all(seed: u64) -> Result<Vec<Question>> {
    let makers: [fn(&mut Sampler) -> Result<Question>; 19] = [
        self_attention,
        scaling,
        padding_mask,
        positions,
        layer_norm,
        z_scores,
        feed_forward,
        output_layer,
        cross_entropy,
        soft_retrieval,
        roulette,
        decoding,
        multi_head,
        cross_attention,
        residual,
        backward,
        recurrent_cell,
        lstm,
        additive_attention,
    ];
    makers.iter().zip(100..).map(|(make, n)| make(&mut Sampler::new(seed, n))).collect()
}

/// Samples examples until one is worth computing.
fn until<T>(
    mut sample: impl FnMut() -> Result<(T, WorkedExample)>,
    is_worth: impl Fn(&WorkedExample) -> bool,
) -> Result<(T, WorkedExample)> {
    loop {
        let sampled = sample()?;
        if is_worth(&sampled.1) {
            return Ok(sampled);
        }
    }
}

/// Whether the numbers of a row are not all equal: equal scores give equal weights, and nothing to
/// compute.
fn differ(numbers: &[f64]) -> bool {
    numbers.iter().any(|x| *x != numbers[0])
}

fn self_attention(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let tokens = sampler.rows(2, 4, 0, 2);
        let worked =
            WorkedExample::new("self-attention", &[("tokens", &tokens), ("words", "one two")])?;
        Ok((tokens, worked))
    };
    let (tokens, worked) = until(make, |worked| differ(&worked.numbers("Scores", 0, 0)))?;
    let steps = vec![
        worked.row("the scores of the first token", "Scores", 0, 0),
        worked.row("the same, scaled", "Scaled scores", 0, 0),
        worked.row("its attention weights", "Weights", 0, 0),
        worked.row("its output", "Output", 0, 0),
    ];
    let text = format!("Two tokens, X = [{tokens}], attend to each other; Q = K = V = X.");
    Ok(worked.question("Self-attention", text, steps))
}

fn scaling(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let (query, keys) = (text(&sampler.row(4, 0, 4)), sampler.rows(2, 4, 0, 1));
        let worked = WorkedExample::new("scaling", &[("query", &query), ("keys", &keys)])?;
        Ok(((query, keys), worked))
    };
    let scores = |worked: &WorkedExample| [0, 1].map(|i| worked.numbers("Scores", 2, i)[0]);
    let ((query, keys), worked) = until(make, |worked| differ(&scores(worked)))?;
    let steps = vec![
        worked.column("the two scores", "Scores", 2, 0),
        worked.column("the weights without scaling", "Softmax without scaling", 0, 1),
        worked.column("the weights with scaling", "Softmax with scaling", 0, 1),
    ];
    let text = format!("The query [{query}] meets the keys [{keys}].");
    Ok(worked.question("Scaled scores", text, steps))
}

fn padding_mask(sampler: &mut Sampler) -> Result<Question> {
    let tokens = format!("{}; 0 0 0 0", sampler.rows(2, 4, 0, 2));
    let worked = WorkedExample::new("padding-mask", &[("tokens", &tokens), ("padding", "1 1 0")])?;
    let steps = vec![
        worked.row(
            "row 3 of the two masks multiplied (1 visible, 0 not)",
            "Two masks, multiplied",
            2,
            2,
        ),
        worked.row("row 2 of the masked, scaled scores", "Masked scores", 0, 1),
        worked.row("row 2 of the weights", "Weights", 0, 1),
        worked.row("row 3 of the weights: the padding attends as well", "Weights", 0, 2),
    ];
    let text = format!(
        "Three tokens, X = [{tokens}], Q = K = V = X. The third is padding and masked as a key; \
         the causal mask applies as well."
    );
    Ok(worked.question("Padding and causal mask", text, steps))
}

fn positions(sampler: &mut Sampler) -> Result<Question> {
    let position = sampler.integer(1, 5) as usize;
    let words = sampler.rows(2, 4, 0, 3);
    let length = (position + 1).to_string();
    let worked = WorkedExample::new(
        "positions",
        &[("length", &length), ("tokens", &words), ("words", "first second")],
    )?;
    let steps = vec![
        worked.row(
            format!("the encoding of position {position} (the first position is 0)"),
            "Positions",
            0,
            position,
        ),
        worked.row(
            "the second word with its position, which is 1, added",
            "Added to the words",
            2,
            1,
        ),
    ];
    let text = format!(
        "Sinusoidal positions of width 4, sin and cos in turn, are added to the words [{words}]."
    );
    Ok(worked.question("Positions", text, steps))
}

fn layer_norm(sampler: &mut Sampler) -> Result<Question> {
    let row = text(&sampler.row(4, 0, 9));
    let worked = WorkedExample::new("layer-norm", &[("rows", &row)])?;
    let steps = vec![
        worked.row("the mean", "Mean of each row", 1, 0),
        worked.row("the variance and its root (with ε = 0.00001)", "Variance of each row", 1, 0),
        worked.row("the normalized row", "Normalized", 0, 0),
    ];
    Ok(worked.question(
        "Layer normalization",
        format!("Normalize the row [{row}], with γ = 1 and β = 0."),
        steps,
    ))
}

fn z_scores(sampler: &mut Sampler) -> Result<Question> {
    // Three, all different in everything: with two, every z-score is 1 or −1.
    let (size, rooms, price) =
        (100 * sampler.integer(6, 9), sampler.integer(1, 3), 10 * sampler.integer(3, 6));
    let mut house = |from: i32| {
        [
            size + 300 * from + 50 * sampler.integer(0, 5),
            rooms + 2 * from + sampler.integer(0, 1),
            price + 30 * from + sampler.integer(0, 20),
        ]
    };
    let houses = [house(0), house(1), house(2)].map(|house| text(&house)).join("; ");
    let worked = WorkedExample::new("layer-norm", &[("houses", &houses)])?;
    let by_column = |ask, j| {
        let step = worked.column(ask, "Compared with batch norm", 1, j);
        step.with_formula("z = (x − μ) / σ, with μ and σ of the column")
    };
    let steps = vec![
        by_column("the z-scores of the three sizes", 0),
        by_column("of the three numbers of rooms", 1),
        by_column("of the three prices", 2),
    ];
    let text = format!(
        "Three houses, each with its size, its rooms and its price: [{houses}]. Batch \
         normalization compares the houses, feature by feature (σ² is divided by 3)."
    );
    Ok(worked.question("z-scores", text, steps))
}

fn feed_forward(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let row = text(&sampler.row(2, -2, 3));
        let (w_1, w_2) = (sampler.rows(2, 3, -1, 2), sampler.rows(3, 2, -1, 1));
        let (b_1, b_2) = (text(&sampler.row(3, -1, 1)), text(&sampler.row(2, -1, 1)));
        let options =
            [("rows", &row[..]), ("w-1", &w_1), ("b-1", &b_1), ("w-2", &w_2), ("b-2", &b_2)];
        let worked = WorkedExample::new("feed-forward", &options)?;
        Ok(((row, w_1, w_2, b_1, b_2), worked))
    };
    // ReLU lets some pass, and sets some to 0.
    let activates = |worked: &WorkedExample| {
        let hidden = worked.numbers("Activate", 0, 0);
        hidden.contains(&0.0) && differ(&hidden)
    };
    let ((row, w_1, w_2, b_1, b_2), worked) = until(make, activates)?;
    let steps = vec![
        worked.row("z = x·W₁ + b₁", "Expand", 3, 0),
        worked.row("h = ReLU(z)", "Activate", 0, 0),
        worked.row("y = h·W₂ + b₂", "Project back", 2, 0),
    ];
    let text = format!("x = [{row}], W₁ = [{w_1}], b₁ = [{b_1}], W₂ = [{w_2}], b₂ = [{b_2}].");
    Ok(worked.question("Feed-forward", text, steps))
}

fn output_layer(sampler: &mut Sampler) -> Result<Question> {
    const VOCABULARY: [&str; 6] = ["a", "am", "I", "thanks", "student", "<eos>"];
    let word = sampler.one_of(&VOCABULARY);
    let logits = text(&sampler.row(6, -1, 3));
    let vocabulary = VOCABULARY.join(" ");
    let options = [("vocabulary", &vocabulary[..]), ("word", word), ("logits", &logits)];
    let worked = WorkedExample::new("output-layer", &options)?;
    let steps = vec![
        worked.row(format!("the one-hot vector of \"{word}\""), "One-hot", 0, 0),
        worked.column("the probabilities of the six words", "Probabilities", 0, 1),
    ];
    let text = format!("The vocabulary is: {vocabulary}. A decoder gives the logits [{logits}].");
    Ok(worked.question("Words and probabilities", text, steps))
}

fn cross_entropy(sampler: &mut Sampler) -> Result<Question> {
    let logits = text(&sampler.row(3, 0, 4));
    let target = sampler.integer(0, 2).to_string();
    let worked = WorkedExample::new("cross-entropy", &[("logits", &logits), ("target", &target)])?;
    let steps = vec![
        worked.column("the probabilities", "Probabilities", 0, 1),
        worked.row("the loss", "Loss", 0, 0),
        worked.column("the gradient of the loss by the logits", "Gradient", 0, 2),
    ];
    let text = format!(
        "Three classes with the logits [{logits}]; class {target}, counted from 0, is the target."
    );
    Ok(worked.question("Loss and its gradient", text, steps))
}

fn soft_retrieval(sampler: &mut Sampler) -> Result<Question> {
    let (key, gap) = (10 * sampler.integer(2, 8), 10 * sampler.integer(1, 3));
    let query = (key + sampler.integer(1, gap - 1)).to_string();
    let keys = text(&[key, key + gap]);
    let values = text(&[100 * sampler.integer(2, 9), 100 * sampler.integer(10, 19)]);
    let worked = WorkedExample::new(
        "soft-retrieval",
        &[("query", &query), ("keys", &keys), ("values", &values)],
    )?;
    let steps = vec![
        worked.column("the weight of each key", "Similarity and weight", 0, 2),
        worked.row("the answer", "The answer", 0, 0),
    ];
    let text = format!(
        "A table holds the values [{values}] under the keys [{keys}]; the query is {query}, and \
         the similarity is 1/|q − k|."
    );
    Ok(worked.question("Soft retrieval", text, steps))
}

fn roulette(sampler: &mut Sampler) -> Result<Question> {
    let p = sampler.probabilities();
    // Between the edges of the slices, which are multiples of 0.05.
    let draw = format!("0.{:02}", 5 * sampler.integer(0, 19) + sampler.integer(1, 4));
    let worked = WorkedExample::new("roulette", &[("probabilities", &p), ("draws", &draw)])?;
    let steps = vec![
        worked.column("where each slice ends (the cumulative probabilities)", "The wheel", 0, 2),
        worked.row(format!("the word that u = {draw} selects"), "The draw", 0, 0),
    ];
    let words = worked.explanation.step("The wheel").tables[0].row_labels.join(", ");
    let text = format!("The words {words} have the probabilities [{p}].");
    Ok(worked.question("The roulette", text, steps))
}

fn decoding(sampler: &mut Sampler) -> Result<Question> {
    let p = sampler.probabilities();
    let k = sampler.integer(2, 4).to_string();
    let top_p = format!("0.{}", 10 * sampler.integer(5, 8) + 2);
    let options =
        [("probabilities", &p[..]), ("temperature", "0.5"), ("top-k", &k), ("top-p", &top_p)];
    let worked = WorkedExample::new("decoding", &options)?;
    let steps = vec![
        worked.row("the five probabilities at temperature 0.5", "Temperature", 0, 0),
        worked.row(
            format!("with top-k, k = {k}, instead (0 for words that are excluded)"),
            "Top-k",
            0,
            0,
        ),
        worked.row(format!("with top-p, p₀ = {top_p}, instead"), "Top-p", 0, 0),
    ];
    let text = format!("Five words have the probabilities [{p}].");
    Ok(worked.question("Temperature, top-k, top-p", text, steps))
}

fn multi_head(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let tokens = sampler.rows(2, 4, 0, 2);
        let options = [("tokens", &tokens[..]), ("words", "one two"), ("heads", "2")];
        let worked = WorkedExample::new("multi-head", &options)?;
        Ok((tokens, worked))
    };
    let scores_differ = |worked: &WorkedExample| {
        ["Head 1", "Head 2"].iter().all(|head| differ(&worked.numbers(head, 0, 0)))
    };
    let (tokens, worked) = until(make, scores_differ)?;
    let steps = vec![
        worked
            .row("the scaled scores of the first token in head 1", "Head 1", 0, 0)
            .with_formula("S = Q·Kᵀ/√2,  √2 = 1.4142, over the columns of the head"),
        worked.row("its weights there", "Head 1", 1, 0).with_formula("A = softmax(S)"),
        worked.row("its output there", "Head 1", 2, 0).with_formula("Z₁ = A·V"),
        worked.row("its output in head 2", "Head 2", 2, 0),
        worked.row("both concatenated", "Concatenate and project", 0, 0),
    ];
    let text = format!(
        "Two tokens, X = [{tokens}], with two heads: the first has columns 1 and 2, the second 3 \
         and 4; Q = K = V = X, W_O is the identity."
    );
    Ok(worked.question("Two heads", text, steps))
}

fn cross_attention(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let (tokens, memory) = (sampler.rows(1, 4, 0, 2), sampler.rows(2, 4, 0, 2));
        let options = [
            ("tokens", &tokens[..]),
            ("memory", &memory),
            ("words", "I"),
            ("memory-words", "Je suis"),
        ];
        let worked = WorkedExample::new("cross-attention", &options)?;
        Ok(((tokens, memory), worked))
    };
    let ((tokens, memory), worked) = until(make, |worked| differ(&worked.numbers("Scores", 0, 0)))?;
    let steps = vec![
        worked.row("the scores", "Scores", 0, 0),
        worked.row("the weights", "Weights", 0, 0),
        worked.row("the output for the decoder's token", "Output", 0, 0),
    ];
    let text = format!(
        "The decoder's token [{tokens}] attends to the encoder's output for two words, [{memory}]; \
         no weight matrices, d = 4."
    );
    Ok(worked.question("Cross-attention", text, steps))
}

fn residual(sampler: &mut Sampler) -> Result<Question> {
    let tokens = sampler.rows(2, 4, 0, 2);
    let slope = sampler.one_of(&["0.1", "0.2", "0.25", "0.5"]);
    let worked = WorkedExample::new(
        "residual",
        &[("tokens", &tokens), ("words", "one two"), ("slope", slope)],
    )?;
    let steps = vec![
        worked.row("f(x) of the first token", "The sub-layer", 1, 0),
        worked.row("x + f(x)", "Add", 0, 0),
        worked.row("the same, normalized (γ = 1, β = 0)", "Post-norm", 0, 0),
        worked.row(
            format!(
                "the derivative through four layers if each has f′ = {slope}: without residual \
                 connections, and with them"
            ),
            "The gradient through many layers",
            0,
            2,
        ),
    ];
    let text =
        format!("Two tokens, x = [{tokens}], and a self-attention f(x) = softmax(x·xᵀ/√4)·x.");
    Ok(worked.question("Residual connections", text, steps))
}

fn backward(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let tokens = sampler.rows(2, 4, 0, 2);
        let worked = WorkedExample::new("backward", &[("tokens", &tokens), ("words", "one two")])?;
        Ok((tokens, worked))
    };
    let predicted = |worked: &WorkedExample| worked.numbers("Forward: loss", 0, 0);
    // Four decimals of a smaller probability do not give its logarithm; of one near 1, every
    // gradient is nearly 0.
    let (tokens, worked) = until(make, |worked| (0.05..0.95).contains(&predicted(worked)[1]))?;
    let text = format!(
        "Two tokens, X = [{tokens}], attend to each other as in \"Self-attention\", Q = K = V = X, \
         d = 4; the words are \"one\", \"two\" and \".\", and the loss is the mean over T = 2 \
         tokens. For the first token, whose next word is \"two\", the model predicts p = [{}]; the \
         gradient by its row of Z is dZ = [{}].",
        decimal_text(&predicted(&worked)),
        decimal_text(&worked.numbers("Attention's output", 0, 0))
    );
    let steps = vec![
        worked.row("the loss of the first token", "Forward: loss", 1, 0),
        worked.row("the gradient by its three logits", "Backward: logits", 0, 0),
        worked
            .row("row 1 of dA, the gradient by its attention weights", "Weights and scores", 0, 0)
            .with_formula("dA = dZ·Vᵀ"),
        worked
            .row("row 1 of the gradient by its scaled scores", "Weights and scores", 1, 0)
            .with_formula("dS_scaled = A ∘ (dA − Σ_j A ∘ dA),  A = softmax(Q·Kᵀ/√d)"),
    ];
    Ok(worked.question("Backward pass", text, steps))
}

fn recurrent_cell(sampler: &mut Sampler) -> Result<Question> {
    let tokens = sampler.rows(2, 2, -1, 1);
    let (w_x, w_h) = (sampler.rows(2, 2, -1, 1), sampler.rows(2, 2, -1, 1));
    let options = [
        ("tokens", &tokens[..]),
        ("words", "one two"),
        ("w-x", &w_x),
        ("w-h", &w_h),
        ("bias", "0 0"),
    ];
    let worked = WorkedExample::new("recurrent-cell", &options)?;
    let steps = vec![
        worked.column("x·W_xᵀ + h·W_hᵀ of the first token", "Time step 1", 0, 4),
        worked.column("the state after the first token", "Time step 1", 0, 5),
        worked.column("the state after the second token", "Time step 2", 0, 5),
    ];
    let text = format!(
        "A tanh cell reads two tokens, [{tokens}]. W_x = [{w_x}], W_h = [{w_h}], b = 0, and the \
         state starts at 0."
    );
    Ok(worked.question("Recurrent cell", text, steps))
}

fn lstm(sampler: &mut Sampler) -> Result<Question> {
    let mut column = || [0; 4].map(|_| sampler.integer(-1, 2)).map(|x| x.to_string()).join("; ");
    let (w_x, w_h) = (column(), column());
    let tokens = format!("{}; {}", sampler.integer(1, 2), sampler.integer(-2, -1));
    let options = [
        ("tokens", &tokens[..]),
        ("words", "one two"),
        ("w-x", &w_x),
        ("w-h", &w_h),
        ("bias", "0 0 0 0"),
    ];
    let worked = WorkedExample::new("lstm", &options)?;
    let state = |ask: &str, t: usize, table: usize, column: usize| {
        worked.column(ask, &format!("State {t}"), table, column)
    };
    let steps = vec![
        worked.column("the gates i, f, g, o of the first token", "Gates 1", 0, 4),
        state("the cell state c after the first token", 1, 0, 4),
        state("the hidden state h after the first token", 1, 1, 2),
        worked.column("the gates of the second token", "Gates 2", 0, 4),
        state("the cell state after the second token", 2, 0, 4),
    ];
    let text = format!(
        "An LSTM with a state of one number reads the tokens [{tokens}]. The rows of W_x = [{w_x}] \
         and W_h = [{w_h}] are the gates i, f, g and o; b = 0, and h and c start at 0."
    );
    Ok(worked.question("LSTM gates", text, steps))
}

fn additive_attention(sampler: &mut Sampler) -> Result<Question> {
    let make = || {
        let (state, v) = (text(&sampler.row(2, -1, 1)), text(&sampler.row(2, 1, 3)));
        let memory = sampler.rows(2, 2, -1, 1);
        let (w, u) = (sampler.rows(2, 2, -1, 1), sampler.rows(2, 2, -1, 1));
        let options = [
            ("state", &state[..]),
            ("memory", &memory),
            ("words", "Je suis"),
            ("w", &w),
            ("u", &u),
            ("v", &v),
        ];
        let worked = WorkedExample::new("additive-attention", &options)?;
        Ok(((state, v, memory, w, u), worked))
    };
    let scores = |worked: &WorkedExample| [0, 1].map(|i| worked.numbers("Scores", 1, i)[0]);
    let ((state, v, memory, w, u), worked) = until(make, |worked| differ(&scores(worked)))?;
    let steps = vec![
        worked.row("the query q", "Projections", 2, 0).with_formula("q = W·s"),
        worked.column("the two scores", "Scores", 1, 0),
        worked.column("the weights", "Weights", 0, 0),
        worked.row("the context vector", "Context vector", 0, 0),
    ];
    let text = format!(
        "A decoder in state s = [{state}] attends to the encoder's states h = [{memory}] by \
         additive attention with W = [{w}], U = [{u}] and v = [{v}]."
    );
    Ok(worked.question("Additive attention", text, steps))
}
