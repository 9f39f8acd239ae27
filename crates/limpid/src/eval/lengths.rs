//! BLEU by source length: shows models that fail on long sentences.
//!
//! ```
//! use limpid::eval::lengths::bleu_by_length;
//! use limpid::eval::{Bleu, BleuTokenizer};
//!
//! let sources = ["Merci", "Le petit chat noir dort"];
//! let hypotheses = ["Thanks", "The small black cat sleeps"];
//! let references = [vec!["Thanks"], vec!["The little black cat sleeps"]];
//! let bleu = Bleu::default();
//! let groups =
//!     bleu_by_length(&bleu, BleuTokenizer::V13a, &[3], &sources, &hypotheses, &references)?;
//! assert_eq!((groups[0].to, groups[0].lines), (Some(3), 1));
//! assert_eq!((groups[1].from, groups[1].to), (4, None));
//! # Ok::<(), limpid::error::EvalError>(())
//! ```

use super::metric::count_lines;
use super::{Bleu, BleuScore, BleuTokenizer, EvalError, signature, words};

/// The longest source, in words, of every group but the last, which is unbounded.
pub const LENGTH_BOUNDS: [usize; 6] = [5, 10, 15, 20, 30, 50];

/// The lines whose sources are of similar length.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthGroup {
    /// Words of the shortest source that belongs here.
    pub from: usize,
    /// Words of the longest one; none in the last group.
    pub to: Option<usize>,
    /// How many lines there are, at least one.
    pub lines: usize,
    /// BLEU of these lines.
    pub score: BleuScore,
}

/// BLEU of the lines whose source has up to `longest[0]` words, then up to `longest[1]`, …, then
/// more; groups without lines are left out. Words of the source are counted as `tokenizer` sees
/// them.
/// # Errors
/// If there is not one source, hypothesis and reference per line.
/// # Panics
/// If `longest` is not strictly increasing.
#[track_caller]
pub fn bleu_by_length(
    bleu: &Bleu,
    tokenizer: BleuTokenizer,
    longest: &[usize],
    sources: &[&str],
    hypotheses: &[&str],
    references: &[Vec<&str>],
) -> Result<Vec<LengthGroup>, EvalError> {
    assert!(longest.is_sorted_by(|a, b| a < b), "bleu_by_length: {longest:?} is not increasing");
    if sources.len() != hypotheses.len() {
        let (sources, hypotheses) = (sources.len(), hypotheses.len());
        return Err(EvalError::SourceMismatch { sources, hypotheses });
    }
    let counts = count_lines(bleu, hypotheses, references)?;
    let mut members = vec![Vec::new(); longest.len() + 1];
    for (i, source) in sources.iter().enumerate() {
        let length = words(&tokenizer.tokenize(source)).count();
        members[longest.partition_point(|most| *most < length)].push(i);
    }
    let signature = signature(bleu, references, None);
    let group = |(g, lines): (usize, Vec<usize>)| LengthGroup {
        from: if g == 0 { 0 } else { longest[g - 1] + 1 },
        to: longest.get(g).copied(),
        lines: lines.len(),
        score: BleuScore {
            signature: signature.clone(),
            ..bleu.explain(&counts.sum(lines.into_iter()))
        },
    };
    Ok(members.into_iter().enumerate().filter(|(_, lines)| !lines.is_empty()).map(group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_scores_as_its_lines_alone_do() {
        let sources = ["un", "un deux trois", "a b c d e", "un deux", "", "a b c, d"];
        let hypotheses =
            ["one", "one two three four", "a b c d x", "one two", "the cat sat", "a b c, d e"];
        let references: Vec<Vec<&str>> =
            ["one", "one two three five", "a b c d e", "two one", "the cat sat", "a b c, d f"]
                .map(|line| vec![line])
                .into();
        let bleu = Bleu::default();
        let groups = bleu_by_length(
            &bleu,
            BleuTokenizer::V13a,
            &[2, 3, 4],
            &sources,
            &hypotheses,
            &references,
        )
        .unwrap();

        let lines: [&[usize]; 3] = [&[0, 3, 4], &[1], &[2, 5]];
        let shape: Vec<_> =
            groups.iter().map(|group| (group.from, group.to, group.lines)).collect();
        assert_eq!(shape, [(0, Some(2), 3), (3, Some(3), 1), (5, None, 2)]);
        for (group, lines) in groups.iter().zip(lines) {
            let hypotheses: Vec<&str> = lines.iter().map(|i| hypotheses[*i]).collect();
            let references: Vec<Vec<&str>> = lines.iter().map(|i| references[*i].clone()).collect();
            assert_eq!(group.score, bleu.corpus(&hypotheses, &references).unwrap());
        }
    }

    #[test]
    fn there_must_be_one_source_per_hypothesis() {
        let error = bleu_by_length(
            &Bleu::default(),
            BleuTokenizer::V13a,
            &LENGTH_BOUNDS,
            &["un"],
            &["one", "two"],
            &[],
        );
        assert_eq!(error, Err(EvalError::SourceMismatch { sources: 1, hypotheses: 2 }));
    }
}
