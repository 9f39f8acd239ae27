//! How far apart the vectors of positions are.

use super::super::{Estimate, Finding, Verdict};
use limpid::nn::PositionEncoding;
use limpid::nn::{Named, Positions};
use limpid::report::{Axis, Chart, Series};

/// How far apart the vectors of positions p and p + k are, for each k: mean, smallest and largest
/// over p.
fn by_offset(table: &[f32], rows: usize) -> Vec<[f64; 3]> {
    let c = table.len() / rows;
    let row = |p: usize| &table[p * c..(p + 1) * c];
    let apart = |p: usize, q: usize| {
        row(p).iter().zip(row(q)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    };
    let offset = |k: usize| {
        let all: Vec<f64> = (0..rows - k).map(|p| apart(p, p + k)).collect();
        let (low, high) =
            all.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
        [all.iter().sum::<f64>() / all.len() as f64, low, high]
    };
    (1..rows).map(offset).collect()
}

/// What the vectors of positions say about how far apart two words are: findings, and a picture.
pub(super) fn distances(learned: &[Vec<f32>], l: usize) -> (Vec<Finding>, Chart) {
    let fixed = |kind: Positions| match PositionEncoding::new(
        kind,
        &mut limpid_tensor::params::Params::builder(),
        "",
        [l, l],
        1.0,
    ) {
        PositionEncoding::Fixed(table) => by_offset(table.data(), l),
        _ => unreachable!("{} positions are computed", kind.name()),
    };
    let (one_hot, waves) = (fixed(Positions::OneHot), fixed(Positions::Sinusoidal));
    let trained: Vec<_> = learned.iter().map(|table| by_offset(table, l)).collect();
    let equal = one_hot
        .iter()
        .all(|[_, low, high]| (high - low) / high < 1e-6 && (high - one_hot[0][2]).abs() < 1e-6);
    let uneven = waves.iter().map(|[mean, low, high]| (high - low) / mean).fold(0.0, f64::max);
    let nearest = waves[1..].iter().all(|offset| offset[0] > waves[0][0]);
    let falls = (1..waves.len()).find(|k| waves[*k][0] < waves[k - 1][0]);
    // A mean over the far half of the offsets.
    let far = |offsets: &[[f64; 3]]| {
        let half = &offsets[offsets.len() / 2..];
        half.iter().map(|offset| offset[0]).sum::<f64>() / half.len() as f64
    };
    let nearer = Estimate::of(
        &trained.iter().map(|offsets| 1.0 - offsets[0][0] / far(offsets)).collect::<Vec<_>>(),
    );
    let findings = vec![
        Finding::observation(
            "one-hot positions have no notion of distance",
            format!(
                "any two of {l} are {} far apart",
                if equal { "equally" } else { "not equally" }
            ),
        ),
        Finding::new(
            "sinusoidal positions: neighbours are nearest",
            Verdict::of(nearest),
            format!("neighbours are {:.3} apart, the far half {:.3}", waves[0][0], far(&waves)),
        ),
        Finding::observation(
            "sinusoidal positions: how far apart depends on the offset, but does not always grow \
             with it",
            format!(
                "the same offset differs by at most {:.4}%; the distance grows up to an offset of \
                 {}",
                100.0 * uneven,
                falls.map_or((l - 1).to_string(), |k| format!(
                    "{k}, and {} apart is nearer than that",
                    k + 1
                ))
            ),
        ),
        Finding::observation(
            "learned positions: neighbours against distant words",
            format!("neighbours are nearer than the far half by a part of {nearer}"),
        ),
    ];
    let relative = |name: &str, offsets: &[[f64; 3]]| {
        let mean = offsets.iter().map(|o| o[0]).sum::<f64>() / offsets.len() as f64;
        Series::line(
            name,
            offsets.iter().enumerate().map(|(k, o)| (k as f64 + 1.0, o[0] / mean)).collect(),
        )
    };
    let series = vec![
        relative("one-hot", &one_hot),
        relative("learned (first seed)", &trained[0]),
        relative("sinusoidal", &waves),
    ];
    let y = Axis::linear("distance, 1 is the mean").including(0.0);
    (
        findings,
        Chart::new("How far apart positions are", Axis::linear("positions apart"), y, series),
    )
}
