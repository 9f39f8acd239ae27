//! Beam search over a model that is a table: the probability of each word after each word.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, plural};
use crate::explain::maths::Matrix;
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;
use limpid::generate::{
    BeamSearch, BeamStep, EarlyStopping, FinishReason, Hypothesis, LengthPenalty, LogitsProcessor,
    Observer, Session, Trace, beam_search,
};
use limpid_tensor::tensor::Tensor;

/// A language model whose next word depends on the last one only.
struct Bigram<'a> {
    /// Row 0: the first word. Row i + 1: the word after word i.
    probabilities: &'a Matrix,
    /// The last token of each sequence; the start token is the number of words.
    last: Vec<usize>,
    capacity: usize,
}

impl Session for Bigram<'_> {
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let words = self.probabilities.cols();
        self.last.resize(tokens.len(), words);
        for (last, tokens) in self.last.iter_mut().zip(tokens) {
            *last = tokens.last().map_or(*last, |token| *token as usize);
        }
        let row = |last: &usize| self.probabilities.row(if *last == words { 0 } else { last + 1 });
        // ln p are logits of p: softmax(ln p) = p.
        let logits: Vec<f32> = self.last.iter().flat_map(row).map(|p| p.ln()).collect();
        Tensor::new([self.last.len(), words], &logits)
    }

    fn select(&mut self, sequences: &[usize]) {
        self.last = sequences.iter().map(|i| self.last[*i]).collect();
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Collects the steps of a search.
#[derive(Default)]
struct Recorder {
    steps: Vec<BeamStep>,
}

impl Observer for Recorder {
    fn trace(&self) -> Trace {
        Trace::Full
    }

    fn on_beam_step(&mut self, step: BeamStep) -> limpid::error::Result<()> {
        self.steps.push(step);
        Ok(())
    }
}

/// The model, the vocabulary, and the settings of the search.
struct Search {
    probabilities: Matrix,
    words: Vec<String>,
    prompt: String,
    max_length: usize,
    alpha: f32,
}

impl Search {
    fn new(args: &Arguments) -> Result<Self> {
        let (words, probabilities) = (args.words("words"), args.matrix("next"));
        let v = words.len();
        let reason = "a row for the first word and one after each word but the last, the end";
        args.check_shape("next", &probabilities, Some(v), Some(v), reason)?;
        for row in probabilities.iter_rows() {
            let sum: f32 = row.iter().sum();
            if (sum - 1.0).abs() > 1e-3 || row.iter().any(|p| *p < 0.0) {
                let (option, sum) = ("next", short(sum));
                return Err(ExampleError::NotADistribution { option, sum }.into());
            }
        }
        let prompt = args.words("prompt").join(" ");
        let (max_length, alpha) = (args.count("max-length"), args.number("length-penalty"));
        Ok(Self { probabilities, words, prompt, max_length, alpha })
    }

    /// The best hypotheses of a search with so many beams, and its steps.
    fn run(&self, beams: usize) -> Result<(Vec<Hypothesis>, Vec<BeamStep>)> {
        let v = self.words.len();
        let mut session = Bigram {
            probabilities: &self.probabilities,
            last: Vec::new(),
            capacity: self.max_length + 1,
        };
        let config = BeamSearch {
            num_beams: beams,
            length_penalty: LengthPenalty::Power(self.alpha),
            early_stopping: EarlyStopping::Heuristic,
            num_return_sequences: beams,
        };
        let eos_token_ids = vec![v as u32 - 1];
        let processor = LogitsProcessor { eos_token_ids, ..LogitsProcessor::default() };
        let mut recorder = Recorder::default();
        let found = beam_search(
            &mut session,
            &[vec![v as u32]],
            &[self.max_length],
            &config,
            &processor,
            &mut recorder,
        )?;
        Ok((found.concat(), recorder.steps))
    }

    /// "dog has", after the prompt.
    fn text(&self, tokens: &[u32]) -> String {
        tokens.iter().map(|id| self.words[*id as usize].as_str()).collect::<Vec<_>>().join(" ")
    }
}

pub fn beam(args: &Arguments) -> Result<Walkthrough> {
    let search = Search::new(args)?;
    let beams = args.count("beams");
    let (found, trace) = search.run(beams)?;
    let (greedy, _) = search.run(1)?;
    let v = search.words.len();
    let after: Vec<String> = std::iter::once(format!("{} …", search.prompt))
        .chain(search.words[..v - 1].iter().map(|word| format!("… {word} …")))
        .collect();
    let mut steps = vec![
        Step::new("The model", "p(next word | last word)")
            .why(
                "So small a model depends on the last word only. The last column ends the text. A \
                 real model gives such a row for every prefix.",
            )
            .table(Table::matrix("", &after, &search.words, &search.probabilities)),
    ];
    steps.extend(trace.iter().map(|step| search_step(&search, step, beams)));
    steps.push(result(&search, &found));
    steps.push(compared(&search, &greedy[0], &found[0]));
    let introduction = format!(
        "\"{} …\": greedy search takes the most likely word each time and cannot take it back. \
         Beam search follows {} at once and chooses the text that is most likely as a whole.",
        search.prompt,
        plural(beams, "text")
    );
    Ok(walkthrough(introduction, steps))
}

/// One step of the search: the candidates, and which of them are followed.
fn search_step(search: &Search, step: &BeamStep, beams: usize) -> Step {
    let text = |from: usize, id: u32| {
        let tokens: Vec<u32> = step.beams[from].tokens.iter().copied().chain([id]).collect();
        search.text(&tokens)
    };
    let mut continued = 0;
    let (mut names, mut cells) = (Vec::new(), Vec::new());
    for (rank, candidate) in step.candidates.iter().enumerate() {
        let sum_before = step.beams[candidate.beam].log_probability;
        let decision = match candidate.finishes {
            true if rank < beams => "finished",
            false if continued < beams => {
                continued += 1;
                if step.running.is_empty() { "dropped" } else { "kept" }
            }
            _ => "dropped",
        };
        // An impossible word has no logarithm to show.
        if candidate.sum == f32::NEG_INFINITY {
            continue;
        }
        names.push(text(candidate.beam, candidate.id));
        cells.push(vec![
            Cell::from(sum_before),
            Cell::from(candidate.log_probability),
            Cell::from(candidate.sum),
            Cell::from(candidate.sum.exp()),
            Cell::from(decision),
        ]);
    }
    let cols = strings(&["sum before", "ln p", "sum", "probability", ""]);
    let step_number = step.step + 1;
    Step::new(format!("Step {step_number}"), "sum(text, word) = sum(text) + ln p(word | text)")
        .why(format!(
            "Every text that is followed is extended by every word; the best {} extensions are \
             candidates, of which {}.",
            2 * beams,
            match beams {
                1 => "the best that does not end is kept".to_owned(),
                beams => format!("the best {beams} that do not end are kept"),
            }
        ))
        .table(Table::new("", &names, &cols, cells))
}

/// The finished texts with their scores.
fn result(search: &Search, found: &[Hypothesis]) -> Step {
    let names: Vec<String> = found.iter().map(|h| search.text(&h.tokens)).collect();
    let length = |h: &Hypothesis| match h.finish_reason {
        FinishReason::EosToken => h.tokens.len() + 1,
        _ => h.tokens.len(),
    };
    let cells = found
        .iter()
        .map(|h| {
            let n = length(h);
            vec![
                Cell::from(h.log_probability),
                Cell::from(n),
                Cell::from(LengthPenalty::Power(search.alpha).divisor(n)),
                Cell::from(h.score),
            ]
        })
        .collect();
    let cols = strings(&["sum of ln p", "n", "n^α", "score"]);
    Step::new(
        "Finished texts",
        format!("score = sum / n^α,  n tokens with the end, α = {}", short(search.alpha)),
    )
    .why(
        "Every further word adds a negative number, so sums favour short texts; the length penalty \
         makes texts of different lengths comparable. α = 0 compares sums, 1 compares means.",
    )
    .table(Table::new("", &names, &cols, cells))
    .remark(format!("The best is \"{} {}\".", search.prompt, names[0]))
}

/// Greedy search, which is beam search with one beam, beside it.
fn compared(search: &Search, greedy: &Hypothesis, best: &Hypothesis) -> Step {
    let names: Vec<String> = [greedy, best]
        .iter()
        .map(|h| format!("{} {}", search.prompt, search.text(&h.tokens)))
        .collect();
    let labels = vec![format!("greedy: {}", names[0]), format!("beam search: {}", names[1])];
    let sums = [greedy.log_probability, best.log_probability];
    let note = match sums[0] < sums[1] {
        true => "The first word that looked best led to a less likely text.",
        false => "Here greedy search finds the same or a likelier text.",
    };
    Step::new("Compared with greedy search", "one beam is greedy search")
        .table(Table::columns(
            "",
            &labels,
            &[("sum of ln p", &sums), ("probability", &sums.map(f32::exp))],
        ))
        .remark(note)
}
