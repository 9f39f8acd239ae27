//! Sums and copies of large vectors between ranks, slice by slice.
//!
//! A vector has one slice per rank. *Reducing* leaves each rank with the sum of its slice over all
//! micro-batches, *gathering* gives every slice to all ranks. Together they are an all-reduce.
//!
//! A power of two W exchanges halves with ranks at distance 1, 2, 4, … (recursive halving, Thakur
//! et al. 2005): neighbours in the tree first, so that the sums are made in its order. Each rank
//! sends (W−1)/W of the vector in log₂ W rounds, as much as in a ring. Other worlds send each slice
//! of each of their nodes to the rank that has the slice, which adds them in the order of the tree.
//! Gathering is the same backwards, with (W−1)/W of the vector again.
//!
//! ```text
//! W = 4   rank 0 ⇄ 1, 2 ⇄ 3: halves, then 0 ⇄ 2, 1 ⇄ 3: quarters
//!         sent by each rank: (1/2 + 1/4) n = 3/4 n, and as much to gather: 2 (W−1)/W n
//! ```

use super::{Incoming, Outgoing, World, tree};
use crate::error::Result;
use limpid_tensor::bytes;
use limpid_tensor::kernels::elementwise::add_assign;
use limpid_tensor::params::ParamBuffer;
use std::ops::Range;

/// Elements of a message at most, 1 MB: the buffers of both sides stay small beside the gradient.
const CHUNK: usize = 1 << 18;

/// The sum of some micro-batches: a node of the tree.
pub type Partial = (Range<usize>, ParamBuffer);

/// The slices of a vector, one per rank.
#[derive(Clone, Debug)]
pub struct Slices {
    bounds: Vec<usize>,
    chunk: usize,
}

impl Slices {
    /// `size` slices of `len` elements, about equal, that begin at elements of `cuts`, which
    /// ascend.
    pub fn new(len: usize, size: usize, cuts: &[usize]) -> Self {
        let cut = |i: usize| {
            let ideal = (len as u128 * i as u128 / size as u128) as usize;
            let after = cuts.partition_point(|cut| *cut < ideal);
            let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
            let near = near.filter_map(|at| cuts.get(at).copied());
            near.min_by_key(|cut| cut.abs_diff(ideal)).unwrap_or(0)
        };
        let inner = (1..size).map(cut);
        Self { bounds: [0].into_iter().chain(inner).chain([len]).collect(), chunk: CHUNK }
    }

    /// The number of ranks.
    fn size(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The elements of consecutive slices.
    fn range(&self, slices: Range<usize>) -> Range<usize> {
        self.bounds[slices.start]..self.bounds[slices.end]
    }

    /// The slice of a rank.
    pub fn of(&self, rank: usize) -> Range<usize> {
        let place = self.place(rank);
        self.range(place..place + 1)
    }

    /// Which slice a rank has: halving by the lowest bit first, it ends at its number with the bits
    /// reversed.
    fn place(&self, rank: usize) -> usize {
        match self.size() {
            1 => 0,
            size if size.is_power_of_two() => {
                rank.reverse_bits() >> (usize::BITS - size.trailing_zeros())
            }
            _ => rank,
        }
    }

    /// The ranks in the order of their slices.
    pub fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> = (0..self.size()).collect();
        ranks.sort_by_key(|rank| self.place(*rank));
        ranks
    }

    /// Adds up the partial sums of all ranks, those of `micro_batches` micro-batches: the slice of
    /// this rank is then in the first of `partials`, whose other elements are arbitrary.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    ///
    /// # Panics
    /// If the partial sums are not those of this rank's share.
    pub fn reduce(
        &self,
        world: &mut World,
        micro_batches: usize,
        partials: &mut [Partial],
    ) -> Result<()> {
        match partials {
            [(_, sum)] if self.size().is_power_of_two() => self.halve(world, sum.flat_mut()),
            _ => self.reduce_directly(world, micro_batches, partials),
        }
    }

    fn halve(&self, world: &mut World, sum: &mut [f32]) -> Result<()> {
        let rank = world.rank();
        let mut received = vec![0.0; self.chunk];
        for level in 0..self.size().trailing_zeros() {
            let partner = rank ^ 1 << level;
            let [sent, kept] = self.halves(rank, level);
            let longest = sent.len().max(kept.len());
            for (out, own) in self.chunks(sent, longest).zip(self.chunks(kept, longest)) {
                let received = &mut received[..own.len()];
                let outgoing = (partner, bytes::of(&sum[out]));
                let incoming = (partner, bytes::of_mut(received));
                exchange(world, &[outgoing], &mut [incoming])?;
                // Whichever of the two is the left one: a + b = b + a.
                add_assign(&mut sum[own], received);
            }
        }
        Ok(())
    }

    /// At a level of recursive halving: the elements that the rank gives away and those it keeps.
    fn halves(&self, rank: usize, level: u32) -> [Range<usize>; 2] {
        let all = 0..self.size();
        let node = (0..level).fold(all, |node, level| half(&node, rank >> level & 1));
        let bit = rank >> level & 1;
        [self.range(half(&node, 1 - bit)), self.range(half(&node, bit))]
    }

    /// A range in pieces of at most a chunk; as many as a range of `longest` elements has, the last
    /// ones maybe empty.
    fn chunks(
        &self,
        range: Range<usize>,
        longest: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let chunk = self.chunk;
        (0..longest.div_ceil(chunk)).map(move |i| {
            let start = range.start + i * chunk;
            start.min(range.end)..(start + chunk).min(range.end)
        })
    }

    /// The number of elements of the longest slice.
    fn longest(&self) -> usize {
        (0..self.size()).map(|rank| self.of(rank).len()).max().unwrap_or(0)
    }

    fn reduce_directly(
        &self,
        world: &mut World,
        micro_batches: usize,
        partials: &mut [Partial],
    ) -> Result<()> {
        let (rank, size) = (world.rank(), self.size());
        let nodes = |rank| tree::nodes(micro_batches, &tree::share(micro_batches, size, rank));
        let own: Vec<Range<usize>> = partials.iter().map(|(node, _)| node.clone()).collect();
        assert_eq!(own, nodes(rank), "partial sums of another share");
        let others: Vec<(usize, Range<usize>)> = (0..size)
            .filter(|other| *other != rank)
            .flat_map(|other| nodes(other).into_iter().map(move |node| (other, node)))
            .collect();
        // All that is received at a time is a few whole chunks, and the same for every rank.
        let (whole, all) = (self.chunk, others.len() + own.len());
        let small = Self { chunk: (4 * whole / all).clamp(1, whole), ..self.clone() };
        let longest = self.longest();
        let mut slices: Vec<_> =
            (0..size).map(|rank| small.chunks(self.of(rank), longest)).collect();
        loop {
            let pieces: Option<Vec<_>> = slices.iter_mut().map(Iterator::next).collect();
            let Some(pieces) = pieces else { return Ok(()) };
            let mine = pieces[rank].clone();
            let mut received = vec![vec![0.0; mine.len()]; others.len()];
            let mut outgoing: Vec<Outgoing> = Vec::new();
            for to in (0..size).filter(|to| *to != rank) {
                for (_, sum) in partials.iter() {
                    outgoing.push((to, bytes::of(&sum.flat()[pieces[to].clone()])));
                }
            }
            let places = others.iter().zip(&mut received);
            let mut incoming: Vec<Incoming> =
                places.map(|((from, _), piece)| (*from, bytes::of_mut(piece))).collect();
            exchange(world, &outgoing, &mut incoming)?;
            let own = partials
                .iter()
                .map(|(node, sum)| (node.clone(), sum.flat()[mine.clone()].to_vec()));
            let others = others.iter().map(|(_, node)| node.clone()).zip(received);
            let mut pieces = Pieces(own.chain(others).collect());
            let total = tree::sum(0..micro_batches, &mut pieces);
            partials[0].1.flat_mut()[mine].copy_from_slice(&total);
        }
    }

    /// Gives the slice of every rank to all.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    pub fn gather(&self, world: &mut World, vector: &mut [f32]) -> Result<()> {
        if !self.size().is_power_of_two() {
            return self.gather_directly(world, vector);
        }
        let rank = world.rank();
        for level in (0..self.size().trailing_zeros()).rev() {
            let partner = rank ^ 1 << level;
            // What was given away comes back.
            let [theirs, own] = self.halves(rank, level);
            let longest = theirs.len().max(own.len());
            for (into, out) in self.chunks(theirs, longest).zip(self.chunks(own, longest)) {
                let (into, out) = two(vector, into, out);
                let incoming = (partner, bytes::of_mut(into));
                exchange(world, &[(partner, bytes::of(out))], &mut [incoming])?;
            }
        }
        Ok(())
    }

    fn gather_directly(&self, world: &mut World, vector: &mut [f32]) -> Result<()> {
        let (rank, size, longest) = (world.rank(), self.size(), self.longest());
        for i in 0..longest.div_ceil(self.chunk) {
            let piece = |rank| self.chunks(self.of(rank), longest).nth(i).expect("as many each");
            let (mut rest, mut at) = (&mut *vector, 0);
            let mut pieces: Vec<&mut [f32]> = Vec::with_capacity(size);
            for rank in 0..size {
                let piece: Range<usize> = piece(rank);
                let (_, after) = std::mem::take(&mut rest).split_at_mut(piece.start - at);
                let (own, after) = after.split_at_mut(piece.len());
                (rest, at) = (after, piece.end);
                pieces.push(own);
            }
            let own = std::mem::take(&mut pieces[rank]);
            let others = || (0..size).filter(|other| *other != rank);
            let outgoing: Vec<Outgoing> = others().map(|to| (to, bytes::of(own))).collect();
            let places = pieces.iter_mut().enumerate().filter(|(from, _)| *from != rank);
            let mut incoming: Vec<Incoming> =
                places.map(|(from, piece)| (from, bytes::of_mut(piece))).collect();
            exchange(world, &outgoing, &mut incoming)?;
        }
        Ok(())
    }
}

/// The lower half of a node of slices, or the upper.
fn half(node: &Range<usize>, upper: usize) -> Range<usize> {
    let middle = node.start + node.len() / 2;
    if upper == 0 { node.start..middle } else { middle..node.end }
}

/// Two ranges that do not overlap.
fn two(x: &mut [f32], a: Range<usize>, b: Range<usize>) -> (&mut [f32], &mut [f32]) {
    if a.end <= b.start {
        let (low, high) = x.split_at_mut(b.start);
        (&mut low[a], &mut high[..b.len()])
    } else {
        let (low, high) = x.split_at_mut(a.start);
        (&mut high[..a.len()], &mut low[b])
    }
}

/// Without empty messages, which nobody waits for.
fn exchange(world: &mut World, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
    let outgoing: Vec<Outgoing> =
        outgoing.iter().copied().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let full = incoming.iter_mut().filter(|(_, bytes)| !bytes.is_empty());
    let mut incoming: Vec<Incoming> = full.map(|(rank, bytes)| (*rank, &mut **bytes)).collect();
    if outgoing.is_empty() && incoming.is_empty() {
        return Ok(());
    }
    world.exchange(&outgoing, &mut incoming)
}

/// The same piece of the sums of several nodes.
struct Pieces(Vec<(Range<usize>, Vec<f32>)>);

impl tree::Terms for Pieces {
    type Sum = Vec<f32>;

    fn known(&mut self, node: &Range<usize>) -> Option<Vec<f32>> {
        let (_, piece) = self.0.iter_mut().find(|(known, _)| known == node)?;
        Some(std::mem::take(piece))
    }

    fn add(&mut self, mut left: Vec<f32>, right: Vec<f32>) -> Vec<f32> {
        add_assign(&mut left, &right);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::super::threads;
    use super::*;

    /// Numbers whose sum depends on the order.
    fn gradient(micro_batch: usize, len: usize) -> Vec<f32> {
        let number = |i: usize| ((i * 37 + micro_batch * 101) % 97) as f32 - 48.0;
        let scale = |i: usize| 10.0_f32.powi(((i + 3 * micro_batch) % 9) as i32 - 4);
        (0..len).map(|i| number(i) * scale(i) / 3.0).collect()
    }

    fn tree_sum(micro_batches: Range<usize>, len: usize) -> Vec<f32> {
        let node = |i: usize| (i..i + 1, gradient(i, len));
        tree::sum(micro_batches.clone(), &mut Pieces(micro_batches.map(node).collect()))
    }

    fn bits(x: &[f32]) -> Vec<u32> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn an_all_reduce_gives_the_bits_of_the_tree_at_any_number_of_ranks() {
        for (len, chunk) in [(1, 8), (5, 2), (97, 8), (97, 1000)] {
            for micro_batches in [1, 2, 3, 4, 7, 8] {
                let want = bits(&tree_sum(0..micro_batches, len));
                let cuts: Vec<usize> = (0..len).step_by(3).collect();
                for size in 1..=micro_batches {
                    let slices = Slices { chunk, ..Slices::new(len, size, &cuts) };
                    let results = threads::run(size, |communicator| {
                        let mut world = World::new(Box::new(communicator));
                        let share = tree::share(micro_batches, size, world.rank());
                        let partial = |node: Range<usize>| {
                            let mut sum = ParamBuffer::zeros(len);
                            sum.flat_mut().copy_from_slice(&tree_sum(node.clone(), len));
                            (node, sum)
                        };
                        let mut partials: Vec<Partial> =
                            tree::nodes(micro_batches, &share).into_iter().map(partial).collect();
                        slices.reduce(&mut world, micro_batches, &mut partials).unwrap();
                        let slice = slices.of(world.rank());
                        let sum = partials[0].1.flat_mut();
                        let own = bits(&sum[slice.clone()]);
                        slices.gather(&mut world, sum).unwrap();
                        (slice, own, bits(sum))
                    });
                    for (slice, own, all) in results {
                        assert_eq!(own, want[slice], "{len}, {micro_batches}, {size}");
                        assert_eq!(all, want, "{len}, {micro_batches}, {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_power_of_two_sends_as_much_as_a_ring() {
        let len = 4096;
        for size in [2, 4, 8] {
            let slices = Slices::new(len, size, &Vec::from_iter((0..len).step_by(16)));
            let sent = threads::run(size, |communicator| {
                let mut world = World::new(Box::new(communicator));
                let rank = world.rank();
                let mut partials = vec![(rank..rank + 1, ParamBuffer::zeros(len))];
                slices.reduce(&mut world, size, &mut partials).unwrap();
                slices.gather(&mut world, partials[0].1.flat_mut()).unwrap();
                world.sent_bytes()
            });
            let ring = 2 * (size as u64 - 1) * 4 * len as u64 / size as u64;
            assert_eq!(sent, vec![ring; size]);
        }
    }

    #[test]
    fn slices_cover_the_vector_and_begin_where_they_may() {
        let cuts = [0, 10, 20, 70, 80];
        for size in 1..6 {
            let slices = Slices::new(100, size, &cuts);
            let mut end = 0;
            for rank in slices.ranks() {
                let slice = slices.of(rank);
                assert!(slice.start == end && cuts.contains(&slice.start), "{slices:?}");
                end = slice.end;
            }
            assert_eq!(end, 100);
        }
        assert_eq!(Slices::new(100, 2, &cuts).of(0), 0..70);
    }
}
