//! Position encodings, added to the token embeddings.

use crate::nn::Positions;
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};
use limpid_tensor::ops::PositionTable;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// A position table.
#[derive(Clone, Debug)]
pub enum PositionEncoding {
    /// (positions, c), trained.
    Learned(ParamId),
    /// (positions, c), computed.
    Fixed(Tensor),
    /// No positions.
    None,
}

impl PositionEncoding {
    /// Rows for `longest` positions, with root mean square `size` for every kind, so that none
    /// dominates the token embeddings more than another.
    /// # Panics
    /// If learned positions are declared under a name that is taken.
    pub fn new(
        kind: Positions,
        builder: &mut ParamsBuilder,
        name: &str,
        [longest, c]: [usize; 2],
        size: f32,
    ) -> Self {
        let mut table = Tensor::zeros([if kind == Positions::Learned { 0 } else { longest }, c]);
        match kind {
            Positions::Learned => {
                return Self::Learned(builder.add(name, [longest, c], Init::Normal(size)));
            }
            // Rotary and relative positions act in the attention of the layers.
            Positions::Rotary | Positions::Relative | Positions::None => return Self::None,
            Positions::Sinusoidal => {
                sinusoid_table(table.data_mut(), c, SinusoidLayout::Split);
                // The mean square of a wave is half its squared amplitude.
                let amplitude = size * std::f32::consts::SQRT_2;
                if (amplitude - 1.0).abs() > 1e-6 {
                    table.data_mut().iter_mut().for_each(|x| *x *= amplitude);
                }
            }
            Positions::OneHot => {
                let one = size * (c as f32).sqrt();
                table.data_mut().chunks_exact_mut(c).enumerate().for_each(|(i, row)| row[i] = one);
            }
        }
        Self::Fixed(table)
    }

    /// Waves of amplitude 1 for positions 0 to `longest` - 1.
    pub fn waves(layout: SinusoidLayout, [longest, c]: [usize; 2]) -> Self {
        let mut table = Tensor::zeros([longest, c]);
        sinusoid_table(table.data_mut(), c, layout);
        Self::Fixed(table)
    }

    /// `x + table[positions + offset]`.
    #[track_caller]
    pub fn add_from(&self, t: &mut Tape, x: &Var, positions: &Arc<[u32]>, offset: usize) -> Var {
        match offset as u32 {
            0 => self.add(t, x, positions),
            offset => {
                let rows = positions.iter().map(|position| position + offset).collect();
                self.add(t, x, &rows)
            }
        }
    }

    /// `x + table[positions]`.
    #[track_caller]
    pub fn add(&self, t: &mut Tape, x: &Var, positions: &Arc<[u32]>) -> Var {
        match self {
            Self::Learned(table) => t.add_positions(x, positions, PositionTable::Learned(*table)),
            Self::Fixed(table) => t.add_positions(x, positions, PositionTable::Fixed(table)),
            Self::None => x.clone(),
        }
    }
}
