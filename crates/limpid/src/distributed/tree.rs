//! The fixed binary tree over the micro-batches of a step, and each rank's share of them.
//!
//! A node is a range of micro-batches; its children are its halves, the left one larger if they
//! differ. So the ranks of a power of two have one node each, whatever the number of
//! micro-batches, and other worlds a few nodes per rank.
//!
//! ```text
//! 0..5 ─┬─ 0..3 ─┬─ 0..2 ─┬─ 0      sums: ((0 + 1) + 2) + (3 + 4)
//!       │        └─ 2     └─ 1
//!       └─ 3..5 ─┬─ 3
//!                └─ 4
//! ```

use std::ops::Range;

fn halves(node: &Range<usize>) -> [Range<usize>; 2] {
    let middle = node.start + node.len().div_ceil(2);
    [node.start..middle, middle..node.end]
}

/// The micro-batches of a rank: consecutive ones, about as many for each.
///
/// # Panics
/// If there are fewer micro-batches than ranks.
#[track_caller]
pub fn share(micro_batches: usize, size: usize, rank: usize) -> Range<usize> {
    assert!(micro_batches >= size, "{micro_batches} micro-batches for {size} ranks");
    if !size.is_power_of_two() {
        return micro_batches * rank / size..micro_batches * (rank + 1) / size;
    }
    // The node of this rank: the bits of its number, from the highest, choose the halves.
    let bits = (0..size.trailing_zeros()).rev();
    bits.fold(0..micro_batches, |node, bit| {
        let [left, right] = halves(&node);
        if rank >> bit & 1 == 0 { left } else { right }
    })
}

/// The largest nodes that make up a range, in order.
pub fn nodes(micro_batches: usize, range: &Range<usize>) -> Vec<Range<usize>> {
    fn collect(node: Range<usize>, range: &Range<usize>, found: &mut Vec<Range<usize>>) {
        if node.start >= range.end || node.end <= range.start {
            return;
        }
        if range.start <= node.start && node.end <= range.end {
            return found.push(node);
        }
        halves(&node).into_iter().for_each(|half| collect(half, range, found));
    }
    let mut found = Vec::new();
    collect(0..micro_batches, range, &mut found);
    found
}

/// What a sum over the tree is made of.
pub trait Terms {
    /// A sum, or a part of it.
    type Sum;

    /// A node whose sum is known; none where it is that of its halves.
    fn known(&mut self, node: &Range<usize>) -> Option<Self::Sum>;

    /// The sum of two nodes side by side.
    fn add(&mut self, left: Self::Sum, right: Self::Sum) -> Self::Sum;
}

/// The sum of a node in the order of the tree.
pub fn sum<T: Terms>(node: Range<usize>, terms: &mut T) -> T::Sum {
    if let Some(known) = terms.known(&node) {
        return known;
    }
    assert!(node.len() > 1, "nobody knows micro-batch {}", node.start);
    let [left, right] = halves(&node);
    let (left, right) = (sum(left, terms), sum(right, terms));
    terms.add(left, right)
}

/// The sum of one number per micro-batch.
pub fn sum_of(numbers: &[f32]) -> f32 {
    struct Numbers<'a>(&'a [f32]);
    impl Terms for Numbers<'_> {
        type Sum = f32;
        fn known(&mut self, node: &Range<usize>) -> Option<f32> {
            (node.len() == 1).then(|| self.0[node.start])
        }
        fn add(&mut self, left: f32, right: f32) -> f32 {
            left + right
        }
    }
    if numbers.is_empty() { 0.0 } else { sum(0..numbers.len(), &mut Numbers(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_consecutive_and_about_equal_and_a_power_of_two_has_one_node_each() {
        for micro_batches in 1..40 {
            for size in 1..=micro_batches {
                let shares: Vec<_> =
                    (0..size).map(|rank| share(micro_batches, size, rank)).collect();
                assert_eq!((shares[0].start, shares[size - 1].end), (0, micro_batches));
                assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
                let lengths = || shares.iter().map(Range::len);
                let spread = lengths().max().unwrap() - lengths().min().unwrap();
                assert!(lengths().min() > Some(0) && spread <= 1, "{micro_batches}, {size}");
                for share in shares {
                    let nodes = nodes(micro_batches, &share);
                    assert_eq!(
                        (nodes[0].start, nodes[nodes.len() - 1].end),
                        (share.start, share.end)
                    );
                    assert!(!size.is_power_of_two() || nodes.len() == 1);
                }
            }
        }
    }

    /// The order of a sum, written out.
    struct Written<'a>(&'a [Range<usize>]);

    impl Terms for Written<'_> {
        type Sum = String;
        fn known(&mut self, node: &Range<usize>) -> Option<String> {
            if !self.0.contains(node) {
                return None;
            }
            // As whoever has this node sums it.
            let leaves: Vec<_> = node.clone().map(|i| i..i + 1).collect();
            match node.len() {
                1 => Some(node.start.to_string()),
                _ => Some(sum(node.clone(), &mut Written(&leaves))),
            }
        }
        fn add(&mut self, left: String, right: String) -> String {
            format!("({left}+{right})")
        }
    }

    #[test]
    fn the_order_of_a_sum_does_not_depend_on_the_number_of_ranks() {
        for (micro_batches, want) in
            [(1, "0"), (3, "((0+1)+2)"), (4, "((0+1)+(2+3))"), (6, "(((0+1)+2)+((3+4)+5))")]
        {
            for size in 1..=micro_batches {
                let known: Vec<_> = (0..size)
                    .flat_map(|rank| nodes(micro_batches, &share(micro_batches, size, rank)))
                    .collect();
                assert_eq!(sum(0..micro_batches, &mut Written(&known)), want, "{size} ranks");
            }
        }
    }

    #[test]
    fn numbers_are_added_along_the_tree() {
        let numbers = [1.0, 1e8, -1e8, 0.5];
        assert_eq!(sum_of(&numbers), (1.0 + 1e8) + (-1e8 + 0.5));
        assert_eq!(sum_of(&[]), 0.0);
    }
}
