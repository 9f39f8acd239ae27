#!/usr/bin/env python3
"""Opens converted folders in `transformers`: weights in f16, bf16 and shards, tokenizers as a
`tokenizer.json`. The logits must be those of the original with its weights rounded by PyTorch, to
1e-5 of the largest, and texts must be tokenized alike.

    LIMPID=target/release/limpid reference/compare_convert.py"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file

FIXTURES = Path(__file__).parent / "fixtures"
LIMPID = os.environ.get("LIMPID", "target/release/limpid")
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MODELS = ["gpt2-tiny", "llama-tiny", "neox-tiny", "bert-mlm", "t5-tiny", "marian-tiny"]
TOKENIZERS = ["bert", "gpt2", "roberta", "llama", "t5", "mbart", "camembert"]


def convert(folder, out, *options):
    command = [LIMPID, "convert", folder, "--out", out, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def opened(folder):
    config = json.loads((folder / "config.json").read_text())
    cls = getattr(transformers, config["architectures"][0])
    model, found = cls.from_pretrained(folder, dtype="auto", output_loading_info=True)
    assert not found["missing_keys"] and not found["unexpected_keys"], found
    return model.eval()


def logits(model):
    # Computed in f32, whatever the type of the weights.
    ids = torch.tensor([[3, 5, 7, 4, 6]])
    more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model.float()(input_ids=ids, **more).logits


def check(passed, name, what):
    print(f"{'ok' if passed else 'FAILED':6} {name:12} {what}", flush=True)
    return not passed


def compare_weights(name, scratch):
    failed = 0
    for dtype, torch_dtype in DTYPES.items():
        out = scratch / f"{name}-{dtype}"
        convert(FIXTURES / name, out, "--dtype", dtype, "--max-shard-size", "20KB")
        shards = [load_file(path) for path in out.glob("*.safetensors")]
        is_stored = {w.dtype for shard in shards for w in shard.values()} == {torch_dtype}
        rounded = opened(FIXTURES / name)
        for weights in rounded.state_dict().values():
            weights.copy_(weights.to(torch_dtype))
        found, wanted = logits(opened(out)), logits(rounded)
        worst = ((found - wanted).abs().max() / wanted.abs().max()).item()
        passed = is_stored and len(shards) > 1 and worst < 1e-5
        failed += check(passed, name, f"{dtype:5} {len(shards)} shards, logits within {worst:.1e}")
    return failed


def compare_tokenizer(name, scratch):
    """Beside the weights of another model, which do not matter."""
    folder, out = scratch / name, scratch / f"{name}-json"
    shutil.copytree(FIXTURES / "gpt2-tiny", folder)
    shutil.copytree(FIXTURES / "tokenizers" / name, folder, dirs_exist_ok=True)
    convert(folder, out, "--tokenizer-json")
    wanted = {case["text"]: case for case in json.loads((folder / "expected.json").read_text())}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(out / "tokenizer.json"))
    same = [tokenizer(text)["input_ids"] == case["special"] for text, case in wanted.items()]
    what = f"texts tokenized alike by tokenizer.json: {sum(same)} of {len(same)}"
    return check(all(same), name, what)


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in MODELS:
            failed += compare_weights(name, Path(scratch))
        for name in TOKENIZERS:
            failed += compare_tokenizer(name, Path(scratch))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
