"""The encoder stack that `limpid bench encode` runs, in PyTorch: 6 layers, post-norm, exact GELU,
sinusoids.

Two classes with the same parameters, to be told apart because each is fast in another place:
`Encoder` for PyTorch itself, and `ExportEncoder`, spelled out so that onnxruntime recognizes
attention and can fuse it."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_models import SelfAttention, sinusoids, small_weights, split_heads, merge_heads

LAYERS, WIDTH, HEADS, FFN, VOCAB, BATCH, LENGTH, SHORTEST = 6, 384, 12, 1536, 30522, 32, 128, 8


class MaskedAttention(SelfAttention):
    def forward(self, x, mask):
        """`mask` is added to the scores; None where there is no padding."""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


class ExportAttention(nn.Module):
    """The same with a product each for q, k and v, and every operation of attention in sight."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(
            0, 2, 1, 3
        )  # (b,t,c) -> (b,h,t,d)

    def forward(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        mixed = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return self.out(mixed.view(x.shape))


class Layer(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention, self.norm1 = attention, nn.LayerNorm(WIDTH)
        self.up, self.down, self.norm2 = (
            nn.Linear(WIDTH, FFN),
            nn.Linear(FFN, WIDTH),
            nn.LayerNorm(WIDTH),
        )

    def forward(self, x, mask):
        x = self.norm1(self.attention(x, mask) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self, make_attention=lambda: MaskedAttention(WIDTH, HEADS, is_causal=False)):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.register_buffer("positions", sinusoids(LENGTH, WIDTH))
        self.layers = nn.ModuleList(Layer(make_attention()) for _ in range(LAYERS))
        small_weights(self)

    def forward(self, ids, mask=None):
        """`mask` (b,t) is 1 for tokens and 0 for padding."""
        if mask is not None:
            mask = (1.0 - mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        x = self.tokens(ids) * math.sqrt(WIDTH) + self.positions
        for layer in self.layers:
            x = layer(x, mask)
        return x


def export_encoder(encoder):
    """An `Encoder` with the weights of the given one, made of `ExportAttention`."""
    other = Encoder(lambda: ExportAttention(WIDTH, HEADS))
    weights = {}
    for name, value in encoder.state_dict().items():
        if ".qkv." in name:
            for letter, part in zip("qkv", value.chunk(3)):
                weights[name.replace(".qkv.", f".{letter}.")] = part
        else:
            weights[name] = value
    other.load_state_dict(weights)
    return other


def make_batch(kind):
    """Random tokens; (b,t) ids and, for lengths from 8 to 128 evenly spread, the mask of the
    padding."""
    torch.manual_seed(1)
    ids = torch.randint(1, VOCAB, (BATCH, LENGTH))
    if kind == "encode":
        return ids, None
    lengths = torch.tensor(
        [SHORTEST + (LENGTH - SHORTEST) * i // (BATCH - 1) for i in range(BATCH)]
    )
    mask = (torch.arange(LENGTH)[None, :] < lengths[:, None]).long()
    return ids * mask, mask


def parameter_count(model):
    return sum(p.numel() for p in model.parameters())
