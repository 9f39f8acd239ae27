//! Disjoint training, validation and test splits.

use super::{Story, story};

/// Three sets of stories; none of one occurs in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    /// The training split.
    pub train: Vec<Story>,
    /// The validation split.
    pub validation: Vec<Story>,
    /// The test split.
    pub test: Vec<Story>,
}

/// Generates `train` training stories, and `held_out` validation and as many test stories.
///
/// The split of a story is a function of its text, whatever the seed and the sizes: the training
/// stories of one seed are disjoint from the test stories of another. Stories are sampled
/// independently and duplicates are not removed; there are so many that none occurs twice
/// ([`super::entropy`]).
pub fn generate(train: usize, held_out: usize, seed: u64) -> Splits {
    let mut splits = Splits { train: Vec::new(), validation: Vec::new(), test: Vec::new() };
    let mut n = 0;
    while splits.train.len() < train
        || splits.validation.len() < held_out
        || splits.test.len() < held_out
    {
        let story = story(seed, n);
        n += 1;
        let (set, room) = match hash(&story.text) >> 60 {
            // One in sixteen each.
            0 => (&mut splits.validation, held_out),
            1 => (&mut splits.test, held_out),
            _ => (&mut splits.train, train),
        };
        if set.len() < room {
            set.push(story);
        }
    }
    splits
}

/// FNV-1a, whose high bits mix best: simple, and the same everywhere.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
