//! Scores of a translator or summarizer on text it was not trained on, at the end of a run.

use crate::error::Result;
use crate::eval::Case;
use crate::eval::lengths::LengthGroup;
use crate::eval::summary::SummaryScores;
use crate::eval::translator::{TranslatorScores, score_translator};
use crate::generate::{GenerationOptions, translation_config};
use crate::model::Model;
use crate::text::Tokenizer;
use crate::train::config::{RunConfig, ScoreConfig, Targets};
use crate::train::dataset::{Examples, PairExamples, RunDataset};
use serde_json::{Value, json};
use std::path::Path;

/// Which pairs a translator is scored on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoredSplit {
    /// The test files of the configuration.
    Test,
    /// The validation split, where there are no test files.
    Validation,
}

impl ScoredSplit {
    /// `test` or `validation`.
    pub fn name(self) -> &'static str {
        match self {
            ScoredSplit::Test => "test",
            ScoredSplit::Validation => "validation",
        }
    }
}

/// Scores of a finished run.
#[derive(Clone, Debug)]
pub struct TestScores {
    /// On which pairs.
    pub split: ScoredSplit,
    /// Beams of the search; 1 is greedy.
    pub beams: usize,
    /// Of the saved model.
    pub best: TranslatorScores,
    /// Of the weights after the last step, if those are not the saved ones.
    pub last: Option<TranslatorScores>,
    /// For summaries: ROUGE-L and exact match of the saved model, and of the baseline that takes
    /// the first sentence.
    pub summaries: Option<[SummaryScores; 2]>,
}

/// The pairs that a translator is scored on; none if the task is another, or scoring is off.
pub(in crate::train) fn scored_pairs<'a>(
    config: &RunConfig,
    dataset: &'a RunDataset,
) -> Option<(ScoredSplit, &'a [(String, String)])> {
    let Examples::Pairs(PairExamples { validation_texts, test_texts, .. }) = &dataset.examples
    else {
        return None;
    };
    match (test_texts, config.score()?.max_sentences) {
        (Some(test), _) => Some((ScoredSplit::Test, test)),
        (None, 0) => None,
        (None, most) => {
            let most = validation_texts.len().min(most);
            Some((ScoredSplit::Validation, &validation_texts[..most]))
        }
    }
}

/// BLEU, chrF and loss of `model` on these pairs, decoded with the generation config in `folder`.
///
/// # Panics
/// If the model is not an encoder-decoder.
pub(in crate::train) fn score(
    model: &Model,
    score: &ScoreConfig,
    tokenizer: &Tokenizer,
    folder: &Path,
    pairs: &[(String, String)],
) -> Result<TranslatorScores> {
    let translator = model.stack.translator().expect("pairs are for an encoder-decoder");
    let num_beams = Some(score.num_beams);
    let options = GenerationOptions { num_beams, ..GenerationOptions::default() };
    // No warnings: the run wrote the folder itself.
    let (decoding, _) = translation_config(folder, translator, &options)?;
    let case = if score.lowercase { Case::Lower } else { Case::Mixed };
    let pairs = (pairs, ["source", "target"].map(Path::new));
    score_translator((translator, &model.params), tokenizer, pairs, &decoding, case)
}

impl TestScores {
    /// `best` are the scores of the saved model on these pairs, `last` those after the last step.
    pub(in crate::train) fn new(
        (split, pairs): (ScoredSplit, &[(String, String)]),
        score: &ScoreConfig,
        best: TranslatorScores,
        last: Option<TranslatorScores>,
    ) -> Self {
        let summaries = (score.targets == Targets::Summaries).then(|| {
            [SummaryScores::of(&best.translations, pairs), SummaryScores::of_leads(pairs)]
        });
        Self { split, beams: score.num_beams, best, last, summaries }
    }

    /// Adds its keys to `summary.json`.
    pub(in crate::train) fn add_to(&self, summary: &mut Value) {
        let TranslatorScores { loss, translations, bleu, chrf, by_length, .. } = &self.best;
        let group = |group: &LengthGroup| {
            let (from, to, sentences) = (group.from, group.to, group.lines);
            json!({ "from": from, "to": to, "sentences": sentences, "bleu": group.score.score })
        };
        let by_length: Vec<Value> = by_length.iter().map(group).collect();
        summary["scored_on"] = json!(self.split.name());
        summary["scored_sentences"] = json!(translations.len());
        summary["num_beams"] = json!(self.beams);
        summary["bleu"] = json!(bleu.score);
        summary["bleu_signature"] = json!(bleu.signature);
        summary["chrf"] = json!(chrf.score);
        summary["chrf_signature"] = json!(chrf.signature);
        summary["bleu_by_length"] = json!(by_length);
        if self.split == ScoredSplit::Test {
            summary["test_loss"] = json!(loss.mean());
        }
        if let Some([own, lead]) = &self.summaries {
            summary["rouge_l"] = json!(own.rouge_l);
            summary["exact_match"] = json!(own.exact);
            summary["lead"] = json!({ "rouge_l": lead.rouge_l, "exact_match": lead.exact });
        }
        if let Some(last) = &self.last {
            summary["bleu_after_last_step"] = json!(last.bleu.score);
            summary["chrf_after_last_step"] = json!(last.chrf.score);
        }
    }
}
