//! Scores of a translator or summarizer on text it was not trained on, at the end of a run.

use crate::error::Result;
use crate::eval::Case;
use crate::eval::lengths::LengthGroup;
use crate::eval::summary::SummaryScores;
use crate::eval::translator::{TranslatorScores, score_translator};
use crate::generate::{GenerationOptions, translation_config};
use crate::model::Model;
use crate::text::Tokenizer;
use crate::train::config::{RunConfig, Targets};
use crate::train::dataset::RunDataset;
use serde_json::{Map, Value, json};
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

/// What scoring needs besides a model.
pub(in crate::train) struct Scoring<'a> {
    pub(in crate::train) config: &'a RunConfig,
    pub(in crate::train) dataset: &'a RunDataset,
    pub(in crate::train) tokenizer: &'a Tokenizer,
    /// The folder of the saved model, with its generation config.
    pub(in crate::train) folder: &'a Path,
}

impl<'a> Scoring<'a> {
    /// The pairs to score on; none if the task is another, or scoring is off.
    pub(in crate::train) fn pairs(&self) -> Option<(ScoredSplit, &'a [(String, String)])> {
        let RunDataset::Pairs(pairs) = self.dataset else { return None };
        let validation = &pairs.validation_texts;
        match (&pairs.test_texts, self.config.score()?.max_sentences) {
            (Some(test), _) => Some((ScoredSplit::Test, test)),
            (None, 0) => None,
            (None, most) => {
                Some((ScoredSplit::Validation, &validation[..validation.len().min(most)]))
            }
        }
    }

    /// BLEU, chrF and loss of `model` on these pairs.
    ///
    /// # Panics
    /// If the model is not an encoder-decoder.
    pub(in crate::train) fn score(
        &self,
        model: &Model,
        pairs: &[(String, String)],
    ) -> Result<TranslatorScores> {
        let translator = model.stack.translator().expect("pairs are for an encoder-decoder");
        let score = self.config.score().expect("pairs are for an encoder-decoder");
        let num_beams = Some(score.num_beams);
        let options = GenerationOptions { num_beams, ..GenerationOptions::default() };
        // No warnings: the run wrote the folder itself.
        let (decoding, _) = translation_config(self.folder, translator, &options)?;
        let case = if score.lowercase { Case::Lower } else { Case::Mixed };
        let pairs = (pairs, ["source", "target"].map(Path::new));
        score_translator((translator, &model.params), self.tokenizer, pairs, &decoding, case)
    }

    /// Scores the saved model.
    pub(in crate::train) fn test_scores(
        &self,
        saved: &Model,
        last: Option<TranslatorScores>,
        (split, pairs): (ScoredSplit, &[(String, String)]),
    ) -> Result<TestScores> {
        let best = self.score(saved, pairs)?;
        let score = self.config.score().expect("pairs are for an encoder-decoder");
        let summaries = match score.targets {
            Targets::Translations => None,
            Targets::Summaries => {
                Some([SummaryScores::of(&best.translations, pairs), SummaryScores::of_leads(pairs)])
            }
        };
        Ok(TestScores { split, beams: score.num_beams, best, last, summaries })
    }
}

impl TestScores {
    /// Its keys of `summary.json`.
    pub(in crate::train) fn summary(&self) -> Map<String, Value> {
        let TranslatorScores { loss, translations, bleu, chrf, by_length, .. } = &self.best;
        let group = |group: &LengthGroup| {
            let (from, to, sentences) = (group.from, group.to, group.lines);
            json!({ "from": from, "to": to, "sentences": sentences, "bleu": group.score.score })
        };
        let mut summary = json!({
            "scored_on": self.split.name(),
            "scored_sentences": translations.len(),
            "beams": self.beams,
            "bleu": bleu.score,
            "bleu_signature": bleu.signature,
            "chrf": chrf.score,
            "chrf_signature": chrf.signature,
            "bleu_by_length": by_length.iter().map(group).collect::<Vec<_>>(),
        });
        if self.split == ScoredSplit::Test {
            summary["test_loss"] = json!(loss.mean());
        }
        if let Some([own, lead]) = &self.summaries {
            summary["rouge_l"] = json!(own.rouge_l);
            summary["exact"] = json!(own.exact);
            summary["lead"] = json!({ "rouge_l": lead.rouge_l, "exact": lead.exact });
        }
        if let Some(last) = &self.last {
            summary["bleu_after_last_step"] = json!(last.bleu.score);
            summary["chrf_after_last_step"] = json!(last.chrf.score);
        }
        match summary {
            Value::Object(map) => map,
            _ => unreachable!("it was made as an object"),
        }
    }
}
