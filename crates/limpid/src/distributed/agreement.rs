//! Whether all ranks are about to do the same: what would make their numbers differ is compared
//! before the first of them is computed.
//!
//! ```text
//! rank 0   ("version", "0.1.0")  ("instruction set", "avx512")  ("data", "5f0c…")
//! rank 1   ("version", "0.1.0")  ("instruction set", "avx2")    ("data", "5f0c…")   refused
//! ```

use super::World;
use crate::error::{DistributedError, Result};

/// What a rank is about to do: facts with their names, such as ("instruction set", "avx2").
pub type Facts = Vec<(String, String)>;

/// Compares the facts of all ranks with those of the main one.
///
/// # Errors
/// [`DistributedError::Differs`] for the first fact of the first rank that differs: the same error
/// on every rank.
pub fn check(world: &mut World, facts: &Facts) -> Result<()> {
    let lines: Vec<u8> = encode(facts);
    let all: Vec<Facts> = world.all_gather_any(&lines)?.iter().map(|own| decode(own)).collect();
    let main = &all[0];
    for (rank, own) in all.iter().enumerate() {
        let names = main.iter().chain(own).map(|(name, _)| name);
        for name in names {
            let of = |facts: &Facts| {
                facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            let (main, own) = (of(main), of(own));
            if main != own {
                let [main, own] = [main, own].map(|value| value.unwrap_or("nothing".into()));
                let what = name.clone();
                return Err(DistributedError::Differs { what, rank, own, main }.into());
            }
        }
    }
    Ok(())
}

/// Tells every rank whether this one succeeded.
///
/// # Errors
/// [`DistributedError::OtherRank`] if the main rank failed, even if this one did, too: mostly for
/// the same reason. Else the error of this rank, or `OtherRank` if another failed.
pub fn all_succeeded<T>(world: &mut World, own: Result<T>) -> Result<T> {
    let failed = world.all_gather(&[u8::from(own.is_err())]);
    let failed = match (failed, own) {
        (Ok(failed), own) if world.is_main() || failed[0] == 0 => {
            let own = own?;
            match failed.iter().position(|failed| *failed == 1) {
                None => return Ok(own),
                Some(rank) => rank,
            }
        }
        (Ok(_), _) => 0,
        (Err(lost), own) => return own.and(Err(lost)),
    };
    Err(DistributedError::OtherRank { rank: failed }.into())
}

/// Lengths and texts, one after the other.
fn encode(facts: &Facts) -> Vec<u8> {
    let texts = facts.iter().flat_map(|(name, value)| [name, value]);
    texts.flat_map(|text| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()).collect()
}

fn decode(mut bytes: &[u8]) -> Facts {
    let mut texts = std::iter::from_fn(|| {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    });
    let mut facts = Facts::new();
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        facts.push((name, value));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::threads;
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_rank_that_would_compute_something_else_is_refused_by_name() {
        let check_with = |odd: usize, name: &str, value: &str| {
            threads::run(3, |communicator| {
                let mut world = World::new(Box::new(communicator));
                let mut facts: Facts =
                    vec![("instruction set".into(), "avx512".into()), ("data".into(), "7".into())];
                if world.rank() == odd {
                    facts.retain(|(known, _)| known != name);
                    facts.push((name.into(), value.into()));
                }
                check(&mut world, &facts).err().map(|error| error.to_string())
            })
        };
        assert_eq!(check_with(1, "data", "7"), [None, None, None]);
        let want = "rank 2 has another instruction set than rank 0: avx2, not avx512";
        assert_eq!(check_with(2, "instruction set", "avx2"), vec![Some(want.to_string()); 3]);
        let want = "rank 1 has another extra than rank 0: 5, not nothing";
        assert_eq!(check_with(1, "extra", "5"), vec![Some(want.to_string()); 3]);
    }

    #[test]
    fn the_failure_of_one_rank_is_known_to_all() {
        let results = threads::run(3, |communicator| {
            let mut world = World::new(Box::new(communicator));
            let fail = |failed: &[usize]| match failed.contains(&world.rank()) {
                true => Err(Error::Interrupted),
                false => Ok(5),
            };
            let (one, two) = (fail(&[1]), fail(&[0, 1]));
            [one, two].map(|own| all_succeeded(&mut world, own).map_err(|error| error.to_string()))
        });
        let own = || Err(Error::Interrupted.to_string());
        let other = |rank| Err(format!("rank {rank} failed (its message says why)"));
        assert_eq!(results[0], [other(1), own()]);
        assert_eq!(results[1], [own(), other(0)]);
        assert_eq!(results[2], [other(1), other(0)]);
    }
}
