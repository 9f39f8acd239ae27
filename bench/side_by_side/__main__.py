"""Compares Limpid with other libraries, turn by turn in the same window. Started by
bench/compare."""

import argparse
import os
import subprocess
import sys

from . import jobs, table
from .rounds import log, measure

RESULTS, TOOL = jobs.ROOT / "docs" / "records" / "comparison.md", "bench/compare"


def build(against):
    """Limpid for every machine of its kind, the peers for this one. A peer that cannot be built
    fails later, alone."""
    environment = {name: value for name, value in os.environ.items() if name != "RUSTFLAGS"}
    cargo = ["cargo", "build", "--release", "--locked"]
    if (
        "LIMPID" not in os.environ
        and subprocess.run(cargo, cwd=jobs.ROOT, env=environment).returncode
    ):
        sys.exit("limpid cannot be built")
    for name in ("candle", "burn"):
        if name in against:
            words = [*cargo, "--package", f"peer-{name}", "--target-dir", "target"]
            # There, because its .cargo/config.toml asks for the instructions of this machine.
            if subprocess.run(words, cwd=jobs.BENCH / "peers", env=environment).returncode:
                log(f"{name} cannot be built")


def names(known):
    def parse(text):
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(unknown)}; expected {','.join(known)}"
            )
        return chosen

    return parse


def at_least(least, kind):
    def parse(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value

    return parse


def parse_args():
    parser = argparse.ArgumentParser(prog=TOOL, description=__doc__)
    everything = list(jobs.ABOUT)
    parser.add_argument(
        "--jobs", type=names(everything), default=everything, help=",".join(everything)
    )
    parser.add_argument(
        "--against", type=names(jobs.PEERS), default=jobs.PEERS, help=",".join(jobs.PEERS)
    )
    parser.add_argument("--threads", type=at_least(1, int), default=2)
    parser.add_argument("--rounds", type=at_least(1, int), default=10)
    parser.add_argument(
        "--seconds",
        type=at_least(0, float),
        default=3.0,
        help="of each turn; at least one step is run",
    )
    parser.add_argument(
        "--patience",
        type=at_least(0, float),
        default=60.0,
        help="seconds to wait for quiet each round",
    )
    parser.add_argument(
        "--no-write", action="store_true", help="only print; leave docs as they are"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    if not args.no_write:
        try:
            table.split_at_markers(RESULTS, TOOL)  # before an hour of measuring, not after
        except ValueError as error:
            sys.exit(str(error))
    build(args.against)
    outcomes = [
        measure(job, jobs.contenders(job, args.against, args.threads), args) for job in args.jobs
    ]
    text = table.document(outcomes, args)
    print(text)
    if not args.no_write:
        table.write(RESULTS, TOOL, text)


if __name__ == "__main__":
    main()
