"""Recurrent layers by themselves, and tiny recurrent encoder-decoders: inputs, outputs and
gradients, by PyTorch.

Layers: `nn.RNN`, `nn.GRU` and `nn.LSTM` on packed sequences, two layers and both directions, in
f64, rounded to f32 once. Models: rnn_model.Rnn with every cell and every attention, as folders that
`limpid` opens."""

import json

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnn_model import LAYERS, Rnn

# Not sorted, with two of one length and one of a single token.
LENGTHS, INPUT, WIDTH = [3, 5, 1, 3], 6, 7
SOURCES = [[7, 22, 13, 5, 1], [31, 1], [2, 9, 9, 38, 16, 4, 27, 11, 1], [12, 1]]
TARGETS = [[19, 3, 33, 1], [25, 8, 14, 6, 2, 10, 1], [30, 1], [1]]
SMOOTHING, LIMIT = 0.1, 12

# name: cell, attention, both ways, layers, one table for everything
MODELS = {
    "rnn-tanh-none": ("tanh", "none", False, 1, True),
    "rnn-lstm-none": ("lstm", "none", True, 2, False),
    "rnn-gru-dot": ("gru", "dot", False, 2, True),
    "rnn-lstm-dot": ("lstm", "dot", True, 1, True),
    "rnn-gru-additive": ("gru", "additive", True, 1, True),
    "rnn-lstm-additive": ("lstm", "additive", True, 2, False),
    "rnn-tanh-additive": ("tanh", "additive", False, 2, True),
}


def make_layers():
    normal = torch.Generator().manual_seed(11)
    random = lambda *shape: torch.randn(shape, generator=normal)
    inputs = {}
    for name in LAYERS:
        layer = LAYERS[name](INPUT, WIDTH, num_layers=2, bidirectional=True)
        n, b = sum(LENGTHS), len(LENGTHS)
        inputs |= {f"{name}.{key}": 0.4 * random(*p.shape) for key, p in layer.named_parameters()}
        inputs |= {f"{name}.x": random(n, INPUT), f"{name}.dy": random(n, 2 * WIDTH)}
        for state in ["h0", "c0", "dh", "dc"] if name == "lstm" else ["h0", "dh"]:
            inputs[f"{name}.{state}"] = random(4, b, WIDTH)
    return recompute_layers(inputs)


def recompute_layers(stored):
    """Rows of x, dy and y are packed, sequence after sequence; states are (layers · 2, b, h)."""
    result = {}
    for name in LAYERS:
        layer = LAYERS[name](INPUT, WIDTH, num_layers=2, bidirectional=True).double()
        kept = {
            k: v
            for k, v in stored.items()
            if k.startswith(f"{name}.") and not k.startswith(f"{name}.out.")
        }
        get = lambda key: stored[f"{name}.{key}"].double()
        with torch.no_grad():
            for key, parameter in layer.named_parameters():
                parameter.copy_(get(key))
        states = [get(s).requires_grad_() for s in (["h0", "c0"] if name == "lstm" else ["h0"])]
        x = get("x").requires_grad_()
        padded = torch.nn.utils.rnn.pad_sequence(x.split(LENGTHS))
        packed = pack_padded_sequence(padded, LENGTHS, enforce_sorted=False)
        y, last = layer(packed, tuple(states) if name == "lstm" else states[0])
        y, _ = pad_packed_sequence(y)
        y = torch.cat([y[:length, i] for i, length in enumerate(LENGTHS)])
        last = list(last) if name == "lstm" else [last]
        loss = (y * get("dy")).sum()
        for state, d in zip(last, ["dh", "dc"]):
            loss = loss + (state * get(d)).sum()
        loss.backward()
        out = {"y": y.detach(), "dx": x.grad}
        out |= {key: state.detach() for key, state in zip(["h", "c"], last)}
        out |= {key: state.grad for key, state in zip(["dh0", "dc0"], states)}
        out |= {f"d_{key}": p.grad for key, p in layer.named_parameters()}
        result |= kept | {
            f"{name}.out.{key}": value.float().contiguous() for key, value in out.items()
        }
    return result


def config_of(name):
    cell, attention, both, layers, one_table = MODELS[name]
    sizes = dict(
        vocab_size=41, decoder_vocab_size=41 if one_table else 37, embedding_size=10, hidden_size=12
    )
    sizes |= dict(num_layers=layers, attention_size=9, max_sequence_length=20)
    kind = dict(model_type="limpid-rnn", cell=cell, bidirectional=both, attention=attention)
    tables = dict(share_encoder_decoder_embeddings=one_table, tie_word_embeddings=one_table)
    tokens = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    rest = dict(dropout=0.0, is_encoder_decoder=True, torch_dtype="float32")
    return dict(sorted({**kind, **sizes, **tables, **tokens, **rest}.items()))


def write_model(folder, name):
    folder.mkdir(exist_ok=True)
    config = config_of(name)
    model = Rnn(config)
    normal = torch.Generator().manual_seed(sum(map(ord, name)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=normal))
    tensors = {key: value.contiguous() for key, value in model.state_dict().items()}
    if config["tie_word_embeddings"]:
        del tensors["lm_head.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    dump = lambda value, file: (folder / file).write_text(json.dumps(value, indent=2) + "\n")
    dump(config, "config.json")
    generation = dict(
        bad_words_ids=[[0]], decoder_start_token_id=0, eos_token_id=1, max_length=20, pad_token_id=0
    )
    dump(generation, "generation_config.json")


def load_model(folder):
    config = json.loads((folder / "config.json").read_text())
    model = Rnn(config).eval()
    tensors = load_file(folder / "model.safetensors")
    if config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = tensors["shared.weight"]
    model.load_state_dict(tensors)
    return model


def recompute_model(folder):
    model = load_model(folder)
    pad = lambda rows: torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(r) for r in rows], batch_first=True
    )
    packed = lambda rows: (
        torch.tensor([i for row in rows for i in row]),
        torch.tensor([len(r) for r in rows]),
    )
    source, lengths = pad(SOURCES), torch.tensor([len(s) for s in SOURCES])
    inputs = [[0, *target[:-1]] for target in TARGETS]
    states, visible, first = model.encode(source, lengths)
    logits, _, weights = model.decode(pad(inputs), states, visible, first)
    logits = torch.cat([rows[: len(t)] for rows, t in zip(logits, TARGETS)])
    targets = packed(TARGETS)[0]
    F.cross_entropy(logits, targets, label_smoothing=SMOOTHING).backward()
    expected = {"logits": logits, "loss": F.cross_entropy(logits, targets)}
    expected["source_ids"], expected["source_lengths"] = packed(SOURCES)
    expected["target_ids"], expected["target_lengths"] = packed(TARGETS)
    expected |= {f"grad.{key}": p.grad for key, p in model.named_parameters()}
    if weights is not None:
        # Of the third pair, which has the longest source.
        expected["attention"] = weights[2, : len(TARGETS[2]), : len(SOURCES[2])]
    outputs = [greedy(model, s) for s in SOURCES]
    expected["greedy"], expected["greedy_lengths"] = packed(outputs)
    return {key: value.detach().contiguous() for key, value in expected.items()}


@torch.no_grad()
def greedy(model, source):
    """Argmax until the end token, which is kept, or the limit."""
    states, visible, state = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    ids = [0]
    while len(ids) <= LIMIT and ids[-1] != 1:
        logits, state, _ = model.decode(torch.tensor([[ids[-1]]]), states, visible, state)
        logits = logits[0, -1]
        best = logits.topk(2).values
        assert best[0] - best[1] > 1e-4, "two tokens are too close to tell which is chosen"
        ids.append(logits.argmax().item())
    return ids[1:]
