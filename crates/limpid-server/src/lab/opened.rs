//! A model in memory, with what the lab asks of it.

use super::problem::{Kind, LabProblem};
use super::tokens::{check_ids, check_length};
use super::types::{GenerateRequest, Model, PassRequest};
use limpid::data::batch::EncodedText;
use limpid::encode::{TextEncoder, Truncation};
use limpid::generate::{
    ContextOverflow, DecodingConfig, GenerationOptions, Prompt, TranslateOptions,
};
use limpid::inspect::PassInput;
use limpid::model::{Seq2Seq, Stack};
use limpid::pipeline::{Generator, Pipeline, Translator};
use limpid::text::Tokenizer;
use std::path::PathBuf;

/// A model in memory.
pub struct Opened {
    /// Its entry.
    pub model: Model,
    /// Its folder.
    pub folder: PathBuf,
    /// Its facade.
    pub pipeline: Pipeline,
    /// A hash of its files.
    pub hash: String,
}

impl Opened {
    /// Its tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        self.pipeline.tokenizer()
    }

    /// Its stack.
    pub fn stack(&self) -> &Stack {
        &self.pipeline.model().stack
    }

    /// The encoder-decoder, if it is one.
    pub fn seq2seq(&self) -> Option<Seq2Seq<'_>> {
        self.stack().translator()
    }

    /// The language model, if it is one.
    pub fn generator(&self) -> Option<&Generator> {
        match &self.pipeline {
            Pipeline::Generator(generator) => Some(generator),
            _ => None,
        }
    }

    /// The translator, if it is one.
    pub fn translator(&self) -> Option<&Translator> {
        match &self.pipeline {
            Pipeline::Translator(translator) => Some(translator),
            _ => None,
        }
    }

    /// Tokens that its logits are of.
    pub fn scored_tokens(&self) -> usize {
        match self.seq2seq() {
            Some(model) => model.decoder_vocab_size(),
            None => self.stack().vocab_size(),
        }
    }

    /// The ids of a prompt or a source, with the special tokens that belong to it.
    pub fn read(&self, text: &str, second: Option<&str>) -> Result<EncodedText, LabProblem> {
        if second.is_some() && self.stack().encoder().is_none() {
            let message = "only an encoder reads a pair of texts";
            return Err(LabProblem::invalid("second", message));
        }
        let found = match self.stack() {
            Stack::Encoder(model) => {
                let encoder = TextEncoder {
                    model,
                    weights: self.pipeline.weights(),
                    tokenizer: self.tokenizer(),
                    truncation: Truncation::Error,
                };
                encoder.tokenize(0, text, second)?
            }
            Stack::Decoder(_) => {
                // As it generates; a classifier reads its special tokens.
                let mut ids = match self.generator() {
                    Some(_) => self.tokenizer().encode(text)?,
                    None => self.tokenizer().encode_with_special(text)?,
                };
                if ids.is_empty() {
                    ids.extend(self.start_of_text());
                }
                (ids, Vec::new())
            }
            Stack::EncoderDecoder(_) | Stack::Recurrent(_) => {
                let end = self.seq2seq().expect("an encoder-decoder").end();
                (self.tokenizer().source_sentence(text, end)?, Vec::new())
            }
        };
        check_ids(&found.0, self.stack().vocab_size(), "text")?;
        check_length(found.0.len(), self.model.context)?;
        Ok(found)
    }

    fn start_of_text(&self) -> Option<u32> {
        self.generator()?.generate_options(ContextOverflow::Error).bos_token_id
    }

    /// What a pass reads, and the translation of a translator that was given no target.
    pub fn input(&self, request: &PassRequest) -> Result<PassInput, LabProblem> {
        if let Some(ids) = &request.target_ids {
            check_ids(ids, self.scored_tokens(), "target_ids")?;
        }
        let (mut ids, types) = self.read(&request.text, request.second.as_deref())?;
        let Some(model) = self.seq2seq() else {
            if request.target.is_some() || (request.target_ids.is_some() && !types.is_empty()) {
                let message = "only a decoder has a target";
                return Err(LabProblem::invalid("target", message));
            }
            if self.stack().encoder().is_some() {
                return Ok(PassInput::Text((ids, types)));
            }
            ids.extend(request.target_ids.iter().flatten());
            check_length(ids.len(), self.model.context)?;
            return Ok(PassInput::Tokens(ids));
        };
        let mut target = match (&request.target, &request.target_ids) {
            (_, Some(ids)) => ids.clone(),
            (Some(text), None) => {
                let mut ids = self.tokenizer().encode_target(text)?;
                check_ids(&ids, self.scored_tokens(), "target")?;
                ids.truncate(super::MAX_TOKENS);
                ids
            }
            (None, None) => self.translate(&request.text)?,
        };
        if target.last() != Some(&model.end()) {
            target.push(model.end());
        }
        check_length(target.len(), self.model.context)?;
        Ok(PassInput::Pair { source: ids, target })
    }

    /// The greedy translation of a text.
    pub fn translate(&self, text: &str) -> Result<Vec<u32>, LabProblem> {
        let translator = self.translator().ok_or_else(|| self.cannot("translate"))?;
        let options = GenerationOptions { num_beams: Some(1), ..GenerationOptions::default() };
        let config = translator.decoding_config(&options)?;
        let found = translator.run(&[text], &config, &TranslateOptions::default(), None)?;
        Ok(found.into_iter().flatten().next().map(|found| found.tokens).unwrap_or_default())
    }

    /// The decoding configuration of a request.
    pub fn decoding(&self, request: &GenerateRequest) -> Result<DecodingConfig, LabProblem> {
        let sampled = request.temperature.unwrap_or(1.0) > 0.0
            && (request.temperature.is_some()
                || request.top_k.is_some()
                || request.top_p.is_some());
        let options = GenerationOptions {
            do_sample: Some(sampled),
            temperature: request.temperature.filter(|_| sampled),
            top_k: request.top_k.filter(|_| sampled),
            top_p: request.top_p.filter(|_| sampled),
            seed: sampled.then(|| request.seed.unwrap_or(0)),
            repetition_penalty: request.repetition_penalty,
            max_new_tokens: Some(request.max_new_tokens.unwrap_or(32)),
            num_beams: Some(1),
            ..GenerationOptions::default()
        };
        self.resolve(&options)
    }

    /// These options over the defaults of the folder.
    pub fn resolve(&self, options: &GenerationOptions) -> Result<DecodingConfig, LabProblem> {
        match (self.generator(), self.translator()) {
            (Some(generator), _) => Ok(generator.decoding_config(options)?),
            (_, Some(translator)) => Ok(translator.decoding_config(options)?),
            _ => Err(self.cannot("generate text")),
        }
    }

    /// The ids of a prompt as generation reads it.
    pub fn prompt_ids(&self, text: &str) -> Result<Vec<u32>, LabProblem> {
        let generator = self.generator().ok_or_else(|| self.cannot("generate text"))?;
        let options = GenerationOptions { max_new_tokens: Some(1), ..Default::default() };
        let config = generator.decoding_config(&options)?;
        let how = generator.generate_options(ContextOverflow::Error);
        Ok(generator.prepare(Prompt::Text(text), &config, &how)?.prompt().to_vec())
    }

    /// The problem of a model that cannot do something.
    pub fn cannot(&self, what: &str) -> LabProblem {
        let Model { name, task, .. } = &self.model;
        LabProblem::new(Kind::WrongModel, format!("{name} is a model for {task}: it cannot {what}"))
    }
}
