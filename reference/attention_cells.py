"""Scaled dot-product attention by itself: inputs, an upstream gradient, outputs and gradients.

Computed in f64 by torch's own function and rounded to f32 once, so the whole error is the reader's.
"""

import torch
import torch.nn.functional as F

# name: (heads, queries, keys, d_k, d_v, is_causal)
CELLS = {
    "one": (1, 1, 1, 1, 1, False),
    "cross": (2, 5, 7, 4, 4, False),
    "causal": (2, 6, 6, 4, 4, True),
    "narrow_values": (2, 5, 7, 8, 3, False),
    "wide_values": (3, 4, 6, 2, 5, False),
    "causal_wide_values": (2, 6, 6, 4, 7, True),
    # Longer than a block of 64 rows or columns, and not a multiple of it.
    "causal_blocks": (2, 70, 70, 4, 4, True),
    "cross_blocks": (1, 3, 131, 8, 8, False),
    # Scores of several hundreds: softmax must subtract the maximum.
    "large_scores": (1, 4, 6, 4, 4, False),
}


def make():
    """Random inputs and what comes of them, under names such as `causal.q` and `causal.dv`."""
    normal = torch.Generator().manual_seed(7)
    inputs = {}
    for name, (h, t, s, d, dv, is_causal) in CELLS.items():
        scale = 30.0 if name == "large_scores" else 1.0
        random = lambda *shape: torch.randn(shape, generator=normal)
        cell = {"q": scale * random(h, t, d), "k": scale * random(h, s, d)}
        cell |= {"v": random(h, s, dv), "dout": random(h, t, dv)}
        inputs |= {f"{name}.{key}": value for key, value in cell.items()}
        inputs[f"{name}.is_causal"] = torch.tensor([int(is_causal)])
    return recompute(inputs)


def recompute(stored):
    """Shapes: q (h, t, d), k (h, s, d), v (h, s, dv), dout and out (h, t, dv)."""
    result = {}
    for name in CELLS:
        kept = {key: stored[f"{name}.{key}"] for key in ["q", "k", "v", "dout", "is_causal"]}
        q, k, v = (kept[key].double().requires_grad_() for key in "qkv")
        out = F.scaled_dot_product_attention(q, k, v, is_causal=bool(kept["is_causal"].item()))
        out.backward(kept["dout"].double())
        computed = {"out": out.detach(), "dq": q.grad, "dk": k.grad, "dv": v.grad}
        kept |= {key: value.float() for key, value in computed.items()}
        result |= {f"{name}.{key}": value.contiguous() for key, value in kept.items()}
    return result
