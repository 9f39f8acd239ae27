//! Forward and backward pass of attention. A task is some (sequence, head) pairs; the formula is in
//! the parent module.

use super::mask::Pair;
use super::scratch::{self, lanes, right, score_width, transposed};
use super::tile::{self, Extent, LeftView, RightView, TILE_ROWS};
use super::{AttentionSpec, Heads, HeadsMut, Rows, lane_start, one_query};
use crate::kernels::matmul::Accumulate::{Add, Overwrite};
use crate::kernels::softmax::{self, RowSum};
use crate::simd::{self, LANES, vectorized};
use crate::team::{self, Parts};
use std::ops::Range;

/// Number of queries whose scores are in scratch at a time: 64 x 256 scores are 64 KB, a sixteenth
/// of the L2 cache.
const BLOCK: usize = 64;

/// Multiply-adds that outweigh the cost of scheduling a task: about 20 µs.
const TASK_WORK: usize = 1_000_000;

/// z = softmax(scale·q·kᵀ + bias + mask)·v, and the log-sum-exp of each row of scores in `lse`
/// (Σt, h), which is −∞ for a fully masked query. Rows outside the spans are not written.
///
/// # Panics
/// If an operand does not have the shape that `spec` says.
#[track_caller]
pub fn attention_forward(
    z: HeadsMut,
    lse: &mut [f32],
    q: Heads,
    k: Heads,
    v: Heads,
    spec: &AttentionSpec,
) {
    spec.check(q, k);
    spec.check_keys("v", v);
    z.check("z", spec.heads, v.width, spec.q_spans);
    check_lse(lse.len(), spec);
    let lse = Parts::new(lse);
    let pairs = spec.q_spans.len() * spec.heads;
    // A few long sequences: their queries are split between tasks, in whole blocks.
    let blocks = spec.q_spans.iter().map(|span| span.len.div_ceil(BLOCK)).max().unwrap_or(0);
    let shares = (16 / pairs.max(1)).clamp(1, blocks.max(1));
    for_each_unit(pairs * shares, work(spec, q.width + v.width), |unit| {
        let (sequence, head) = (unit / shares / spec.heads, unit / shares % spec.heads);
        let pair = spec.pair(q, k, sequence, head);
        let (blocks, share) = (pair.t().div_ceil(BLOCK), unit % shares);
        let first = share * blocks / shares * BLOCK;
        let end = pair.t().min((share + 1) * blocks / shares * BLOCK);
        let v_heads = v;
        let v = spec.keys(v, sequence, pair.kv_head);
        let finish = |i: usize, z_row: &[f32], sum: RowSum| {
            // SAFETY: this row and head are this unit's alone: spans do not overlap, shares and
            // heads neither.
            unsafe { finish_row(&z, lse, &pair, spec, i, z_row, sum) };
        };
        // Transposing the keys in memory is worth its cost from the second query on.
        if pair.t() == 1 {
            // Those of the next head or sequence come while this one is computed.
            let (sequence, head) = ((unit + 1) / spec.heads, (unit + 1) % spec.heads);
            if shares == 1 && sequence < spec.q_spans.len() {
                let kv_head = head / spec.group();
                one_query::prefetch(spec.keys(k, sequence, kv_head));
                one_query::prefetch(spec.keys(v_heads, sequence, kv_head));
            }
            forward_one(&pair, v, &finish);
        } else {
            forward_blocks(&pair, v, first..end, &finish);
        }
    });
}

/// Writes the output and the log-sum-exp of query i.
///
/// # Safety
/// No other reference to this row and head may be in use, on any thread.
#[inline(always)]
pub(super) unsafe fn finish_row(
    z: &HeadsMut,
    lse: Parts,
    pair: &Pair,
    spec: &AttentionSpec,
    i: usize,
    z_row: &[f32],
    sum: RowSum,
) {
    let row = pair.q_span.start + i;
    // SAFETY: the caller's contract.
    let (z, lse) = unsafe { (z.row(row, pair.head), lse.part(row * spec.heads + pair.head, 1)) };
    let scale = sum.normalizer();
    z.iter_mut().zip(z_row).for_each(|(z, x)| *z = scale * x);
    lse[0] = sum.log_sum_exp();
}

/// One query, as in decoding. Reads each key and value once; every score and every value is the
/// same chain of multiply-adds as in a block of queries: the same bits.
pub(super) fn forward_one(pair: &Pair, v: Rows, finish: &dyn Fn(usize, &[f32], RowSum)) {
    let (d_k, d_v) = (pair.q.width, v.width);
    let (first, end) = (lane_start(pair.first_key(0)), pair.visible(0));
    let count = end.saturating_sub(first);
    let lens = [one_query::scratch_len(d_k), one_query::scores_len(count), lanes(d_v), lanes(d_v)];
    scratch::with(lens, |[k_t, scores, one, z]| {
        let (q, k) = (pair.q.row(0), pair.k.from(first));
        one_query::scores(scores, q, k, count, pair.scale, k_t);
        let scores = &mut scores[..count];
        let sum = exponentials_of_one(scores, pair, first);
        tile::sum_of_rows(z, scores, v.from(first), one);
        finish(0, &z[..d_v], sum);
    });
}

vectorized! {
    /// Scores of the keys from `first` on become exp(score − max).
    fn exponentials_of_one(scores: &mut [f32], pair: &Pair, first: usize) -> RowSum {
        pair.hide(scores, 0, first);
        softmax::exponentials(scores)
    }
}

/// Blocks of queries: scores, softmax and weighted values of a block while they are in cache.
pub(super) fn forward_blocks(
    pair: &Pair,
    v: Rows,
    rows: Range<usize>,
    finish: &dyn Fn(usize, &[f32], RowSum),
) {
    if rows.is_empty() {
        return;
    }
    let (d_k, d_v) = (pair.q.width, v.width);
    // Keys that none of these queries sees are not read.
    let s = pair.visible(rows.end - 1);
    let (width, out_width) = (score_width(s), lanes(d_v));
    let lens = [d_k * width, s * out_width, BLOCK * width, BLOCK * out_width];
    scratch::with(lens, |[k_t, v_copy, scores, out]| {
        let k_t = transposed(pair.k, s, pair.scale, width, k_t);
        let v = right(v, s, rows.len(), v_copy);
        for first in rows.clone().step_by(BLOCK) {
            let n = BLOCK.min(rows.end - first);
            // Keys before the window of the first query are outside those of the others, too.
            let low = lane_start(pair.first_key(first));
            let seen = |tile: Range<usize>| pair.visible(first + tile.end - 1).max(low) - low;
            let q = LeftView {
                data: pair.q.from(first).data,
                row_stride: pair.q.stride,
                col_stride: 1,
            };
            tile::product(scores, width, n, q, columns(k_t, low), Overwrite, &|tile| Extent {
                inner: 0..d_k,
                cols: seen(tile),
            });
            let mut sums = [RowSum { max: 0.0, sum: 0.0 }; BLOCK];
            exponentials_of_block(&mut sums[..n], scores, width, pair, first, low);
            let p = LeftView { data: scores, row_stride: width, col_stride: 1 };
            tile::product(out, out_width, n, p, rows_from(v, low), Overwrite, &|tile| Extent {
                inner: 0..seen(tile),
                cols: d_v,
            });
            for (i, sum) in sums[..n].iter().enumerate() {
                finish(first + i, &out[i * out_width..][..d_v], *sum);
            }
        }
    });
}

/// The columns from `first` on, of a right operand whose columns are keys.
fn columns(b: RightView, first: usize) -> RightView {
    RightView { data: &b.data[first..], ..b }
}

/// The rows from `first` on, of a right operand whose rows are keys.
fn rows_from(b: RightView, first: usize) -> RightView {
    RightView { data: &b.data[(first * b.stride).min(b.data.len())..], ..b }
}

vectorized! {
    /// Scores of the keys from `low` on become exp(score − max).
    fn exponentials_of_block(
        sums: &mut [RowSum],
        scores: &mut [f32],
        width: usize,
        pair: &Pair,
        first: usize,
        low: usize,
    ) {
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = &mut scores[i * width..][..width];
            let visible = pair.visible(first + i).max(low) - low;
            pair.hide(&mut row[..visible], first + i, low);
            *sum = softmax::exponentials(pad_row(row, visible, f32::NEG_INFINITY));
        }
    }
}

/// The first `visible` columns of a row, padded with `fill` to whole lanes; zeros are written after
/// them.
///
/// −∞ becomes 0 in the exponentials. The zeros are for the tiles: under the causal mask the rows of
/// a tile have different lengths, less than a tile's height apart, and the tile reads as far as its
/// longest. Whole vectors are read and written: a shorter write would stall the next read
/// (store-to-load forwarding).
#[inline(always)]
fn pad_row(row: &mut [f32], visible: usize, fill: f32) -> &mut [f32] {
    const { assert!(TILE_ROWS <= LANES) };
    // A window on ones, then zeros: LLVM would turn a comparison per lane into sixteen branches.
    const WINDOW: [u32; 2 * LANES] = {
        let mut window = [0; 2 * LANES];
        window.split_at_mut(LANES).0.copy_from_slice(&[u32::MAX; LANES]);
        window
    };
    let n = visible % LANES;
    if n > 0 {
        let last = row[visible - n..].first_chunk_mut::<LANES>().expect("rows are whole lanes");
        let window = WINDOW[LANES - n..].first_chunk::<LANES>().expect("n is less than LANES");
        for (x, keep) in last.iter_mut().zip(window) {
            *x = f32::from_bits(x.to_bits() & keep | fill.to_bits() & !keep);
        }
    }
    let (kept, rest) = row.split_at_mut(lanes(visible));
    rest[..LANES].fill(0.0);
    kept
}

/// The gradients of the loss by q, k and v, given `dz`, the gradient by z, and the results of the
/// forward pass, `z` and `lse`.
///
/// The rows of the spans are overwritten, the others are not written. `dq`, `dk` and `dv` may be
/// columns of one matrix: [`HeadsMut::split`]. `dbias` (b, h, 2·reach + 1) is the gradient by the
/// bias, for each sequence; it is empty if there is no bias.
///
/// # Panics
/// If an operand does not have the shape that `spec` says.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn attention_backward(
    dq: HeadsMut,
    dk: HeadsMut,
    dv: HeadsMut,
    dbias: &mut [f32],
    dz: Heads,
    z: Heads,
    lse: &[f32],
    q: Heads,
    k: Heads,
    v: Heads,
    spec: &AttentionSpec,
) {
    assert!(spec.k_rows.is_none(), "attention: no backward pass for keys by row number");
    spec.check(q, k);
    v.check("v", spec.kv_heads, spec.k_spans);
    dq.check("dq", spec.heads, q.width, spec.q_spans);
    dk.check("dk", spec.kv_heads, k.width, spec.k_spans);
    dv.check("dv", spec.kv_heads, v.width, spec.k_spans);
    for (name, heads) in [("dz", dz), ("z", z)] {
        heads.check(name, spec.heads, spec.q_spans);
        assert!(
            heads.width == v.width,
            "attention: {name} has {} columns per head, v has {}",
            heads.width,
            v.width
        );
    }
    check_lse(lse.len(), spec);
    let distances = spec.bias.map_or(0, |bias| 2 * bias.reach + 1);
    let rows_of_bias = spec.q_spans.len() * spec.heads;
    assert!(
        dbias.len() == rows_of_bias * distances,
        "attention: dbias has {} elements for {rows_of_bias} rows of {distances}",
        dbias.len()
    );
    let dbias = Parts::new(dbias);
    let units = spec.q_spans.len() * spec.kv_heads;
    // A unit owns a sequence and a head of keys and values: dk and dv are sums over the query heads
    // that share it and over their queries, in their order.
    for_each_unit(units, 5 * work(spec, q.width + v.width) / 2, |unit| {
        let (sequence, kv_head) = (unit / spec.kv_heads, unit % spec.kv_heads);
        let heads = kv_head * spec.group()..(kv_head + 1) * spec.group();
        let pairs = heads.map(|head| {
            let pair = spec.pair(q, k, sequence, head);
            let inputs = BackwardInputs {
                z: z.rows(pair.q_span, head),
                dz: dz.rows(pair.q_span, head),
                lse: &lse[pair.q_span.start.min(lse.len() / spec.heads) * spec.heads..],
                heads: spec.heads,
            };
            let at = (sequence * spec.heads + head) * distances;
            // SAFETY: this sequence and head are this unit's alone.
            let dbias = unsafe { dbias.part(at, distances) };
            (pair, inputs, dbias)
        });
        let v = v.rows(spec.k_spans[sequence], kv_head);
        backward_blocks(pairs, v, |gradient, i, row, scale| {
            let (to, start, head) = match gradient {
                GradientOf::Queries(head) => (&dq, spec.q_spans[sequence].start, head),
                GradientOf::Keys => (&dk, spec.k_spans[sequence].start, kv_head),
                GradientOf::Values => (&dv, spec.k_spans[sequence].start, kv_head),
            };
            // SAFETY: this sequence and head are this unit's alone: spans do not overlap, heads and
            // views neither.
            let to = unsafe { to.row(start + i, head) };
            to.iter_mut().zip(row).for_each(|(to, x)| *to = scale * x);
        });
    });
}

/// The inputs of the backward pass of one (sequence, query head) besides queries, keys and values.
struct BackwardInputs<'a> {
    z: Rows<'a>,
    dz: Rows<'a>,
    /// From this sequence's first row on.
    lse: &'a [f32],
    heads: usize,
}

/// The operand whose gradient a finished row belongs to.
enum GradientOf {
    /// Of this query head.
    Queries(usize),
    Keys,
    Values,
}

/// The backward pass of the query heads that share one head of keys and values.
fn backward_blocks<'a>(
    pairs: impl Iterator<Item = (Pair<'a>, BackwardInputs<'a>, &'a mut [f32])>,
    values: Rows,
    finish: impl Fn(GradientOf, usize, &[f32], f32),
) {
    let mut pairs = pairs.peekable();
    let Some((pair, _, _)) = pairs.peek() else { return };
    let (t, s, d_k, d_v) = (pair.t(), pair.s(), pair.q.width, values.width);
    let (keys, scale) = (pair.k, pair.scale);
    let (width, k_width, v_width) = (score_width(s), lanes(d_k), lanes(d_v));
    let lens = [
        d_k * width,
        d_v * width,
        s * k_width,
        BLOCK * width,
        BLOCK * width,
        BLOCK * k_width,
        BLOCK * v_width,
        BLOCK * k_width,
        s * k_width,
        s * v_width,
    ];
    scratch::with(lens, |[k_t, v_t, k_copy, p, ds, q_copy, dz_copy, dq, dk, dv]| {
        let k_t = transposed(keys, s, scale, width, k_t);
        let v_t = transposed(values, s, 1.0, width, v_t);
        let k = right(keys, s, t, k_copy);
        dk[..s * k_width].fill(0.0);
        dv[..s * v_width].fill(0.0);
        for (pair, inputs, dbias) in pairs {
            dbias.fill(0.0);
            for first in (0..t).step_by(BLOCK) {
                let n = BLOCK.min(t - first);
                // Keys before the window of the first query are outside those of the others, too.
                let low = lane_start(pair.first_key(first));
                let seen = |tile: Range<usize>| pair.visible(first + tile.end - 1).max(low) - low;
                let keys = seen(0..n);
                let (q, dz) = (pair.q.from(first), inputs.dz.from(first));
                // Forward: P = softmax(scale·q·kᵀ + bias + mask), z = P·v. So dP = dz·vᵀ. P is
                // recomputed from the saved lse: exp(score − lse).
                let left = LeftView { data: q.data, row_stride: q.stride, col_stride: 1 };
                let extent = |tile| Extent { inner: 0..d_k, cols: seen(tile) };
                tile::product(p, width, n, left, columns(k_t, low), Overwrite, &extent);
                let left = LeftView { data: dz.data, row_stride: dz.stride, col_stride: 1 };
                let extent = |tile| Extent { inner: 0..d_v, cols: seen(tile) };
                tile::product(ds, width, n, left, columns(v_t, low), Overwrite, &extent);
                score_gradients(p, ds, width, n, &pair, &inputs, first, low);
                if let Some(bias) = pair.bias {
                    // Forward: score = scale·q·kᵀ + bias[distance]. So dbias[distance] += dS.
                    for (i, ds) in ds.chunks_exact(width).take(n).enumerate() {
                        let at = pair.distance(bias, first + i, low);
                        add_to(&mut dbias[at..], &ds[..seen(i..i + 1)]);
                    }
                }
                // Forward: score = scale·q·kᵀ. So dq = scale·dS·k.
                let left = LeftView { data: ds, row_stride: width, col_stride: 1 };
                let extent = |tile| Extent { inner: 0..seen(tile), cols: d_k };
                tile::product(dq, k_width, n, left, rows_from(k, low), Overwrite, &extent);
                for i in 0..n {
                    let of = GradientOf::Queries(pair.head);
                    finish(of, first + i, &dq[i * k_width..][..d_k], scale);
                }
                // And dk = scale·dSᵀ·q; z = P·v gives dv = Pᵀ·dz. Both are sums over queries: block
                // after block. A tile of keys begins with the first query that sees the last of
                // them or an earlier one.
                let from = |tile: &Range<usize>| {
                    pair.first_query(low + tile.start).saturating_sub(first).min(n)
                };
                let left = LeftView { data: ds, row_stride: 1, col_stride: width };
                let q = right(q, n, keys, q_copy);
                let extent = |tile: Range<usize>| Extent { inner: from(&tile)..n, cols: d_k };
                tile::product(&mut dk[low * k_width..], k_width, keys, left, q, Add, &extent);
                let left = LeftView { data: p, row_stride: 1, col_stride: width };
                let dz = right(dz, n, keys, dz_copy);
                let extent = |tile: Range<usize>| Extent { inner: from(&tile)..n, cols: d_v };
                tile::product(&mut dv[low * v_width..], v_width, keys, left, dz, Add, &extent);
            }
        }
        for j in 0..s {
            finish(GradientOf::Keys, j, &dk[j * k_width..][..d_k], scale);
            finish(GradientOf::Values, j, &dv[j * v_width..][..d_v], 1.0);
        }
    });
}

vectorized! {
    fn add_to(sum: &mut [f32], x: &[f32]) {
        sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
    }
}

vectorized! {
    /// Scores of the keys from `low` on become weights P, and dP becomes dS, the gradient by the
    /// scores.
    fn score_gradients(
        p: &mut [f32],
        ds: &mut [f32],
        width: usize,
        n: usize,
        pair: &Pair,
        inputs: &BackwardInputs,
        first: usize,
        low: usize,
    ) {
        for i in 0..n {
            let visible = pair.visible(first + i).max(low) - low;
            let (p, ds) = (&mut p[i * width..][..width], &mut ds[i * width..][..width]);
            let lse = inputs.lse[(first + i) * inputs.heads + pair.head];
            if lse == f32::NEG_INFINITY {
                // A fully masked query: its weights are 0, not exp(−∞ − −∞).
                pad_row(p, visible, 0.0).fill(0.0);
                pad_row(ds, visible, 0.0).fill(0.0);
                continue;
            }
            pair.hide(&mut p[..visible], first + i, low);
            let p = pad_row(p, visible, f32::NEG_INFINITY);
            softmax::exponentials_from(p, lse);
            // Softmax: dS[j] = P[j]·(dP[j] − Σ_j dP[j]·P[j]), and that sum is Σ_j P[j]·(dz·v[j]) =
            // dz·z.
            let mean = simd::dot(inputs.dz.row(first + i), inputs.z.row(first + i));
            ds.iter_mut().zip(p).for_each(|(ds, p)| *ds = *p * (*ds - mean));
            pad_row(ds, visible, 0.0);
        }
    }
}

/// Multiply-adds of all pairs without a mask.
pub(super) fn work(spec: &AttentionSpec, widths: usize) -> usize {
    let scores: usize = spec.q_spans.iter().zip(spec.k_spans).map(|(q, k)| q.len * k.len).sum();
    scores * widths * spec.heads
}

/// Calls `work(unit)` for each unit, several to a task when they are small.
pub(super) fn for_each_unit(units: usize, total_work: usize, work: impl Fn(usize) + Sync) {
    let enough = (TASK_WORK * units).div_ceil(total_work.max(1));
    // At least eight tasks, so that four threads can share a small loop evenly.
    let per_task = enough.clamp(1, units.div_ceil(8).max(1));
    team::run(units.div_ceil(per_task), |task| {
        (task * per_task..units.min((task + 1) * per_task)).for_each(&work);
    });
}

#[track_caller]
pub(super) fn check_lse(len: usize, spec: &AttentionSpec) {
    let rows = spec.q_spans.iter().map(|span| span.start + span.len).max().unwrap_or(0);
    assert!(
        len >= rows * spec.heads,
        "attention: lse has {len} elements, ({rows},{}) are needed: rows by heads",
        spec.heads
    );
}
