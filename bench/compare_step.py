#!/usr/bin/env python3
"""Compares the training step of two programs, turn by turn in the same window, and prints a Markdown table.

    bench/compare_step.py T S --a limpid --b torch --rounds 10 --seconds 3

Both programs are started once and then wait on their standard input (the protocol is in torch_step.py). They
take turns, so what slows the machine for a while slows both. Run it with the Python that has torch.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")  # of /proc, in a second

# What torch_models.SHAPES says, as limpid's command line says it.
LIMPID_MODELS = {
    "T": "gpt --layers 4 --heads 4 --width 128 --context 64 --batch 12 --vocab 65",
    "S": "gpt --layers 6 --heads 6 --width 384 --context 256 --batch 8 --vocab 256",
    "G": "gpt --layers 12 --heads 12 --width 768 --context 128 --batch 2 --vocab 50257",
    "D": "seq2seq --encoder-layers 3 --decoder-layers 3 --heads 8 --width 256 --ffn 1024 --batch 64"
    " --source-len 24 --target-len 24 --vocab 8000 --label-smoothing 0.1",
}
PROGRAMS = ["limpid", "torch", "torch-compile"]

# Thread teams spin for a while after their last job before they sleep; the other side waits that long.
SETTLE_SECONDS = 0.4
# A side counts as idle if it used less than this part of a core while the other ran.
IDLE_CORE = 0.02
# A round is disturbed if even its best step, on either side, is this much slower than rounds usually are, or
# if other programs (or, in a virtual machine, its host) used more than this part of a core.
DISTURBED, OTHER_LOAD = 1.15, 0.1


def command(program, model, args):
    if program == "limpid":
        words = [*shlex.split(args.limpid), "bench", "step", *LIMPID_MODELS[model].split()]
    else:
        words = [sys.executable, str(BENCH / "torch_step.py"), model]
        words += ["--compile"] if program == "torch-compile" else []
    return [*words, "--threads", str(args.threads), "--interactive"]


@dataclass
class Turn:
    """One side's step times, and how much of a core the waiting side and everyone else used meanwhile."""

    step_ms: list
    waiter_load: float
    other_load: float

    def best(self):
        return min(self.step_ms)

    def median(self):
        return statistics.median(self.step_ms)


class Contender:
    """A program that waits on its standard input except while it is told to run."""

    def __init__(self, words):
        self.words = words
        try:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            fail(f"cannot start `{shlex.join(words)}`: {error}")
        self.about = self.read()

    def read(self):
        line = self.process.stdout.readline()
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            fail(f"`{shlex.join(self.words)}` answered {line!r}, expected a line of JSON")

    def run(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return self.read()["step_ms"]

    def quit(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait()

    def cpu_seconds(self):
        """Processor time used so far by all its threads; Linux only."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def machine_cpu_seconds():
    """Processor time used so far by everybody, including what the host of a virtual machine took away."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS


def wait_for_quiet(patience):
    """Returns once nobody computes, both sides being asleep, or when patience runs out."""
    deadline = time.perf_counter() + patience
    while time.perf_counter() < deadline:
        before = machine_cpu_seconds()
        time.sleep(1.0)
        if machine_cpu_seconds() - before <= OTHER_LOAD:
            return


def turn(runner, waiter, seconds):
    time.sleep(SETTLE_SECONDS)
    clocks = (time.perf_counter, machine_cpu_seconds, runner.cpu_seconds, waiter.cpu_seconds)
    before = [clock() for clock in clocks]
    step_ms = runner.run(seconds)
    elapsed, machine, ran, waited = (clock() - start for clock, start in zip(clocks, before))
    return Turn(step_ms, waited / elapsed, (machine - ran - waited) / elapsed)


def measure(model, args):
    """Rounds of (turn of a, turn of b), and what each side says it is."""
    a, b = (Contender(command(program, model, args)) for program in (args.a, args.b))
    rounds = []
    for number in range(args.rounds):
        wait_for_quiet(args.patience)
        turns = turn(a, b, args.seconds), turn(b, a, args.seconds)
        rounds.append(turns)
        best, other = [f"{t.best():.2f}" for t in turns], max(t.other_load for t in turns)
        log(f"{model} round {number + 1}: best {' and '.join(best)} ms, other load {other:.0%} of a core")
        if max(t.waiter_load for t in turns) > IDLE_CORE:
            log(f"  not idle while waiting: {args.b} {turns[0].waiter_load:.0%}, {args.a} {turns[1].waiter_load:.0%}")
    a.quit()
    b.quit()
    if a.about.get("parameters") != b.about.get("parameters"):
        log(f"  NOT THE SAME MODEL: {a.about.get('parameters')} and {b.about.get('parameters')} parameters")
    return rounds, a.about, b.about


def screen(model, rounds):
    """The rounds in which neither side was disturbed by other load."""
    usual = [statistics.median(r[side].best() for r in rounds) for side in (0, 1)]
    quiet = lambda t, usual: t.best() <= DISTURBED * usual and t.other_load <= OTHER_LOAD
    kept = [r for r in rounds if all(map(quiet, r, usual))]
    if len(kept) < len(rounds):
        log(f"{model}: {len(rounds) - len(kept)} of {len(rounds)} rounds disturbed by other load, left out")
    return kept


def summary(model, rounds, kept):
    """One row. The ratio is of medians; behind it the smallest and largest of a single round."""
    if not kept:
        return f"| {model} | disturbed | disturbed | - | 0 of {len(rounds)} |"
    steps = [[ms for r in kept for ms in r[side].step_ms] for side in (0, 1)]
    medians = [statistics.median(times) for times in steps]
    ratios = [a.median() / b.median() for a, b in kept]
    cells = [f"{median:.1f} ({min(times):.1f})" for median, times in zip(medians, steps)]
    ratio = f"{medians[0] / medians[1]:.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    return f"| {model} | {' | '.join(cells)} | {ratio} | {len(kept)} of {len(rounds)} |"


def fail(text):
    log(text)
    sys.exit(2)


def log(text):
    print(text, file=sys.stderr, flush=True)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="T, S, G or D; default all")
    parser.add_argument("--a", choices=PROGRAMS, default="limpid")
    parser.add_argument("--b", choices=PROGRAMS, default="torch")
    parser.add_argument("--limpid", default="target/release/limpid", help="the command that starts limpid")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn; at least one step is run")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a quiet machine each round")
    args = parser.parse_args()
    args.models = args.models or list(LIMPID_MODELS)
    unknown = [model for model in args.models if model not in LIMPID_MODELS]
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}; expected {', '.join(LIMPID_MODELS)}")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    return args


def main():
    args = parse_args()
    rows = []
    for model in args.models:
        rounds, about_a, about_b = measure(model, args)
        rows.append(summary(model, rounds, screen(model, rounds)))
    print(f"Training step, median (best) ms, {args.threads} threads, {args.seconds:g} s turns. ", end="")
    print(f"A: {args.a}, {about_a.get('version')}. B: {args.b}, {about_b.get('version')}.\n")
    print("| model | A ms | B ms | A / B (of one round) | rounds kept |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
