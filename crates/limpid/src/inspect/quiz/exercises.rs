//! The worked examples with fresh numbers: worked out by whoever answers, step by step.

use super::Question;
use super::numbers::{Fresh, Worked, decimal_text, text};
use crate::error::Result;

/// In the order of the examples, those that build on others last. (The causal mask and teacher forcing are among the questions.)
pub(super) fn all(seed: u64) -> Result<Vec<Question>> {
    let makers: [fn(&mut Fresh) -> Result<Question>; 16] = [
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
    ];
    makers.iter().zip(100..).map(|(make, n)| make(&mut Fresh::new(seed, n))).collect()
}

/// An example with other numbers until they are worth computing with.
fn until<T>(
    mut make: impl FnMut() -> Result<(T, Worked)>,
    worth: impl Fn(&Worked) -> bool,
) -> Result<(T, Worked)> {
    loop {
        let made = make()?;
        if worth(&made.1) {
            return Ok(made);
        }
    }
}

/// Whether the numbers of a row are not all the same: equal scores give equal weights, and nothing to compute.
fn differ(numbers: &[f64]) -> bool {
    numbers.iter().any(|x| *x != numbers[0])
}

fn self_attention(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let tokens = fresh.rows(2, 4, 0, 2);
        let worked = Worked::new("self-attention", &[("tokens", &tokens), ("words", "one two")])?;
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

fn scaling(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let (query, keys) = (text(&fresh.row(4, 0, 4)), fresh.rows(2, 4, 0, 1));
        let worked = Worked::new("scaling", &[("query", &query), ("keys", &keys)])?;
        Ok(((query, keys), worked))
    };
    let scores = |worked: &Worked| [0, 1].map(|i| worked.numbers("Scores", 2, i)[0]);
    let ((query, keys), worked) = until(make, |worked| differ(&scores(worked)))?;
    let steps = vec![
        worked.column("the two scores", "Scores", 2, 0),
        worked.column("the weights without scaling", "Softmax without scaling", 0, 1),
        worked.column("the weights with scaling", "Softmax with scaling", 0, 1),
    ];
    let text = format!("The query [{query}] meets the keys [{keys}].");
    Ok(worked.question("Scaled scores", text, steps))
}

fn padding_mask(fresh: &mut Fresh) -> Result<Question> {
    let tokens = format!("{}; 0 0 0 0", fresh.rows(2, 4, 0, 2));
    let worked = Worked::new("padding-mask", &[("tokens", &tokens), ("padding", "1 1 0")])?;
    let steps = vec![
        worked.row("row 3 of the two masks multiplied (1 visible, 0 not)", "Two masks, multiplied", 2, 2),
        worked.row("row 2 of the masked, scaled scores", "Masked scores", 0, 1),
        worked.row("row 2 of the weights", "Weights", 0, 1),
        worked.row("row 3 of the weights: the padding looks as well", "Weights", 0, 2),
    ];
    let text = format!(
        "Three tokens, X = [{tokens}], Q = K = V = X. The third is padding and hidden as a key; nobody looks ahead either."
    );
    Ok(worked.question("Padding and the future", text, steps))
}

fn positions(fresh: &mut Fresh) -> Result<Question> {
    let place = fresh.whole(1, 5) as usize;
    let words = fresh.rows(2, 4, 0, 3);
    let length = (place + 1).to_string();
    let worked =
        Worked::new("positions", &[("length", &length), ("tokens", &words), ("words", "first second")])?;
    let steps = vec![
        worked.row(
            format!("the encoding of position {place} (the first position is 0)"),
            "Positions",
            0,
            place,
        ),
        worked.row("the second word with its position, which is 1, added", "Added to the words", 2, 1),
    ];
    let text =
        format!("Sinusoidal positions of width 4, sin and cos in turn, are added to the words [{words}].");
    Ok(worked.question("Positions", text, steps))
}

fn layer_norm(fresh: &mut Fresh) -> Result<Question> {
    let row = text(&fresh.row(4, 0, 9));
    let worked = Worked::new("layer-norm", &[("rows", &row)])?;
    let steps = vec![
        worked.row("the mean", "Mean of each row", 1, 0),
        worked.row("the variance and its root (with ε = 0.00001)", "Variance of each row", 1, 0),
        worked.row("the normalised row", "Normalised", 0, 0),
    ];
    Ok(worked.question(
        "Layer normalisation",
        format!("Normalise the row [{row}], with γ = 1 and β = 0."),
        steps,
    ))
}

fn z_scores(fresh: &mut Fresh) -> Result<Question> {
    // Three, all different in everything: with two, every z-score is 1 or −1.
    let (size, rooms, price) = (100 * fresh.whole(6, 9), fresh.whole(1, 3), 10 * fresh.whole(3, 6));
    let mut house = |from: i32| {
        [
            size + 300 * from + 50 * fresh.whole(0, 5),
            rooms + 2 * from + fresh.whole(0, 1),
            price + 30 * from + fresh.whole(0, 20),
        ]
    };
    let houses = [house(0), house(1), house(2)].map(|house| text(&house)).join("; ");
    let worked = Worked::new("layer-norm", &[("houses", &houses)])?;
    let by_column = |ask, j| {
        let step = worked.column(ask, "Beside batch norm", 1, j);
        step.with_formula("z = (x − μ) / σ, with μ and σ of the column")
    };
    let steps = vec![
        by_column("the z-scores of the three sizes", 0),
        by_column("of the three numbers of rooms", 1),
        by_column("of the three prices", 2),
    ];
    let text = format!(
        "Three houses, each with its size, its rooms and its price: [{houses}]. Batch normalisation compares the houses, feature by feature (σ² is divided by 3)."
    );
    Ok(worked.question("z-scores", text, steps))
}

fn feed_forward(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let row = text(&fresh.row(2, -2, 3));
        let (w_1, w_2) = (fresh.rows(2, 3, -1, 2), fresh.rows(3, 2, -1, 1));
        let (b_1, b_2) = (text(&fresh.row(3, -1, 1)), text(&fresh.row(2, -1, 1)));
        let options = [("rows", &row[..]), ("w-1", &w_1), ("b-1", &b_1), ("w-2", &w_2), ("b-2", &b_2)];
        let worked = Worked::new("feed-forward", &options)?;
        Ok(((row, w_1, w_2, b_1, b_2), worked))
    };
    // Something passes the bend, and something does not.
    let bends = |worked: &Worked| {
        let bent = worked.numbers("Bend", 0, 0);
        bent.contains(&0.0) && differ(&bent)
    };
    let ((row, w_1, w_2, b_1, b_2), worked) = until(make, bends)?;
    let steps = vec![
        worked.row("z = x·W₁ + b₁", "Widen", 3, 0),
        worked.row("h = ReLU(z)", "Bend", 0, 0),
        worked.row("y = h·W₂ + b₂", "Narrow", 2, 0),
    ];
    let text = format!("x = [{row}], W₁ = [{w_1}], b₁ = [{b_1}], W₂ = [{w_2}], b₂ = [{b_2}].");
    Ok(worked.question("Feed-forward", text, steps))
}

fn output_layer(fresh: &mut Fresh) -> Result<Question> {
    const VOCABULARY: [&str; 6] = ["a", "am", "I", "thanks", "student", "<eos>"];
    let word = fresh.one_of(&VOCABULARY);
    let logits = text(&fresh.row(6, -1, 3));
    let vocabulary = VOCABULARY.join(" ");
    let options = [("vocabulary", &vocabulary[..]), ("word", word), ("logits", &logits)];
    let worked = Worked::new("output-layer", &options)?;
    let steps = vec![
        worked.row(format!("the one-hot vector of \"{word}\""), "One-hot", 0, 0),
        worked.column("the probabilities of the six words", "Probabilities", 0, 1),
    ];
    let text = format!("The vocabulary is: {vocabulary}. A decoder gives the logits [{logits}].");
    Ok(worked.question("Words and probabilities", text, steps))
}

fn cross_entropy(fresh: &mut Fresh) -> Result<Question> {
    let logits = text(&fresh.row(3, 0, 4));
    let target = fresh.whole(0, 2).to_string();
    let worked = Worked::new("cross-entropy", &[("logits", &logits), ("target", &target)])?;
    let steps = vec![
        worked.column("the probabilities", "Probabilities", 0, 1),
        worked.row("the loss", "Loss", 0, 0),
        worked.column("the gradient of the loss by the logits", "Gradient", 0, 2),
    ];
    let text = format!("Three classes with the logits [{logits}]; class {target}, counted from 0, is right.");
    Ok(worked.question("Loss and its gradient", text, steps))
}

fn soft_retrieval(fresh: &mut Fresh) -> Result<Question> {
    let (key, gap) = (10 * fresh.whole(2, 8), 10 * fresh.whole(1, 3));
    let query = (key + fresh.whole(1, gap - 1)).to_string();
    let keys = text(&[key, key + gap]);
    let values = text(&[100 * fresh.whole(2, 9), 100 * fresh.whole(10, 19)]);
    let worked = Worked::new("soft-retrieval", &[("query", &query), ("keys", &keys), ("values", &values)])?;
    let steps = vec![
        worked.column("the weight of each key", "How near is each key?", 0, 2),
        worked.row("the answer", "The answer", 0, 0),
    ];
    let text =
        format!("A table holds the values [{values}] under the keys [{keys}] and is asked for {query}.");
    Ok(worked.question("Looking up what is not there", text, steps))
}

fn roulette(fresh: &mut Fresh) -> Result<Question> {
    let p = fresh.probabilities();
    // Between the edges of the slices, which are multiples of 0.05.
    let draw = format!("0.{:02}", 5 * fresh.whole(0, 19) + fresh.whole(1, 4));
    let worked = Worked::new("roulette", &[("probabilities", &p), ("draws", &draw)])?;
    let steps = vec![
        worked.column("where each slice ends (the cumulative probabilities)", "The wheel", 0, 2),
        worked.row(format!("the word that u = {draw} draws"), "The draw", 0, 0),
    ];
    let words = worked.explanation.step("The wheel").tables[0].row_labels.join(", ");
    let text = format!("The words {words} have the probabilities [{p}].");
    Ok(worked.question("The roulette", text, steps))
}

fn decoding(fresh: &mut Fresh) -> Result<Question> {
    let p = fresh.probabilities();
    let k = fresh.whole(2, 4).to_string();
    let top_p = format!("0.{}", 10 * fresh.whole(5, 8) + 2);
    let options = [("probabilities", &p[..]), ("temperature", "0.5"), ("top-k", &k), ("top-p", &top_p)];
    let worked = Worked::new("decoding", &options)?;
    let steps = vec![
        worked.row("the five probabilities at temperature 0.5", "Temperature", 0, 0),
        worked.row(format!("with top-k, k = {k}, instead (0 for words that are left out)"), "Top-k", 0, 0),
        worked.row(format!("with top-p, p₀ = {top_p}, instead"), "Top-p", 0, 0),
    ];
    let text = format!("Five words have the probabilities [{p}].");
    Ok(worked.question("Temperature, top-k, top-p", text, steps))
}

fn multi_head(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let tokens = fresh.rows(2, 4, 0, 2);
        let options = [("tokens", &tokens[..]), ("words", "one two"), ("heads", "2")];
        let worked = Worked::new("multi-head", &options)?;
        Ok((tokens, worked))
    };
    let scores_differ =
        |worked: &Worked| ["Head 1", "Head 2"].iter().all(|head| differ(&worked.numbers(head, 0, 0)));
    let (tokens, worked) = until(make, scores_differ)?;
    let steps = vec![
        worked
            .row("the scaled scores of the first token in head 1", "Head 1", 0, 0)
            .with_formula("S = Q·Kᵀ/√2,  √2 = 1.4142, over the columns of the head"),
        worked.row("its weights there", "Head 1", 1, 0).with_formula("A = softmax(S)"),
        worked.row("its output there", "Head 1", 2, 0).with_formula("Z₁ = A·V"),
        worked.row("its output in head 2", "Head 2", 2, 0),
        worked.row("both side by side", "Side by side, then mixed", 0, 0),
    ];
    let text = format!(
        "Two tokens, X = [{tokens}], with two heads: the first has columns 1 and 2, the second 3 and 4; Q = K = V = X, W_O is the identity."
    );
    Ok(worked.question("Two heads", text, steps))
}

fn cross_attention(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let (tokens, memory) = (fresh.rows(1, 4, 0, 2), fresh.rows(2, 4, 0, 2));
        let options =
            [("tokens", &tokens[..]), ("memory", &memory), ("words", "I"), ("memory-words", "Je suis")];
        let worked = Worked::new("cross-attention", &options)?;
        Ok(((tokens, memory), worked))
    };
    let ((tokens, memory), worked) = until(make, |worked| differ(&worked.numbers("Scores", 0, 0)))?;
    let steps = vec![
        worked.row("the scores", "Scores", 0, 0),
        worked.row("the weights", "Weights", 0, 0),
        worked.row("what the decoder's token takes from the source", "Output", 0, 0),
    ];
    let text = format!(
        "The decoder's token [{tokens}] looks at the encoder's output for two words, [{memory}]; no weight matrices, d = 4."
    );
    Ok(worked.question("Looking at the source", text, steps))
}

fn residual(fresh: &mut Fresh) -> Result<Question> {
    let tokens = fresh.rows(2, 4, 0, 2);
    let slope = fresh.one_of(&["0.1", "0.2", "0.25", "0.5"]);
    let worked = Worked::new("residual", &[("tokens", &tokens), ("words", "one two"), ("slope", slope)])?;
    let steps = vec![
        worked.row("f(x) of the first token", "What the layer says", 1, 0),
        worked.row("x + f(x)", "Add", 0, 0),
        worked.row(
            "the same, normalised (γ = 1, β = 0)",
            "Normalise after (Vaswani et al. 2017, GPT-1)",
            0,
            0,
        ),
        worked.row(
            format!(
                "the derivative through four layers if each has f′ = {slope}: without residuals, and with"
            ),
            "A straight way back",
            0,
            2,
        ),
    ];
    let text = format!("Two tokens, x = [{tokens}], and a self-attention f(x) = softmax(x·xᵀ/√4)·x.");
    Ok(worked.question("Residuals", text, steps))
}

fn backward(fresh: &mut Fresh) -> Result<Question> {
    let make = || {
        let tokens = fresh.rows(2, 4, 0, 2);
        let worked = Worked::new("backward", &[("tokens", &tokens), ("words", "one two")])?;
        Ok((tokens, worked))
    };
    let said = |worked: &Worked| worked.numbers("There: loss", 0, 0);
    // Four decimals of a smaller probability do not give its logarithm; of one near 1, every gradient is nearly 0.
    let (tokens, worked) = until(make, |worked| (0.05..0.95).contains(&said(worked)[1]))?;
    let text = format!(
        "Two tokens, X = [{tokens}], attend to each other as in \"Self-attention\", Q = K = V = X, d = 4; the words are \"one\", \"two\" and \".\", and the loss is the mean over T = 2 \
         tokens. For the first token, whose next word is \"two\", the model says p = [{}]; from there comes dZ = [{}] for its row.",
        decimal_text(&said(&worked)),
        decimal_text(&worked.numbers("Attention's output", 0, 0))
    );
    let steps = vec![
        worked.row("the loss of the first token", "There: loss", 1, 0),
        worked.row("the gradient by its three logits", "Back: logits", 0, 0),
        worked
            .row("row 1 of dA, the gradient by its attention weights", "Weights and scores", 0, 0)
            .with_formula("dA = dZ·Vᵀ"),
        worked
            .row("row 1 of the gradient by its scaled scores", "Weights and scores", 1, 0)
            .with_formula("dS_scaled = A ∘ (dA − Σ_j A ∘ dA),  A = softmax(Q·Kᵀ/√d)"),
    ];
    Ok(worked.question("The way back", text, steps))
}
