#!/usr/bin/env python3
"""A training step of a Llama of 135 million parameters (30 layers, width 576, 9 heads and 3 of keys
and values, feed-forward width 1536, 49,152 tokens, 2 x 256 tokens), limpid and PyTorch in turns:
`LlamaForCausalLM` of transformers with SDPA and fused AdamW. With all activations kept, and with
layers computed again in the backward pass.

    bench/llama_step.py --against target/release/limpid [--rounds 3] [--seconds 10] [--threads 2]

Run it with a Python that has torch and transformers. Without --against it is PyTorch's side: it
times when told to (protocol.py)."""

import argparse
import os
import statistics
import sys

import protocol

LAYERS, HEADS, KV_HEADS, WIDTH, FFN = 30, 9, 3, 576, 1536
BATCH, CONTEXT, VOCAB = 2, 256, 49152


def make_step(recompute):
    """A function that runs one step and returns its loss, and the number of parameters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=FFN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        use_cache=False,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config).train()
    if recompute:
        model.gradient_checkpointing_enable()
    # So slow a rate because the batch never changes, as limpid's side has it.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)
    ids = torch.randint(VOCAB, (BATCH, CONTEXT + 1))
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def step():
        logits = model(input_ids=inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, sum(p.numel() for p in model.parameters())


def serve(args):
    import torch
    import transformers

    torch.set_num_threads(args.threads)
    own_mb = protocol.memory_mb("VmRSS")
    step, parameters = make_step(args.recompute)
    for _ in range(2):
        step()
    version = f"torch {torch.__version__}, transformers {transformers.__version__}"
    about = {"parameters": parameters, "version": version, "own_mb": own_mb}
    protocol.serve(step, {**about, "threads": args.threads})


def commands(args, recompute):
    threads = ["--threads", str(args.threads)]
    ours = [args.against, "bench", "step", "llama", "--interactive", *threads]
    theirs = [sys.executable, os.path.abspath(__file__), *threads]
    if recompute:
        ours, theirs = [*ours, "--activation-checkpointing"], [*theirs, "--recompute"]
    return {"limpid": ours, "torch": theirs}


def compare(args, recompute):
    """Both in turns: medians, peaks, and the ratio of the medians of each round."""
    from side_by_side.contender import Contender
    from side_by_side.jobs import Start

    starts = [
        Start(name, words)
        for name, words in commands(args, recompute).items()
    ]
    sides = {start.name: Contender(start) for start in starts}
    rounds = [
        {name: statistics.median(side.run(args.seconds)) for name, side in sides.items()}
        for _ in range(args.rounds)
    ]
    print("\nlayers computed again" if recompute else "all activations kept")
    for name, side in sides.items():
        median = statistics.median(turn[name] for turn in rounds)
        peak, own = side.peak_mb(), side.about["own_mb"]
        print(
            f"  {name:8} {median:8.0f} ms   peak {peak:6.0f} MB, {peak - own:6.0f} MB above its "
            f"start   {side.about['parameters']} parameters   {side.about.get('version', '')}"
        )
        side.quit()
    ratios = sorted(turn["limpid"] / turn["torch"] for turn in rounds)
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"  time of limpid / torch: {statistics.median(ratios):.3f} (rounds: {shown})")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", metavar="LIMPID", help="compare with this binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--recompute", action="store_true", help="PyTorch's side: checkpointing")
    args = parser.parse_args()
    if not args.against:
        return serve(args)
    for recompute in [False, True]:
        compare(args, recompute)


if __name__ == "__main__":
    main()
