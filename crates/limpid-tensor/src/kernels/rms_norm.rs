//! Root-mean-square normalization: each row gets mean square 1, then a learned scale γ.
//!
//! ```text
//! x = a + b                                   (the residual connection, optional)
//! x̂ = x · rstd,  rstd = 1/√(Σ x²/c + ε)
//! y = γ · x̂        or, as Gemma stores γ:  y = (1 + γ) · x̂
//! ```
//!
//! Shapes: `a`, `b`, `x`, `y` (n, c); `gamma` (c). Saved for the backward pass: `x` (n, c), `rstd`
//! (n). Reference: Zhang and Sennrich 2019.
//!
//! [`head_norm_forward`] normalizes the heads of queries and keys in the columns of a fused
//! projection, each head by itself, and copies the values: query-key norm (Dehghani et al. 2023).

use super::layer_norm::{NormInput, add_rows, partial_sums, rows_per_partial};
use crate::simd::{LANES, sum_by, sum_lanes, vectorized};
use crate::team::{self, Parts};

/// What x̂ is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// γ.
    Weight,
    /// 1 + γ.
    OnePlusWeight,
}

impl Gain {
    #[inline(always)]
    fn offset(self) -> f32 {
        match self {
            Gain::Weight => 0.0,
            Gain::OnePlusWeight => 1.0,
        }
    }
}

/// Normalizes each row of the input into `y` (n, c), and saves its `rstd` (n).
///
/// With [`NormInput::Residual`], x is written to `sum` (n, c); with [`NormInput::Plain`], `sum` is
/// empty.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn rms_norm_forward(
    y: &mut [f32],
    sum: &mut [f32],
    rstd: &mut [f32],
    input: NormInput,
    gamma: &[f32],
    gain: Gain,
    eps: f32,
) {
    let (c, n) = (gamma.len(), rstd.len());
    let x_len = input.check(sum.len());
    assert!(
        x_len == n * c && y.len() == x_len,
        "rms norm: {x_len} elements are not {n} rows of {c}"
    );
    let rows = team::rows_per_task(c);
    let (y, sum, rstd) = (Parts::new(y), Parts::new(sum), Parts::new(rstd));
    team::run(n.div_ceil(rows), |task| {
        let (first, count) = (task * rows, rows.min(n - task * rows));
        // SAFETY: rows first .. first + count of each output belong to this task alone.
        let (y, rstd) = unsafe { (y.part(first * c, count * c), rstd.part(first, count)) };
        let range = first * c..(first + count) * c;
        match input {
            NormInput::Plain(x) => rows_forward(y, rstd, &x[range], gamma, gain, eps),
            NormInput::Residual(a, b) => {
                // SAFETY: as above.
                let sum = unsafe { sum.part(first * c, count * c) };
                add_rows(sum, &a[range.clone()], &b[range]);
                rows_forward(y, rstd, sum, gamma, gain, eps);
            }
        }
    });
}

vectorized! {
    fn rows_forward(
        y: &mut [f32],
        rstd: &mut [f32],
        x: &[f32],
        gamma: &[f32],
        gain: Gain,
        eps: f32,
    ) {
        let (c, offset) = (gamma.len(), gain.offset());
        for ((x, y), rstd) in x.chunks_exact(c).zip(y.chunks_exact_mut(c)).zip(rstd) {
            let r = 1.0 / (sum_by(x, |x| x * x) / c as f32 + eps).sqrt();
            for ((y, x), gamma) in y.iter_mut().zip(x).zip(gamma) {
                *y = (offset + gamma) * (x * r);
            }
            *rstd = r;
        }
    }
}

/// Writes dx (n, c) and dγ (c), given `dy`, the gradient by `y`.
///
/// `dsum` (n, c) or empty: the gradient by x from its other uses, which is added to dx. `partial`
/// is scratch of c·[`partial_sums`]`(n)` elements.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn rms_norm_backward(
    dx: &mut [f32],
    dgamma: &mut [f32],
    partial: &mut [f32],
    dy: &[f32],
    dsum: &[f32],
    x: &[f32],
    gamma: &[f32],
    gain: Gain,
    rstd: &[f32],
) {
    let (c, n) = (gamma.len(), rstd.len());
    assert!(
        dx.len() == n * c && dy.len() == n * c && x.len() == n * c,
        "rms norm backward: not {n} rows of {c}"
    );
    assert!(
        dsum.is_empty() || dsum.len() == n * c,
        "rms norm backward: dsum is not {n} rows of {c}"
    );
    let (rows, count) = (rows_per_partial(n), partial_sums(n));
    assert_eq!(partial.len(), c * count, "rms norm backward: scratch");
    let (dx, partials) = (Parts::new(dx), Parts::new(partial));
    team::run(count, |task| {
        let (first, last) = (n.min(task * rows), n.min((task + 1) * rows));
        // SAFETY: each task has its own partial sums and its own rows.
        let (dgamma, dx) =
            unsafe { (partials.part(task * c, c), dx.part(first * c, (last - first) * c)) };
        dgamma.fill(0.0);
        let range = first * c..last * c;
        let dsum = if dsum.is_empty() { dsum } else { &dsum[range.clone()] };
        let (dy, x) = (&dy[range.clone()], &x[range]);
        rows_backward(dx, dgamma, dy, dsum, x, gamma, gain, &rstd[first..last]);
    });
    add_partials(dgamma, partial);
}

/// out = the sum of the rows of `partial`, in a fixed order: the same bits for any number of
/// threads.
fn add_partials(out: &mut [f32], partial: &[f32]) {
    out.fill(0.0);
    for part in partial.chunks_exact(out.len()) {
        out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
    }
}

vectorized! {
    fn rows_backward(
        dx: &mut [f32],
        dgamma: &mut [f32],
        dy: &[f32],
        dsum: &[f32],
        x: &[f32],
        gamma: &[f32],
        gain: Gain,
        rstd: &[f32],
    ) {
        let (c, offset) = (gamma.len(), gain.offset());
        for (i, dx) in dx.chunks_exact_mut(c).enumerate() {
            let (dy, x, rstd) = (&dy[i * c..(i + 1) * c], &x[i * c..(i + 1) * c], rstd[i]);
            // Forward: y = g·x̂ with g = γ or 1 + γ. So dγ += dy·x̂ and dx̂ = dy·g. x̂ = x·rstd
            // depends on x directly and through rstd; the second path takes away from dx̂ its
            // projection on x̂:  dx = rstd · (dx̂ − x̂ · mean(dx̂·x̂)).
            let mut sums = [0.0; LANES];
            let whole = c / LANES * LANES;
            for j in (0..whole).step_by(LANES) {
                for l in 0..LANES {
                    let xhat = x[j + l] * rstd;
                    dgamma[j + l] += dy[j + l] * xhat;
                    sums[l] += dy[j + l] * (offset + gamma[j + l]) * xhat;
                }
            }
            let mut mean = sum_lanes(sums);
            for j in whole..c {
                let xhat = x[j] * rstd;
                dgamma[j] += dy[j] * xhat;
                mean += dy[j] * (offset + gamma[j]) * xhat;
            }
            mean /= c as f32;
            for (((dx, dy), x), gamma) in dx.iter_mut().zip(dy).zip(x).zip(gamma) {
                *dx = rstd * (dy * (offset + gamma) - x * rstd * mean);
            }
            if !dsum.is_empty() {
                // Forward: x = a + b is also the residual stream.
                dx.iter_mut().zip(&dsum[i * c..]).for_each(|(dx, dsum)| *dx += dsum);
            }
        }
    }
}

/// Adjacent heads at the start of a row, with the γ (d) that each of them is scaled by.
#[derive(Clone, Copy)]
pub struct HeadGains<'a> {
    /// Heads of queries, then heads of keys.
    pub heads: [usize; 2],
    /// Their γ.
    pub gammas: [&'a [f32]; 2],
    /// What x̂ is multiplied by.
    pub gain: Gain,
}

impl HeadGains<'_> {
    fn total(&self) -> usize {
        self.heads[0] + self.heads[1]
    }

    /// First column, width and first head of queries and of keys.
    fn segments(&self) -> [(usize, usize, usize); 2] {
        let [q, k] = self.heads.map(|heads| heads * self.gammas[0].len());
        [(0, q, 0), (q, k, self.heads[0])]
    }

    #[track_caller]
    fn check(&self, len: usize, stride: usize, rstd: usize) -> usize {
        let d = self.gammas[0].len();
        assert!(
            self.gammas[1].len() == d && self.total() * d <= stride && len.is_multiple_of(stride),
            "head norm: {} heads of {d} and {} in {len} elements, rows of {stride}",
            self.total(),
            self.gammas[1].len()
        );
        let n = len / stride;
        assert_eq!(rstd, n * self.total(), "head norm: rstd of {n} rows");
        n
    }
}

/// Normalizes each head of queries and keys at the start of each row of x (n, stride) into y, and
/// copies the other columns. Saves `rstd` (n, heads).
///
/// # Panics
/// If the heads do not fit the rows.
#[track_caller]
pub fn head_norm_forward(
    y: &mut [f32],
    rstd: &mut [f32],
    x: &[f32],
    stride: usize,
    gains: HeadGains,
    eps: f32,
) {
    let n = gains.check(x.len(), stride, rstd.len());
    assert_eq!(y.len(), x.len(), "head norm: output");
    let (rows, h) = (team::rows_per_task(stride), gains.total());
    let (y, rstd) = (Parts::new(y), Parts::new(rstd));
    team::run(n.div_ceil(rows), |task| {
        for row in task * rows..n.min((task + 1) * rows) {
            // SAFETY: each row belongs to one task.
            let (y, rstd) = unsafe { (y.part(row * stride, stride), rstd.part(row * h, h)) };
            let x = &x[row * stride..][..stride];
            for ((first, width, head), gamma) in gains.segments().into_iter().zip(gains.gammas) {
                let columns = first..first + width;
                let (y, x) = (&mut y[columns.clone()], &x[columns]);
                rows_forward(
                    y,
                    &mut rstd[head..][..width / gamma.len()],
                    x,
                    gamma,
                    gains.gain,
                    eps,
                );
            }
            let rest = h * gains.gammas[0].len();
            y[rest..].copy_from_slice(&x[rest..]);
        }
    });
}

/// Writes dx (n, stride), and dγ of queries and of keys (2, d), given `dy`. `partial` is scratch of
/// 2·d·[`partial_sums`]`(n)` elements.
///
/// # Panics
/// If the heads do not fit the rows.
#[track_caller]
pub fn head_norm_backward(
    dx: &mut [f32],
    dgammas: &mut [f32],
    partial: &mut [f32],
    dy: &[f32],
    x: &[f32],
    stride: usize,
    gains: HeadGains,
    rstd: &[f32],
) {
    let n = gains.check(x.len(), stride, rstd.len());
    let (d, h) = (gains.gammas[0].len(), gains.total());
    assert!(dx.len() == x.len() && dy.len() == x.len(), "head norm backward: lengths");
    let (rows, count) = (rows_per_partial(n), partial_sums(n));
    assert_eq!(partial.len(), 2 * d * count, "head norm backward: scratch");
    let (dx, partials) = (Parts::new(dx), Parts::new(partial));
    team::run(count, |task| {
        // SAFETY: each task has its own partial sums.
        let own = unsafe { partials.part(task * 2 * d, 2 * d) };
        own.fill(0.0);
        for row in task * rows..n.min((task + 1) * rows) {
            // SAFETY: each row belongs to one task.
            let dx = unsafe { dx.part(row * stride, stride) };
            let (dy, x) = (&dy[row * stride..][..stride], &x[row * stride..][..stride]);
            let segments = gains.segments().into_iter().zip(gains.gammas);
            for (((first, width, head), gamma), dgamma) in segments.zip(own.chunks_exact_mut(d)) {
                let (columns, rstd) = (first..first + width, &rstd[row * h + head..][..width / d]);
                let (dx, dy, x) = (&mut dx[columns.clone()], &dy[columns.clone()], &x[columns]);
                rows_backward(dx, dgamma, dy, &[], x, gamma, gains.gain, rstd);
            }
            // Forward: the other columns are copied.
            dx[h * d..].copy_from_slice(&dy[h * d..]);
        }
    });
    add_partials(dgammas, partial);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(seed: usize, len: usize) -> Vec<f32> {
        (0..len).map(|i| ((seed * 31 + i * 17) % 23) as f32 / 11.5 - 1.0).collect()
    }

    const SHAPES: [(usize, usize); 7] =
        [(1, 1), (1, 7), (3, 2), (5, 13), (17, 16), (40, 33), (130, 3)];
    const EPS: f32 = 0.1;

    /// The definition, in f64.
    fn naive(x: &[f32], gamma: &[f32], gain: Gain) -> Vec<f64> {
        let c = gamma.len();
        x.chunks(c)
            .flat_map(|x| {
                let square = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / c as f64;
                let rstd = 1.0 / (square + f64::from(EPS)).sqrt();
                let scale = move |g: &f32| f64::from(*g) + f64::from(gain.offset());
                x.iter().zip(gamma).map(move |(x, g)| scale(g) * f64::from(*x) * rstd)
            })
            .collect()
    }

    #[test]
    fn the_root_mean_square_of_three_and_four() {
        // √((9 + 16)/2) = 3.5355…
        let (mut y, mut rstd) = ([0.0; 2], [0.0]);
        let input = NormInput::Plain(&[3.0, 4.0]);
        rms_norm_forward(&mut y, &mut [], &mut rstd, input, &[1.0, 2.0], Gain::Weight, 0.0);
        assert!((y[0] - 0.848_528).abs() < 1e-6 && (y[1] - 2.262_742).abs() < 1e-6, "{y:?}");
    }

    #[test]
    fn forward_agrees_with_the_definition_with_and_without_residual() {
        for ((n, c), gain) in SHAPES.into_iter().zip([Gain::Weight, Gain::OnePlusWeight].repeat(4))
        {
            let (a, b, gamma) = (fill(1, n * c), fill(5, n * c), fill(2, c));
            let x: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let (mut y, mut sum, mut rstd) =
                (vec![f32::NAN; n * c], vec![f32::NAN; n * c], vec![0.0; n]);
            let both = NormInput::Residual(&a, &b);
            rms_norm_forward(&mut y, &mut sum, &mut rstd, both, &gamma, gain, EPS);
            assert_eq!(sum, x);
            let mut plain = vec![f32::NAN; n * c];
            let input = NormInput::Plain(&x);
            rms_norm_forward(&mut plain, &mut [], &mut rstd, input, &gamma, gain, EPS);
            assert_eq!(plain, y);
            for (y, want) in y.iter().zip(naive(&x, &gamma, gain)) {
                assert!((f64::from(*y) - want).abs() < 2e-6, "({n},{c}) {y} is not {want}");
            }
        }
    }

    /// Heads of a fused row are rows of a matrix of their own.
    #[test]
    fn the_norm_of_heads_is_the_norm_of_each_and_copies_the_rest() {
        let (n, d, stride) = (19, 5, 5 * 3 + 7);
        let (x, q, k) = (fill(3, n * stride), fill(1, d), fill(2, d));
        let gains = HeadGains { heads: [2, 1], gammas: [&q, &k], gain: Gain::Weight };
        let (mut y, mut rstd) = (vec![f32::NAN; x.len()], vec![f32::NAN; n * 3]);
        head_norm_forward(&mut y, &mut rstd, &x, stride, gains, EPS);
        for (x, y) in x.chunks(stride).zip(y.chunks(stride)) {
            let want =
                [naive(&x[..2 * d], &q, Gain::Weight), naive(&x[2 * d..3 * d], &k, gains.gain)]
                    .concat();
            assert!(y.iter().zip(want).all(|(y, want)| (f64::from(*y) - want).abs() < 2e-6));
            assert_eq!(y[3 * d..], x[3 * d..]);
        }
    }

    #[test]
    #[should_panic(expected = "rms norm: 7 elements are not 2 rows of 3")]
    fn rows_that_do_not_fit_panic_with_their_sizes() {
        let input = NormInput::Plain(&[0.0; 7]);
        rms_norm_forward(&mut [], &mut [], &mut [0.0; 2], input, &[0.0; 3], Gain::Weight, EPS);
    }
}
