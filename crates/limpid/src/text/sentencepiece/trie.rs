//! A trie of pieces: which of them a text begins with.

/// A set of byte strings with a number each.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    /// The bytes of each node's children, ascending; the children themselves stand in `nodes`
    /// in the same order.
    labels: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    value: Option<u32>,
    /// The first child's index in `labels`; the child itself is one further in `nodes`, behind the
    /// root.
    first: u32,
    children: u16,
}

impl Trie {
    /// The trie of these keys, none of them empty or twice.
    pub fn new<'a>(keys: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut keys: Vec<(&[u8], u32)> =
            keys.into_iter().map(|(key, value)| (key.as_bytes(), value)).collect();
        keys.sort_unstable();
        let mut trie = Self::default();
        if keys.is_empty() {
            return trie;
        }
        // Breadth first: a node is made with the range of keys below it and its depth, and its
        // children stand together.
        let mut ranges = vec![(0, keys.len(), 0)];
        trie.nodes.push(Node { value: None, first: 0, children: 0 });
        let mut next = 0;
        while next < ranges.len() {
            let (mut from, to, depth) = ranges[next];
            // The key that ends here is the shortest and stands first.
            if keys[from].0.len() == depth {
                trie.nodes[next].value = Some(keys[from].1);
                from += 1;
            }
            trie.nodes[next].first = trie.labels.len() as u32;
            while from < to {
                let label = keys[from].0[depth];
                let same = keys[from..to].partition_point(|(key, _)| key[depth] == label);
                trie.labels.push(label);
                trie.nodes.push(Node { value: None, first: 0, children: 0 });
                trie.nodes[next].children += 1;
                ranges.push((from, from + same, depth + 1));
                from += same;
            }
            next += 1;
        }
        trie
    }

    /// The keys that a text begins with, the shortest first: their lengths and values.
    pub fn prefixes<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, u32)> + 'a {
        let mut node = self.nodes.first();
        text.iter()
            .enumerate()
            .map_while(move |(i, byte)| {
                let Node { first, children, .. } = *node?;
                let first = first as usize;
                let labels = &self.labels[first..first + usize::from(children)];
                node = labels.binary_search(byte).ok().map(|child| &self.nodes[first + child + 1]);
                node.map(|node| node.value.map(|value| (i + 1, value)))
            })
            .flatten()
    }

    /// The length of the longest key that a text begins with.
    pub fn longest_prefix(&self, text: &[u8]) -> Option<usize> {
        self.prefixes(text).last().map(|(length, _)| length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_a_search_through_the_list() {
        let keys = ["a", "ab", "abc", "b", "bcd", "é", "▁", "▁a"];
        let trie = Trie::new(keys.into_iter().zip(0..));
        for text in ["abcd", "bc", "bcd", "éa", "▁ab", "", "x", "aab"] {
            let expected: Vec<(usize, u32)> = (keys.iter().zip(0..))
                .filter(|(key, _)| text.starts_with(**key))
                .map(|(key, id)| (key.len(), id))
                .collect();
            let found: Vec<_> = trie.prefixes(text.as_bytes()).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(Trie::default().longest_prefix(b"a"), None);
    }
}
