//! Where the tensors of a checkpoint come from: memory, or other processes.

use crate::distributed::World;
use crate::error::Result;
use limpid_tensor::bytes;
use std::cell::RefCell;
use std::ops::Range;

/// Elements that are read at a time.
pub(super) const PIECE: usize = 1 << 16;

/// Fills a buffer with the elements that come next.
type NextPiece<'a> = dyn FnMut(&mut [f32]) -> Result<()> + 'a;

/// A flat tensor that is read from its beginning to its end, piece by piece.
pub struct TensorSource<'a> {
    /// Its name in the file.
    pub name: &'static str,
    /// Its elements.
    pub len: usize,
    next: Box<NextPiece<'a>>,
}

impl<'a> TensorSource<'a> {
    /// A tensor in memory.
    pub fn flat(name: &'static str, values: &'a [f32]) -> Self {
        let mut rest = values;
        let next = move |to: &mut [f32]| {
            let (piece, after) = rest.split_at(to.len());
            to.copy_from_slice(piece);
            rest = after;
            Ok(())
        };
        Self { name, len: values.len(), next: Box::new(next) }
    }

    /// A tensor of which each rank has a slice. Every other rank calls [`send_slice`].
    pub fn sliced<'w: 'a>(
        name: &'static str,
        slice: &'a [f32],
        slices: &'a [(usize, Range<usize>)],
        world: &'a RefCell<&'w mut World>,
    ) -> Self {
        let mut at = 0;
        let next = move |to: &mut [f32]| {
            let piece = at..at + to.len();
            at = piece.end;
            for (rank, range) in slices {
                let Some(common) = common(&piece, range) else { continue };
                let into = &mut to[common.start - piece.start..common.end - piece.start];
                if *rank == 0 {
                    into.copy_from_slice(&slice[common.start - range.start..][..common.len()]);
                } else {
                    let incoming = (*rank, bytes::of_mut(into));
                    world.borrow_mut().exchange(&[], &mut [incoming])?;
                }
            }
            Ok(())
        };
        let len = slices.last().map_or(0, |(_, range)| range.end);
        Self { name, len, next: Box::new(next) }
    }

    /// Reads the next piece.
    pub(super) fn read(&mut self, piece: &mut [f32]) -> Result<()> {
        (self.next)(piece)
    }
}

/// Sends this rank's slice of a tensor of `len` elements to the main rank, in the pieces in which
/// that reads it.
///
/// # Errors
/// If the main rank is gone.
pub fn send_slice(
    slice: &[f32],
    range: &Range<usize>,
    len: usize,
    world: &mut World,
) -> Result<()> {
    for start in (0..len).step_by(PIECE) {
        if let Some(common) = common(&(start..len.min(start + PIECE)), range) {
            let piece = &slice[common.start - range.start..][..common.len()];
            world.exchange(&[(0, bytes::of(piece))], &mut [])?;
        }
    }
    Ok(())
}

/// What two ranges have in common.
fn common(a: &Range<usize>, b: &Range<usize>) -> Option<Range<usize>> {
    let both = a.start.max(b.start)..a.end.min(b.end);
    (!both.is_empty()).then_some(both)
}
