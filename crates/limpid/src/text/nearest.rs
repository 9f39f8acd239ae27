//! What was probably meant by a word that is not known.

/// Edits after which a word is no longer taken for a misspelling of another.
const MOST_EDITS: usize = 3;

/// The known word with the fewest edits, if they are few.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.map(|known| (edits(word, known), known)).min_by_key(|(edits, _)| *edits)?;
    (best.0 <= MOST_EDITS).then_some(best.1)
}

/// Insertions, deletions and replacements of bytes from `a` to `b` (Levenshtein distance).
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_as_levenshtein_did() {
        assert_eq!(
            (edits("kitten", "sitting"), edits("", "abc"), edits("same", "same")),
            (3, 3, 0)
        );
    }
}
