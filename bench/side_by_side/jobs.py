"""What is compared, and the command that starts each contender."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
PEERS = ["torch", "torch-compile", "candle", "burn", "onnxruntime"]

# What torch_models.SHAPES says, as limpid's command line says it; the defaults of decode and encode
# are the jobs.
LIMPID = {
    "T": "step gpt --layers 4 --heads 4 --width 128 --context 64 --batch 12 --vocab 65",
    "S": "step gpt --layers 6 --heads 6 --width 384 --context 256 --batch 8 --vocab 256",
    "G": "step gpt --layers 12 --heads 12 --width 768 --context 128 --batch 2 --vocab 50257",
    "D": "step seq2seq --encoder-layers 3 --decoder-layers 3 --heads 8 --width 256 --ffn 1024 "
    "--batch 64"
    " --source-len 24 --target-len 24 --vocab 8000 --label-smoothing 0.1",
    "B": "step bert --layers 6 --heads 12 --width 384 --ffn 1536 --context 128 --batch 16 --vocab "
    "30522"
    " --masked 0.15",
    "decode": "decode",
    "encode": "encode",
    "encode-mixed": "encode --mixed",
}

ABOUT = {
    "T": "training step of a GPT, 4 layers, width 128, 12 x 64 tokens",
    "S": "training step of a GPT, 6 layers, width 384, 8 x 256 tokens",
    "D": "training step of an encoder-decoder, 3 + 3 layers, width 256, 64 x (24 + 24) tokens",
    "G": "training step of GPT-2 small, 2 x 128 tokens",
    "B": "training step of a BERT, 6 layers, width 384, 16 x 128 tokens, 15% masked"
    " (torch: all positions through the LM head)",
    "decode": "GPT-2 small, one stream, per token",
    "encode": "encoder, 6 layers, width 384, 32 x 128 tokens",
    "encode-mixed": "the same, 32 sequences of 8 to 128 tokens (peers: padded)",
}

TRAINING = ("T", "S", "D", "G", "B")
# PyTorch alone has these.
TORCH_ALONE = ("B",)
# Where one thread is measured too.
ONE_THREAD_JOBS = ("S", "D")
ONE_THREAD = "limpid, 1 thread"


@dataclass
class Start:
    """How a contender is started."""

    name: str
    words: list
    environment: dict = field(default_factory=dict)


def limpid_binary():
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return Path(os.environ.get("LIMPID", f"{target}/release/limpid"))


def limpid(job, threads, name="limpid"):
    words = [
        str(limpid_binary()),
        "bench",
        *LIMPID[job].split(),
        "--threads",
        str(threads),
        "--interactive",
    ]
    return Start(name, words)


def peer(name, job, threads):
    """Nothing, if it does not do this job."""
    python = lambda script, *flags: [
        sys.executable,
        str(BENCH / script),
        job,
        *flags,
        "--threads",
        str(threads),
    ]
    compiling = ["--compile"] if name == "torch-compile" else []
    if name in ("torch", "torch-compile"):
        if job in TRAINING:
            return Start(name, python("torch_step.py", *compiling, "--interactive"))
        return (
            Start(name, python("torch_encode.py", *compiling)) if job.startswith("encode") else None
        )
    if name == "onnxruntime":
        return Start(name, python("ort_encode.py")) if job.startswith("encode") else None
    if job in TORCH_ALONE:
        return None
    if job in TRAINING or (name, job) == ("candle", "decode"):
        binary = BENCH / "peers" / "target" / "release" / f"peer-{name}"
        return Start(name, [str(binary), job], {"RAYON_NUM_THREADS": str(threads)})
    return None


def contenders(job, against, threads):
    """Limpid first."""
    starts = [limpid(job, threads), *(peer(name, job, threads) for name in against)]
    if job in ONE_THREAD_JOBS and threads > 1:
        starts.append(limpid(job, 1, ONE_THREAD))
    return [start for start in starts if start]
