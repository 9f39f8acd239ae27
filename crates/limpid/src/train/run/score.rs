//! The end of a translator's run: what it makes of sentences it has not learnt from.

use super::{News, Run, Signal};
use crate::decode::Request;
use crate::error::Result;
use crate::eval::Case;
use crate::eval::summary::SummaryScores;
use crate::eval::translator::{TranslatorScores, manner_of, score_translator};
use crate::files::write_aside;
use crate::hub;
use crate::model::Model;
use crate::train::config::Targets;
use crate::train::examples::Examples;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Where a translator was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedOn {
    /// On the test files of the configuration.
    Test,
    /// On what was kept for validation.
    Validation,
}

/// A run's translations, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// On which sentences.
    pub on: JudgedOn,
    /// By how many beams; 1 is greedy.
    pub beams: usize,
    /// The model that was kept.
    pub kept: TranslatorScores,
    /// The weights after the last step, if those are not the ones that were kept.
    pub last: Option<TranslatorScores>,
    /// What was kept as summaries, and the first sentences beside it; if that is what is written.
    pub summaries: Option<[SummaryScores; 2]>,
}

impl JudgedOn {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            JudgedOn::Test => "test",
            JudgedOn::Validation => "validation",
        }
    }
}

impl Run {
    /// What came of it, after the end of a translator's run.
    pub fn judged(&self) -> Option<&Judged> {
        self.judged.as_ref()
    }

    /// The scores of the weights after the last step; nothing for what does not translate.
    pub(super) fn score_now(
        &mut self,
        news: &mut dyn FnMut(News) -> Signal,
    ) -> Result<Option<TranslatorScores>> {
        self.with_weights(|run| run.score(&run.model, news))
    }

    /// Loads the model that was kept, as a user would, judges it, and writes its translations beside it.
    pub(super) fn judge(
        &mut self,
        last: Option<TranslatorScores>,
        news: &mut dyn FnMut(News) -> Signal,
    ) -> Result<()> {
        let Some((on, pairs)) = self.to_judge() else { return Ok(()) };
        let (kept, _) = hub::load(&self.folder.join("model"))?;
        let Some(scores) = self.score(&kept, news)? else { return Ok(()) };
        let text = scores.translations.join("\n") + "\n";
        write_aside(&self.folder.join("translations.txt"), text.as_bytes())?;
        let summaries = match self.config.targets()? {
            Targets::Translations => None,
            Targets::Summaries => {
                Some([SummaryScores::of(&scores.translations, pairs), SummaryScores::of_leads(pairs)])
            }
        };
        self.judged = Some(Judged { on, beams: self.config.score.beams, kept: scores, last, summaries });
        Ok(())
    }

    /// The sentences, and where they are from; none for what does not translate, or if that is not wished.
    fn to_judge(&self) -> Option<(JudgedOn, &[(String, String)])> {
        let Examples::Pairs(pairs) = &self.examples else { return None };
        let kept = &pairs.validation_texts;
        match &pairs.test_texts {
            Some(test) => Some((JudgedOn::Test, test)),
            None if self.config.score.sentences == 0 => None,
            None => Some((JudgedOn::Validation, &kept[..kept.len().min(self.config.score.sentences)])),
        }
    }

    fn score(&self, model: &Model, news: &mut dyn FnMut(News) -> Signal) -> Result<Option<TranslatorScores>> {
        let (Some(translator), Some((on, pairs))) = (model.architecture.translator(), self.to_judge()) else {
            return Ok(None);
        };
        news(News::Scoring { sentences: pairs.len(), on });
        let score = &self.config.score;
        let request = Request { beams: Some(score.beams), ..Request::default() };
        // What its files say cannot be a surprise: we have written them.
        let (manner, _) = manner_of(&self.folder.join("model"), translator, &request)?;
        let case = if score.lowercase { Case::Lower } else { Case::Mixed };
        let pairs = (pairs, ["source", "target"].map(Path::new));
        score_translator((translator, &model.params), &self.tokenizer, pairs, &manner, case).map(Some)
    }
}

impl Judged {
    /// What `summary.json` says of it.
    pub(super) fn summary(&self) -> Map<String, Value> {
        let TranslatorScores { loss, translations, bleu, chrf, by_length, .. } = &self.kept;
        let group = |group: &crate::eval::lengths::LengthGroup| json!({ "from": group.from, "to": group.to, "sentences": group.lines, "bleu": group.score.score });
        let mut summary = json!({
            "judged_on": self.on.name(), "judged_sentences": translations.len(), "beams": self.beams,
            "bleu": bleu.score, "bleu_signature": bleu.signature, "chrf": chrf.score, "chrf_signature": chrf.signature,
            "bleu_by_length": by_length.iter().map(group).collect::<Vec<_>>(),
        });
        if self.on == JudgedOn::Test {
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
            _ => unreachable!("it was written as one"),
        }
    }
}
