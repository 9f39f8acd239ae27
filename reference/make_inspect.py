"""What is inside of a forward pass, by `transformers`: attention weights, hidden states, and the
logits with a head switched off. Writes fixtures/inspect/NAME.safetensors; with --check compares.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, MarianMTModel

FIXTURES = Path(__file__).parent / "fixtures"
IDS = [5, 8, 11, 14, 17, 20, 23]
TARGET = [2, 5, 8, 11]


def without_head(module, head, width):
    """Zeroes the columns of a head in the input of an output projection."""

    def hook(_, inputs):
        x = inputs[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return (x, *inputs[1:])

    return module.register_forward_pre_hook(hook)


def run(model, inputs):
    with torch.no_grad():
        return model(**inputs, output_attentions=True, output_hidden_states=True)


def decoder(name):
    model = AutoModelForCausalLM.from_pretrained(FIXTURES / name, attn_implementation="eager")
    inputs = {"input_ids": torch.tensor([IDS])}
    found = run(model.eval(), inputs)
    blocks = model.transformer.h
    width = model.config.n_embd // model.config.n_head
    hook = without_head(blocks[1].attn.c_proj, 1, width)
    off = run(model, inputs).logits
    hook.remove()
    return found.attentions, found.hidden_states, found.logits, off


def encoder(name):
    model = AutoModelForMaskedLM.from_pretrained(FIXTURES / name, attn_implementation="eager")
    inputs = {"input_ids": torch.tensor([IDS])}
    found = run(model.eval(), inputs)
    width = model.config.hidden_size // model.config.num_attention_heads
    hook = without_head(model.bert.encoder.layer[1].attention.output.dense, 1, width)
    off = run(model, inputs).logits
    hook.remove()
    return found.attentions, found.hidden_states, found.logits, off


def translator(name):
    model = MarianMTModel.from_pretrained(FIXTURES / name, attn_implementation="eager").eval()
    start = model.config.decoder_start_token_id
    inputs = {
        "input_ids": torch.tensor([IDS]),
        "decoder_input_ids": torch.tensor([[start, *TARGET[:-1]]]),
    }
    found = run(model, inputs)
    width = model.config.d_model // model.config.decoder_attention_heads
    hook = without_head(model.model.decoder.layers[0].encoder_attn.out_proj, 1, width)
    off = run(model, inputs).logits
    hook.remove()
    # In the order in which the pass computes them.
    attentions = list(found.encoder_attentions)
    for own, cross in zip(found.decoder_attentions, found.cross_attentions):
        attentions += [own, cross]
    hidden = [*found.encoder_hidden_states, *found.decoder_hidden_states]
    return attentions, hidden, found.logits, off


CASES = {"gpt2-tiny": decoder, "bert-mlm": encoder, "marian-tiny": translator}


def main():
    check = sys.argv[1:] == ["--check"]
    worst = 0.0
    (FIXTURES / "inspect").mkdir(exist_ok=True)
    for name, case in CASES.items():
        attentions, hidden, logits, off = case(name)
        tensors = {f"attention.{i}": x[0].contiguous() for i, x in enumerate(attentions)}
        tensors |= {f"hidden.{i}": x[0].contiguous() for i, x in enumerate(hidden)}
        tensors |= {"logits": logits[0].contiguous(), "without_head": off[0].contiguous()}
        path = FIXTURES / "inspect" / f"{name}.safetensors"
        if check:
            stored = load_file(path)
            assert stored.keys() == tensors.keys(), f"{path}: other tensors"
            worst = max(worst, *((stored[k] - x).abs().max().item() for k, x in tensors.items()))
        else:
            save_file(tensors, path)
    if check:
        print(f"inspect: largest difference {worst:.1e}")
        sys.exit(worst > 1e-5)


if __name__ == "__main__":
    main()
