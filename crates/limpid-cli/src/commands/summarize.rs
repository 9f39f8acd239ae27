//! `limpid summarize`: a text in, a line out; and the scores of summaries.

use super::translate::{Wording, run_as};
use crate::args::{Eval, Summarize};
use crate::error::Result;
use crate::printer::perplexity;
use limpid::eval::loss::Loss;
use limpid::eval::summary::SummaryScores;
use serde_json::json;

const SUMMARIZE: Wording = Wording {
    verb: "summarize",
    result: "summary",
    example: "Once there was a girl …",
    unit: "a text in one line",
    too_long: "shorten it, or train a model with a longer model.context_length",
    trained_by: "`limpid train configs/stories-summary.toml` trains one that can",
};

/// Summarizes the arguments, or standard input.
pub fn run(args: Summarize) -> Result<()> {
    run_as(args.into(), &SUMMARIZE)
}

/// What `eval --summaries` prints: the model's summaries beside the first sentence of each text.
pub fn print_scores(args: &Eval, pairs: &[(String, String)], summaries: &[String], loss: &Loss) {
    let (own, lead) = (SummaryScores::of(summaries, pairs), SummaryScores::of_leads(pairs));
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "tokens": loss.tokens,
                "sentences": pairs.len(), "rouge_l": own.rouge_l, "exact_match": own.exact,
                "lead": {"rouge_l": lead.rouge_l, "exact_match": lead.exact},
            })
        );
        return;
    }
    println!("texts               {:>12}   ({} tokens)", pairs.len(), loss.tokens);
    println!("loss                {:>12.4}   nats per token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("ROUGE-L             {:>12.4}   first sentence {:.4}", own.rouge_l, lead.rouge_l);
    println!("exact match         {:>12.4}   first sentence {:.4}", own.exact, lead.exact);
}
