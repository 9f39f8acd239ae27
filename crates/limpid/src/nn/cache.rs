//! The past of many sequences: keys and values by token, in rows that sequences share.
//!
//! ```text
//! rows        0   1   2   3   4   5   6   7        a row per token, the same number in all layers
//! sequence a  0   1   2       4                    a list of row numbers
//! sequence b  0   1   2   3                        forked from a: the shared past is not copied
//! ```
//!
//! A row is counted for each sequence that has it, and is used again when none has.

use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::ops::{CachedData, CachedRows};
use limpid_tensor::row_pool::RowPool;
use limpid_tensor::tape::Var;
use std::sync::Arc;

/// Keys and values of every layer, k beside v: (rows, 2·g·d) each.
pub struct KvCache {
    layers: Vec<RowPool>,
    /// g and d.
    heads: [usize; 2],
    format: KvFormat,
    /// How many sequences have each row.
    counts: Vec<u32>,
    /// Rows that no sequence has.
    free: Vec<u32>,
    /// Whether each row may have memory: it was taken since its memory was given back.
    touched: Vec<bool>,
    /// How many of them.
    in_memory: usize,
}

impl KvCache {
    /// An empty cache for `layers` layers, with keys of g heads of width d, stored in this format.
    pub fn new(layers: usize, [g, d]: [usize; 2], format: KvFormat) -> Self {
        let bytes = format.row_bytes(2 * g, d);
        let layers = (0..layers).map(|_| RowPool::new(bytes)).collect();
        let (counts, free, touched) = (Vec::new(), Vec::new(), Vec::new());
        Self { layers, heads: [g, d], format, counts, free, touched, in_memory: 0 }
    }

    /// How keys and values are stored.
    pub fn format(&self) -> KvFormat {
        self.format
    }

    /// Bytes of a token, in all layers.
    pub fn bytes_per_token(&self) -> usize {
        self.layers.iter().map(RowPool::width).sum()
    }

    /// A row for a new token, which one sequence has.
    pub fn take(&mut self) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            self.counts.push(0);
            self.touched.push(false);
            self.layers.iter_mut().for_each(|layer| layer.reserve(self.counts.len()));
            self.counts.len() as u32 - 1
        });
        self.counts[row as usize] = 1;
        self.in_memory += usize::from(!std::mem::replace(&mut self.touched[row as usize], true));
        row
    }

    /// Bytes of the rows that have memory: those of sequences, and those that none has any more.
    pub fn bytes_in_memory(&self) -> usize {
        self.in_memory * self.bytes_per_token()
    }

    /// Gives the memory of rows that no sequence has back to the system, page by page.
    pub fn trim(&mut self) {
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        let neighbours = |a: &u32, b: &u32| *b + 1 == *a;
        for run in self.free.chunk_by(neighbours) {
            let rows = run[run.len() - 1] as usize..run[0] as usize + 1;
            self.layers.iter_mut().for_each(|layer| layer.discard(rows.clone()));
            for touched in &mut self.touched[rows] {
                self.in_memory -= usize::from(std::mem::replace(touched, false));
            }
        }
    }

    /// Another sequence has these rows.
    pub fn share(&mut self, rows: &[u32]) {
        rows.iter().for_each(|row| self.counts[*row as usize] += 1);
    }

    /// A sequence has these rows no longer. Rows that none has are taken again, the first first, so
    /// that few pages are used.
    pub fn release(&mut self, rows: &[u32]) {
        for row in rows.iter().rev() {
            let count = &mut self.counts[*row as usize];
            *count -= 1;
            if *count == 0 {
                self.free.push(*row);
            }
        }
    }

    /// Number of rows that sequences have.
    pub fn rows_in_use(&self) -> usize {
        self.counts.len() - self.free.len()
    }

    /// Writes the keys and values of tokens, the last columns of `from`, into their rows.
    pub(super) fn write(&mut self, layer: usize, from: &Var, rows: &[u32]) {
        let ((_, width), [g, d]) = (from.rows_cols(), self.heads);
        let layer = &mut self.layers[layer];
        for (from, row) in from.data().chunks_exact(width).zip(rows) {
            self.format.encode(layer.row_mut(*row as usize), &from[width - 2 * g * d..], d);
        }
    }

    pub(super) fn rows<'a>(&'a self, layer: usize, rows: &'a [u32]) -> CachedRows<'a> {
        let layer = &self.layers[layer];
        let data = match self.format {
            KvFormat::F32 => CachedData::Floats(layer.floats()),
            format => CachedData::Stored(format, layer.data()),
        };
        CachedRows { data, kv_heads: self.heads[0], rows }
    }
}

/// The sequences of a forward pass that continues cached ones.
pub struct CachedPast<'a> {
    /// The cache.
    pub cache: &'a mut KvCache,
    /// The row of each new token.
    pub new_rows: &'a [u32],
    /// The rows of each sequence's tokens, old and new, sequence after sequence.
    pub rows: &'a [u32],
    /// Where those of each sequence are in `rows`.
    pub spans: &'a Arc<[Span]>,
}

/// Cached keys and values of sources, as a decoder attends to them.
#[derive(Clone, Copy)]
pub struct CachedSource<'a> {
    /// The cache.
    pub cache: &'a KvCache,
    /// The rows of queries that attend to one source; sequences of one source may be together.
    pub q_spans: &'a Arc<[Span]>,
    /// The rows of each source's tokens, source after source.
    pub rows: &'a [u32],
    /// Where those of each source are in `rows`.
    pub spans: &'a Arc<[Span]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_used_again_when_no_sequence_has_it() {
        let mut cache = KvCache::new(2, [1, 3], KvFormat::F32);
        let rows: Vec<u32> = (0..4).map(|_| cache.take()).collect();
        assert_eq!((rows.as_slice(), cache.rows_in_use()), (&[0, 1, 2, 3][..], 4));
        cache.share(&rows[..2]);
        cache.release(&rows);
        assert_eq!(cache.rows_in_use(), 2);
        assert_eq!((cache.take(), cache.take(), cache.take()), (2, 3, 4));
        cache.release(&rows[..2]);
        assert_eq!(cache.rows_in_use(), 3);
    }

    #[test]
    fn memory_is_counted_by_rows_and_given_back_where_no_sequence_has_them() {
        let mut cache = KvCache::new(3, [2, 4], KvFormat::F32);
        let row = 3 * 2 * 2 * 4 * 4;
        let rows: Vec<u32> = (0..9).map(|_| cache.take()).collect();
        cache.release(&rows[2..5]);
        cache.release(&rows[7..]);
        assert_eq!((cache.rows_in_use(), cache.bytes_in_memory()), (4, 9 * row));
        cache.trim();
        assert_eq!(cache.bytes_in_memory(), 4 * row);
        cache.trim();
        // The first of them are taken first.
        assert_eq!((cache.take(), cache.take()), (2, 3));
        assert_eq!((cache.rows_in_use(), cache.bytes_in_memory()), (6, 6 * row));
    }
}
