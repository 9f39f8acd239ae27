//! `limpid summarize`: a text in, a line out; and how good the lines are.

use super::translate::{Wording, run_as};
use crate::args::{Eval, Summarize};
use crate::printer::perplexity;
use limpid::error::Result;
use limpid::eval::baselines::lead_sentence;
use limpid::eval::loss::Loss;
use limpid::eval::rouge::{RougeScore, exact_match, rouge_l};
use serde_json::json;

const SUMMARIZE: Wording = Wording {
    verb: "summarize",
    result: "summary",
    example: "Once there was a girl …",
    unit: "a text in one line",
    too_long: "shorten it, or train a model with a longer model.context",
    trained_by: "`limpid train configs/stories-summary.toml` trains one that can",
};

/// Summarizes the arguments, or standard input.
pub fn run(args: Summarize) -> Result<()> {
    run_as(args.into(), &SUMMARIZE)
}

/// Mean ROUGE-L (F) and the share of exact matches.
fn scores(summaries: &[&str], references: &[&str]) -> (f64, f64) {
    let rouge: Vec<RougeScore> =
        summaries.iter().zip(references).map(|(summary, reference)| rouge_l(summary, reference)).collect();
    (RougeScore::mean(&rouge).f1, exact_match(summaries, references))
}

/// What `eval --summaries` prints: the model's summaries beside the first sentence of each text.
pub fn print_scores(args: &Eval, pairs: &[(String, String)], summaries: &[String], loss: &Loss) {
    let references: Vec<&str> = pairs.iter().map(|(_, reference)| reference.as_str()).collect();
    let summaries: Vec<&str> = summaries.iter().map(String::as_str).collect();
    let leads: Vec<&str> = pairs.iter().map(|(text, _)| lead_sentence(text)).collect();
    let ((rouge, exact), (lead_rouge, lead_exact)) =
        (scores(&summaries, &references), scores(&leads, &references));
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "tokens": loss.tokens, "sentences": pairs.len(),
                "rouge_l": rouge, "exact": exact, "lead": {"rouge_l": lead_rouge, "exact": lead_exact},
            })
        );
        return;
    }
    println!("texts               {:>12}   ({} tokens)", pairs.len(), loss.tokens);
    println!("loss                {:>12.4}   nats a token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("ROUGE-L             {rouge:>12.4}   first sentence {lead_rouge:.4}");
    println!("exact match         {exact:>12.4}   first sentence {lead_exact:.4}");
}
