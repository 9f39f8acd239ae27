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
use limpid_tensor::team;
use limpid_tensor::tensor::Tensor;
use std::convert::Infallible;
use std::ops::Range;

/// The layout of a matrix in a file; parameters are (out, in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// (out, in).
    Same,
    /// (in, out): the `Conv1D` of GPT-2.
    Transposed,
    /// (out, in) with the rows of q, k and v of one head beside each other: GPT-NeoX. In memory all
    /// heads of q come first.
    ByHead {
        /// h.
        heads: usize,
    },
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

    /// Values in the order of the file, to the order of the parameter.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn to_memory(&self, to: &mut [f32], values: &[f32]) {
        assert_eq!(to.len(), values.len(), "{} values in memory and in the file", self.name);
        let copy = |start: usize, to: &mut [f32]| {
            to.copy_from_slice(&values[start..start + to.len()]);
            Ok::<_, Infallible>(())
        };
        let Ok(()) = self.fill(to, copy);
    }

    /// Fills a parameter in its own order: `read` fills a slice with the values of the file from
    /// this one on.
    pub(super) fn fill<E>(
        &self,
        to: &mut [f32],
        mut read: impl FnMut(usize, &mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.form {
            FileForm::Same => read(0, to),
            FileForm::Transposed => {
                // to (rows, cols) from the file's (cols, rows), some rows of the file at a time.
                let rows = self.rows.len();
                let cols = to.len() / rows.max(1);
                let mut panel = vec![0.0; PANEL.min(cols) * rows];
                for first in (0..cols).step_by(PANEL) {
                    let width = PANEL.min(cols - first);
                    let panel = &mut panel[..width * rows];
                    read(first * rows, panel)?;
                    team::for_each_chunk(to, TASK_ROWS * cols, |task, to| {
                        for (i, to) in (task * TASK_ROWS..).zip(to.chunks_exact_mut(cols)) {
                            for (j, x) in to[first..first + width].iter_mut().enumerate() {
                                *x = panel[j * rows + i];
                            }
                        }
                    });
                }
                Ok(())
            }
            // Heads of three parts each (q, k, v) become three parts of heads.
            FileForm::ByHead { heads } => {
                let block = to.len() / (3 * heads).max(1);
                for (i, to) in to.chunks_exact_mut(block.max(1)).enumerate() {
                    let (part, head) = (i / heads, i % heads);
                    read((head * 3 + part) * block, to)?;
                }
                Ok(())
            }
        }
    }

    /// Values in the order of the parameter, to the order of the file.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn to_file(&self, to: &mut [f32], values: &[f32]) {
        let rows = self.rows.len();
        match self.form {
            FileForm::Same => to.copy_from_slice(values),
            FileForm::Transposed => transpose(to, values, values.len() / rows.max(1), rows),
            FileForm::ByHead { heads } => swap_blocks(to, values, [3, heads]),
        }
    }
}

/// Rows of a transposed matrix that are read together: the floats of a few cache lines, so that
/// those of a row of the result are written in one go.
const PANEL: usize = 64;

/// Rows of the result that a thread writes at a time.
const TASK_ROWS: usize = 64;

/// to (rows, cols) from `values` (cols, rows).
fn transpose(to: &mut [f32], values: &[f32], rows: usize, cols: usize) {
    for i in 0..rows {
        for j in 0..cols {
            to[i * cols + j] = values[j * rows + i];
        }
    }
}

/// to (b, a, block) from `values` (a, b, block).
fn swap_blocks(to: &mut [f32], values: &[f32], [a, b]: [usize; 2]) {
    let block = values.len() / (a * b).max(1);
    for (i, to) in to.chunks_exact_mut(block.max(1)).enumerate() {
        let (outer, inner) = (i / a, i % a);
        to.copy_from_slice(&values[(inner * b + outer) * block..][..block]);
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
    /// As q, k and v, parts of this module, whose rows are stacked in memory in the ratio of
    /// [`Layout::heads`].
    Grouped(&'static str, [&'static str; 3]),
    /// Under this name, with the rows of q, k and v of one head beside each other.
    ByHead(&'static str),
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
    /// Heads of queries, and of keys and values.
    pub(super) heads: [usize; 2],
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
        let found = |rows: &[Row]| rows.iter().find_map(|row| self.names(row, &spec.name));
        let (prefixes, (names, form)) = match (found(self.head), found(self.base)) {
            (Some(found), _) => (vec![""], found),
            (None, Some(found)) => ([&[self.prefix], self.other_prefixes].concat(), found),
            (None, None) => panic!("the family has no tensor for parameter {}", spec.name),
        };
        // The rows of a module are shared out between its parts in this ratio.
        let total: usize = names.iter().map(|(_, share)| share).sum();
        let block = spec.shape.dim(0) / total;
        let is_plain = spec.shape.rank() == 1 && form == FileForm::Transposed;
        let form = if is_plain { FileForm::Same } else { form };
        let mut end = 0;
        let tensor = |(name, share): (String, usize)| {
            let mut all: Vec<String> = prefixes.iter().map(|p| format!("{p}{name}")).collect();
            for (now, then) in self.old_suffixes {
                let old = |name: &String| Some(format!("{}{then}", name.strip_suffix(now)?));
                all.extend(all.iter().filter_map(old).collect::<Vec<_>>());
            }
            let aliases = all.split_off(1);
            let rows = end..end + share * block;
            end = rows.end;
            FileTensor { name: all.remove(0), aliases, param, rows, form }
        };
        names.into_iter().map(tensor).collect()
    }

    /// The names in files of a parameter, each with its share of the rows, if a row of the layout
    /// stands for it.
    fn names(
        &self,
        (module, stored): &Row,
        param: &str,
    ) -> Option<(Vec<(String, usize)>, FileForm)> {
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
        let part = |module: &str, part: &str| full(&format!("{module}.{part}"));
        let [h, g] = self.heads;
        Some(match stored {
            Stored::Same(name) => (vec![(full(name), 1)], FileForm::Same),
            Stored::Transposed(name) => (vec![(full(name), 1)], FileForm::Transposed),
            Stored::ByHead(name) => (vec![(full(name), 1)], FileForm::ByHead { heads: h }),
            Stored::Stacked(module, parts) => {
                (parts.iter().map(|name| (part(module, name), 1)).collect(), FileForm::Same)
            }
            Stored::Grouped(module, parts) => {
                let shares = parts.iter().zip([h, g, g]);
                let names = shares.map(|(name, share)| (part(module, name), share));
                (names.collect(), FileForm::Same)
            }
        })
    }
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
        heads: [4, 2],
        prefix: "model.",
        other_prefixes: &[""],
        base: &[
            ("layers.*.qkv", Stored::Stacked("h.*", &["q", "k", "v"])),
            ("layers.*.grouped", Stored::Grouped("g.*", ["q", "k", "v"])),
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
        builder.add("layers.3.grouped.bias", [24], Init::Zeros);
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
                row("model.g.3.q.bias", "g.3.q.bias", 0..12, Same),
                row("model.g.3.k.bias", "g.3.k.bias", 12..18, Same),
                row("model.g.3.v.bias", "g.3.v.bias", 18..24, Same),
                row("model.h.0.fc.weight", "h.0.fc.weight", 0..4, Transposed),
                row("model.h.0.fc.bias", "h.0.fc.bias", 0..4, Same),
                row("model.ln.weight", "ln.weight model.ln.gamma ln.gamma", 0..4, Same),
                row("head_bias", "", 0..4, Same),
            ]
        );
    }

    #[test]
    fn every_form_is_read_as_it_is_written() {
        let mut builder = limpid_tensor::params::Params::builder();
        let param = builder.add("w", [6, 37], limpid_tensor::params::Init::Zeros);
        let values: Vec<f32> = (0..6 * 37).map(|i| i as f32).collect();
        let read = |form, file: &[f32]| {
            let tensor = FileTensor { name: "w".into(), aliases: vec![], param, rows: 0..6, form };
            let mut memory = vec![f32::NAN; file.len()];
            tensor.to_memory(&mut memory, file);
            let mut back = vec![f32::NAN; file.len()];
            tensor.to_file(&mut back, &memory);
            assert_eq!(back, file, "{form:?}");
            memory
        };
        assert_eq!(read(FileForm::Same, &values), values);
        // Row 1, column 20 of memory is row 20, column 1 of the file's (37, 6).
        assert_eq!(read(FileForm::Transposed, &values)[37 + 20], values[20 * 6 + 1]);
        // Two heads of q, k and v, one row each: the second row of memory is q of the second head.
        assert_eq!(read(FileForm::ByHead { heads: 2 }, &values)[37..74], values[3 * 37..4 * 37]);
    }

    #[test]
    fn a_star_is_a_number_and_nothing_else() {
        assert_eq!(matched("layers.*.up", "layers.3.up"), Some(Some("3")));
        assert_eq!(matched("layers.*.up", "layers.x.up"), None);
        assert_eq!(matched("layers.*.up", "layers..up"), None);
        assert_eq!(matched("norm", "norm"), Some(None));
    }
}
