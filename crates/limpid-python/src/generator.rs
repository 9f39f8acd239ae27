//! Text generation with a language model.

use crate::arrays::{self, Ids};
use crate::attention::Attention;
use crate::error::{InputError, exception};
use crate::generated::Generated;
use crate::interrupt::{Signals, detached};
use crate::model::Model;
use crate::options::generation_options;
use crate::stream::TextStream;
use limpid::data::batch::Packed;
use limpid::error::{EncodeError, InputProblem, Result};
use limpid::generate::{ContextOverflow, GenerationOptions};
use limpid::inspect::{decoder_attention, logit_lens};
use limpid::model::Decoder;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// A language model.
#[pyclass(frozen, extends = Model, module = "limpid")]
pub struct Generator {
    inner: Arc<limpid::Generator>,
}

/// Predictions of each layer after each token: (token, log-probability), the most likely first.
type LogitLens = Vec<Vec<Vec<(String, f32)>>>;

impl Generator {
    fn decoder(&self) -> &Decoder {
        self.inner.model().stack.language_model().expect("checked by load")
    }

    /// Refuses ids that the model cannot read.
    fn check(&self, ids: &[u32]) -> PyResult<()> {
        let config = self.decoder().config();
        let (tokens, max_tokens) = (ids.len(), config.max_position_embeddings);
        let problem = match tokens {
            0 => InputProblem::Empty,
            _ if tokens > max_tokens => InputProblem::TooLong { tokens, max_tokens },
            _ => {
                let vocab_size = config.vocab_size;
                return match ids.iter().find(|id| **id as usize >= vocab_size) {
                    Some(id) => Err(InputError::new_err(format!(
                        "token id {id}: the model has {vocab_size} tokens"
                    ))),
                    None => Ok(()),
                };
            }
        };
        Err(exception(EncodeError::Input { index: 0, problem }.into()))
    }

    fn tokens(&self, text: &str) -> PyResult<Vec<u32>> {
        let ids = self.inner.tokenizer().encode(text).map_err(exception)?;
        self.check(&ids)?;
        Ok(ids)
    }

    fn run(
        &self,
        prompts: &[String],
        options: &GenerationOptions,
        signals: &mut Signals,
    ) -> Result<Vec<Vec<limpid::generate::Generated>>> {
        let config = self.inner.decoding_config(options)?;
        let overflow = self.inner.generate_options(ContextOverflow::Error);
        self.inner.run(prompts, &config, &overflow, &mut |_| signals.check())
    }
}

#[pymethods]
impl Generator {
    /// Loads a model folder, or the model of a run folder.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<PyClassInitializer<Self>> {
        let inner = Arc::new(detached(py, |_| limpid::Generator::load(path))?);
        Ok(Model::of(&inner).add_subclass(Self { inner }))
    }

    /// The continuation of a prompt, without the prompt.
    #[pyo3(signature = (prompt, **options))]
    fn generate(
        &self,
        py: Python<'_>,
        prompt: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let options = generation_options(options)?;
        let mut found = detached(py, |signals| self.run(&[prompt], &options, signals))?;
        Ok(found.swap_remove(0).swap_remove(0).text)
    }

    /// All continuations of each prompt, the best first, with tokens, reasons and scores.
    #[pyo3(signature = (prompts, **options))]
    fn generate_all(
        &self,
        py: Python<'_>,
        prompts: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Generated>>> {
        let options = generation_options(options)?;
        let found = detached(py, |signals| self.run(&prompts, &options, signals))?;
        Ok(Generated::of_each(py, found))
    }

    /// The continuation of a prompt, piece by piece as it is generated.
    #[pyo3(signature = (prompt, **options))]
    fn stream(&self, prompt: String, options: Option<&Bound<'_, PyDict>>) -> PyResult<TextStream> {
        let options = generation_options(options)?;
        // An error in the options is raised here, not by the first piece.
        self.inner.decoding_config(&options).map_err(exception)?;
        Ok(TextStream::new(Arc::clone(&self.inner), prompt, options))
    }

    /// The logits after each token (t, v).
    fn logits<'py>(&self, py: Python<'py>, ids: Ids<'_>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        // A copy: without the GIL, another thread could write to the array.
        let ids = ids.with(<[u32]>::to_vec);
        self.check(&ids)?;
        let logits = py.detach(|| {
            let mut tape = self.inner.weights().tape();
            let hidden = self.decoder().hidden(&mut tape, &Packed::new(&[ids]), None);
            self.decoder().logits(&mut tape, &hidden).value().clone()
        });
        arrays::of_tensor(py, logits)
    }

    /// The attention of every layer and head over a text.
    fn attention(&self, py: Python<'_>, text: &str) -> PyResult<Attention> {
        let ids = self.tokens(text)?;
        let params = &self.inner.model().params;
        let found = py.detach(|| decoder_attention((self.decoder(), params), &ids, &|_| true));
        Attention::new(py, self.inner.tokenizer(), &ids, found)
    }

    /// What each layer would predict after each token if the layers ended there: for each layer,
    /// for each token, the `top` most likely next tokens with their log-probabilities.
    #[pyo3(signature = (text, top = 5))]
    fn logit_lens(&self, py: Python<'_>, text: &str, top: usize) -> PyResult<LogitLens> {
        let ids = self.tokens(text)?;
        let weights = self.inner.weights();
        let lens = py.detach(|| logit_lens((self.decoder(), weights), &ids, top));
        let tokenizer = self.inner.tokenizer();
        let named = |best: Vec<(u32, f32)>| {
            best.into_iter().map(|(id, p)| (tokenizer.token(id), p)).collect()
        };
        Ok(lens.into_iter().map(|layer| layer.into_iter().map(named).collect()).collect())
    }
}
