//! What is judged: in range, one position beyond it, and far away.

use super::super::{Estimate, Finding, Verdict};
use super::{Kind, MARGIN, Sizes};

/// Whether positions help where they were trained.
pub(super) fn in_range(kinds: &[Kind]) -> Vec<Finding> {
    let known = |kind: &Kind| kind.places[0].clone().expect("every kind knows its own positions");
    let (none, others) = kinds.split_first().expect("there are six");
    let finding = |kind: &Kind| {
        let better = Estimate::of_differences(&known(none), &known(kind));
        let what = format!("{} positions are better than none where they were trained", kind.name);
        Finding::new(what, better.is_above(0.0), format!("by {better} nats per token"))
    };
    others.iter().map(finding).collect()
}

/// What happens beyond the trained positions. `refusal` is the error of a one-hot table that is too
/// long, `learned_rows` the length of the trained one.
pub(super) fn beyond(
    kinds: &[Kind],
    sizes: &Sizes,
    refusal: Option<String>,
    same_numbers: bool,
    learned_rows: usize,
) -> Vec<Finding> {
    let l = sizes.context;
    let [none, one_hot, learned, endless @ ..] = kinds else { unreachable!("there are six") };
    let untrained = rise(edge(learned));
    let end = sizes.end();
    let mut findings = vec![
        Finding::new(
            format!("one-hot positions cannot be asked for position {}", l + 1),
            Verdict::of(refusal.is_some() && one_hot.edge[1].is_none()),
            refusal.map_or("they can".into(), |error| error.replace('\n', "; ")),
        ),
        Finding::new(
            format!(
                "learned positions have no vector for position {}: with an untrained one there \
                 words cost more (by over {MARGIN} nats)",
                l + 1
            ),
            untrained.is_above(MARGIN),
            format!(
                "the table has {learned_rows} rows; with one more untrained the loss rises by \
                 {untrained} nats, at {} to {end} by {}",
                sizes.far + 1,
                rise(far(learned))
            ),
        ),
        Finding::observation(
            format!("sinusoidal, rotary and relative positions can be asked for position {end}"),
            if same_numbers {
                "and the model has not one parameter more"
            } else {
                "but the model has more parameters"
            },
        ),
    ];
    for kind in endless {
        findings.extend(extrapolates(kind, none, sizes));
    }
    findings
}

/// Whether the loss of the same words stays as it is one position, and many, beyond the trained.
fn extrapolates(kind: &Kind, none: &Kind, sizes: &Sizes) -> [Finding; 2] {
    let (l, name, end) = (sizes.context, kind.name, sizes.end());
    let (next, distant) = (rise(edge(kind)), rise(far(kind)));
    [
        Finding::new(
            format!(
                "with {name} positions, position {} costs as much as position {l} (at most \
                 {MARGIN} nats more)",
                l + 1
            ),
            next.is_below(MARGIN),
            format!(
                "the loss of the same words rises by {next} nats; without positions by {}",
                rise(edge(none))
            ),
        ),
        Finding::new(
            format!(
                "with {name} positions, words at positions {} to {end} cost as much as in range",
                sizes.far + 1
            ),
            distant.is_below(MARGIN),
            format!(
                "the loss of the same words rises by {distant} nats; without positions by {}",
                rise(far(none))
            ),
        ),
    ]
}

/// What the loss rises by from the last trained position to the next one.
fn edge(kind: &Kind) -> Option<Estimate> {
    Some(Estimate::of_differences(kind.edge[1].as_ref()?, kind.edge[0].as_ref()?))
}

/// What the loss rises by from the trained positions to the last block.
fn far(kind: &Kind) -> Option<Estimate> {
    let last = kind.places.last()?.as_ref()?;
    Some(Estimate::of_differences(last, kind.places[0].as_ref()?))
}

fn rise(rise: Option<Estimate>) -> Estimate {
    rise.expect("this kind can be asked anywhere")
}
