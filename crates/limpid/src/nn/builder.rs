//! Collects the parameters of a model, and how files store each of them.

use limpid_tensor::params::{Init, ParamId, ParamSpec, Params, ParamsBuilder};
use std::ops::Range;

/// How a file lays out what we keep as (out, in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// The same way.
    Same,
    /// As (in, out): GPT-2's `Conv1D`.
    Transposed,
}

/// One tensor of a weight file, and which rows of which parameter it is.
#[derive(Clone, Debug)]
pub struct FileTensor {
    /// Its name in the file.
    pub name: String,
    /// The parameter.
    pub param: ParamId,
    /// The rows of the parameter: all of them, or one matrix of several that we keep stacked.
    pub rows: Range<usize>,
    /// How the file lays it out.
    pub form: FileForm,
}

/// The parameters of a model under construction.
#[derive(Default)]
pub struct Builder {
    params: ParamsBuilder,
    files: Vec<FileTensor>,
}

impl Builder {
    /// A tensor that files store the way we do.
    pub fn add(&mut self, name: &str, shape: &[usize], init: Init) -> ParamId {
        let param = self.params.add(name, limpid_tensor::tensor::Shape::new(shape), init);
        self.file(name, param, 0..shape[0], FileForm::Same);
        param
    }

    /// A tensor that is stored but not trained.
    pub fn add_fixed(&mut self, name: &str, shape: &[usize], init: Init) -> ParamId {
        let param = self.params.add_fixed(name, limpid_tensor::tensor::Shape::new(shape), init);
        self.file(name, param, 0..shape[0], FileForm::Same);
        param
    }

    /// A tensor that follows what passes in training.
    pub fn add_statistic(&mut self, name: &str, shape: &[usize], init: Init) -> ParamId {
        let param = self.params.add_statistic(name, limpid_tensor::tensor::Shape::new(shape), init);
        self.file(name, param, 0..shape[0], FileForm::Same);
        param
    }

    /// A matrix (out, in) that files store as (in, out).
    pub fn add_transposed(&mut self, name: &str, [out, inner]: [usize; 2], init: Init) -> ParamId {
        let param = self.params.add(name, [out, inner], init);
        self.file(name, param, 0..out, FileForm::Transposed);
        param
    }

    /// Several tensors that files store apart and we keep one below the other, so that one product serves them all. `shape` is that of
    /// one.
    pub fn add_stacked(&mut self, name: &str, files: &[String], shape: &[usize], init: Init) -> ParamId {
        let mut whole = shape.to_vec();
        whole[0] *= files.len();
        let param = self.params.add(name, limpid_tensor::tensor::Shape::new(&whole), init);
        for (i, file) in files.iter().enumerate() {
            self.file(file, param, i * shape[0]..(i + 1) * shape[0], FileForm::Same);
        }
        param
    }

    /// Every tensor of a file, with the parameter it is (part of).
    pub fn files(&self) -> impl Iterator<Item = (&FileTensor, &ParamSpec)> {
        self.files.iter().map(|file| (file, self.params.spec(file.param)))
    }

    fn file(&mut self, name: &str, param: ParamId, rows: Range<usize>, form: FileForm) {
        self.files.push(FileTensor { name: name.to_string(), param, rows, form });
    }

    /// Draws initial values and gives the parameters and their file names.
    pub fn build(self, seed: u64) -> (Params, Vec<FileTensor>) {
        (self.params.build(seed), self.files)
    }

    /// The same with zeros, for a loader.
    pub fn build_zeroed(self) -> (Params, Vec<FileTensor>) {
        (self.params.build_zeroed(), self.files)
    }
}
