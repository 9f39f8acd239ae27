//! Attention to keys and values that a cache stores in another format: those of a sequence and head
//! are decoded into memory of the thread, and then read as f32.

use super::pass::{check_lse, finish_row, for_each_unit, forward_blocks, forward_one, work};
use super::views::Rows;
use super::{AttentionSpec, Heads, HeadsMut, lane_start};
use crate::kernels::kv_format::KvFormat;
use crate::simd::vectorized;
use crate::team::Parts;
use std::cell::RefCell;

/// The rows of a cache, each with keys and values of `kv_heads` heads.
#[derive(Clone, Copy)]
pub struct StoredRows<'a> {
    /// All rows.
    pub data: &'a [u8],
    /// How they are stored.
    pub format: KvFormat,
    /// g.
    pub kv_heads: usize,
    /// d.
    pub width: usize,
}

impl StoredRows<'_> {
    fn row_bytes(&self) -> usize {
        self.format.row_bytes(2 * self.kv_heads, self.width)
    }
}

thread_local! {
    /// Decoded keys and values.
    static DECODED: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// [`super::attention_forward`] with stored keys and values, given by `spec.k_rows`. The bits are
/// those of the decoded ones.
///
/// # Panics
/// If an operand does not have the shape that `spec` says, or rows have no numbers.
#[track_caller]
pub fn attention_forward_stored(
    z: HeadsMut,
    lse: &mut [f32],
    q: Heads,
    kv: StoredRows,
    spec: &AttentionSpec,
) {
    let numbers = spec.k_rows.expect("stored keys are given by row number");
    spec.check_queries(q);
    let rows = kv.data.len() / kv.row_bytes().max(1);
    assert!(
        kv.kv_heads == spec.kv_heads
            && kv.width == q.width
            && numbers.iter().all(|row| (*row as usize) < rows),
        "attention: stored rows of {} heads of width {} ({rows} of them), queries of {} heads of \
         width {}",
        kv.kv_heads,
        kv.width,
        spec.kv_heads,
        q.width
    );
    z.check("z", spec.heads, kv.width, spec.q_spans);
    check_lse(lse.len(), spec);
    let lse = Parts::new(lse);
    let pairs = spec.q_spans.len() * spec.heads;
    for_each_unit(pairs, work(spec, 2 * kv.width), |unit| {
        let (sequence, head) = (unit / spec.heads, unit % spec.heads);
        let (span, kv_head) = (spec.k_spans[sequence], head / spec.group());
        let numbers = &numbers[span.start..][..span.len];
        DECODED.with_borrow_mut(|[keys, values]| {
            for buffer in [&mut *keys, &mut *values] {
                if buffer.len() < span.len * kv.width {
                    buffer.resize(span.len * kv.width, 0.0);
                }
            }
            let view = |data| Rows { data, stride: kv.width, width: kv.width, numbers: None };
            // Keys before the first query's window are outside those of the others, too.
            let first = lane_start(spec.pair_with(q, view(&[]), sequence, head).first_key(0));
            decode(keys, first, kv, numbers, kv_head);
            decode(values, first, kv, numbers, kv.kv_heads + kv_head);
            let (keys, values) = (&keys[..], &values[..]);
            let pair = spec.pair_with(q, view(keys), sequence, head);
            let v = view(values);
            // SAFETY: this sequence and head are this unit's alone: spans do not overlap.
            let finish = |i: usize, z_row: &[f32], sum| unsafe {
                finish_row(&z, lse, &pair, spec, i, z_row, sum)
            };
            if pair.t() == 1 {
                forward_one(&pair, v, &finish);
            } else {
                forward_blocks(&pair, v, 0..pair.t(), &finish);
            }
        });
    });
}

vectorized! {
    /// Decodes a head of the rows with these numbers, from number `first` on, to their places.
    fn decode(to: &mut [f32], first: usize, kv: StoredRows, numbers: &[u32], head: usize) {
        let bytes = kv.row_bytes();
        let to = to.chunks_exact_mut(kv.width.max(1)).zip(numbers).skip(first);
        for (to, row) in to {
            let row = &kv.data[*row as usize * bytes..][..bytes];
            kv.format.decode(to, row, head, 2 * kv.kv_heads);
        }
    }
}
