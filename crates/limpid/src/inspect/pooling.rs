//! Attention of long texts in pieces: thumbnails, tiles, and what a head attends to, without the
//! whole matrix of weights in memory.
//!
//! Pooling takes the maximum: a mean would hide one sharp weight among many small ones.

use limpid_tensor::ops::AttentionWeights;
use limpid_tensor::team;
use std::ops::Range;
use std::sync::Mutex;

/// Rows of weights that are in memory at once, per thread.
const BLOCK: usize = 16;

/// Numbers in rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Rows: queries.
    pub rows: usize,
    /// Columns: keys.
    pub columns: usize,
    /// The numbers, row by row.
    pub data: Vec<f32>,
}

/// One head, or the mean over all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeadChoice {
    /// This one.
    Head(usize),
    /// The mean over the heads.
    Mean,
}

/// Which of `parts` parts of `0..length` number `i` is: they differ by at most one.
pub fn part(i: usize, parts: usize, length: usize) -> Range<usize> {
    i * length / parts..(i + 1) * length / parts
}

/// All heads, each with at most `size` rows and columns: a number is the largest weight of its
/// part.
pub fn thumbnails(weights: &AttentionWeights, size: usize) -> Vec<Grid> {
    let (t, s) = (weights.queries, weights.keys);
    let (rows, columns) = (t.min(size), s.min(size));
    let bounds: Vec<Range<usize>> = (0..columns).map(|j| part(j, columns, s)).collect();
    let cells = rows * columns;
    let mut all = vec![0.0_f32; weights.heads * cells];
    if cells > 0 {
        // A task for each row of a thumbnail: many more than threads, and of much the same size.
        team::for_each_chunk(&mut all, columns, |task, out| {
            let (head, i) = (task / rows, task % rows);
            pool_rows(weights, head, part(i, rows, t), &bounds, out);
        });
    }
    let grid = |data: &[f32]| Grid { rows, columns, data: data.to_vec() };
    match cells {
        0 => vec![Grid { rows: 0, columns: 0, data: Vec::new() }; weights.heads],
        _ => all.chunks(cells).map(grid).collect(),
    }
}

/// The largest weight in each part of the columns over some rows.
fn pool_rows(
    weights: &AttentionWeights,
    head: usize,
    rows: Range<usize>,
    bounds: &[Range<usize>],
    out: &mut [f32],
) {
    let s = weights.keys;
    let mut block = vec![0.0; BLOCK.min(rows.len()) * s];
    for first in rows.clone().step_by(BLOCK) {
        let some = first..rows.end.min(first + BLOCK);
        let block = &mut block[..some.len() * s];
        weights.rows(block, head, some);
        for row in block.chunks_exact(s) {
            for (out, bounds) in out.iter_mut().zip(bounds) {
                *out = row[bounds.clone()].iter().fold(*out, |a, b| a.max(*b));
            }
        }
    }
}

/// A part of the weights of one head: number (i, j) is the largest of 2^level × 2^level weights;
/// rows and columns are counted in these.
///
/// # Panics
/// If there is no such head.
#[track_caller]
pub fn tile(
    weights: &AttentionWeights,
    head: HeadChoice,
    level: u32,
    [rows, columns]: [Range<usize>; 2],
) -> Grid {
    let (t, s, size) = (weights.queries, weights.keys, 1_usize << level);
    let clip = |range: Range<usize>, length: usize| {
        let end = range.end.min(length.div_ceil(size));
        range.start.min(end)..end
    };
    let (rows, columns) = (clip(rows, t), clip(columns, s));
    let bounds: Vec<Range<usize>> =
        columns.clone().map(|j| j * size..((j + 1) * size).min(s)).collect();
    let mut data = vec![0.0_f32; rows.len() * columns.len()];
    if !data.is_empty() {
        team::for_each_chunk(&mut data, columns.len(), |task, out| {
            let first = (rows.start + task) * size;
            let some = first..(first + size).min(t);
            match head {
                HeadChoice::Head(head) => pool_rows(weights, head, some, &bounds, out),
                HeadChoice::Mean => pool_means(weights, some, &bounds, out),
            }
        });
    }
    Grid { rows: rows.len(), columns: columns.len(), data }
}

/// As [`pool_rows`], of the mean over the heads.
fn pool_means(
    weights: &AttentionWeights,
    rows: Range<usize>,
    bounds: &[Range<usize>],
    out: &mut [f32],
) {
    let s = weights.keys;
    let (mut row, mut sum) = (vec![0.0_f32; s], vec![0.0_f32; s]);
    for i in rows {
        sum.fill(0.0);
        for head in 0..weights.heads {
            weights.rows(&mut row, head, i..i + 1);
            sum.iter_mut().zip(&row).for_each(|(sum, w)| *sum += w);
        }
        let count = weights.heads as f32;
        sum.iter_mut().for_each(|sum| *sum /= count);
        for (out, bounds) in out.iter_mut().zip(bounds) {
            *out = sum[bounds.clone()].iter().fold(*out, |a, b| a.max(*b));
        }
    }
}

/// What a head mostly attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRole {
    /// The token before.
    Previous,
    /// The token after.
    Next,
    /// The token itself; of cross-attention the token at the same place.
    Same,
    /// The first token.
    First,
    /// The last token.
    Last,
    /// All alike.
    Diffuse,
    /// Something that its position does not tell.
    Content,
}

impl HeadRole {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Previous => "previous",
            Self::Next => "next",
            Self::Same => "same",
            Self::First => "first",
            Self::Last => "last",
            Self::Diffuse => "diffuse",
            Self::Content => "content",
        }
    }
}

/// A head in a few numbers, means over the queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadSummary {
    /// What it mostly attends to.
    pub role: HeadRole,
    /// The weight on what the role names.
    pub share: f64,
    /// −Σ w ln w, in nats.
    pub entropy: f64,
    /// Σ w·|i − j|.
    pub distance: f64,
}

/// A weight from which on a role has its name.
const NAMED: f64 = 0.5;
/// Entropy by that of equal weights, from which on a head is diffuse.
const DIFFUSE: f64 = 0.9;

/// What every head mostly attends to.
pub fn head_summary(weights: &AttentionWeights) -> Vec<HeadSummary> {
    let found = Mutex::new(vec![None; weights.heads]);
    team::run(weights.heads, |head| {
        let summary = summarize(weights, head);
        found.lock().unwrap_or_else(|e| e.into_inner())[head] = Some(summary);
    });
    let found = found.into_inner().unwrap_or_else(|e| e.into_inner());
    found.into_iter().map(|summary| summary.expect("every head has one")).collect()
}

fn summarize(weights: &AttentionWeights, head: usize) -> HeadSummary {
    let (t, s) = (weights.queries, weights.keys);
    // Queries for which the place exists, and their weight on it.
    let mut places = [(0.0_f64, 0_usize); 5];
    let (mut entropy, mut distance, mut uniform) = (0.0, 0.0, 0.0);
    let mut row = vec![0.0_f32; s];
    for i in 0..t {
        weights.rows(&mut row, head, i..i + 1);
        let at = [i.checked_sub(1), Some(i + 1), Some(i), Some(0), s.checked_sub(1)];
        for (place, j) in places.iter_mut().zip(at) {
            if let Some(w) = j.and_then(|j| row.get(j)) {
                *place = (place.0 + f64::from(*w), place.1 + 1);
            }
        }
        let mut seen = 0_u32;
        for (j, w) in row.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let w = f64::from(*w);
            entropy -= w * w.ln();
            distance += w * i.abs_diff(j) as f64;
            seen += 1;
        }
        uniform += f64::from(seen.max(1)).ln();
    }
    let mean = |(sum, count): (f64, usize)| if count > 0 { sum / count as f64 } else { 0.0 };
    let roles =
        [HeadRole::Previous, HeadRole::Next, HeadRole::Same, HeadRole::First, HeadRole::Last];
    let best = roles.into_iter().zip(places.map(mean)).max_by(|a, b| a.1.total_cmp(&b.1));
    let (role, share) = best.expect("five places");
    let role = match (share >= NAMED, uniform > 0.0 && entropy >= DIFFUSE * uniform) {
        (_, true) => HeadRole::Diffuse,
        (true, false) => role,
        (false, false) => HeadRole::Content,
    };
    let queries = t.max(1) as f64;
    HeadSummary { role, share, entropy: entropy / queries, distance: distance / queries }
}
