//! All segmentations of a word into pieces: the best one, and the expected count of each piece.
//!
//! ```text
//!  ┌─── ▁lo ───┐
//!  ○ ▁ ○ l ○ o ○ w ○
//!          └── ow ──┘
//!
//! α_i: log-sum over all paths from the start to i,   β_j: from j to the end
//! expected count of piece p from i to j = exp(α_i + score_p + β_j − α_end)
//! ```

use super::hash::FastMap;

/// A character that no piece has.
pub(super) const GAP: u32 = u32::MAX;

/// The score of crossing a gap: far below any piece, so that only gaps are crossed that must be.
const GAP_SCORE: f64 = -100.0;

/// Pieces as a prefix tree of their characters.
pub(super) struct Trie {
    children: FastMap<(u32, u32), u32>,
    /// The piece that ends at each node, or [`GAP`].
    piece: Vec<u32>,
}

impl Trie {
    pub fn new<'a>(pieces: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut trie = Self { children: FastMap::default(), piece: vec![GAP] };
        for (id, piece) in pieces.enumerate() {
            let mut node = 0;
            for c in piece {
                let next = trie.piece.len() as u32;
                node = *trie.children.entry((node, *c)).or_insert(next);
                if node == next {
                    trie.piece.push(GAP);
                }
            }
            trie.piece[node as usize] = id as u32;
        }
        trie
    }

    /// The pieces that begin a text, shortest first, with their lengths.
    fn prefixes<'a>(&'a self, text: &'a [u32]) -> impl Iterator<Item = (usize, u32)> + 'a {
        let mut node = 0;
        let nodes = text.iter().map_while(move |c| {
            node = *self.children.get(&(node, *c))?;
            Some(node)
        });
        nodes
            .enumerate()
            .map(|(i, node)| (i + 1, self.piece[node as usize]))
            .filter(|(_, piece)| *piece != GAP)
    }
}

/// A piece that matches characters `from..to` of a word.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    piece: u32,
    score: f64,
}

/// Buffers, reused from word to word.
#[derive(Default)]
pub(super) struct Lattice {
    edges: Vec<Edge>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
    back: Vec<u32>,
}

impl Lattice {
    /// Finds all matches of pieces; `without` is left out.
    fn build(&mut self, word: &[u32], trie: &Trie, scores: &[f64], without: u32) {
        self.edges.clear();
        for from in 0..word.len() {
            if word[from] == GAP {
                let (from, to) = (from as u32, from as u32 + 1);
                self.edges.push(Edge { from, to, piece: GAP, score: GAP_SCORE });
                continue;
            }
            for (len, piece) in trie.prefixes(&word[from..]).filter(|(_, piece)| *piece != without)
            {
                let (from, to) = (from as u32, (from + len) as u32);
                self.edges.push(Edge { from, to, piece, score: scores[piece as usize] });
            }
        }
    }

    /// Adds to `expected` the expected count of each piece in a word that occurs `count` times.
    pub fn expect(
        &mut self,
        word: &[u32],
        count: f64,
        trie: &Trie,
        scores: &[f64],
        expected: &mut [f64],
    ) {
        self.build(word, trie, scores, GAP);
        for side in [&mut self.alpha, &mut self.beta] {
            side.clear();
            side.resize(word.len() + 1, f64::NEG_INFINITY);
        }
        // Edges come in the order of where they begin, so α_from is complete when it is used;
        // backwards the same holds for β_to.
        self.alpha[0] = 0.0;
        for edge in &self.edges {
            let path = self.alpha[edge.from as usize] + edge.score;
            log_add(&mut self.alpha[edge.to as usize], path);
        }
        self.beta[word.len()] = 0.0;
        for edge in self.edges.iter().rev() {
            let path = self.beta[edge.to as usize] + edge.score;
            log_add(&mut self.beta[edge.from as usize], path);
        }
        let all = self.alpha[word.len()];
        for edge in self.edges.iter().filter(|edge| edge.piece != GAP) {
            let path =
                self.alpha[edge.from as usize] + edge.score + self.beta[edge.to as usize] - all;
            expected[edge.piece as usize] += count * path.exp();
        }
    }

    /// The pieces of the best path (Viterbi), last first; none if there is no path. Of equals, the
    /// one with the longer last piece.
    pub fn best(&mut self, word: &[u32], trie: &Trie, scores: &[f64], without: u32) -> Vec<u32> {
        self.build(word, trie, scores, without);
        self.alpha.clear();
        self.alpha.resize(word.len() + 1, f64::NEG_INFINITY);
        self.back.clear();
        self.back.resize(word.len() + 1, GAP);
        self.alpha[0] = 0.0;
        for (i, edge) in self.edges.iter().enumerate() {
            let path = self.alpha[edge.from as usize] + edge.score;
            if path > self.alpha[edge.to as usize] {
                (self.alpha[edge.to as usize], self.back[edge.to as usize]) = (path, i as u32);
            }
        }
        let mut pieces = Vec::new();
        let mut at = word.len() as u32;
        while at > 0 && self.back[at as usize] != GAP {
            let edge = self.edges[self.back[at as usize] as usize];
            pieces.push(edge.piece);
            at = edge.from;
        }
        if at > 0 { Vec::new() } else { pieces }
    }
}

/// sum = ln(exp(sum) + exp(x)), without overflow.
fn log_add(sum: &mut f64, x: f64) {
    let (high, low) = if *sum > x { (*sum, x) } else { (x, *sum) };
    if low == f64::NEG_INFINITY {
        *sum = high;
        return;
    }
    *sum = high + (low - high).exp().ln_1p();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces a, b, ab, bb, abb over the word "abb", with probabilities that need not sum to one.
    const PIECES: [(&[u32], f64); 5] =
        [(&[0], 0.1), (&[1], 0.2), (&[0, 1], 0.3), (&[1, 1], 0.25), (&[0, 1, 1], 0.05)];

    #[test]
    fn expected_counts_and_the_best_path_agree_with_all_paths_written_out() {
        let trie = Trie::new(PIECES.iter().map(|(piece, _)| *piece));
        let scores: Vec<f64> = PIECES.iter().map(|(_, p)| p.ln()).collect();
        let (mut lattice, mut expected) = (Lattice::default(), vec![0.0; 5]);
        lattice.expect(&[0, 1, 1], 2.0, &trie, &scores, &mut expected);
        // a b b: .1·.2·.2 = .004;  ab b: .3·.2 = .06;  a bb: .1·.25 = .025;  abb: .05. All: .139.
        let all = 0.139;
        let by_hand = [0.004 + 0.025, 2.0 * 0.004 + 0.06, 0.06, 0.025, 0.05].map(|x| 2.0 * x / all);
        for (found, wanted) in expected.iter().zip(by_hand) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
        assert_eq!(lattice.best(&[0, 1, 1], &trie, &scores, GAP), [1, 2]);
        assert_eq!(lattice.best(&[0, 1, 1], &trie, &scores, 2), [4]);
        assert_eq!(lattice.best(&[0, GAP, 1], &trie, &scores, GAP), [1, GAP, 0]);
        assert!(lattice.best(&[7], &trie, &scores, GAP).is_empty());
    }
}
