//! Departures from the usual Transformer, to see what each of its parts is good for. A file in Hugging Face's layout cannot hold them: such a
//! model is saved under a `model_type` of our own.

use crate::error::{Error, Result};

/// How a model knows where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// A trained vector for each position, as in GPT and BERT.
    Learned,
    /// Sines and cosines of different wavelengths, as in the paper of 2017.
    Sinusoidal,
    /// 1 in the place of the position, 0 elsewhere: it needs a width of at least the longest sequence.
    OneHot,
    /// Not at all.
    None,
}

/// Over what a normalisation takes mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// The numbers of one token.
    Layer,
    /// One number of all tokens of the batch.
    Batch,
    /// Nothing: x stays x.
    None,
}

/// Whether a sub-layer adds to what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// x + f(x).
    Added,
    /// f(x).
    None,
}

/// What scores are divided by before their softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// √d of a head.
    SqrtWidth,
    /// 1.
    None,
}

impl Scaling {
    /// What scores of heads of width d are multiplied by.
    pub fn factor(self, d: usize) -> f32 {
        match self {
            Scaling::SqrtWidth => 1.0 / (d as f32).sqrt(),
            Scaling::None => 1.0,
        }
    }
}

/// All of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// How a model knows where a token stands.
    pub positions: Positions,
    /// What is normalised.
    pub normalisation: Normalisation,
    /// What becomes of a sub-layer's input.
    pub residual: Residual,
    /// What scores are divided by.
    pub scaling: Scaling,
}

impl Variant {
    /// The usual Transformer with these positions.
    pub const fn usual(positions: Positions) -> Self {
        Self {
            positions,
            normalisation: Normalisation::Layer,
            residual: Residual::Added,
            scaling: Scaling::SqrtWidth,
        }
    }

    /// Refuses one-hot positions that do not fit.
    pub(super) fn check(&self, longest: usize, width: usize) -> Result<()> {
        if self.positions == Positions::OneHot && longest > width {
            return Err(Error::config(format!(
                "one-hot positions: {longest} of them do not fit into a width of {width}"
            ))
            .hint(format!(
                "use a context of at most {width} (--set model.context={width}), or a width of at least {longest}"
            )));
        }
        Ok(())
    }
}

/// A setting with names.
macro_rules! named {
    ($kind:ident, $what:literal, $($name:literal => $value:ident),*) => {
        impl $kind {
            /// By its name.
            pub fn from_name(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$value),)*
                    _ => Err(Error::config(format!("{} = '{name}' is not known", $what))
                        .hint(concat!("known are", $(" ", $name),*))),
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }
    };
}
named!(Positions, "positions", "learned" => Learned, "sinusoidal" => Sinusoidal, "one-hot" => OneHot, "none" => None);
named!(Normalisation, "normalisation", "layer" => Layer, "batch" => Batch, "none" => None);
named!(Residual, "residual", "added" => Added, "none" => None);
named!(Scaling, "scaling", "sqrt-width" => SqrtWidth, "none" => None);
