"""The contenders of GPT-2 small in bench/infer: Limpid, llama.cpp and PyTorch, all with random
weights. llama.cpp is node-llama-cpp's build for this CPU, installed from npm at first use."""

import os
import subprocess
import sys
from pathlib import Path

import llama_gguf
from side_by_side.jobs import ROOT, Start, limpid_binary

HERE = Path(__file__).parent
NODE_PACKAGE = "node-llama-cpp@3.22.1"
# What is measured, and the tokens of a step.
JOBS = {
    "gpt-one": ("GPT-2 small, one stream, per token", 1),
    "gpt-prompt": ("GPT-2 small, a prompt of 512 tokens", 512),
    "gpt-32": ("GPT-2 small, 32 streams, a token of each", 32),
}
# Which of our formats a peer's is compared with.
PRECISIONS = {"f32": "float32", "q8_0": "int8", "q4_0": "int4", "q4_0-all": "int4"}


def node_folder():
    """Where node-llama-cpp is; BENCH_NODE names another folder."""
    folder = Path(os.environ.get("BENCH_NODE") or ROOT / "target" / "bench-node")
    if not (folder / "node_modules" / "node-llama-cpp").exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", NODE_PACKAGE]
        subprocess.run(install, check=True, stdout=sys.stderr)
    return folder


def gguf(kind):
    path = ROOT / "target" / "bench-gguf" / f"{kind}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        llama_gguf.write(path, kind)
    return path


def starts(job, against=None, threads=2):
    """All contenders, or Limpid and those whose library is in `against`."""
    limpid, llama, torch = {
        "gpt-one": ([], [], []),
        "gpt-prompt": (["--prompt", "512", "--tokens", "0"], *[["--prompt", "512"]] * 2),
        "gpt-32": (["--streams", "32"], ["--streams", "32"], ["--streams", "32"]),
    }[job]
    threads = ["--threads", str(threads)]
    bench = [str(limpid_binary()), "bench", "decode", "--interactive", *threads, *limpid]
    all = [Start("limpid float32", bench)]
    all += [Start(f"limpid {kind}", [*bench, "--quantize", kind]) for kind in ("int8", "int4")]
    for kind in llama_gguf.KINDS if not against or "llama.cpp" in against else []:
        node = {"BENCH_NODE": str(node_folder())}
        words = ["node", str(HERE / "llama_gpt.mjs"), str(gguf(kind)), *threads, *llama]
        all.append(Start(f"llama.cpp {kind}", words, node))
    for kind in ("float32", "int8") if not against or "torch" in against else []:
        words = [sys.executable, str(HERE / "torch_gpt.py"), *threads, *torch]
        all.append(Start(f"torch {kind}", [*words, "--compute-type", kind]))
    return all
