//! Trained biases of attention by relative position, in buckets: T5 and MPNet.
//!
//! ```text
//! score[i][j] += table[bucket(j − i)][head]
//! ```
//!
//! Near distances have a bucket each, farther ones share buckets that grow logarithmically.
//! Shapes: `table` (buckets, h). One table serves all layers of a stack. Reference: Raffel et al.
//! 2020.

use crate::kernels::attention::DistanceBias;
use crate::params::ParamId;
use crate::tape::BackwardPass;
use crate::tensor::{Shape, Tensor};

/// Which keys have buckets of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketRange {
    /// Keys before and after the query, half of the buckets each: encoders.
    Both,
    /// Keys up to the query; all later ones share the bucket of distance 0: decoders.
    Past,
}

/// How distances fall into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    /// Number of buckets.
    pub count: usize,
    /// From this distance on, all share the last bucket.
    pub max_distance: usize,
    /// Which keys have buckets of their own.
    pub range: BucketRange,
}

impl Buckets {
    /// The bucket of a key at `distance` = key position − query position.
    pub fn of(&self, distance: isize) -> usize {
        let (count, first) = match self.range {
            BucketRange::Both if distance > 0 => (self.count / 2, self.count / 2),
            BucketRange::Both => (self.count / 2, 0),
            BucketRange::Past => (self.count, 0),
        };
        let steps = match self.range {
            BucketRange::Both => distance.unsigned_abs(),
            BucketRange::Past => distance.min(0).unsigned_abs(),
        };
        // Half of the buckets hold one distance each.
        let exact = count / 2;
        if steps < exact {
            return first + steps;
        }
        // In f32 and in this order, as `transformers` computes it: a boundary must not move.
        let growth = (self.max_distance as f64 / exact as f64).ln() as f32;
        let log = (steps as f32 / exact as f32).ln() / growth * (count - exact) as f32;
        first + (exact + log as usize).min(count - 1)
    }
}

/// A table of trained biases and its buckets.
#[derive(Clone, Copy, Debug)]
pub struct RelativeBias {
    /// (buckets, h).
    pub table: ParamId,
    /// How distances fall into buckets.
    pub buckets: Buckets,
}

/// The biases of every distance: (h, 2·reach + 1).
pub(super) struct Distances {
    values: Tensor,
    reach: usize,
}

impl Distances {
    pub(super) fn view(&self) -> DistanceBias<'_> {
        DistanceBias { values: self.values.data(), reach: self.reach }
    }

    /// 2·reach + 1.
    pub(super) fn count(&self) -> usize {
        2 * self.reach + 1
    }

    fn all(&self) -> impl Iterator<Item = isize> + use<> {
        -(self.reach as isize)..=self.reach as isize
    }
}

impl RelativeBias {
    /// The biases of sequences of up to `longest` tokens.
    #[track_caller]
    pub(super) fn by_distance(
        &self,
        table: &[f32],
        shape: Shape,
        heads: usize,
        longest: usize,
    ) -> Distances {
        assert!(
            shape.rank() == 2 && shape.dim(0) == self.buckets.count && shape.dim(1) == heads,
            "relative bias: the table {shape} is not ({},{heads}), buckets by heads",
            self.buckets.count
        );
        let reach = longest.saturating_sub(1);
        let mut distances = Distances { values: Tensor::uninit([heads, 2 * reach + 1]), reach };
        let (count, all) = (distances.count(), distances.all());
        for (at, distance) in all.enumerate() {
            let row = &table[self.buckets.of(distance) * heads..][..heads];
            for (head, bias) in row.iter().enumerate() {
                distances.values.data_mut()[head * count + at] = *bias;
            }
        }
        distances
    }

    /// Adds the gradient of the table, given those of each sequence, head and distance.
    pub(super) fn add_gradient(
        &self,
        distances: &Distances,
        dbias: &[f32],
        heads: usize,
        pass: &mut BackwardPass,
    ) {
        // Forward: bias[distance][head] = table[bucket(distance)][head]. So each gradient is added
        // to its bucket, in the order of sequences and distances.
        let mut dtable = Tensor::zeros([self.buckets.count, heads]);
        for (row, dbias) in dbias.chunks_exact(distances.count()).enumerate() {
            for (distance, gradient) in distances.all().zip(dbias) {
                dtable.data_mut()[self.buckets.of(distance) * heads + row % heads] += gradient;
            }
        }
        pass.add_param_gradient(self.table, dtable.data());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From T5: 32 buckets, distances up to 128.
    const T5: Buckets = Buckets { count: 32, max_distance: 128, range: BucketRange::Both };

    #[test]
    fn near_distances_have_a_bucket_each_and_far_ones_share_the_last() {
        assert_eq!([0, -1, -7, 1, 7].map(|d| T5.of(d)), [0, 1, 7, 17, 23]);
        assert_eq!([-128, -5000, 128, 5000].map(|d| T5.of(d)), [15, 15, 31, 31]);
        let past = Buckets { range: BucketRange::Past, ..T5 };
        assert_eq!([5, 0, -1, -15, -200].map(|d| past.of(d)), [0, 0, 1, 15, 31]);
    }

    /// Boundaries by the formula: 8 + ⌊8·log(n/8)/log 16⌋ ≥ b from n = 8·16^((b−8)/8) on.
    #[test]
    fn buckets_grow_logarithmically_and_never_shrink() {
        let buckets: Vec<usize> = (0..200).map(|n| T5.of(-n)).collect();
        assert!(buckets.windows(2).all(|pair| pair[0] <= pair[1]));
        for bucket in 9..16 {
            let first = buckets.iter().position(|b| *b == bucket).unwrap() as f64;
            let exact = 8.0 * 16_f64.powf((bucket - 8) as f64 / 8.0);
            assert_eq!(first, (exact - 1e-9).ceil(), "bucket {bucket}");
        }
    }
}
