//! Counter-based random numbers: number `n` of stream `s` is a pure function of (seed, s, n).
//!
//! There is no hidden state: a position in a stream is one integer, so a resumed run continues with
//! the numbers of the uninterrupted one, and any thread can compute any element of a dropout mask.
//!
//! ```
//! use limpid_tensor::rng::Stream;
//!
//! let mut rng = Stream::new(7, 0); // seed 7, stream 0
//! let (first, second) = (rng.uniform(), rng.uniform());
//! let mut resumed = Stream::new(7, 0);
//! resumed.seek(1);
//! assert_eq!(resumed.uniform(), second);
//! assert_ne!(first, second);
//! ```
//!
//! The function is Philox4x32 with ten rounds (Salmon et al. 2011): the block cipher
//! `philox(counter, key)` with counter = (n / 4, s) and key = seed gives four numbers at a time.

/// Multipliers and key increments of Philox4x32.
const M0: u32 = 0xD251_1F53;
const M1: u32 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// Encrypts one counter: ten rounds of multiply, swap and xor with a moving key.
#[inline(always)]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let p0 = u64::from(M0) * u64::from(c0);
        let p1 = u64::from(M1) * u64::from(c2);
        (c0, c1, c2, c3) =
            ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        (k0, k1) = (k0.wrapping_add(W0), k1.wrapping_add(W1));
    }
    [c0, c1, c2, c3]
}

/// The four numbers `4·block .. 4·block + 4` of a stream.
#[inline(always)]
pub fn block(seed: u64, stream: u64, block: u64) -> [u32; 4] {
    philox(
        [block as u32, (block >> 32) as u32, stream as u32, (stream >> 32) as u32],
        [seed as u32, (seed >> 32) as u32],
    )
}

/// Number `n` of a stream.
pub fn number(seed: u64, stream: u64, n: u64) -> u32 {
    block(seed, stream, n / 4)[(n % 4) as usize]
}

/// Turns 32 random bits into a number in [0, 1): the top 24 bits, so that every value is exact in
/// f32.
#[inline(always)]
pub fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A random number generator over one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    seed: u64,
    stream: u64,
    next: u64,
}

impl Stream {
    /// Stream `stream` of `seed`, from its first number.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { seed, stream, next: 0 }
    }

    /// The index of the next number, for [`Stream::seek`].
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Continues from number `position`.
    pub fn seek(&mut self, position: u64) {
        self.next = position;
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        let bits = number(self.seed, self.stream, self.next);
        self.next += 1;
        bits
    }

    /// The next 64 random bits (two numbers of the stream).
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f32 {
        unit(self.next_u32())
    }

    /// A uniform integer in 0..n.
    ///
    /// # Panics
    /// If `n` is 0.
    #[track_caller]
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "below(0): there is no number in an empty range");
        let n = n as u64;
        // Lemire's method: the high half of the product is uniform if the (2^64 mod n) smallest low
        // halves are rejected.
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= rejected {
                return (product >> 64) as usize;
            }
        }
    }

    /// A standard normal number (Box–Muller: two numbers of the stream for one result).
    pub fn normal(&mut self) -> f32 {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * f64::from(1.0 - self.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * f64::from(self.uniform());
        (radius * angle.cos()) as f32
    }

    /// A uniformly chosen element of a slice.
    ///
    /// # Panics
    /// If the slice is empty.
    #[track_caller]
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Shuffles a slice (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that Random123, the reference implementation, publishes for philox4x32-10.
    #[test]
    fn philox_gives_the_published_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn a_stream_resumes_from_a_saved_position() {
        let mut whole = Stream::new(7, 3);
        let first: Vec<u32> = (0..10).map(|_| whole.next_u32()).collect();
        let mut resumed = Stream::new(7, 3);
        resumed.seek(6);
        assert_eq!(resumed.next_u32(), first[6]);
        assert_eq!(resumed.position(), 7);
        assert_eq!(number(7, 3, 9), first[9]);
    }

    #[test]
    fn streams_and_seeds_differ() {
        assert_ne!(number(1, 0, 0), number(1, 1, 0));
        assert_ne!(number(1, 0, 0), number(2, 0, 0));
        // The high halves of seed and stream matter, too.
        assert_ne!(number(1, 0, 0), number(1 + (1 << 40), 0, 0));
        assert_ne!(number(1, 0, 0), number(1, 1 << 40, 0));
    }

    #[test]
    fn uniform_fills_the_interval_evenly() {
        let mut rng = Stream::new(1, 0);
        let mut counts = [0_u32; 16];
        for _ in 0..160_000 {
            let u = rng.uniform();
            assert!((0.0..1.0).contains(&u));
            counts[(u * 16.0) as usize] += 1;
        }
        // Chi-square with 15 degrees of freedom: 37.7 is exceeded once in a thousand seeds.
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 37.7, "chi-square {chi2}");
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut rng = Stream::new(5, 9);
        let n = 100_000;
        let samples: Vec<f64> = (0..n).map(|_| f64::from(rng.normal())).collect();
        let mean = samples.iter().sum::<f64>() / f64::from(n);
        let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors.
        assert!(mean.abs() < 0.016, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.023, "variance {variance}");
    }

    #[test]
    fn shuffle_keeps_every_item_and_below_covers_its_range() {
        let mut rng = Stream::new(2, 2);
        let mut items: Vec<usize> = (0..100).collect();
        rng.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
        let mut seen = [false; 7];
        (0..200).for_each(|_| seen[rng.below(7)] = true);
        assert_eq!(seen, [true; 7]);
    }
}
