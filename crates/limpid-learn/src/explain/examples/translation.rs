//! One whole pass of an encoder-decoder Transformer, from tokens to probabilities.
//!
//! The model is [`limpid::model::EncoderDecoder`] with one layer and one head, and weights that can
//! be followed: projections are the identity, and the feed-forward layer computes ½|x|. The steps
//! are computed from the same weights by the same kernels; the last step is the model's own.

use super::{Walkthrough, dot_product_text, root_text, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims};
use crate::explain::maths::{AttentionOutput, Mask, Matrix, attend, layer_norm};
use crate::explain::model::{Step, Table};
use crate::explain::number::short;
use limpid::data::batch::Packed;
use limpid::generate::argmax;
use limpid::model::config::{EncoderDecoderConfig, Tie};
use limpid::model::encoder_decoder::Source;
use limpid::model::{EncoderDecoder, Model, Stack};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::tape::Tape;

/// The norm's ε of this stack.
const EPS: f32 = 1e-5;
const START: &str = "<start>";

/// The model and its inputs.
struct Translator {
    vocabulary: Vec<String>,
    embeddings: Matrix,
    output: Matrix,
    source: Vec<String>,
    target: Vec<String>,
    model: Model,
}

impl Translator {
    fn new(args: &Arguments) -> Result<Self> {
        let vocabulary = args.words("vocabulary");
        let (embeddings, output) = (args.matrix("embeddings"), args.matrix("output"));
        let v = vocabulary.len();
        args.check_shape("embeddings", &embeddings, Some(v), None, "a row for each word")?;
        let c = embeddings.cols();
        if !c.is_multiple_of(2) {
            return Err(ExampleError::OddWidth { option: "embeddings", width: c }.into());
        }
        let reason = "a row for each word, as wide as an embedding";
        args.check_shape("output", &output, Some(v), Some(c), reason)?;
        let source = args.words("source");
        let target = std::iter::once(START.to_owned()).chain(args.words("target")).collect();
        let model = model(&embeddings, &output)?;
        let translator = Self { vocabulary, embeddings, output, source, target, model };
        translator.ids("source", &translator.source)?;
        translator.ids("target", &translator.target)?;
        Ok(translator)
    }

    fn ids(&self, option: &'static str, words: &[String]) -> Result<Vec<u32>, ExampleError> {
        let id = |word: &String| {
            let found = self.vocabulary.iter().position(|other| other == word);
            found.map(|id| id as u32).ok_or_else(|| {
                let (word, vocabulary) = (word.clone(), self.vocabulary.clone());
                ExampleError::OutOfVocabulary { option, word, vocabulary }
            })
        };
        words.iter().map(id).collect()
    }

    fn stack(&self) -> &EncoderDecoder {
        match &self.model.stack {
            Stack::EncoderDecoder(stack) => stack,
            _ => unreachable!("an encoder-decoder was built"),
        }
    }

    /// √c·E[word] + PE(position): the tables, in this order, and their result.
    fn embed(&self, words: &[String]) -> (Matrix, Matrix, Matrix) {
        let c = self.embeddings.cols();
        let row = |word: &String| {
            let id = self.vocabulary.iter().position(|other| other == word).expect("checked");
            self.embeddings.row(id).to_vec()
        };
        let x = Matrix::new(words.len(), c, words.iter().flat_map(row).collect());
        let table = self.stack().positions().expect("sinusoidal positions");
        let positions = Matrix::new(words.len(), c, table.data()[..words.len() * c].to_vec());
        let sum = x.scaled((c as f32).sqrt()).plus(&positions);
        (x, positions, sum)
    }

    /// The encoder's output and the logits of the library's model.
    fn forward(&self) -> Result<(Matrix, Matrix)> {
        let stack = self.stack();
        let source = Packed::new(&[self.ids("source", &self.source)?]);
        let input = Packed::new(&[self.ids("target", &self.target)?]);
        let mut tape = Tape::inference(&self.model.params);
        let encoded = stack.encode(&mut tape, &source);
        let from = Source::Encoded(&encoded, &source.spans);
        let hidden = stack.decode(&mut tape, &input, from, None);
        let logits = stack.logits(&mut tape, &hidden);
        let matrix = |rows, var: &limpid_tensor::tape::Var| {
            let data = var.value().data().to_vec();
            Matrix::new(rows, data.len() / rows, data)
        };
        Ok((matrix(self.source.len(), &encoded), matrix(self.target.len(), &logits)))
    }
}

/// One layer each, one head, f = 2c, no biases: q, k, v and output projections are the identity.
fn model(embeddings: &Matrix, output: &Matrix) -> Result<Model> {
    let (v, c) = (embeddings.rows(), embeddings.cols());
    let config = EncoderDecoderConfig {
        max_position_embeddings: 64,
        tie_word_embeddings: Tie::Separate,
        ..EncoderDecoderConfig::new(v, 1, 1, c, 2 * c)
    };
    let mut model = Model::new(&config, 0)?;
    let identity = Matrix::identity(c);
    let negative = identity.scaled(-1.0);
    // W₁ = [I; −I] and W₂ = [½I ½I]: ½·max(0, x) + ½·max(0, −x) = ½|x|.
    let up = [identity.data(), negative.data()].concat();
    let half = identity.scaled(0.5);
    let down: Vec<f32> = half.iter_rows().flat_map(|row| [row, row].concat()).collect();
    let names: Vec<_> = model.params.iter().map(|(id, spec)| (id, spec.name.clone())).collect();
    for (id, name) in names {
        let values = model.params.get_mut(id);
        let layer = name.strip_suffix(".weight").and_then(|name| name.rsplit('.').next());
        let new = match layer {
            Some("shared_embedding") => embeddings.data().to_vec(),
            Some("output") => output.data().to_vec(),
            Some("up") => up.clone(),
            Some("down") => down.clone(),
            // Projections of queries, keys and values are stacked.
            Some("qkv" | "q" | "kv" | "out") => identity.data().repeat(values.len() / (c * c)),
            // Norms and biases start at 1 and 0.
            _ => continue,
        };
        values.copy_from_slice(&new);
    }
    Ok(model)
}

/// LayerNorm(x + f) with γ = 1 and β = 0.
fn add_norm(x: &Matrix, f: &Matrix) -> Matrix {
    let c = x.cols();
    layer_norm(x, Some(f), &vec![1.0; c], &vec![0.0; c], EPS).y
}

/// ½|x|, by the matrices of the model.
fn feed_forward(x: &Matrix) -> Matrix {
    let c = x.cols();
    let identity = Matrix::identity(c);
    let positive = x.times(&identity).activated(Activation::Relu);
    let negative = x.times(&identity.scaled(-1.0)).activated(Activation::Relu);
    positive.plus(&negative).scaled(0.5)
}

pub fn encoder_decoder(args: &Arguments) -> Result<Walkthrough> {
    let t = Translator::new(args)?;
    let c = t.embeddings.cols();
    let (encoder_steps, memory) = encoder(&t);
    let (decoder_steps, y) = decoder(&t, &memory);
    let (_, logits) = t.forward()?;
    let mut steps = vec![
        Step::new("The model", "one encoder layer, one decoder layer, one head")
            .why(
                "Weights that can be followed: W_Q = W_K = W_V = W_O = identity, the feed-forward \
                 layer computes ½|x| (W₁ = [I −I], W₂ = ½[I; I], ReLU), γ = 1, β = 0. The output \
                 layer was chosen so that the prediction is the translation; a trained model has \
                 learned all of this.",
            )
            .table(Table::matrix("embeddings E", &t.vocabulary, &dims(c), &t.embeddings))
            .table(Table::matrix("output layer W", &t.vocabulary, &dims(c), &t.output)),
    ];
    steps.extend(encoder_steps);
    steps.extend(decoder_steps);
    steps.push(output_step(&t, &y, &logits));
    steps.push(prediction(&t, &logits, args));
    let introduction = format!(
        "\"{}\" is translated, from tokens to probabilities: the encoder reads the source, the \
         decoder reads \"{}\" and predicts the word after each of its tokens. {}: embeddings times \
         √c plus positions, post-norm, as in Vaswani et al. 2017.",
        t.source.join(" "),
        t.target.join(" "),
        root_text(c)
    );
    Ok(walkthrough(introduction, steps))
}

fn embedding_step(title: &str, t: &Translator, words: &[String]) -> (Step, Matrix) {
    let (x, positions, sum) = t.embed(words);
    let c = x.cols();
    let step = Step::new(title, format!("x = √c·E[word] + PE(position),  {}", root_text(c)))
        .table(Table::matrix("E[word]", words, &dims(c), &x))
        .table(Table::matrix("PE", words, &dims(c), &positions))
        .table(Table::matrix("x", words, &dims(c), &sum))
        .remark(format!(
            "{}: {}·{} + {} = {}.",
            words[0],
            short((c as f32).sqrt()),
            short(x.row(0)[0]),
            short(positions.row(0)[0]),
            short(sum.row(0)[0])
        ));
    (step, sum)
}

/// Attention of queries over keys, with the first score written out.
fn attention_step(
    title: &str,
    formula: &str,
    (queries, q): (&[String], &Matrix),
    (keys, k): (&[String], &Matrix),
    mask: Mask,
) -> (Step, AttentionOutput) {
    let attended = attend(q, k, k, 1, mask);
    let score = q.times_transposed(k).row(0)[0];
    let step = Step::new(title, formula)
        .table(Table::matrix("weights A", queries, keys, &attended.weights[0]))
        .table(Table::matrix("Z = A·V", queries, &dims(k.cols()), &attended.z))
        .remark(format!(
            "Score of {} and {}: {}; divided by {}, {}.",
            queries[0],
            keys[0],
            dot_product_text(q.row(0), k.row(0), score),
            root_text(q.cols()),
            short(score / (q.cols() as f32).sqrt())
        ));
    (step, attended)
}

fn norm_step(
    title: &str,
    formula: &str,
    words: &[String],
    x: &Matrix,
    f: &Matrix,
) -> (Step, Matrix) {
    let y = add_norm(x, f);
    let c = x.cols();
    let step = Step::new(title, formula)
        .table(Table::matrix("sum", words, &dims(c), &x.plus(f)))
        .table(Table::matrix("normalized", words, &dims(c), &y));
    (step, y)
}

fn feed_forward_step(title: &str, words: &[String], x: &Matrix) -> (Step, Matrix) {
    let f = feed_forward(x);
    let y = add_norm(x, &f);
    let c = x.cols();
    let step = Step::new(title, "FFN(x) = ½|x|    y = LayerNorm(x + FFN(x))")
        .table(Table::matrix("FFN(x)", words, &dims(c), &f))
        .table(Table::matrix("y", words, &dims(c), &y));
    (step, y)
}

/// The encoder's steps and its output.
fn encoder(t: &Translator) -> (Vec<Step>, Matrix) {
    let words = &t.source[..];
    let (embedded, x) = embedding_step("Encoder: embeddings", t, words);
    let (attention, attended) = attention_step(
        "Encoder: self-attention",
        "A = softmax(X·Xᵀ/√c)",
        (words, &x),
        (words, &x),
        Mask::FULL,
    );
    let (norm, x) =
        norm_step("Encoder: add and norm", "x ← LayerNorm(x + Z)", words, &x, &attended.z);
    let (feed_forward, x) = feed_forward_step("Encoder: feed-forward", words, &x);
    let attention = attention.why("Every source word attends to every source word.");
    let feed_forward =
        feed_forward.why("This is the encoder's output, one vector per source word.");
    (vec![embedded, attention, norm, feed_forward], x)
}

/// The decoder's steps and its output.
fn decoder(t: &Translator, memory: &Matrix) -> (Vec<Step>, Matrix) {
    let (words, source) = (&t.target[..], &t.source[..]);
    let (embedded, y) = embedding_step("Decoder: embeddings", t, words);
    let (attention, attended) = attention_step(
        "Decoder: masked self-attention",
        "A = softmax(Y·Yᵀ/√c + M)",
        (words, &y),
        (words, &y),
        Mask::CAUSAL,
    );
    let (norm, y) =
        norm_step("Decoder: add and norm", "y ← LayerNorm(y + Z)", words, &y, &attended.z);
    let (cross, attended) = attention_step(
        "Decoder: cross-attention",
        "A = softmax(Y·Xᵀ/√c),  X: the encoder's output",
        (words, &y),
        (source, memory),
        Mask::FULL,
    );
    let (cross_norm, y) = norm_step(
        "Decoder: add and norm after cross-attention",
        "y ← LayerNorm(y + Z)",
        words,
        &y,
        &attended.z,
    );
    let (feed_forward, y) = feed_forward_step("Decoder: feed-forward", words, &y);
    let attention = attention.why("A target word attends to itself and to earlier ones.");
    let cross = cross.why("Queries from the decoder, keys and values from the encoder.");
    let feed_forward = feed_forward.why("The decoder's output, one vector per position.");
    (vec![embedded, attention, norm, cross, cross_norm, feed_forward], y)
}

fn output_step(t: &Translator, y: &Matrix, logits: &Matrix) -> Step {
    let best = argmax(logits.row(0));
    Step::new("Logits", "z = y·Wᵀ")
        .why(
            "One logit per word of the vocabulary, at every position; these are the numbers that \
             the library's own model computes with the same weights.",
        )
        .table(Table::matrix("", &t.target, &t.vocabulary, logits))
        .remark(format!(
            "{} after {}: {}.",
            t.vocabulary[best],
            t.target[0],
            dot_product_text(y.row(0), t.output.row(best), logits.row(0)[best])
        ))
}

fn prediction(t: &Translator, logits: &Matrix, args: &Arguments) -> Step {
    let p = logits.softmax();
    let best: Vec<String> =
        p.iter_rows().map(|row| format!("\"{}\"", t.vocabulary[argmax(row)])).collect();
    Step::new("Probabilities", "p = softmax(z)")
        .table(Table::matrix("", &t.target, &t.vocabulary, &p))
        .remark(format!("The most likely words, position by position: {}.", best.join(", ")))
        .when(args.all_default(), |step| {
            step.remark(
                "In training all positions are computed at once, as here (teacher forcing). In \
                 generation the pass is repeated for each new word, with the past cached.",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::inputs::Inputs;

    #[test]
    fn the_steps_give_what_the_model_of_the_library_gives() {
        let options = [("source", "étudiant Je suis Je"), ("target", "a student I")];
        for options in [&options[..], &[]] {
            let inputs = Inputs::parse("encoder-decoder", options).unwrap();
            let example = crate::explain::find("encoder-decoder").unwrap();
            let t = Translator::new(&inputs.of(example).unwrap()).unwrap();
            let (_, memory) = encoder(&t);
            let (_, y) = decoder(&t, &memory);
            let (encoded, logits) = t.forward().unwrap();
            assert!(memory.distance(&encoded) < 1e-6);
            assert!(y.times_transposed(&t.output).distance(&logits) < 1e-5);
        }
    }
}
