"""How the time and memory of a training step grow, Limpid and PyTorch in turns. Started by
bench/growth."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, replace

from . import jobs, table
from .__main__ import at_least, build, names
from .rounds import measure

RESULTS, TOOL = jobs.ROOT / "docs" / "records" / "growth.md", "bench/growth"
FOLDER = jobs.ROOT / "docs" / "records" / "growth"
CORES = os.cpu_count()


@dataclass(frozen=True)
class Shape:
    """S of bench/README.md; each curve changes one number of it."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    context: int = 256
    batch: int = 8
    vocab: int = 256


@dataclass
class Curve:
    """A quantity that grows, the points (value, shape, threads) and what is held constant."""

    label: str
    constant: str
    points: list


def curves(threads):
    """Batches of 2,048 tokens and heads 64 wide wherever that is not what grows."""
    s, gpt = Shape(), f"GPT, 6 layers, f32, {threads} threads"
    contexts, widths, vocabs, batches = (
        (64, 128, 256, 512, 1024),
        (64, 128, 256, 384, 768),
        (256, 1024, 4096, 16384, 50257),
        (1, 2, 4, 8, 16, 32),
    )
    # More threads than cores would measure the scheduler of the system, not us.
    teams = [n for n in (1, 2, 4, 8, 16, 32) if n <= CORES]
    return {
        "context": Curve(
            "context length, tokens",
            f"{gpt}, width 384, vocabulary 256; 2,048 tokens a batch, so fewer and longer "
            f"sequences",
            [(n, replace(s, context=n, batch=2048 // n), threads) for n in contexts],
        ),
        "width": Curve(
            "width",
            f"{gpt}, heads 64 wide, vocabulary 256, batches of 8 x 256 tokens",
            [(n, replace(s, width=n, heads=n // 64), threads) for n in widths],
        ),
        "vocabulary": Curve(
            "vocabulary, tokens",
            f"{gpt}, width 384, batches of 8 x 256 tokens",
            [(n, replace(s, vocab=n), threads) for n in vocabs],
        ),
        "batch": Curve(
            "batch, sequences of 256 tokens",
            f"{gpt}, width 384, vocabulary 256",
            [(n, replace(s, batch=n), threads) for n in batches],
        ),
        "threads": Curve(
            f"threads, up to the {CORES} cores there are",
            "GPT, 6 layers, f32, width 384, vocabulary 256, batches of 8 x 256 tokens",
            [(n, s, n) for n in teams],
        ),
    }


def starts(shape, threads):
    flags = [word for name, size in asdict(shape).items() for word in (f"--{name}", str(size))]
    flags += ["--threads", str(threads), "--interactive"]
    return [
        jobs.Start("limpid", [str(jobs.limpid_binary()), "bench", "step", "gpt", *flags]),
        jobs.Start("PyTorch", [sys.executable, str(jobs.BENCH / "torch_step.py"), "gpt", *flags]),
    ]


def figures(outcome):
    """Of each side that did not fail: median ms of a step, peak memory, and its own before the
    model was made."""
    rounds = outcome.kept or outcome.rounds
    found = {}
    for side in outcome.sides:
        if not side.failure and rounds:
            steps = [ms for r in rounds for ms in r[side.name].step_ms]
            found[side.name] = (
                statistics.median(steps),
                side.peak_mb,
                side.about.get("own_mb") or 0.0,
            )
    return found


def charts(name, curve, found):
    """Two charts: time and memory."""
    side = lambda who, figure: [
        [x, round(figure(*found[shape, threads][who]), 3) if who in found[shape, threads] else None]
        for x, shape, threads in curve.points
    ]
    x = {"label": curve.label, "scale": "log", "ticks": [x for x, _, _ in curve.points]}
    dots = lambda series_name, points: {"name": series_name, "mark": "dots", "points": points}
    time, peak, beyond = (
        (lambda ms, mb, own: ms),
        (lambda ms, mb, own: mb),
        (lambda ms, mb, own: mb - own),
    )
    yield f"{name}-time", {
        "title": f"Time of a training step against {name}",
        "subtitle": curve.constant,
        "x": x,
        "y": {"label": "milliseconds, median", "scale": "log"},
        "series": [
            dots("limpid", side("limpid", time)),
            dots("PyTorch eager", side("PyTorch", time)),
        ],
    }
    yield f"{name}-memory", {
        "title": f"Peak memory of a training step against {name}",
        "subtitle": curve.constant,
        "x": x,
        "y": {"label": "MiB resident", "include": 0},
        "series": [
            dots("limpid", side("limpid", peak)),
            dots("PyTorch eager", side("PyTorch", peak)),
            dots("PyTorch eager, less what it took before the model", side("PyTorch", beyond)),
        ],
    }


def draw(name, chart):
    numbers, picture = FOLDER / f"{name}.json", FOLDER / f"{name}.svg"
    numbers.write_text(json.dumps(chart, indent=1) + "\n")
    words = [str(jobs.limpid_binary()), "bench", "chart", str(numbers), "--out", str(picture)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def document(chosen, outcomes, drawn, args):
    words = (
        f"{TOOL} --curves {','.join(chosen)} --threads {args.threads} --rounds {args.rounds} "
        f"--seconds {args.seconds:g}"
    )
    words += f" --patience {args.patience:g}" + (f" --points {args.points}" if args.points else "")
    lines = [
        f"`{words}`, {table.machine()}. Limpid and PyTorch eager (fused attention, fused AdamW) "
        f"in turns of"
        f" {args.seconds:g} s; the median step of undisturbed rounds; memory is the peak of the "
        f"process. Both axes of the"
        " times are logarithmic: a straight line is a power. The numbers are beside the pictures, "
        "as JSON.",
    ]
    versions = table.versions(outcomes.values())
    lines += [versions] if versions else []
    lines += [pictures(drawn)]
    lines += notes(outcomes)
    return "\n\n".join(lines)


def pictures(drawn):
    """Time and memory of each curve."""
    return "\n".join(f"![{chart['title']}](growth/{name}.svg)" for name, chart in drawn)


def notes(outcomes):
    """What a reader would not see in the pictures."""
    disturbed = [o.job for o in outcomes.values() if o.rounds and not o.kept]
    if disturbed:
        yield (
            f"Every round was disturbed by other load, and counts all the same: "
            f"{'; '.join(disturbed)}."
        )
    for outcome in outcomes.values():
        for side in outcome.sides:
            if side.failure:
                yield f"{outcome.job}: {side.name} failed: {side.failure}"


def parse_args():
    parser = argparse.ArgumentParser(prog=TOOL, description=__doc__)
    everything = list(curves(CORES))
    parser.add_argument(
        "--curves", type=names(everything), default=everything, help=",".join(everything)
    )
    parser.add_argument(
        "--threads", type=at_least(1, int), default=min(2, CORES), help="except where threads grow"
    )
    parser.add_argument("--rounds", type=at_least(1, int), default=2)
    parser.add_argument(
        "--seconds",
        type=at_least(0, float),
        default=1.0,
        help="of each turn; at least one step is run",
    )
    parser.add_argument(
        "--patience",
        type=at_least(0, float),
        default=20.0,
        help="seconds to wait for quiet each round",
    )
    parser.add_argument(
        "--points", type=at_least(1, int), help="only the first so many of each curve"
    )
    parser.add_argument(
        "--no-write", action="store_true", help="only print the numbers; leave docs as they are"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    if not args.no_write:
        try:
            table.split_at_markers(RESULTS, TOOL)
        except ValueError as error:
            sys.exit(str(error))
    build([])
    chosen = {name: curve for name, curve in curves(args.threads).items() if name in args.curves}
    outcomes = {}
    for name, curve in chosen.items():
        curve.points = curve.points[: args.points]
        for x, shape, threads in curve.points:
            # S itself is a point of every curve: measured once.
            if (shape, threads) not in outcomes:
                outcomes[shape, threads] = measure(f"{name} {x}", starts(shape, threads), args)
    found = {key: figures(outcome) for key, outcome in outcomes.items()}
    drawn = [pair for name, curve in chosen.items() for pair in charts(name, curve, found)]
    if args.no_write:
        return print(json.dumps(dict(drawn), indent=1))
    FOLDER.mkdir(exist_ok=True)
    for name, chart in drawn:
        draw(name, chart)
    text = document(chosen, outcomes, drawn, args)
    table.write(RESULTS, TOOL, text)
    print(text)


if __name__ == "__main__":
    main()
