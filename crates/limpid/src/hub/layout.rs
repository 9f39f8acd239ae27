//! Where the parameters of a stack are stored in a weight file.
//!
//! A family lists the modules of a stack with the names they have in its files:
//!
//! ```text
//! ("layers.*.self_attention.out", Same("encoder.layer.*.attention.output.dense"))
//! ```
//!
//! `*` is the number of a layer. A row stands for every tensor of the module (`weight`, `bias`,
//! `running_mean`, …), or, if it is the whole name of a parameter, for that one tensor.

use crate::error::Tying;
use limpid_tensor::params::{ParamId, ParamSpec};
use limpid_tensor::tensor::Tensor;
use std::ops::Range;

/// The layout of a matrix in a file; parameters are (out, in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// (out, in).
    Same,
    /// (in, out): the `Conv1D` of GPT-2.
    Transposed,
}

/// One tensor of a weight file: which rows of which parameter it holds.
#[derive(Clone, Debug)]
pub struct FileTensor {
    /// Its name in the file.
    pub name: String,
    /// Other names under which it is accepted.
    pub aliases: Vec<String>,
    /// The parameter.
    pub param: ParamId,
    /// The rows of the parameter: all, or one block of several that are stacked.
    pub rows: Range<usize>,
    /// The layout of the matrix.
    pub form: FileForm,
}

impl FileTensor {
    /// Its shape in the file, if this is its parameter.
    pub(super) fn shape(&self, param: &ParamSpec) -> Vec<usize> {
        let mut shape: Vec<usize> = param.shape.dims().collect();
        shape[0] = self.rows.len();
        if self.form == FileForm::Transposed {
            shape.reverse();
        }
        shape
    }
}

/// How a module is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// Under this name.
    Same(&'static str),
    /// Under this name, with matrices as (in, out).
    Transposed(&'static str),
    /// As parts of this module, of equal size, whose rows are stacked in memory.
    Stacked(&'static str, &'static [&'static str]),
}

/// A module of a stack, and how files store it.
pub(super) type Row = (&'static str, Stored);

/// A tensor that repeats a tied parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct TiedCopy {
    /// The end of its name.
    pub(super) suffix: &'static str,
    /// The parameters it may repeat: the first that the model has.
    pub(super) of: &'static [&'static str],
    /// Whether the family can also leave them untied.
    pub(super) tying: Tying,
}

/// How a family stores the parameters of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Prefix of the names of `base` when written.
    pub(super) prefix: &'static str,
    /// Other prefixes accepted when read.
    pub(super) other_prefixes: &'static [&'static str],
    /// The modules of the base model.
    pub(super) base: &'static [Row],
    /// The modules of heads, which have no prefix; they win over those of the base model.
    pub(super) head: &'static [Row],
    /// Ends of names as written, and in old files.
    pub(super) old_suffixes: &'static [(&'static str, &'static str)],
    /// Copies of tied parameters, which some files hold.
    pub(super) copies: &'static [TiedCopy],
    /// Ends of the names of tensors that the model does not need.
    pub(super) ignored: &'static [&'static str],
}

/// A tensor that is computed, not learned, and that files may hold.
pub(super) struct Constant {
    /// Its name in files.
    pub(super) name: String,
    /// Its value.
    pub(super) value: Tensor,
    /// Whether files have it.
    pub(super) presence: Presence,
}

/// Whether files hold a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Written, and checked when read.
    Written,
    /// Not written, but checked when a file has it.
    Accepted,
}

impl Layout {
    /// The tensors of a file that hold these parameters.
    /// # Panics
    /// If the layout has no row for a parameter.
    pub(super) fn tensors<'a>(
        &self,
        params: impl Iterator<Item = (ParamId, &'a ParamSpec)>,
    ) -> Vec<FileTensor> {
        params.flat_map(|(param, spec)| self.tensors_of(param, spec)).collect()
    }

    fn tensors_of(&self, param: ParamId, spec: &ParamSpec) -> Vec<FileTensor> {
        let found = |rows: &[Row]| rows.iter().find_map(|row| names(row, &spec.name));
        let (prefixes, (names, form)) = match (found(self.head), found(self.base)) {
            (Some(found), _) => (vec![""], found),
            (None, Some(found)) => ([&[self.prefix], self.other_prefixes].concat(), found),
            (None, None) => panic!("the family has no tensor for parameter {}", spec.name),
        };
        let block = spec.shape.dim(0) / names.len();
        let form = if spec.shape.rank() == 2 { form } else { FileForm::Same };
        let tensor = |(i, name): (usize, String)| {
            let mut all: Vec<String> = prefixes.iter().map(|p| format!("{p}{name}")).collect();
            for (now, then) in self.old_suffixes {
                let old = |name: &String| Some(format!("{}{then}", name.strip_suffix(now)?));
                all.extend(all.iter().filter_map(old).collect::<Vec<_>>());
            }
            let aliases = all.split_off(1);
            let rows = i * block..(i + 1) * block;
            FileTensor { name: all.remove(0), aliases, param, rows, form }
        };
        names.into_iter().enumerate().map(tensor).collect()
    }
}

/// The names in files of a parameter, if a row stands for it.
fn names((module, stored): &Row, param: &str) -> Option<(Vec<String>, FileForm)> {
    let (layer, end) = match matched(module, param) {
        Some(layer) => (layer, None),
        None => {
            let (path, end) = param.rsplit_once('.')?;
            (matched(module, path)?, Some(end))
        }
    };
    let full = |name: &str| {
        let name = name.replace('*', layer.unwrap_or_default());
        end.map_or(name.clone(), |end| format!("{name}.{end}"))
    };
    Some(match stored {
        Stored::Same(name) => (vec![full(name)], FileForm::Same),
        Stored::Transposed(name) => (vec![full(name)], FileForm::Transposed),
        Stored::Stacked(module, parts) => {
            let part = |part: &&str| full(&format!("{module}.{part}"));
            (parts.iter().map(part).collect(), FileForm::Same)
        }
    })
}

/// Whether a path fits a pattern: what `*` stands for, if the pattern has one.
fn matched<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let Some((before, after)) = pattern.split_once('*') else {
        return (pattern == path).then_some(None);
    };
    let layer = path.strip_prefix(before)?.strip_suffix(after)?;
    let is_number = !layer.is_empty() && layer.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(Some(layer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_tensor::params::{Init, Params};

    const LAYOUT: Layout = Layout {
        prefix: "model.",
        other_prefixes: &[""],
        base: &[
            ("layers.*.qkv", Stored::Stacked("h.*", &["q", "k", "v"])),
            ("layers.*.up", Stored::Transposed("h.*.fc")),
            ("norm", Stored::Same("ln")),
        ],
        head: &[("bias", Stored::Same("head_bias"))],
        old_suffixes: &[("ln.weight", "ln.gamma")],
        copies: &[],
        ignored: &[],
    };

    #[test]
    fn parameters_have_the_names_rows_and_forms_of_their_family() {
        let mut builder = Params::builder();
        builder.add("layers.12.qkv.weight", [6, 5], Init::Zeros);
        builder.add("layers.0.up.weight", [4, 5], Init::Zeros);
        builder.add("layers.0.up.bias", [4], Init::Zeros);
        builder.add("norm.weight", [4], Init::Zeros);
        builder.add("bias", [4], Init::Zeros);
        let found: Vec<_> = LAYOUT
            .tensors(builder.iter())
            .into_iter()
            .map(|t| (t.name, t.aliases.join(" "), t.rows, t.form))
            .collect();
        let row = |name: &str, aliases: &str, rows, form| (name.into(), aliases.into(), rows, form);
        use FileForm::{Same, Transposed};
        assert_eq!(
            found,
            [
                row("model.h.12.q.weight", "h.12.q.weight", 0..2, Same),
                row("model.h.12.k.weight", "h.12.k.weight", 2..4, Same),
                row("model.h.12.v.weight", "h.12.v.weight", 4..6, Same),
                row("model.h.0.fc.weight", "h.0.fc.weight", 0..4, Transposed),
                row("model.h.0.fc.bias", "h.0.fc.bias", 0..4, Same),
                row("model.ln.weight", "ln.weight model.ln.gamma ln.gamma", 0..4, Same),
                row("head_bias", "", 0..4, Same),
            ]
        );
    }

    #[test]
    fn a_star_is_a_number_and_nothing_else() {
        assert_eq!(matched("layers.*.up", "layers.3.up"), Some(Some("3")));
        assert_eq!(matched("layers.*.up", "layers.x.up"), None);
        assert_eq!(matched("layers.*.up", "layers..up"), None);
        assert_eq!(matched("norm", "norm"), Some(None));
    }
}
