//! A weight matrix in a quantised format, packed in the order in which the micro-kernels read it.
//!
//! The matrix is (o, i): o output channels, the columns of the product, and i inputs, its k's.
//! Sixteen channels form a panel; the last one is filled up with zeros. The order is the same for
//! every instruction set, so a packed matrix can be stored in a file:
//!
//! ```text
//! int8   [o/16][i/4][16][4]      byte b of (four, channel) is the weight of k = 4·four + b
//! int4   [o/16][i/32][4][16][4]  byte b of (group, line, channel): its low half is the weight
//!                                plus 8 of k = 32·group + 8·line + b, its high half that of k + 4
//! bf16   [o/16][i][16]           little-endian
//! ```
//!
//! Scales: one f16 per channel and group, (o/16, i/64, 16) for int8 and (o/16, i/32, 16) for int4;
//! the last group of int8 may be shorter.

use super::half::{bf16_to_f32, f16_to_f32};
use super::headroom::{Headroom, group_sums, headroom};
use super::{GROUP, INT8_GROUP, PANEL};
use crate::arena::Bytes;
use std::fmt;

/// How the weights of a matrix are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Signed bytes, with one f16 scale per output channel and group of 64 inputs.
    Int8,
    /// −8 ..= 7 in half a byte, with one f16 scale per output channel and group of 32 inputs.
    Int4,
    /// bf16, without scales.
    Bf16,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 3] = [Format::Int8, Format::Int4, Format::Bf16];

    /// Its name in lower case: `int8`, `int4` or `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Bf16 => "bf16",
        }
    }

    /// The format with this [`Format::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Bytes of the packed weights of a matrix (rows, cols).
    pub fn weight_bytes(self, rows: usize, cols: usize) -> usize {
        rows.div_ceil(PANEL) * self.panel_bytes(cols)
    }

    /// Bytes of a panel.
    pub(super) fn panel_bytes(self, cols: usize) -> usize {
        match self {
            Self::Int8 => PANEL * cols.next_multiple_of(4),
            Self::Int4 => PANEL * cols.div_ceil(GROUP) * (GROUP / 2),
            Self::Bf16 => PANEL * cols * 2,
        }
    }

    /// Inputs that share a scale; of bf16 any number.
    pub(super) fn group_len(self) -> usize {
        match self {
            Self::Int8 => INT8_GROUP,
            Self::Int4 => GROUP,
            Self::Bf16 => usize::MAX,
        }
    }

    /// Scales of an output channel with so many inputs.
    pub fn groups(self, cols: usize) -> usize {
        match self {
            Self::Int8 => cols.div_ceil(INT8_GROUP),
            Self::Int4 => cols.div_ceil(GROUP),
            Self::Bf16 => 0,
        }
    }

    /// Bytes of the scales of a matrix (rows, cols).
    pub fn scale_bytes(self, rows: usize, cols: usize) -> usize {
        2 * rows.next_multiple_of(PANEL) * self.groups(cols)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a matrix cannot be quantised, or its parts are not a quantised matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The inputs do not fill whole groups.
    Group {
        /// Number of inputs.
        inputs: usize,
        /// Inputs of a group.
        group: usize,
    },
    /// More inputs than a sum of 32 bits can hold.
    TooWide {
        /// Number of inputs.
        inputs: usize,
        /// The largest number of inputs.
        most: usize,
    },
    /// A weight is infinite or not a number.
    NotFinite {
        /// The output channel.
        row: usize,
        /// The input.
        col: usize,
    },
    /// The parts have another length than the shape needs.
    Length {
        /// `weights` or `scales`.
        part: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes of a matrix of this shape and format.
        expected: usize,
    },
    /// A scale is negative, infinite or not a number.
    Scale {
        /// The number of the scale.
        at: usize,
        /// Its value.
        value: f32,
    },
}

impl fmt::Display for QuantizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group { inputs, group } => {
                write!(f, "groups of {group} do not divide {inputs} inputs")
            }
            Self::TooWide { inputs, most } => write!(f, "{inputs} inputs, more than {most}"),
            Self::NotFinite { row, col } => {
                write!(f, "the weight of output {row} and input {col} is not a finite number")
            }
            Self::Length { part, found, expected } => {
                write!(f, "{found} bytes of {part}, where the shape needs {expected}")
            }
            Self::Scale { at, value } => {
                write!(f, "scale {at} is {value}, not a finite number of at least 0")
            }
        }
    }
}

impl std::error::Error for QuantizeError {}

/// A packed weight matrix (rows, cols) = (out, in).
pub struct QuantizedMatrix {
    pub(super) format: Format,
    pub(super) rows: usize,
    pub(super) cols: usize,
    weights: Bytes,
    /// Of int8: how many products fit 16 bits.
    pub(super) headroom: Headroom,
    /// f16, by panel, group and channel.
    pub(super) scales: Vec<u16>,
    /// The sum of each group's weights, in the same order, of int8.
    pub(super) sums: Vec<i16>,
}

impl QuantizedMatrix {
    /// The most inputs: with them a sum of products of an unsigned and a signed byte fits 32 bits.
    pub const MOST_INPUTS: usize = 65_536;

    /// Takes packed weights and little-endian scales, as [`QuantizedMatrix::weights`] and
    /// [`QuantizedMatrix::scales`] give them.
    ///
    /// # Errors
    /// If the shape has no such format, a part has the wrong length, or a scale is not a finite
    /// number of at least 0.
    pub fn from_parts(
        format: Format,
        shape: (usize, usize),
        weights: &[u8],
        scales: &[u8],
    ) -> Result<Self, QuantizeError> {
        let fill = |to: &mut [u8]| to.copy_from_slice(weights);
        Self::from_reader(format, shape, (weights.len(), fill), scales)
    }

    /// The same with a number of packed bytes that are written where they stay, without a copy
    /// between.
    ///
    /// # Errors
    /// Those of [`QuantizedMatrix::from_parts`].
    pub fn from_reader(
        format: Format,
        (rows, cols): (usize, usize),
        (len, fill): (usize, impl FnOnce(&mut [u8])),
        scales: &[u8],
    ) -> Result<Self, QuantizeError> {
        check_shape(format, cols)?;
        let lengths = [
            ("weights", len, format.weight_bytes(rows, cols)),
            ("scales", scales.len(), format.scale_bytes(rows, cols)),
        ];
        for (part, found, expected) in lengths {
            if found != expected {
                return Err(QuantizeError::Length { part, found, expected });
            }
        }
        let mut matrix = Self {
            format,
            rows,
            cols,
            weights: Bytes::filled(len, fill),
            headroom: Headroom::None,
            scales: scales.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect(),
            sums: Vec::new(),
        };
        if format == Format::Int8 {
            matrix.sums = group_sums(&matrix.weights, cols);
            matrix.headroom = headroom(&matrix.weights, cols);
        }
        matrix.check_scales()?;
        Ok(matrix)
    }

    fn check_scales(&self) -> Result<(), QuantizeError> {
        for (at, value) in self.scales.iter().map(|half| f16_to_f32(*half)).enumerate() {
            if !value.is_finite() || value < 0.0 {
                return Err(QuantizeError::Scale { at, value });
            }
        }
        Ok(())
    }

    /// How the weights are stored.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Output channels and inputs.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Bytes of weights and scales, which a product reads.
    pub fn bytes(&self) -> usize {
        self.weights().len() + self.format.scale_bytes(self.rows, self.cols)
    }

    /// The packed weights.
    pub fn weights(&self) -> &[u8] {
        &self.weights
    }

    /// The scales, little-endian.
    pub fn scales(&self) -> Vec<u8> {
        self.scales.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// The weights of an output channel as f32, as an embedding reads them.
    ///
    /// # Panics
    /// If there is no such row, or `to` has another length than there are columns.
    #[track_caller]
    pub fn row(&self, row: usize, to: &mut [f32]) {
        assert!(
            row < self.rows && to.len() == self.cols,
            "row {row} of a matrix ({},{}) into {} numbers",
            self.rows,
            self.cols,
            to.len()
        );
        let (panel, lane) = (row / PANEL, row % PANEL);
        let bytes = &self.weights()[panel * self.format.panel_bytes(self.cols)..];
        match self.format {
            Format::Int8 => {
                let groups = self.format.groups(self.cols);
                for (four, to) in to.chunks_mut(4).enumerate() {
                    let group = panel * groups + 4 * four / INT8_GROUP;
                    let scale = f16_to_f32(self.scales[group * PANEL + lane]);
                    let weights = &bytes[4 * (four * PANEL + lane)..];
                    to.iter_mut()
                        .zip(weights)
                        .for_each(|(to, w)| *to = f32::from(*w as i8) * scale);
                }
            }
            Format::Int4 => {
                let groups = self.cols / GROUP;
                for (line, to) in to.chunks_mut(8).enumerate() {
                    let scale = (panel * groups + line / 4) * PANEL + lane;
                    let scale = f16_to_f32(self.scales[scale]);
                    let weights = &bytes[4 * (line * PANEL + lane)..][..4];
                    let halves =
                        weights.iter().map(|w| w & 15).chain(weights.iter().map(|w| w >> 4));
                    for (to, w) in to.iter_mut().zip(halves) {
                        *to = (f32::from(w) - 8.0) * scale;
                    }
                }
            }
            Format::Bf16 => {
                for (k, to) in to.iter_mut().enumerate() {
                    let at = 2 * (k * PANEL + lane);
                    *to = bf16_to_f32(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
                }
            }
        }
    }
}

impl fmt::Debug for QuantizedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuantizedMatrix {} ({},{})", self.format, self.rows, self.cols)
    }
}

/// Whether a format can hold this number of inputs.
pub(super) fn check_shape(format: Format, cols: usize) -> Result<(), QuantizeError> {
    let most = QuantizedMatrix::MOST_INPUTS;
    if cols > most {
        return Err(QuantizeError::TooWide { inputs: cols, most });
    }
    if format == Format::Int4 && !cols.is_multiple_of(GROUP) {
        return Err(QuantizeError::Group { inputs: cols, group: GROUP });
    }
    Ok(())
}
