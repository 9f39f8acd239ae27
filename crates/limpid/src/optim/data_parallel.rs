//! A step whose micro-batches are shared out between the processes of a world.
//!
//! ```text
//! each rank:  gradients of its micro-batches, added along the tree      buffers: one per level
//! all ranks:  losses, which parameters have a gradient, who wants to stop       (some bytes)
//! reduce:     each rank gets the sum of its slice of the gradient       (W−1)/W of its bytes
//! update:     norm of the gradient, AdamW on the slice
//! gather:     each rank gets the other slices of the weights            (W−1)/W of their bytes
//! ```
//!
//! With [`Sharding::Replicated`] the gradient is gathered before the update instead of the weights
//! after it, and every rank updates everything.

use super::{Adam, optimizer};
use crate::distributed::slices::{Partial, Slices};
use crate::distributed::{Sharding, World, tree};
use crate::error::Result;
use limpid_tensor::kernels::elementwise::add_assign;
use limpid_tensor::params::{ParamBuffer, Params};
use limpid_tensor::tape::Gradients;
use std::ops::Range;

/// How the micro-batches of a step are shared out between the ranks of a world.
pub struct DataParallel {
    /// The processes.
    pub world: World,
    micro_batches: usize,
    share: Range<usize>,
    slices: Slices,
    sharding: Sharding,
    /// Buffers of gradients that are not in use.
    spare: Vec<ParamBuffer>,
    /// The sums of this rank's nodes, between the backward passes and the update.
    partials: Vec<Partial>,
    stop: Stop,
}

/// Whether training is to stop after the current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    /// This rank wants to; the others learn it in the next step.
    Wanted,
    /// All ranks know.
    Agreed,
}

impl DataParallel {
    pub(super) fn new(
        params: &Params,
        adam: &mut Adam,
        world: World,
        micro_batches: usize,
        sharding: Sharding,
    ) -> Self {
        let (rank, size) = (world.rank(), world.size());
        let slices = Slices::new(params.flat().len(), size, &adam.cuts());
        if sharding == Sharding::Sliced {
            adam.keep_slice(slices.of(rank));
        }
        let share = tree::share(micro_batches, size, rank);
        let (spare, partials) = (Vec::new(), Vec::new());
        Self { world, micro_batches, share, slices, sharding, spare, partials, stop: Stop::No }
    }

    /// The micro-batches that this rank computes.
    pub fn share(&self) -> Range<usize> {
        self.share.clone()
    }

    /// Whose moments lie where: the ranks with their slices, in order; none if every rank has all.
    pub fn sliced_moments(&self) -> Option<Vec<(usize, Range<usize>)>> {
        let of = |rank| (rank, self.slices.of(rank));
        (self.sharding == Sharding::Sliced)
            .then(|| self.slices.ranks().into_iter().map(of).collect())
    }

    /// Asks all ranks to stop after the next step; one alone, after this one.
    pub fn request_stop(&mut self) {
        self.stop = match (self.stop, self.world.size()) {
            (Stop::Agreed, _) | (_, 1) => Stop::Agreed,
            _ => Stop::Wanted,
        };
    }

    /// Whether all ranks stop after this step.
    pub fn stops(&self) -> bool {
        self.stop == Stop::Agreed
    }

    /// Computes this rank's share of `passes`; returns the loss of all of them, of all ranks.
    pub(super) fn accumulate(
        &mut self,
        params: &Params,
        gradients: &mut Gradients,
        passes: usize,
        pass: &mut impl FnMut(&mut Gradients, usize) -> f32,
    ) -> Result<f32> {
        let m = self.micro_batches;
        assert!(passes.is_multiple_of(m), "{passes} passes for {m} micro-batches");
        let spare = std::mem::take(&mut self.spare);
        let (losses, reached) = (Vec::new(), vec![false; params.iter().len()]);
        let of_each = passes / m;
        let mut backward = Backward { params, gradients, spare, losses, reached, of_each, pass };
        for node in tree::nodes(m, &self.share) {
            let sum = tree::sum(node.clone(), &mut backward);
            self.partials.push((node, sum));
        }
        let Backward { spare, losses, reached, .. } = backward;
        self.spare = spare;
        let (loss, reached) = self.share_losses(losses, reached)?;
        gradients.set_reached(&reached);
        if !loss.is_finite() {
            // There is no step to be made of them.
            self.spare.extend(self.partials.drain(..).map(|(_, buffer)| buffer));
        }
        Ok(loss)
    }

    /// The loss of the step, and which parameters have a gradient on any rank.
    fn share_losses(&mut self, own: Vec<f32>, reached: Vec<bool>) -> Result<(f32, Vec<bool>)> {
        let (m, size) = (self.micro_batches, self.world.size());
        // stop, losses, parameters with a gradient
        let longest = m.div_ceil(size);
        let mut message = vec![u8::from(self.stop != Stop::No)];
        message.extend(own.iter().flat_map(|loss| loss.to_le_bytes()));
        message.resize(1 + 4 * longest, 0);
        message.extend(reached.iter().map(|reached| u8::from(*reached)));
        let all = self.world.all_gather(&message)?;
        let (mut losses, mut reached) = (Vec::with_capacity(m), vec![false; reached.len()]);
        for (rank, message) in all.chunks_exact(message.len()).enumerate() {
            if message[0] == 1 {
                self.stop = Stop::Agreed;
            }
            let (numbers, flags) = message[1..].split_at(4 * longest);
            let numbers = numbers.as_chunks::<4>().0.iter().map(|loss| f32::from_le_bytes(*loss));
            losses.extend(numbers.take(tree::share(m, size, rank).len()));
            reached.iter_mut().zip(flags).for_each(|(any, flag)| *any |= *flag == 1);
        }
        Ok((tree::sum_of(&losses), reached))
    }

    /// Adds up the gradients of all ranks and updates the weights; returns the global norm of the
    /// gradient before clipping. If that is not finite, nothing changes.
    pub(super) fn step(
        &mut self,
        params: &mut Params,
        gradients: &mut Gradients,
        adam: &mut Adam,
        lr: f32,
    ) -> Result<f32> {
        self.slices.reduce(&mut self.world, self.micro_batches, &mut self.partials)?;
        let mut buffers = self.partials.drain(..).map(|(_, buffer)| buffer);
        gradients.put_flat(buffers.next().expect("every rank has a micro-batch"));
        self.spare.extend(buffers);
        let squares = match self.sharding {
            Sharding::Replicated => {
                self.slices.gather(&mut self.world, gradients.flat_mut())?;
                adam.squares(gradients)
            }
            Sharding::Sliced => {
                let own = adam.squares(gradients);
                let own: Vec<u8> = own.iter().flat_map(|sum| sum.to_le_bytes()).collect();
                let all = self.world.all_gather_any(&own)?;
                let in_order = self.slices.ranks().into_iter().flat_map(|rank| {
                    all[rank].as_chunks::<8>().0.iter().map(|sum| f64::from_le_bytes(*sum))
                });
                in_order.collect()
            }
        };
        let norm = squares.iter().sum::<f64>().sqrt() as f32;
        if norm.is_finite() {
            adam.update(params, gradients, lr, norm);
        }
        Ok(norm)
    }

    /// Gives the updated slices of the weights to all ranks.
    pub(super) fn share_weights(&mut self, params: &mut Params) -> Result<()> {
        match self.sharding {
            Sharding::Sliced => self.slices.gather(&mut self.world, params.flat_mut()),
            Sharding::Replicated => Ok(()),
        }
    }
}

/// The gradients of a rank's micro-batches, in the order of the tree.
struct Backward<'a, P> {
    params: &'a Params,
    gradients: &'a mut Gradients,
    spare: Vec<ParamBuffer>,
    losses: Vec<f32>,
    reached: Vec<bool>,
    /// Passes of a micro-batch.
    of_each: usize,
    pass: &'a mut P,
}

impl<P: FnMut(&mut Gradients, usize) -> f32> tree::Terms for Backward<'_, P> {
    type Sum = ParamBuffer;

    fn known(&mut self, node: &Range<usize>) -> Option<ParamBuffer> {
        if node.len() > 1 {
            return None;
        }
        let passes = node.start * self.of_each..node.end * self.of_each;
        if self.gradients.flat().is_empty() {
            let spare = self.spare.pop();
            let buffer = spare.unwrap_or_else(|| ParamBuffer::zeros_like(self.params));
            self.gradients.put_flat(buffer);
        }
        self.losses.push(optimizer::accumulate(self.gradients, passes, self.pass));
        self.gradients.zero_unreached(self.params);
        let reached = self.reached.iter_mut().zip(self.gradients.reached());
        reached.for_each(|(any, reached)| *any |= reached);
        Some(self.gradients.take_flat())
    }

    fn add(&mut self, mut left: ParamBuffer, right: ParamBuffer) -> ParamBuffer {
        add_assign(left.flat_mut(), right.flat());
        self.spare.push(right);
        left
    }
}
