"""The models of the speed comparison in PyTorch, written as its users would write them for speed.

Five shapes: T, S, G are GPTs, D is an encoder-decoder, B is a BERT. No dropout: it would time
random numbers."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class GptShape:
    layers: int
    heads: int
    width: int
    context: int
    batch: int
    vocab: int


@dataclass(frozen=True)
class Seq2SeqShape:
    encoder_layers: int
    decoder_layers: int
    heads: int
    width: int
    ffn: int
    batch: int
    source_len: int
    target_len: int
    vocab: int
    label_smoothing: float


@dataclass(frozen=True)
class BertShape:
    layers: int
    heads: int
    width: int
    ffn: int
    context: int
    batch: int
    vocab: int
    masked: float


SHAPES = {
    "T": GptShape(layers=4, heads=4, width=128, context=64, batch=12, vocab=65),
    "S": GptShape(layers=6, heads=6, width=384, context=256, batch=8, vocab=256),
    "G": GptShape(layers=12, heads=12, width=768, context=128, batch=2, vocab=50257),
    "D": Seq2SeqShape(
        encoder_layers=3,
        decoder_layers=3,
        heads=8,
        width=256,
        ffn=1024,
        batch=64,
        source_len=24,
        target_len=24,
        vocab=8000,
        label_smoothing=0.1,
    ),
    "B": BertShape(
        layers=6, heads=12, width=384, ffn=1536, context=128, batch=16, vocab=30522, masked=0.15
    ),
}


def split_heads(x, heads):
    b, t, c = x.shape
    return x.view(b, t, heads, c // heads).transpose(1, 2)  # (b,t,c) -> (b,h,t,d)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # (b,h,t,d) -> (b,t,c)


class SelfAttention(nn.Module):
    """Queries, keys and values from one product."""

    def __init__(self, width, heads, is_causal):
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(
            merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal))
        )


class CrossAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, 2 * width),
            nn.Linear(width, width),
        )

    def forward(self, x, memory):
        q = split_heads(self.q(x), self.heads)
        k, v = (split_heads(part, self.heads) for part in self.kv(memory).chunk(2, dim=-1))
        return self.out(merge_heads(F.scaled_dot_product_attention(q, k, v)))


class GptBlock(nn.Module):
    """Pre-norm, as GPT-2."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, is_causal=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(shape.vocab, shape.width), nn.Embedding(
            shape.context, shape.width
        )
        self.blocks = nn.ModuleList(GptBlock(shape.width, shape.heads) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        small_weights(self)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)  # tied
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class EncoderLayer(nn.Module):
    """Post-norm with ReLU, as in Vaswani et al. 2017; a decoder layer adds cross-attention."""

    def __init__(self, shape):
        super().__init__()
        c = shape.width
        self.attention, self.norm1 = SelfAttention(c, shape.heads, is_causal=False), nn.LayerNorm(c)
        self.up, self.down, self.norm2 = (
            nn.Linear(c, shape.ffn),
            nn.Linear(shape.ffn, c),
            nn.LayerNorm(c),
        )

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.relu(self.up(x))))


class DecoderLayer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        c = shape.width
        self.attention, self.norm1 = SelfAttention(c, shape.heads, is_causal=True), nn.LayerNorm(c)
        self.cross, self.norm2 = CrossAttention(c, shape.heads), nn.LayerNorm(c)
        self.up, self.down, self.norm3 = (
            nn.Linear(c, shape.ffn),
            nn.Linear(shape.ffn, c),
            nn.LayerNorm(c),
        )

    def forward(self, x, memory):
        x = self.norm1(x + self.attention(x))
        x = self.norm2(x + self.cross(x, memory))
        return self.norm3(x + self.down(F.relu(self.up(x))))


class Seq2Seq(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.scale, self.label_smoothing = math.sqrt(shape.width), shape.label_smoothing
        self.tokens = nn.Embedding(shape.vocab, shape.width)  # both sides and the output
        self.register_buffer(
            "positions", sinusoids(max(shape.source_len, shape.target_len), shape.width)
        )
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.decoder_layers))
        small_weights(self)

    def embed(self, ids):
        return self.tokens(ids) * self.scale + self.positions[: ids.shape[1]]

    def forward(self, source, target_in, targets):
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory)
        x = self.embed(target_in)
        for layer in self.decoder:
            x = layer(x, memory)
        logits = F.linear(x, self.tokens.weight)
        return F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), label_smoothing=self.label_smoothing
        )


class BertLayer(nn.Module):
    """Post-norm with the exact GELU."""

    def __init__(self, shape):
        super().__init__()
        c = shape.width
        self.attention, self.norm1 = SelfAttention(c, shape.heads, is_causal=False), nn.LayerNorm(
            c, eps=1e-12
        )
        self.up, self.down = nn.Linear(c, shape.ffn), nn.Linear(shape.ffn, c)
        self.norm2 = nn.LayerNorm(c, eps=1e-12)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """With the head of BertForMaskedLM in transformers: every position goes through the decoder,
    and cross-entropy passes over those whose target is -100."""

    def __init__(self, shape):
        super().__init__()
        c = shape.width
        self.tokens, self.positions = nn.Embedding(shape.vocab, c), nn.Embedding(shape.context, c)
        self.types, self.norm = nn.Embedding(2, c), nn.LayerNorm(c, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(shape) for _ in range(shape.layers))
        self.transform, self.head_norm = nn.Linear(c, c), nn.LayerNorm(c, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(shape.vocab))
        small_weights(self)

    def forward(self, ids, types, targets):
        x = self.tokens(ids) + self.types(types) + self.positions.weight[: ids.shape[1]]
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        x = self.head_norm(F.gelu(self.transform(x)))
        logits = F.linear(x, self.tokens.weight, self.bias)  # tied
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def masked_targets(shape):
    """Random words at as many random places of each sequence, -100 elsewhere."""
    targets = torch.full((shape.batch, shape.context), -100)
    for row in targets:
        places = torch.randperm(shape.context)[: max(1, round(shape.context * shape.masked))]
        row[places] = torch.randint(shape.vocab, (len(places),))
    return targets


def sinusoids(length, width):
    """Sines in the first half of a row, cosines in the second, as Marian has them."""
    rates = torch.exp(-math.log(10000) * torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def small_weights(model):
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


def make(shape):
    """A model and one batch of random tokens for it."""
    torch.manual_seed(0)
    random = lambda length: torch.randint(shape.vocab, (shape.batch, length))
    if isinstance(shape, GptShape):
        ids = random(shape.context + 1)
        return Gpt(shape), (ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
    if isinstance(shape, BertShape):
        ids = random(shape.context)
        return Bert(shape), (ids, torch.zeros_like(ids), masked_targets(shape))
    target = random(shape.target_len + 1)
    batch = random(shape.source_len), target[:, :-1].contiguous(), target[:, 1:].contiguous()
    return Seq2Seq(shape), batch
