"""Compares translation and embedding of the lines of a file, and GPT-2 small, with other libraries,
turn by turn. Started by bench/infer.

A job is its contenders; each is loaded once and waits while the others run. The figure of a
contender is the median of its turns; of one text at a time, the median of all calls."""

import argparse
import statistics
import sys
from pathlib import Path

import infer_gpt
from side_by_side.contender import Contender, Failed
from side_by_side.jobs import Start, limpid_binary

HERE = Path(__file__).parent
JOBS = ",".join(["greedy,beam,one,one-beam,embed,embed-one", *infer_gpt.JOBS])


def cpu():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def limpid(files, flags):
    return [str(limpid_binary()), "bench", "texts", *files, *flags, "--interactive"]


def translation(args, beams, one):
    flags = ["--num-beams", str(beams), "--lines", str(args.lines)]
    flags += ["--max-new-tokens", str(args.max_new_tokens)] + ["--one-by-one"] * one
    files = [str(args.translator), str(args.source)]
    threads = [["--workers", "1", "--threads", "1"]] if one else [["--workers", "2"]]
    starts = [Start("limpid float32", limpid(files, flags))]
    if args.quantized_translator:
        files_int8 = [str(args.quantized_translator), str(args.source)]
        starts.append(Start("limpid int8", limpid(files_int8, flags)))
    for kind in ("float32", "int8"):
        for setting in threads:
            words = [sys.executable, str(HERE / "ct2_translate.py"), *files, *flags, *setting]
            words += ["--converted", str(args.converted)] if args.converted else []
            starts.append(Start(f"ctranslate2 {kind}", [*words, "--compute-type", kind]))
    return starts


def embedding(args, one):
    flags = ["--lines", str(args.lines)] + ["--one-by-one"] * one
    files = [str(args.embedder), str(args.texts)]
    starts = [Start("limpid float32", limpid(files, flags))]
    if args.quantized_embedder:
        files_int8 = [str(args.quantized_embedder), str(args.texts)]
        starts.append(Start("limpid int8", limpid(files_int8, flags)))
    for kind in ("float32", "int8"):
        for order in [[]] if one else [[], ["--sorted"]]:
            words = [sys.executable, str(HERE / "ort_embed.py"), *files, *flags, *order]
            name = " ".join(["onnxruntime", kind, *(word[2:] for word in order)])
            starts.append(Start(name, [*words, "--compute-type", kind]))
    return starts


def measure(name, starts, args, tokens=None):
    contenders, times = [], {}
    for start in starts:
        try:
            contenders.append(Contender(start))
            times[start.name] = []
        except Failed as failed:
            print(f"{name}: {start.name} failed: {failed}", flush=True)
    for _ in range(args.rounds):
        for contender in list(contenders):
            try:
                times[contender.name] += contender.run(args.seconds)
            except Failed as failed:
                print(f"{name}: {contender.name} failed: {failed}", flush=True)
                contenders.remove(contender)
    medians = {name: statistics.median(times) for name, times in times.items() if times}
    print(f"\n{name}")
    for contender in contenders:
        median = medians[contender.name]
        # Against the same precision, if that was measured.
        kind = infer_gpt.PRECISIONS.get(contender.name.split()[1], contender.name.split()[1])
        ours = medians.get(f"limpid {kind}", medians.get("limpid float32"))
        ratio = f"{median / ours:.2f}" if ours else "-"
        peak, own = contender.peak_mb(), contender.about.get("own_mb") or 0
        rate = f" {1e3 * tokens / median:9.1f} tokens/s" if tokens else ""
        print(
            f"  {contender.name:28} {median:10.2f} ms{rate}   limpid is {ratio} times as fast"
            f"   peak {peak:.0f} MB ({peak - own:.0f} above the empty process)",
            flush=True,
        )
        contender.quit()


def main():
    parser = argparse.ArgumentParser(prog="bench/infer", description=__doc__)
    parser.add_argument("--translator", type=Path, help="model folder (Marian)")
    parser.add_argument("--quantized-translator", type=Path, help="the same in int8")
    parser.add_argument("--source", type=Path, help="lines to translate")
    parser.add_argument("--embedder", type=Path, help="model folder (sentence-transformers)")
    parser.add_argument("--quantized-embedder", type=Path, help="the same in int8")
    parser.add_argument("--texts", type=Path, help="lines to embed")
    parser.add_argument("--converted", type=Path, help="keep CTranslate2's models in this folder")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--jobs", default=JOBS)
    parser.add_argument("--against", help="of the GPT jobs: llama.cpp, torch (default: both)")
    args = parser.parse_args()
    jobs = {
        "greedy": ("translation, greedy", lambda: translation(args, 1, False)),
        "beam": ("translation, beam 4", lambda: translation(args, 4, False)),
        "one": ("one sentence at a time, greedy", lambda: translation(args, 1, True)),
        "one-beam": ("one sentence at a time, beam 4", lambda: translation(args, 4, True)),
        "embed": ("embeddings", lambda: embedding(args, False)),
        "embed-one": ("one embedding at a time", lambda: embedding(args, True)),
    }
    print(cpu())
    for job in args.jobs.split(","):
        if job in infer_gpt.JOBS:
            name, tokens = infer_gpt.JOBS[job]
            against = args.against.split(",") if args.against else None
            measure(name, infer_gpt.starts(job, against), args, tokens)
            continue
        needed = args.embedder if job.startswith("embed") else args.translator
        if needed:
            name, starts = jobs[job]
            measure(name, starts(), args)


if __name__ == "__main__":
    main()
