//! Goldens of the examples of whole sequences: recurrent cells, additive attention, beam search,
//! byte-pair encoding and the encoder-decoder, each against arithmetic in f64 written here.

use limpid_learn::explain::{Cell, Explanation, Inputs, explain};

fn default(name: &str) -> Explanation {
    explain(name, &Inputs::default()).unwrap()
}

fn with(name: &str, options: &[(&str, &str)]) -> Explanation {
    explain(name, &Inputs::parse(name, options).unwrap()).unwrap()
}

/// Table `table` of the step whose title begins with `title`.
fn numbers(explanation: &Explanation, title: &str, table: usize) -> Vec<Vec<f64>> {
    explanation.step(title).tables[table].numbers()
}

fn column(rows: &[Vec<f64>], j: usize) -> Vec<f64> {
    rows.iter().map(|row| row[j]).collect()
}

#[track_caller]
fn near(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{got:?} {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 2e-6 * w.abs().max(1.0), "{got:?} is not {want:?}");
    }
}

#[track_caller]
fn all_near(got: &[Vec<f64>], want: &[Vec<f64>]) {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(got, want)| near(got, want));
}

/// "1 0; 0 1" as rows.
fn rows(text: &str) -> Vec<Vec<f64>> {
    text.split(';')
        .map(|row| row.split_whitespace().map(|x| x.parse().unwrap()).collect())
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// W·x.
fn product(w: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    w.iter().map(|row| dot(row, x)).collect()
}

fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let exps: Vec<f64> = x.iter().map(|x| x.exp()).collect();
    exps.iter().map(|e| e / exps.iter().sum::<f64>()).collect()
}

const TOKENS: &str = "1 0; 0 1; 1 1";

#[test]
fn the_tanh_cell_computes_its_formula_and_its_gradient_agrees_with_finite_differences() {
    let (w_x, w_h, b) = (rows("0.5 -0.5; 1 0.5"), rows("0.5 0.25; -0.5 0.5"), [0.0, 0.1]);
    let run = |from: usize, mut h: Vec<f64>| -> Vec<Vec<f64>> {
        let mut states = vec![h.clone()];
        for x in &rows(TOKENS)[from..] {
            let sum = add(&add(&product(&w_x, x), &product(&w_h, &h)), &b);
            h = sum.iter().map(|x| x.tanh()).collect();
            states.push(h.clone());
        }
        states
    };
    let e = default("recurrent-cell");
    let states = run(0, vec![0.0; 2]);
    for t in 1..=3 {
        let table = numbers(&e, &format!("Time step {t}"), 0);
        near(&column(&table, 0), &states[t - 1]);
        near(&column(&table, 5), &states[t]);
    }
    // By hand: the first state is tanh of the first column of W_x, plus b.
    near(&column(&numbers(&e, "Time step 1", 0), 4), &[0.5, 1.1]);
    near(&column(&numbers(&e, "One vector", 0), 0), &states[3]);
    let gradient = numbers(&e, "The gradient through time", 0);
    near(&gradient[3], &[1.0, 1.0]);
    for t in 0..3 {
        for j in 0..2 {
            let loss = |by: f64| {
                let mut h = states[t].clone();
                h[j] += by;
                run(t, h).last().unwrap().iter().sum::<f64>()
            };
            let difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            assert!((gradient[t][j] - difference).abs() < 1e-5, "by h_{t}[{j}]");
        }
    }
}

#[test]
fn the_lstm_computes_the_formulas_of_its_gates() {
    let w_x = rows("1 0; 0 1; 0.5 0; 0 0.5; 1 -1; -1 1; 0.5 0.5; 0.5 -0.5");
    let w_h = rows("0.5 0; 0 0.5; 0 0.5; 0.5 0; 1 0; 0 1; 0 -0.5; -0.5 0");
    let b = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let (mut h, mut c) = (vec![0.0; 2], vec![0.0; 2]);
    let e = default("lstm");
    let mut forget = Vec::new();
    for (t, x) in rows(TOKENS).iter().enumerate() {
        let sum = add(&add(&product(&w_x, x), &product(&w_h, &h)), &b);
        let gate = |k: usize, j: usize| sum[2 * k + j];
        let gates: Vec<f64> =
            (0..8).map(|r| if r / 2 == 2 { sum[r].tanh() } else { sigmoid(sum[r]) }).collect();
        let table = numbers(&e, &format!("Gates {}", t + 1), 0);
        near(&column(&table, 3), &sum);
        near(&column(&table, 4), &gates);
        c = (0..2)
            .map(|j| sigmoid(gate(1, j)) * c[j] + sigmoid(gate(0, j)) * gate(2, j).tanh())
            .collect();
        h = (0..2).map(|j| sigmoid(gate(3, j)) * c[j].tanh()).collect();
        near(&column(&numbers(&e, &format!("State {}", t + 1), 0), 4), &c);
        near(&column(&numbers(&e, &format!("State {}", t + 1), 1), 2), &h);
        forget.push([gates[2], gates[3]]);
    }
    let path = numbers(&e, "The path through time", 0);
    near(&path[0], &[0, 1].map(|j| forget.iter().map(|f| f[j]).product()));
    near(&path[3], &[1.0, 1.0]);
    // A cell whose forget gate is open and whose input gate is closed keeps what it has.
    let closed = "0 0; 0 0; 0 0; 0 0; 0 0; 0 0; 0 0; 0 0";
    let kept = [("w-x", closed), ("w-h", closed), ("bias", "-50 -50 50 50 1 1 0 0")];
    near(&numbers(&with("lstm", &kept), "The path through time", 0)[0], &[1.0, 1.0]);
}

#[test]
fn the_gru_computes_the_formulas_of_its_gates() {
    let w_x = rows("1 0; 0 1; 0.5 0; 0 0.5; 1 -1; -1 1");
    let w_h = rows("0.5 0; 0 0.5; 0 0.5; 0.5 0; 1 0; 0 1");
    let b = [0.0, 0.0, 0.5, 0.5, 0.0, 0.0];
    let mut h = vec![0.0; 2];
    let e = default("gru");
    for (t, x) in rows(TOKENS).iter().enumerate() {
        let (from_x, from_h) = (add(&product(&w_x, x), &b), product(&w_h, &h));
        let r: Vec<f64> = (0..2).map(|j| sigmoid(from_x[j] + from_h[j])).collect();
        let z: Vec<f64> = (2..4).map(|j| sigmoid(from_x[j] + from_h[j])).collect();
        let n: Vec<f64> = (0..2).map(|j| (from_x[4 + j] + r[j] * from_h[4 + j]).tanh()).collect();
        let gates = [r, z.clone(), n.clone()].concat();
        near(&column(&numbers(&e, &format!("Gates {}", t + 1), 0), 3), &gates);
        h = (0..2).map(|j| (1.0 - z[j]) * n[j] + z[j] * h[j]).collect();
        near(&column(&numbers(&e, &format!("State {}", t + 1), 0), 3), &h);
    }
    // Three, nine and twelve rows of (2 + 2 + 1) weights, for a state of 2: 10, 30 and 40.
    near(&column(&numbers(&e, "Compared", 0), 1), &[10.0, 30.0, 40.0]);
}

#[test]
fn additive_attention_computes_the_formulas_of_bahdanau() {
    let (s, h) = ([1.0, -1.0], rows("1 0; 0 1; -1 1"));
    let (w, u, v) = (rows("1 0; 0 1; 0.5 -0.5"), rows("1 0; 0 -1; 0.5 0.5"), [1.0, 0.5, -1.0]);
    let query = product(&w, &s);
    // By hand: [1·1, 1·(−1), 0.5·1 + (−0.5)·(−1)].
    near(&query, &[1.0, -1.0, 1.0]);
    let score = |h: &Vec<f64>| {
        let sum = add(&query, &product(&u, h));
        dot(&v, &sum.iter().map(|x| x.tanh()).collect::<Vec<_>>())
    };
    let scores: Vec<f64> = h.iter().map(score).collect();
    let weights = softmax(&scores);
    let context: Vec<f64> = (0..2).map(|d| dot(&weights, &column(&h, d))).collect();
    let e = default("additive-attention");
    near(&numbers(&e, "Projections", 2)[0], &query);
    near(&column(&numbers(&e, "Scores", 1), 0), &scores);
    near(&column(&numbers(&e, "Weights", 0), 0), &weights);
    near(&numbers(&e, "Context vector", 0)[0], &context);
    let dots: Vec<f64> = h.iter().map(|h| dot(&s, h)).collect();
    near(&dots, &[1.0, -1.0, -2.0]);
    near(&column(&numbers(&e, "Compared", 0), 0), &dots);
    near(&column(&numbers(&e, "Compared", 0), 1), &softmax(&dots));
    // States of different widths have no dot product.
    let wide = with("additive-attention", &[("state", "1 0 1"), ("w", "1 0 0; 0 1 0; 0 0 1")]);
    assert!(wide.steps.iter().all(|step| !step.title.starts_with("Compared")));
}

/// Every text that ends within `max` words, with its probability, by enumeration.
fn all_texts(next: &[Vec<f64>], max: usize) -> Vec<(Vec<usize>, f64)> {
    let end = next.len() - 1;
    let (mut open, mut done) = (vec![(Vec::new(), 1.0)], Vec::new());
    for _ in 0..max {
        let mut longer = Vec::new();
        for (text, p) in open {
            let row = text.last().map_or(0, |last: &usize| last + 1);
            for (word, q) in next[row].iter().enumerate().filter(|(_, q)| **q > 0.0) {
                let mut text = text.clone();
                text.push(word);
                let list = if word == end { &mut done } else { &mut longer };
                list.push((text, p * q));
            }
        }
        open = longer;
    }
    done
}

#[test]
fn beam_search_finds_the_most_likely_text_and_greedy_search_does_not() {
    let next = rows("0.5 0.4 0.1 0 0; 0 0.3 0.4 0 0.3; 0 0 0 0.9 0.1; 0 0 0 0.4 0.6; 0 0 0 0 1");
    let words = ["nice", "dog", "woman", "has", "<eos>"];
    let mut all = all_texts(&next, 5);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    // dog has <eos>: 0.4 · 0.9 · 1.
    assert_eq!(all[0].0, [1, 3, 4]);
    let e = default("beam-search");
    let found = &e.step("Finished texts").tables[0];
    assert_eq!(found.row_labels[0], "dog has");
    near(&found.numbers()[0], &[0.36_f64.ln(), 3.0, 3.0, 0.36_f64.ln() / 3.0]);
    // Greedy: nice 0.5, woman 0.4, <eos> 0.6.
    let compared = &e.step("Compared").tables[0];
    assert_eq!(compared.row_labels, ["greedy: The nice woman", "beam search: The dog has"]);
    near(&column(&compared.numbers(), 1), &[0.12, 0.36]);
    // Every candidate is a text of the enumeration or a prefix of one, with its probability.
    let probability = |text: &str| -> f64 {
        let mut row = 0;
        text.split(' ')
            .map(|word| {
                let id = words.iter().position(|other| *other == word).unwrap();
                let p = next[row][id];
                row = id + 1;
                p
            })
            .product()
    };
    for step in e.steps.iter().filter(|step| step.title.starts_with("Step ")) {
        let table = &step.tables[0];
        for (name, row) in table.row_labels.iter().zip(table.numbers()) {
            near(&row[..4], &[row[0], row[1], probability(name).ln(), probability(name)]);
            near(&[row[0] + row[1]], &[row[2]]);
        }
    }
    // With as many beams as there are texts the search is exhaustive; a sum prefers short texts.
    let sums = with("beam-search", &[("beams", "8"), ("length-penalty", "0")]);
    let found = &sums.step("Finished texts").tables[0];
    for (row, (text, p)) in found.numbers().iter().zip(&all) {
        near(&[row[3]], &[p.ln()]);
        assert_eq!(row[1] as usize, text.len());
    }
    // One beam is greedy search.
    let one = with("beam-search", &[("beams", "1")]);
    assert_eq!(one.step("Finished texts").tables[0].row_labels, ["nice woman"]);
}

/// Byte-pair encoding written down directly: count pairs, merge the best everywhere.
fn naive_merges(words: &[(&str, usize)], merges: usize) -> (Vec<(String, usize)>, Vec<String>) {
    let mut texts: Vec<Vec<String>> =
        words.iter().map(|(word, _)| word.chars().map(String::from).collect()).collect();
    // Ids: single letters by their order, then merged tokens by the order of learning.
    let mut learned: Vec<String> = Vec::new();
    let mut done = Vec::new();
    for _ in 0..merges {
        let id = |token: &str| {
            let merged = learned.iter().position(|other| other == token);
            merged.map_or(token.chars().next().unwrap() as usize, |at| 1000 + at)
        };
        let mut counts: Vec<((String, String), usize)> = Vec::new();
        for (text, (_, count)) in texts.iter().zip(words) {
            for pair in text.windows(2) {
                let pair = (pair[0].clone(), pair[1].clone());
                match counts.iter_mut().find(|(other, _)| *other == pair) {
                    Some((_, total)) => *total += count,
                    None => counts.push((pair, *count)),
                }
            }
        }
        let best = counts
            .into_iter()
            .min_by_key(|((a, b), count)| (std::cmp::Reverse(*count), id(a), id(b)));
        let Some(((a, b), count)) = best else { break };
        for text in &mut texts {
            let mut i = 0;
            while i + 1 < text.len() {
                if text[i] == a && text[i + 1] == b {
                    text[i] = format!("{a}{b}");
                    text.remove(i + 1);
                }
                i += 1;
            }
        }
        learned.push(format!("{a}{b}"));
        done.push((format!("{a} + {b} → {a}{b}"), count));
    }
    (done, texts.iter().map(|text| text.join(" ")).collect())
}

#[test]
fn byte_pair_encoding_merges_what_counting_by_hand_merges() {
    let cases = [
        ("low lower newest widest", "5 2 6 3", 6),
        ("low lower newest widest", "5 2 6 3", 12),
        ("banana bandana ananas", "3 1 2", 8),
        ("aaaa aaa", "1 2", 5),
    ];
    for (words, counts, merges) in cases {
        let listed: Vec<(&str, usize)> =
            words.split(' ').zip(counts.split(' ').map(|n| n.parse().unwrap())).collect();
        let (want, texts) = naive_merges(&listed, merges);
        let e = with(
            "byte-pair-encoding",
            &[("words", words), ("counts", counts), ("merges", &merges.to_string())],
        );
        let steps: Vec<_> =
            e.steps.iter().filter(|step| step.title.starts_with("Merge ")).collect();
        assert_eq!(steps.len(), want.len(), "{words}");
        for (k, (step, (merge, count))) in steps.iter().zip(&want).enumerate() {
            assert_eq!(step.title, format!("Merge {}: {merge}", k + 1), "{words}");
            assert_eq!(step.tables[0].numbers()[0], [*count as f64], "{words}: {merge}");
        }
        let after = &steps[steps.len() - 1].tables[1];
        for (row, text) in after.cells.iter().zip(&texts) {
            assert_eq!(row[1], Cell::Text(text.clone()), "{words}");
        }
    }
    // By hand, from Sennrich et al. 2016's words: e s occurs 6 + 3 times.
    let e = default("byte-pair-encoding");
    assert!(e.steps[1].title.starts_with("Merge 1: e + s"), "{}", e.steps[1].title);
    assert_eq!(e.steps[1].tables[0].numbers()[0], [9.0]);
    let encoded = &e.step("Tokenize").tables[0];
    assert_eq!(encoded.cells[encoded.cells.len() - 1][0], Cell::Text("low est".to_owned()));
}

/// The encoder-decoder of the example in f64: one layer each, identity projections, ½|x|.
mod transformer {
    use super::{add, dot, softmax};

    pub fn embed(table: &[Vec<f64>], ids: &[usize]) -> Vec<Vec<f64>> {
        let c = table[0].len();
        let position = |p: usize, i: usize| {
            // All sines, then all cosines.
            let pair = i % (c / 2);
            let angle = p as f64 / 10_000_f64.powf(2.0 * pair as f64 / c as f64);
            if i < c / 2 { angle.sin() } else { angle.cos() }
        };
        let scale = (c as f64).sqrt();
        ids.iter()
            .enumerate()
            .map(|(p, id)| (0..c).map(|i| scale * table[*id][i] + position(p, i)).collect())
            .collect()
    }

    /// Weights and outputs; with `causal`, row i sees keys 0 to i.
    pub fn attention(
        q: &[Vec<f64>],
        k: &[Vec<f64>],
        causal: bool,
    ) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let scale = (q[0].len() as f64).sqrt();
        let (mut weights, mut outputs) = (Vec::new(), Vec::new());
        for (i, q) in q.iter().enumerate() {
            let seen = if causal { i + 1 } else { k.len() };
            let scores: Vec<f64> = k[..seen].iter().map(|k| dot(q, k) / scale).collect();
            let mut row = softmax(&scores);
            let mixed =
                (0..q.len()).map(|d| row.iter().zip(k).map(|(w, k)| w * k[d]).sum()).collect();
            row.resize(k.len(), 0.0);
            weights.push(row);
            outputs.push(mixed);
        }
        (weights, outputs)
    }

    pub fn add_norm(x: &[Vec<f64>], f: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let norm = |row: Vec<f64>| {
            let c = row.len() as f64;
            let mean = row.iter().sum::<f64>() / c;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / c;
            row.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
        };
        x.iter().zip(f).map(|(x, f)| norm(add(x, f))).collect()
    }

    pub fn feed_forward(x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        x.iter().map(|row| row.iter().map(|x| 0.5 * x.abs()).collect()).collect()
    }
}

#[test]
fn the_encoder_decoder_agrees_with_a_naive_transformer_at_every_step() {
    use transformer::{add_norm, attention, embed, feed_forward};
    let table =
        rows("1 0 0 1; 2 0 1 0; 0 2 0 1; 0 1 2 0; 1 0 1 1; 0 1 1 2; 1 1 0 0; 0 0 2 1; 0 0 0 1");
    let output = rows(
        "0 0 0 0; 0 0 0 0; 0 0 0 0; 0 0 0 0; 1.1 -1.4 -0.5 0.8; 1.1 -1.4 0.7 -0.4; \
         -1 0.3 -0.8 1.5; -0.2 1.4 -1.4 0.3; -1 -0.7 1.5 0.2",
    );
    let e = default("encoder-decoder");
    let (source, target) = ([1, 2, 3], [0, 4, 5, 6, 7]);
    let close = |title: &str, table: usize, want: &[Vec<f64>]| {
        all_near(&numbers(&e, title, table), want);
    };

    let x = embed(&table, &source);
    close("Encoder: embeddings", 2, &x);
    let (weights, z) = attention(&x, &x, false);
    close("Encoder: self-attention", 0, &weights);
    let x = add_norm(&x, &z);
    close("Encoder: add and norm", 1, &x);
    let x = add_norm(&x, &feed_forward(&x));
    close("Encoder: feed-forward", 1, &x);

    let y = embed(&table, &target);
    close("Decoder: embeddings", 2, &y);
    let (weights, z) = attention(&y, &y, true);
    close("Decoder: masked self-attention", 0, &weights);
    let y = add_norm(&y, &z);
    close("Decoder: add and norm", 1, &y);
    let (weights, z) = attention(&y, &x, false);
    close("Decoder: cross-attention", 0, &weights);
    let y = add_norm(&y, &z);
    close("Decoder: add and norm after cross-attention", 1, &y);
    let y = add_norm(&y, &feed_forward(&y));
    close("Decoder: feed-forward", 1, &y);

    let logits: Vec<Vec<f64>> =
        y.iter().map(|y| output.iter().map(|w| dot(y, w)).collect()).collect();
    close("Logits", 0, &logits);
    let p: Vec<Vec<f64>> = logits.iter().map(|row| softmax(row)).collect();
    close("Probabilities", 0, &p);
    let best = |row: &Vec<f64>| (0..9).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
    // I am a student <eos>.
    assert_eq!(p.iter().map(best).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    for (example, option, text, found) in [
        ("recurrent-cell", "w-h", "1 0; 0 1; 1 1", "must be 2×any"),
        ("recurrent-cell", "w-x", "1 0", "must be 2×2"),
        ("recurrent-cell", "bias", "1", "1 number, but needs 2"),
        ("lstm", "w-h", "1 0; 0 1", "must be 8×any"),
        ("gru", "w-h", "1 0; 0 1", "must be 6×any"),
        ("additive-attention", "w", "1 0 1", "must be any×2"),
        ("additive-attention", "u", "1 0", "must be 3×2"),
        ("additive-attention", "v", "1", "needs 3"),
        ("beam-search", "next", "1 0; 0 1", "must be 5×5"),
        ("beam-search", "words", "a b", "must be 2×2"),
        (
            "beam-search",
            "next",
            "1 0 0 0 0; 1 0 0 0 0; 0.5 0 0 0 0; 1 0 0 0 0; 1 0 0 0 0",
            "sum to 0.5",
        ),
        ("byte-pair-encoding", "counts", "1 2", "2 numbers, but needs 4"),
        ("byte-pair-encoding", "counts", "1 2 3 1.5", "1.5 is not a whole number"),
        ("byte-pair-encoding", "encode", "two words", "takes one word, found 2"),
        ("encoder-decoder", "source", "Il est", "Il is not in the vocabulary"),
        ("encoder-decoder", "target", "You", "You is not in the vocabulary"),
        ("encoder-decoder", "embeddings", "1 0", "must be 9×any"),
        ("encoder-decoder", "output", "1 0 1 0", "must be 9×4"),
        ("encoder-decoder", "vocabulary", "a b", "must be 2×any"),
    ] {
        let result =
            Inputs::parse(example, &[(option, text)]).and_then(|inputs| explain(example, &inputs));
        let error = result.err().unwrap_or_else(|| panic!("{example} {option} {text}"));
        assert!(error.to_string().contains(found), "{example} {option} {text}: {error}");
    }
}
