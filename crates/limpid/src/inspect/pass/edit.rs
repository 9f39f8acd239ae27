//! Changes to a forward pass: a head, a feed-forward network or the residual stream set to zero, to
//! its mean, or to what it was for another input (activation patching).

use super::ForwardPass;
use super::catalogue::{AttentionSite, StackName};
use crate::error::{InspectError, Result};
use crate::model::Stack;
use limpid_tensor::tape::Edit;
use limpid_tensor::tensor::Tensor;

/// A place that can be changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// The output of a head of attention, before it is projected.
    Head {
        /// The attention.
        attention: AttentionSite,
        /// The head, counted from 0.
        head: usize,
    },
    /// What a feed-forward network adds to the residual stream.
    FeedForward {
        /// The stack.
        stack: StackName,
        /// The layer, counted from 0.
        layer: usize,
    },
    /// The residual stream.
    Stream {
        /// The stack.
        stack: StackName,
        /// After this layer; `None` after the embeddings.
        layer: Option<usize>,
        /// At this token; `None` at all.
        position: Option<usize>,
    },
}

/// What a place is set to.
#[derive(Clone, Debug)]
pub enum Replacement {
    /// Zero.
    Zero,
    /// Its mean over the tokens of this pass.
    Mean,
    /// These rows, those of another pass; rows beyond their end stay.
    Rows(Tensor),
}

/// A change.
#[derive(Clone, Debug)]
pub struct SiteEdit {
    /// Where.
    pub site: Site,
    /// To what.
    pub to: Replacement,
}

impl Site {
    /// The name of its tensor in [`limpid_tensor::tape::Edit`].
    fn name(&self) -> String {
        match self {
            Site::Head { attention, .. } => format!("{}heads", attention.scope()),
            Site::FeedForward { stack, layer } => format!("{}.{layer}.ffn", stack.name()),
            Site::Stream { stack, layer: Some(layer), .. } => {
                format!("{}.{layer}.stream", stack.name())
            }
            Site::Stream { stack, layer: None, .. } => {
                format!("{}.embedding.stream", stack.name())
            }
        }
    }

    /// For messages: `head 3 of layers.0.self_attention`.
    fn describe(&self) -> String {
        match self {
            Site::Head { head, attention } => {
                format!("head {head} of {}", attention.scope().trim_end_matches('.'))
            }
            site => site.name(),
        }
    }
}

impl ForwardPass {
    /// The rows of a place in this pass, to put them into another.
    pub fn rows_of(&self, site: &Site) -> Option<Tensor> {
        let (step, output) = match site {
            Site::Head { attention, .. } => {
                let places = self.attentions();
                (places.iter().find(|place| place.site == *attention)?.step, 0)
            }
            Site::Stream { stack, layer, .. } => {
                let places = self.streams();
                let found =
                    places.iter().find(|place| place.stack == *stack && place.layer == *layer)?;
                (found.step, found.output)
            }
            Site::FeedForward { .. } => {
                let name = site.name();
                let mark = self.trace.marks.iter().find(|mark| mark.name == name)?;
                self.trace.marked(mark)?
            }
        };
        Some(self.trace.steps[step].outputs[output].clone())
    }
}

/// The changes to one pass.
pub(super) struct Edits<'a> {
    edits: Vec<(&'a SiteEdit, String)>,
    /// h of each head edit, 1 of others.
    heads: Vec<usize>,
    applied: Vec<bool>,
}

fn heads(stack: &Stack, site: &AttentionSite) -> Option<usize> {
    match stack {
        Stack::Decoder(model) => Some(model.config().num_attention_heads),
        Stack::Encoder(model) => Some(model.config().num_attention_heads),
        Stack::EncoderDecoder(model) => Some(match site.stack {
            StackName::Encoder => model.config().encoder_attention_heads,
            _ => model.config().decoder_attention_heads,
        }),
        Stack::Recurrent(_) => None,
    }
}

impl<'a> Edits<'a> {
    /// Checks the heads of a model.
    pub fn new(stack: &Stack, edits: &'a [SiteEdit]) -> Result<Self> {
        let count = |edit: &SiteEdit| match &edit.site {
            Site::Head { attention, head } => {
                let all = heads(stack, attention).filter(|all| head < all);
                all.ok_or_else(|| no_site(&edit.site))
            }
            _ => Ok(1),
        };
        let heads = edits.iter().map(count).collect::<Result<Vec<_>>>()?;
        let applied = vec![false; edits.len()];
        Ok(Self { edits: edits.iter().map(|e| (e, e.site.name())).collect(), heads, applied })
    }

    /// Checks that every change was made.
    pub fn check(&self) -> Result<()> {
        match self.applied.iter().position(|applied| !applied) {
            Some(i) => Err(no_site(&self.edits[i].0.site)),
            None => Ok(()),
        }
    }
}

fn no_site(site: &Site) -> crate::error::Error {
    InspectError::NoSite { site: site.describe() }.into()
}

impl Edit for Edits<'_> {
    fn wants(&self, name: &str) -> bool {
        self.edits.iter().any(|(_, own)| own == name)
    }

    fn edit(&mut self, name: &str, value: &mut [f32], columns: usize) {
        for (i, (edit, own)) in self.edits.iter().enumerate() {
            if own != name {
                continue;
            }
            let width = columns / self.heads[i];
            let (first, position) = match &edit.site {
                Site::Head { head, .. } => (head * width, None),
                Site::Stream { position, .. } => (0, *position),
                Site::FeedForward { .. } => (0, None),
            };
            let rows = value.len() / columns.max(1);
            if position.is_some_and(|position| position >= rows) {
                continue;
            }
            self.applied[i] = true;
            let mean = mean(value, columns);
            for (row, x) in value.chunks_exact_mut(columns).enumerate() {
                if position.is_some_and(|position| position != row) {
                    continue;
                }
                let x = &mut x[first..first + width];
                match &edit.to {
                    Replacement::Zero => x.fill(0.0),
                    Replacement::Mean => x.copy_from_slice(&mean[first..first + width]),
                    Replacement::Rows(from) => {
                        let (there, wide) = from.rows_cols();
                        if row < there && wide == columns {
                            x.copy_from_slice(&from.row(row)[first..first + width]);
                        }
                    }
                }
            }
        }
    }
}

/// The mean row, in f64.
fn mean(value: &[f32], columns: usize) -> Vec<f32> {
    let rows = (value.len() / columns.max(1)).max(1) as f64;
    let mut sum = vec![0.0_f64; columns];
    for row in value.chunks_exact(columns.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sum.into_iter().map(|sum| (sum / rows) as f32).collect()
}
