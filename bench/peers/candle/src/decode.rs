//! Writing token by token with the shape of GPT-2 small, one stream, f32, keys and values cached;
//! what `limpid bench decode` does. Only inference, so candle's fused layer norm and softmax may be
//! used.

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::kv_cache::KvCache;
use candle_nn::{LayerNorm, Linear, Module, VarBuilder, VarMap, layer_norm, ops};
use protocol::{Contender, Random, Run};
use std::collections::HashMap;
use std::time::Instant;

use crate::layers::{causal_mask, linear, look_up, table};

const LAYERS: usize = 12;
const HEADS: usize = 12;
const WIDTH: usize = 768;
const VOCAB: usize = 50257;
const CONTEXT: usize = 1024;
const PROMPT: usize = 16;
const TOKENS: usize = 64;

pub struct Decoder {
    tokens: Tensor,
    /// The same numbers, laid out for the product with one row.
    output: Tensor,
    positions: Tensor,
    blocks: Vec<Block>,
    norm: LayerNorm,
    parameters: usize,
}

struct Block {
    norm1: LayerNorm,
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
    cache: KvCache,
}

impl Block {
    fn new(vb: VarBuilder) -> Result<Self> {
        Ok(Self {
            norm1: layer_norm(WIDTH, 1e-5, vb.pp("norm1"))?,
            qkv: linear(WIDTH, 3 * WIDTH, vb.pp("qkv"))?,
            out: linear(WIDTH, WIDTH, vb.pp("out"))?,
            norm2: layer_norm(WIDTH, 1e-5, vb.pp("norm2"))?,
            up: linear(WIDTH, 4 * WIDTH, vb.pp("up"))?,
            down: linear(4 * WIDTH, WIDTH, vb.pp("down"))?,
            cache: KvCache::new(2, PROMPT + TOKENS),
        })
    }

    fn forward(&mut self, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attend(&self.norm1.forward(x)?.apply(&self.qkv)?)?.apply(&self.out)?)?;
        let hidden = self.up.forward(&self.norm2.forward(&x)?)?.gelu()?;
        &x + self.down.forward(&hidden)?
    }

    /// (1,t,3c) -> (1,t,c), after appending the keys and values to those before.
    fn attend(&mut self, qkv: &Tensor) -> Result<Tensor> {
        let t = qkv.dim(1)?;
        let head_width = WIDTH / HEADS;
        let part = |i: usize| {
            let part =
                qkv.narrow(D::Minus1, i * WIDTH, WIDTH)?.reshape((1, t, HEADS, head_width))?;
            part.transpose(1, 2)?.contiguous()
        };
        let (k, v) = self.cache.append(&part(1)?, &part(2)?)?;
        let scores = ((part(0)? * (head_width as f64).powf(-0.5))?.matmul(&k.t()?))?;
        let scores = if t == 1 { scores } else { scores.broadcast_add(&causal_mask(t)?)? };
        ops::softmax_last_dim(&scores)?.matmul(&v.contiguous()?)?.transpose(1, 2)?.flatten_from(2)
    }
}

impl Decoder {
    pub fn new() -> Result<Self> {
        // Random weights come from a map of variables. Their values alone, as if read from a file:
        // with variables every operation would record a graph.
        let variables = VarMap::new();
        Self::of(VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
        let values: HashMap<String, Tensor> = {
            let named = variables.data().lock().expect("nobody panics holding it");
            let laid_out = |name: &str, value: Tensor| match value.rank() {
                2 if name.starts_with("blocks.") => by_inputs(&value),
                _ => Ok(value),
            };
            let value = |(name, variable): (&String, &Var)| {
                Ok((name.clone(), laid_out(name, variable.as_tensor().detach())?))
            };
            named.iter().map(value).collect::<Result<_>>()?
        };
        let mut decoder = Self::of(VarBuilder::from_tensors(values, DType::F32, &Device::Cpu))?;
        decoder.parameters =
            variables.all_vars().iter().map(|variable| variable.elem_count()).sum();
        decoder.check_cache()?;
        decoder.sequence()?;
        Ok(decoder)
    }

    fn of(vb: VarBuilder) -> Result<Self> {
        let block = |i: usize| Block::new(vb.pp(format!("blocks.{i}")));
        let tokens = table(VOCAB, WIDTH, vb.pp("tokens"))?;
        Ok(Self {
            output: by_inputs(&tokens)?,
            tokens,
            positions: table(CONTEXT, WIDTH, vb.pp("positions"))?,
            blocks: (0..LAYERS).map(block).collect::<Result<_>>()?,
            norm: layer_norm(WIDTH, 1e-5, vb.pp("norm"))?,
            parameters: 0,
        })
    }

    /// The scores of what follows the last of `ids`, which stand at `at` and after.
    fn advance(&mut self, ids: &[u32], at: usize) -> Result<Tensor> {
        let ids = Tensor::from_vec(ids.to_vec(), (1, ids.len()), &Device::Cpu)?;
        let t = ids.dim(1)?;
        let mut x =
            look_up(&self.tokens, &ids)?.broadcast_add(&self.positions.narrow(0, at, t)?)?;
        for block in &mut self.blocks {
            x = block.forward(&x)?;
        }
        // (1,c)
        let last = self.norm.forward(&x.narrow(1, t - 1, 1)?.contiguous()?)?.flatten_to(1)?;
        last.matmul(&self.output.t()?)?.flatten_all()
    }

    fn forget(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.cache.reset());
    }

    /// Writes one sequence and gives the time of each token after the prompt.
    fn sequence(&mut self) -> Result<Vec<f64>> {
        self.forget();
        let mut scores = self.advance(&Random::new(1).ids(PROMPT, VOCAB), 0)?;
        let mut token_ms = Vec::new();
        for at in PROMPT..PROMPT + TOKENS {
            let before = Instant::now();
            let next = scores.argmax(0)?.to_scalar::<u32>()?;
            scores = self.advance(&[next], at)?;
            token_ms.push(before.elapsed().as_secs_f64() * 1e3);
        }
        Ok(token_ms)
    }

    /// One by one with the cache gives what all at once gives.
    fn check_cache(&mut self) -> Result<()> {
        let ids = Random::new(2).ids(5, VOCAB);
        self.forget();
        let at_once = self.advance(&ids, 0)?;
        self.forget();
        self.advance(&ids[..3], 0)?;
        self.advance(&ids[3..4], 3)?;
        let one_by_one = self.advance(&ids[4..], 4)?;
        let gap = (at_once - one_by_one)?.abs()?.max(0)?.to_scalar::<f32>()?;
        if gap > 1e-3 {
            candle_core::bail!("the cache changes the scores by {gap}");
        }
        Ok(())
    }
}

/// The same matrix (outputs, inputs), stored input by input: 26 ms a token against 39 for the
/// layers so, on a busy machine.
fn by_inputs(weight: &Tensor) -> Result<Tensor> {
    weight.t()?.contiguous()?.t()
}

impl Contender for Decoder {
    fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whole sequences, at least one.
    fn run(&mut self, seconds: f64) -> protocol::Result<Run> {
        let (begin, mut step_ms) = (Instant::now(), Vec::new());
        while step_ms.is_empty() || begin.elapsed().as_secs_f64() < seconds {
            step_ms.extend(self.sequence().map_err(|error| error.to_string())?);
        }
        Ok(Run { step_ms, loss: None })
    }
}
