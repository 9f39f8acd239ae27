//! Sampling: from one row of logits to a random token.
//!
//! ```text
//! temperature T   z[j] ← (z[j] − max z) / T      T → 0 leaves the largest, T → ∞ makes all alike
//! top-k           the k largest stay
//! top-p           the smallest set of the largest stays whose probabilities sum to ≥ p
//!                                                              (nucleus; Holtzman et al. 2020)
//! sample          the first j with u < p[0] + … + p[j],  u uniform in [0, 1)
//! ```
//!
//! Every filter works on one row of logits (v) in place: an excluded token gets −∞, so its
//! probability is exactly 0, and filters can follow each other. [`SamplingFilter::apply`] runs them
//! in the order of `transformers`: temperature, top-k, top-p. Of equal logits the one with the
//! smaller index counts as larger, so the same logits give the same tokens on every machine. Logits
//! are numbers or −∞; the caller refuses NaN.

use super::argmax;
use super::logits_processor::out_of_range;
use crate::error::Result;
use limpid_tensor::kernels::softmax::softmax_forward;
use std::cmp::Ordering;

/// Probabilities are f32: a mass this close to p has reached it. Without it, rounding would decide
/// whether top-p 0.7 of (0.5, 0.2, …) keeps two tokens or three.
pub(super) const MASS_ROUNDING: f64 = 1e-6;

/// Tokens that top-p sorts first; most distributions need no more.
const FIRST_SORTED: usize = 64;

/// Temperature, top-k and top-p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingFilter {
    /// T ≥ 0: 1 changes nothing, 0 keeps the most likely token alone.
    pub temperature: f32,
    /// How many tokens stay, at least 1; `None` for all.
    pub top_k: Option<usize>,
    /// The probability mass that stays, in [0, 1]: 0 keeps one token, 1 keeps all.
    pub top_p: f32,
}

impl Default for SamplingFilter {
    /// Changes nothing.
    fn default() -> Self {
        Self { temperature: 1.0, top_k: None, top_p: 1.0 }
    }
}

impl SamplingFilter {
    /// Checks every setting.
    /// # Errors
    /// [`OutOfRange`](crate::error::GenerationError::OutOfRange).
    pub fn validate(&self) -> Result<()> {
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return Err(out_of_range("temperature", self.temperature, "a number ≥ 0"));
        }
        if self.top_k == Some(0) {
            return Err(out_of_range("top_k", 0, "at least 1"));
        }
        if !(0.0..=1.0).contains(&self.top_p) {
            return Err(out_of_range("top_p", self.top_p, "in [0, 1]"));
        }
        Ok(())
    }

    /// Temperature, then top-k, then top-p, on one row of logits.
    pub fn apply(&self, logits: &mut [f32]) {
        temperature(logits, self.temperature);
        if let Some(k) = self.top_k {
            top_k(logits, k);
        }
        top_p(logits, self.top_p);
    }
}

/// Divides the logits by `t`, after moving the largest to 0: probabilities do not change, and no
/// division overflows. With `t` = 0 the largest stays alone.
/// # Panics
/// If `t` is negative or not a number.
#[track_caller]
pub fn temperature(logits: &mut [f32], t: f32) {
    assert!(t.is_finite() && t >= 0.0, "temperature {t}");
    if logits.is_empty() || t == 1.0 {
        return;
    }
    let best = argmax(logits);
    let max = logits[best];
    for (j, z) in logits.iter_mut().enumerate() {
        *z = match (j == best, t == 0.0 || *z == f32::NEG_INFINITY) {
            (true, _) => 0.0,
            (false, true) => f32::NEG_INFINITY,
            (false, false) => (*z - max) / t,
        };
    }
}

/// Keeps exactly the `k` largest logits, or all if there are no more; of equal ones, those with the
/// smaller index.
/// # Panics
/// If `k` is 0.
#[track_caller]
pub fn top_k(logits: &mut [f32], k: usize) {
    assert!(k > 0, "top-k 0 would leave no token");
    if k >= logits.len() {
        return;
    }
    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    order.select_nth_unstable_by(k - 1, |a, b| larger_first(logits, *a, *b));
    for j in &order[k..] {
        logits[*j as usize] = f32::NEG_INFINITY;
    }
}

/// Keeps the fewest of the largest logits whose probabilities sum to at least `p`; never none.
/// # Panics
/// If `p` is not in [0, 1].
#[track_caller]
pub fn top_p(logits: &mut [f32], p: f32) {
    assert!((0.0..=1.0).contains(&p), "top-p {p} is not in [0, 1]");
    // 1 keeps every token, even those whose probability rounds to 0.
    if p == 1.0 || logits.is_empty() {
        return;
    }
    let weights = probabilities(logits);
    let mut order: Vec<u32> =
        (0..logits.len() as u32).filter(|j| logits[*j as usize] > f32::NEG_INFINITY).collect();
    let (mut kept, mut mass, mut width) = (0, 0.0_f64, FIRST_SORTED);
    // The largest first, a few at a time: sorting the whole vocabulary for the few that stay would
    // take longer than everything else.
    'sorting: while kept < order.len() {
        let rest = &mut order[kept..];
        let sorted = width.min(rest.len());
        if sorted < rest.len() {
            rest.select_nth_unstable_by(sorted - 1, |a, b| larger_first(logits, *a, *b));
        }
        rest[..sorted].sort_unstable_by(|a, b| larger_first(logits, *a, *b));
        for j in &rest[..sorted] {
            if kept > 0 && mass >= f64::from(p) - MASS_ROUNDING {
                break 'sorting;
            }
            mass += f64::from(weights[*j as usize]);
            kept += 1;
        }
        width *= 8;
    }
    order[kept..].iter().for_each(|j| logits[*j as usize] = f32::NEG_INFINITY);
}

/// softmax(logits), with the kernel that training uses.
pub fn probabilities(logits: &[f32]) -> Vec<f32> {
    let mut p = vec![0.0; logits.len()];
    if !logits.is_empty() {
        softmax_forward(&mut p, logits, logits.len());
    }
    p
}

/// Samples an index from a categorical distribution: the first with `u < p[0] + … + p[index]`, for
/// `u` uniform in [0, 1).
///
/// Where rounding leaves the sum below `u`, the last index with a probability above 0.
/// # Panics
/// If every probability is 0.
#[track_caller]
pub fn sample_categorical(probabilities: &[f32], u: f32) -> usize {
    let mut cumulative = 0.0_f64;
    let sampled = probabilities.iter().position(|p| {
        cumulative += f64::from(*p);
        // Summed in f64, compared in f32: 0.7 is not below 0.5 + 0.2.
        u < cumulative as f32
    });
    sampled
        .or_else(|| probabilities.iter().rposition(|p| *p > 0.0))
        .expect("sample_categorical: every probability is 0")
}

/// Descending by value, ascending by index where values are equal.
pub(super) fn larger_first(logits: &[f32], a: u32, b: u32) -> Ordering {
    logits[b as usize].total_cmp(&logits[a as usize]).then(a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_tensor::rng::Stream;

    const P: [f32; 5] = [0.5, 0.2, 0.15, 0.1, 0.05];
    const OUT: f32 = f32::NEG_INFINITY;

    fn logits(p: &[f32]) -> Vec<f32> {
        p.iter().map(|p| p.ln()).collect()
    }

    fn after(filter: impl Fn(&mut [f32])) -> Vec<f32> {
        let mut z = logits(&P);
        filter(&mut z);
        probabilities(&z)
    }

    #[track_caller]
    fn near(got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-6, "{got:?} is not {want:?}");
        }
    }

    #[test]
    fn temperature_sharpens_below_one_and_flattens_above() {
        for (t, want) in [
            (0.1, [0.999889, 0.000105, 0.000006, 0.0, 0.0]),
            (0.5, [0.769231, 0.123077, 0.069231, 0.030769, 0.007692]),
            (1.0, P),
            (2.0, [0.339718, 0.214856, 0.186071, 0.151926, 0.107428]),
            (100.0, [0.202422, 0.200575, 0.199999, 0.199190, 0.197814]),
        ] {
            near(&after(|z| temperature(z, t)), &want);
        }
    }

    #[test]
    fn temperature_zero_is_the_limit_and_never_a_division() {
        assert_eq!(after(|z| temperature(z, 0.0)), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(after(|z| temperature(z, 1e-40)), [1.0, 0.0, 0.0, 0.0, 0.0]);
        let mut tied = [1.0, 3.0, 3.0, OUT];
        temperature(&mut tied, 0.0);
        assert_eq!(tied, [OUT, 0.0, OUT, OUT], "the first of two equals");
        let mut huge = [1e38, -1e38, OUT];
        temperature(&mut huge, 1e-3);
        assert_eq!(probabilities(&huge), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn top_k_keeps_the_k_most_likely() {
        near(&after(|z| top_k(z, 2)), &[0.714286, 0.285714, 0.0, 0.0, 0.0]);
        near(&after(|z| top_k(z, 5)), &P);
        near(&after(|z| top_k(z, 50)), &P);
        assert_eq!(after(|z| top_k(z, 1)), [1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn of_equal_logits_top_k_keeps_the_first_ones_and_exactly_k() {
        for k in 1..=6 {
            let mut z = [1.0; 6];
            top_k(&mut z, k);
            assert!(
                z[..k].iter().all(|z| *z == 1.0) && z[k..].iter().all(|z| *z == OUT),
                "{k}: {z:?}"
            );
        }
    }

    #[test]
    fn top_p_keeps_the_smallest_set_whose_mass_reaches_p() {
        near(&after(|z| top_p(z, 0.69)), &[0.714286, 0.285714, 0.0, 0.0, 0.0]);
        near(&after(|z| top_p(z, 0.7)), &[0.714286, 0.285714, 0.0, 0.0, 0.0]);
        near(&after(|z| top_p(z, 0.71)), &[0.588235, 0.235294, 0.176471, 0.0, 0.0]);
        assert_eq!(after(|z| top_p(z, 0.0)), [1.0, 0.0, 0.0, 0.0, 0.0]);
        near(&after(|z| top_p(z, 1.0)), &P);
    }

    #[test]
    fn top_p_one_keeps_even_what_rounds_to_zero() {
        let mut z = [0.0, -200.0];
        top_p(&mut z, 1.0);
        assert_eq!(z, [0.0, -200.0]);
    }

    #[test]
    fn filters_follow_each_other_temperature_first() {
        let filter = SamplingFilter { temperature: 2.0, top_k: Some(4), top_p: 0.6 };
        // After T = 2 and top-k 4: .339718 .214856 .186071 .151926 over .892571, so two reach 0.6:
        // .3806 + .2407.
        let kept = after(|z| filter.apply(z));
        let sum = 0.339718 + 0.214856;
        near(&kept, &[0.339718 / sum, 0.214856 / sum, 0.0, 0.0, 0.0]);
        near(&after(|z| SamplingFilter::default().apply(z)), &P);
    }

    #[test]
    fn for_random_logits_a_filter_keeps_the_largest_and_as_many_as_it_promises() {
        let mut rng = Stream::new(5, 1);
        for round in 0..300 {
            let v = 1 + rng.below(40);
            // Few distinct values, so that ties happen.
            let z: Vec<f32> =
                (0..v).map(|_| rng.below(9) as f32 / 2.0 - rng.below(2) as f32).collect();
            let (k, p) = (1 + rng.below(v + 3), rng.uniform());
            let best = argmax(&z);
            let full = probabilities(&z);

            let mut by_k = z.clone();
            top_k(&mut by_k, k);
            assert_eq!(by_k.iter().filter(|z| **z > OUT).count(), k.min(v), "round {round}");

            let mut by_p = z.clone();
            top_p(&mut by_p, p);
            let kept = |j: &usize| by_p[*j] > OUT;
            let mass: f64 = (0..v).filter(kept).map(|j| f64::from(full[j])).sum();
            let least = (0..v).filter(kept).map(|j| f64::from(full[j])).fold(1.0, f64::min);
            assert!(mass >= f64::from(p) - 2e-6, "round {round}: {mass} < {p}");
            assert!(
                (0..v).filter(kept).count() == 1 || mass - least < f64::from(p),
                "round {round}: too many"
            );

            for row in [by_k, by_p] {
                assert_eq!(argmax(&row), best, "round {round}");
                assert!(row.iter().zip(&z).all(|(after, before)| *after == OUT || after == before));
                assert!((probabilities(&row).iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_sample_is_the_first_token_whose_cumulative_probability_exceeds_u() {
        for (u, want) in [(0.0, 0), (0.4, 0), (0.5, 1), (0.6, 1), (0.7, 2), (0.94, 3), (0.9999, 4)]
        {
            assert_eq!(sample_categorical(&P, u), want, "u = {u}");
        }
    }

    #[test]
    fn a_token_of_probability_zero_is_never_sampled() {
        assert_eq!(sample_categorical(&[0.0, 0.5, 0.5, 0.0], 0.0), 1);
        assert_eq!(
            sample_categorical(&[0.0, 0.5, 0.499_999, 0.0], 0.999_999_9),
            2,
            "the sum rounds below u"
        );
    }

    #[test]
    fn frequencies_of_many_samples_agree_with_the_probabilities() {
        let (mut rng, mut count, samples) = (Stream::new(1, 2), [0_u32; 5], 100_000);
        for _ in 0..samples {
            count[sample_categorical(&P, rng.uniform())] += 1;
        }
        for (n, p) in count.iter().zip(P) {
            // Four standard deviations of a binomial frequency.
            let bound = 4.0 * (p * (1.0 - p) / samples as f32).sqrt();
            assert!((*n as f32 / samples as f32 - p).abs() < bound, "{count:?}");
        }
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for bad in [
            SamplingFilter { temperature: -1.0, ..SamplingFilter::default() },
            SamplingFilter { temperature: f32::NAN, ..SamplingFilter::default() },
            SamplingFilter { temperature: f32::INFINITY, ..SamplingFilter::default() },
            SamplingFilter { top_k: Some(0), ..SamplingFilter::default() },
            SamplingFilter { top_p: 1.5, ..SamplingFilter::default() },
            SamplingFilter { top_p: f32::NAN, ..SamplingFilter::default() },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
        assert!(SamplingFilter { temperature: 0.0, top_k: Some(1), top_p: 0.0 }.validate().is_ok());
    }
}
