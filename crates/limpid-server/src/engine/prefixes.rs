//! Prompts that begin alike: the keys and values of their first blocks are computed once.
//!
//! ```text
//! prompt of 200 tokens  [ 64 ][ 64 ][ 64 ] 8       three blocks are remembered
//! the next prompt       [ 64 ][ 64 ] 50            begins with two of them: 50 rows are computed
//! ```
//!
//! A block is found by the client and a hash of all tokens up to its end, and the tokens are
//! compared. Clients do not share blocks: the time of an answer would tell what others asked. Only
//! prompts are remembered, not what was generated. The least recently used one is forgotten first.

use limpid::generate::Slot;
use limpid::hash::hash_bytes;
use std::collections::{BTreeMap, HashMap};

/// Tokens of a block.
pub const BLOCK: usize = 64;

/// Where the past of a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the shard.
    pub shard: usize,
    /// The sequence.
    pub slot: Slot,
}

struct Remembered {
    client: u64,
    /// Whole blocks.
    tokens: Vec<u32>,
    place: Place,
    used: u64,
}

/// The prompts of one model.
pub struct Prefixes {
    /// Bytes of keys and values.
    budget: u64,
    bytes_per_token: u64,
    clock: u64,
    prompts: BTreeMap<u64, Remembered>,
    /// From the client and the hash of tokens to the prompt that begins with them.
    blocks: HashMap<(u64, u64), u64>,
}

impl Prefixes {
    /// None yet; at most so many bytes, each token counted in every prompt that has it.
    pub fn new(budget: u64, bytes_per_token: u64) -> Self {
        let (prompts, blocks) = (BTreeMap::new(), HashMap::new());
        Self { budget, bytes_per_token, clock: 0, prompts, blocks }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        let tokens: usize = self.prompts.values().map(|prompt| prompt.tokens.len()).sum();
        tokens as u64 * self.bytes_per_token
    }

    /// The longest known beginning of a prompt: where it is, and its tokens. At least two tokens of
    /// the prompt are left: their logits are needed, and one row alone is computed differently.
    pub fn find(&mut self, client: u64, prompt: &[u32]) -> Option<(Place, usize)> {
        let most = prompt.len().saturating_sub(2) / BLOCK;
        let keys = keys(client, &prompt[..most * BLOCK]);
        self.clock += 1;
        for (blocks, key) in keys.iter().enumerate().rev() {
            let tokens = (blocks + 1) * BLOCK;
            let known = self.blocks.get(key).and_then(|id| self.prompts.get_mut(id));
            if let Some(known) = known
                && known.tokens[..tokens] == prompt[..tokens]
            {
                known.used = self.clock;
                return Some((known.place, tokens));
            }
        }
        None
    }

    /// Whether a prompt is worth remembering: it has a whole block that is not known, and fits.
    pub fn wants(&self, client: u64, prompt: &[u32]) -> bool {
        let tokens = whole(prompt);
        let fits = tokens.len() as u64 * self.bytes_per_token <= self.budget;
        let known = || {
            let key = keys(client, tokens).pop();
            let id = key.and_then(|key| self.blocks.get(&key));
            id.is_some_and(|id| self.prompts[id].tokens.starts_with(tokens))
        };
        !tokens.is_empty() && fits && !known()
    }

    /// Remembers the whole blocks of a prompt, which are at this place. Gives the places that are
    /// no longer needed.
    pub fn insert(&mut self, client: u64, prompt: &[u32], place: Place) -> Vec<Place> {
        let tokens = whole(prompt).to_vec();
        self.clock += 1;
        let id = self.clock;
        // A prompt that this one begins with is found in it.
        let covered = |old: &Remembered| old.client == client && tokens.starts_with(&old.tokens);
        let mut dropped: Vec<u64> =
            self.prompts.iter().filter(|(_, old)| covered(old)).map(|(id, _)| *id).collect();
        self.prompts.insert(id, Remembered { client, tokens, place, used: id });
        let mut bytes = self.bytes();
        let of = |id: &u64| self.prompts[id].tokens.len() as u64 * self.bytes_per_token;
        bytes -= dropped.iter().map(of).sum::<u64>();
        let mut by_age: Vec<(u64, u64)> =
            self.prompts.iter().map(|(id, prompt)| (prompt.used, *id)).collect();
        by_age.sort_unstable();
        for (_, old) in by_age {
            if bytes > self.budget && !dropped.contains(&old) {
                bytes -= of(&old);
                dropped.push(old);
            }
        }
        let places = dropped.iter().filter_map(|id| self.prompts.remove(id));
        let places = places.map(|prompt| prompt.place).collect();
        self.index();
        places
    }

    /// Every block leads to the newest prompt that has it.
    fn index(&mut self) {
        self.blocks.clear();
        for (id, Remembered { client, tokens, .. }) in &self.prompts {
            self.blocks.extend(keys(*client, tokens).into_iter().map(|key| (key, *id)));
        }
    }
}

fn whole(prompt: &[u32]) -> &[u32] {
    &prompt[..prompt.len() / BLOCK * BLOCK]
}

/// A key for each whole block: of all tokens up to its end.
fn keys(client: u64, tokens: &[u32]) -> Vec<(u64, u64)> {
    let mut hash = 0_u64;
    let key = |block: &[u32]| {
        let ids = block.iter().flat_map(|id| id.to_le_bytes());
        let bytes: Vec<u8> = hash.to_le_bytes().into_iter().chain(ids).collect();
        hash = hash_bytes(&bytes);
        (client, hash)
    };
    tokens.chunks_exact(BLOCK).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::generate::{DecoderSlots, Slots};
    use limpid::model::config::DecoderConfig;
    use limpid::model::{Model, Stack};

    /// Names of sequences.
    fn places(count: usize) -> Vec<Place> {
        let model = Model::new(DecoderConfig::gpt2(9, 8, 1, 1, 4), 1).unwrap();
        let Stack::Decoder(decoder) = &model.stack else { unreachable!() };
        let mut slots = DecoderSlots::new(decoder, &model.params, 8);
        let opened = slots.open(&vec![&[][..]; count]);
        opened.into_iter().map(|slot| Place { shard: 0, slot }).collect()
    }

    fn prompt(blocks: &[u32], rest: usize) -> Vec<u32> {
        let tokens = blocks.iter().flat_map(|block| [*block; BLOCK]);
        tokens.chain(std::iter::repeat_n(9, rest)).collect()
    }

    #[test]
    fn the_longest_known_beginning_is_found_and_two_tokens_are_left() {
        let at = places(2);
        let mut known = Prefixes::new(1_000_000, 1);
        assert_eq!(known.insert(1, &prompt(&[1, 2, 3], 5), at[0]), []);
        assert_eq!(known.find(1, &prompt(&[1, 2, 3], 2)), Some((at[0], 3 * BLOCK)));
        assert_eq!(known.find(1, &prompt(&[1, 2, 3], 1)), Some((at[0], 2 * BLOCK)));
        assert_eq!(known.find(1, &prompt(&[1, 2, 4], 9)), Some((at[0], 2 * BLOCK)));
        assert_eq!(known.find(1, &prompt(&[4, 2, 3], 9)), None, "all tokens before count");
        assert_eq!(known.find(2, &prompt(&[1, 2, 3], 9)), None, "clients share nothing");
        assert!(!known.wants(1, &prompt(&[1, 2], 9)) && known.wants(1, &prompt(&[1, 2, 4], 0)));
        // A prompt that goes on takes the place of the shorter one.
        assert_eq!(known.insert(1, &prompt(&[1, 2, 3, 4], 0), at[1]), [at[0]]);
        assert_eq!(known.find(1, &prompt(&[1, 2], 9)), Some((at[1], 2 * BLOCK)));
    }

    #[test]
    fn the_least_recently_used_prompts_are_forgotten_and_the_bound_holds() {
        let at = places(4);
        let mut known = Prefixes::new(5 * BLOCK as u64 * 10, 10);
        assert!(!known.wants(1, &prompt(&[1; 6], 0)), "it would never fit");
        known.insert(1, &prompt(&[1, 2], 0), at[0]);
        known.insert(1, &prompt(&[1, 3], 0), at[1]);
        assert!(known.find(1, &prompt(&[1, 2], 9)).is_some());
        assert_eq!(known.insert(1, &prompt(&[4, 5], 0), at[2]), [at[1]]);
        assert_eq!(known.bytes(), 4 * BLOCK as u64 * 10);
        assert_eq!(known.find(1, &prompt(&[1, 3], 9)), Some((at[0], BLOCK)), "the shared block");
    }
}
