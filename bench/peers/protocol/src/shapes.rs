//! The four models of bench/torch_models.py.

/// A GPT as GPT-2 is built: pre-norm, learned positions, GELU by tanh, the output tied to the
/// embedding.
#[derive(Clone, Copy)]
pub struct Gpt {
    pub layers: usize,
    pub heads: usize,
    pub width: usize,
    pub context: usize,
    pub batch: usize,
    pub vocab: usize,
}

/// An encoder-decoder as in Vaswani et al. 2017: post-norm, sinusoids, ReLU, one table for both
/// sides and the output.
#[derive(Clone, Copy)]
pub struct Seq2Seq {
    /// Of the encoder, and of the decoder.
    pub layers: usize,
    pub heads: usize,
    pub width: usize,
    pub ffn: usize,
    pub batch: usize,
    /// Tokens of a source, and of a target.
    pub length: usize,
    pub vocab: usize,
    pub label_smoothing: f64,
}

pub enum Shape {
    Gpt(Gpt),
    Seq2Seq(Seq2Seq),
}

impl Shape {
    pub fn named(name: &str) -> Result<Self, String> {
        let gpt = |layers, heads, width, context, batch, vocab| {
            Shape::Gpt(Gpt { layers, heads, width, context, batch, vocab })
        };
        match name {
            "T" => Ok(gpt(4, 4, 128, 64, 12, 65)),
            "S" => Ok(gpt(6, 6, 384, 256, 8, 256)),
            "G" => Ok(gpt(12, 12, 768, 128, 2, 50257)),
            "D" => Ok(Shape::Seq2Seq(Seq2Seq {
                layers: 3,
                heads: 8,
                width: 256,
                ffn: 1024,
                batch: 64,
                length: 24,
                vocab: 8000,
                label_smoothing: 0.1,
            })),
            _ => Err(format!("unknown model '{name}', expected T, S, G or D")),
        }
    }
}

/// Sines in the first half of a row, cosines in the second, as Marian has them; row by row.
pub fn sinusoids(length: usize, width: usize) -> Vec<f32> {
    let rate = |i: usize| (-(10000f64.ln()) * (2 * i) as f64 / width as f64).exp();
    (0..length)
        .flat_map(|at| {
            let angle = move |i: usize| at as f64 * rate(i);
            let sines = (0..width / 2).map(move |i| angle(i).sin() as f32);
            sines.chain((0..width / 2).map(move |i| angle(i).cos() as f32))
        })
        .collect()
}

/// SplitMix64: tokens need no better.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn ids(&mut self, count: usize, vocab: usize) -> Vec<u32> {
        (0..count).map(|_| (self.next() % vocab as u64) as u32).collect()
    }

    /// `batch` sequences and, for each, the same shifted by one: what comes in and what is to be
    /// predicted.
    pub fn shifted_ids(
        &mut self,
        batch: usize,
        length: usize,
        vocab: usize,
    ) -> (Vec<u32>, Vec<u32>) {
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..batch {
            let ids = self.ids(length + 1, vocab);
            inputs.extend(&ids[..length]);
            targets.extend(&ids[1..]);
        }
        (inputs, targets)
    }
}
