//! The best model so far, in `model/`: saved, checked and repaired.

use super::Run;
use super::session::Session;
use crate::error::Result;
use crate::files::create_folder;
use crate::hash::hash_file;
use crate::hub;
use crate::model::{Model, Stack};
use crate::text::Tokenizer;
use crate::train::config::Unit;
use crate::train::warning::RunWarning;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

impl Session {
    pub(super) fn model_folder(&self) -> PathBuf {
        self.folder.join("model")
    }

    /// Saves `model` as the best so far; returns the hash of its weights' file.
    pub(super) fn save_model(&self, model: &Model) -> Result<u64> {
        self.save_to(model, &self.model_folder())?;
        self.saved_hash()
    }

    /// Saves the weights of this step as a model folder of its own. A run that is resumed from an
    /// earlier checkpoint writes the same again.
    pub(super) fn save_snapshot(&self, model: &Model) -> Result<()> {
        let folder = self.folder.join("snapshots").join(self.state.step.to_string());
        self.save_to(model, &folder)
    }

    fn save_to(&self, model: &Model, folder: &Path) -> Result<()> {
        create_folder(folder)?;
        self.tokenizer.save(folder)?;
        let generation = self.generation(&model.stack)?;
        match (&self.config.lora, &self.config.pretrained) {
            (Some(lora), Some(base)) => {
                hub::save_adapter(model, lora, base, folder)?;
                hub::save_config(model, folder, generation.as_ref())?;
            }
            _ => hub::save_with_generation(model, folder, generation.as_ref())?,
        }
        Ok(())
    }

    /// The file of the saved weights.
    fn weights_file(&self) -> PathBuf {
        let is_adapter = self.config.lora.is_some();
        let name = if is_adapter { "adapter_model.safetensors" } else { "model.safetensors" };
        self.model_folder().join(name)
    }

    /// The hash of the saved weights' file.
    pub(super) fn saved_hash(&self) -> Result<u64> {
        Ok(hash_file(&self.weights_file(), 0)?.1)
    }

    /// Why the folder does not hold a model of this run's kind, sizes and vocabulary, if so.
    fn check_saved(&self, folder: &Path, model: &Model) -> Result<Option<String>> {
        let (saved, _) = hub::load_mapped(folder)?;
        let other = |what: &str| Ok(Some(format!("{} contains {what}", folder.display())));
        if hub::write_config(&saved)?.0 != hub::write_config(model)?.0 {
            return other("another model than this run's");
        }
        let own = Tokenizer::load(&self.folder.join("tokenizer"))?;
        if hub::load_tokenizer(folder)?.fingerprint()? != own.fingerprint()? {
            return other("another tokenizer than this run's");
        }
        // The generation config may be edited by hand, as long as it can be read.
        if !matches!(model.stack, Stack::Encoder(_)) {
            hub::load_generation_config(folder)?;
        }
        Ok(None)
    }

    /// `generation_config.json`, where it is not the default of the family: that of the pretrained
    /// model, with the end token that a language model was trained with and the language that a
    /// translator was.
    fn generation(&self, stack: &Stack) -> Result<Option<Value>> {
        let own = self.pretrained_generation.clone();
        if let (Some(language), Some(translator)) =
            (self.tokenizer.target_language(), stack.translator())
        {
            let mut keys = own.unwrap_or_else(|| json!({}));
            // As in `transformers`' example of translation.
            match self.tokenizer.target_language_behind(translator.end())? {
                Some(start) => {
                    keys["decoder_start_token_id"] = start.into();
                    keys["forced_bos_token_id"] = Value::Null;
                }
                None => keys["forced_bos_token_id"] = language.into(),
            }
            return Ok(Some(keys));
        }
        let is_decoder = matches!(stack, Stack::Decoder(_));
        let Some(end) = self.end_token().filter(|_| is_decoder) else { return Ok(own) };
        let mut keys = own.unwrap_or_else(|| json!({}));
        (keys["bos_token_id"], keys["eos_token_id"]) = (json!(end), json!(end));
        Ok(Some(keys))
    }

    /// The token that separates documents in training. Windows of a single file have none.
    fn end_token(&self) -> Option<u32> {
        let separates = self.config.unit() == Unit::Lines || self.config.training_files().len() > 1;
        self.tokenizer.eos_id().filter(|_| separates)
    }
}

impl Run {
    /// Makes `model/` agree with the state, if the run has saved a model: files beside the weights
    /// are written again if they are damaged; weights that are gone, unreadable or another model's
    /// are forgotten, so that the run does not rely on them. Returns what was wrong.
    pub(in crate::train) fn repair_model(&mut self) -> Result<Option<RunWarning>> {
        let (session, model) = (&self.session, self.trainer.model());
        if session.state.best_loss().is_none() {
            return Ok(None);
        }
        let folder = session.model_folder();
        let problem = if session.weights_file().is_file() {
            let found = session.check_saved(&folder, model);
            if matches!(found, Ok(None)) {
                return Ok(None);
            }
            // Only weights that the run knows as its own get its files.
            let is_own = session
                .state
                .best_hash
                .is_none_or(|own| session.saved_hash().is_ok_and(|saved| saved == own));
            if is_own {
                session.tokenizer.save(&folder)?;
                hub::save_config(model, &folder, session.generation(&model.stack)?.as_ref())?;
            }
            let repaired = is_own && matches!(session.check_saved(&folder, model), Ok(None));
            let problem = match found {
                Ok(problem) => problem.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if repaired {
                return Ok(Some(RunWarning::ModelRepaired { problem }));
            }
            problem
        } else {
            format!("{} is gone", folder.display())
        };
        let state = &mut self.session.state;
        let lost = RunWarning::BestModelLost { reason: problem, step: state.best_step };
        state.forget_best();
        // So that whoever resumes from here does not rely on them either.
        self.save_checkpoint()?;
        Ok(Some(lost))
    }
}
