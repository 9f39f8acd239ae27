"""The outcome as Markdown, and its place in a document."""

import os
import statistics
import textwrap
from datetime import date
from pathlib import Path

from . import jobs

# A gap under this is a tie.
TIE = 1.10
# Columns of a document.
WIDTH = 100


def document(outcomes, args):
    parts = [heading(args), versions(outcomes), legend(outcomes), times(outcomes), memory(outcomes)]
    return "\n\n".join(part for part in [*parts, one_thread(outcomes, args)] if part)


def machine():
    """The day, and what was measured on."""
    model = next(
        (
            l.split(":", 1)[1].strip()
            for l in lines_of("/proc/cpuinfo")
            if l.startswith("model name")
        ),
        "?",
    )
    gb = next(
        (int(l.split()[1]) / 2**20 for l in lines_of("/proc/meminfo") if l.startswith("MemTotal:")),
        0,
    )
    return f"{date.today()}, {os.cpu_count()} cores of {model}, {gb:.0f} GB"


def heading(args):
    words = f"bench/compare --jobs {','.join(args.jobs)} --against {','.join(args.against)}"
    words += (
        f" --threads {args.threads} --rounds {args.rounds} --seconds {args.seconds:g} "
        f"--patience {args.patience:g}"
    )
    return (
        f"`{words}`, {machine()}. f32, {args.threads} threads, all in turns of {args.seconds:g} "
        f"s; rounds disturbed by"
        " other load are left out."
    )


def lines_of(path):
    return Path(path).read_text().splitlines()


def versions(outcomes):
    """Each version once; a contender with two (onnxruntime's two graphs) has both named."""
    found = {}
    for outcome in outcomes:
        for side in outcome.sides:
            version = side.about.get("version")
            if version and side.name != jobs.ONE_THREAD:
                version = f"limpid {version}" if side.name == "limpid" else version
                found.setdefault(version, []).append(side.name)
    return "Versions: " + ", ".join(found) + "." if found else ""


def verdict(ratio):
    if 1 / TIE < ratio < TIE:
        return f"{ratio:.2f}, tie"
    return f"{ratio:.2f}"


def steps(outcome, name):
    return [ms for r in outcome.kept for ms in r[name].step_ms]


def legend(outcomes):
    """What each job is."""
    return "\n".join(f"- {outcome.job}: {jobs.ABOUT[outcome.job]}" for outcome in outcomes)


def times(outcomes):
    """A row for each contender of each job."""
    rows = [
        "| job | | ms, median (best) | its time / limpid's (single rounds) | rounds kept |",
        "|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        title = outcome.job
        for side in outcome.sides:
            if side.name == jobs.ONE_THREAD:
                continue
            kept = f"{len(outcome.kept)} of {len(outcome.rounds)}"
            rows.append(
                f"| {title} | {side.name} | {' | '.join(time_cells(outcome, side))} | {kept} |"
            )
            title = ""
    return "\n".join(rows)


def time_cells(outcome, side):
    if side.failure:
        return f"failed: {side.failure.replace('|', '/')}", ""
    if not outcome.kept:
        return "disturbed", ""
    mine = steps(outcome, side.name)
    cell = f"{statistics.median(mine):.1f} ({min(mine):.1f})"
    if side.name == "limpid":
        return cell, ""
    if "limpid" not in outcome.kept[0]:
        return cell, "limpid failed"
    ratio = statistics.median(mine) / statistics.median(steps(outcome, "limpid"))
    single = [r[side.name].median() / r["limpid"].median() for r in outcome.kept]
    return cell, f"{verdict(ratio)} ({min(single):.2f} to {max(single):.2f})"


def memory(outcomes):
    """Peaks; in training also what issue 3 allows: 16 bytes per parameter and 0.6 of PyTorch's
    beyond its own."""
    rows = []
    for outcome in outcomes:
        title = outcome.job
        for side in outcome.sides:
            if side.peak_mb is None or side.failure:
                continue
            own = side.about.get("own_mb") or 0.0
            cells = f"{side.peak_mb:.0f} | {own:.0f} | {side.peak_mb - own:.0f}"
            rows.append(f"| {title} | {side.name} | {cells} | {allowed(outcome, side)} |")
            title = ""
    if not rows:
        return ""
    head = (
        "| job | | peak MB | its own, before the model | beyond its own | allowed "
        "|\n|---|---|---|---|---|---|"
    )
    note = (
        "Peak resident memory. Allowed in training: 16 bytes per parameter and 0.6 of what "
        "PyTorch eager uses beyond its own"
        " (before the model is made)."
    )
    return f"{note}\n\n{head}\n" + "\n".join(rows)


def allowed(outcome, side):
    torch = next(
        (s for s in outcome.sides if s.name == "torch" and s.peak_mb and not s.failure), None
    )
    if side.name != "limpid" or outcome.job not in jobs.TRAINING or torch is None:
        return ""
    beyond = torch.peak_mb - torch.about['own_mb']
    return f"{16 * side.about['parameters'] / 2**20 + 0.6 * beyond:.0f}"


def one_thread(outcomes, args):
    rows = []
    for outcome in outcomes:
        if outcome.kept and {"limpid", jobs.ONE_THREAD} <= outcome.kept[0].keys():
            one, many = (
                statistics.median(steps(outcome, name)) for name in (jobs.ONE_THREAD, "limpid")
            )
            rows.append(f"| {outcome.job} | {one:.1f} | {many:.1f} | {one / many:.2f} |")
    if not rows:
        return ""
    head = (
        f"| limpid | 1 thread, ms | {args.threads} threads, ms | times as fast |\n|---|---|---|---|"
    )
    return head + "\n" + "\n".join(rows)


def split_at_markers(path, tool):
    """What stands before and after the place of a tool's text, markers included; an error where
    they are missing."""
    begin, end = f"<!-- {tool}: begin -->", f"<!-- {tool}: end -->"
    before, found, rest = path.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(
            f"{path} has no place for the results; expected a line {begin} and after it a line "
            f"{end}"
        )
    return before + begin, end + after


def wrapped(text):
    """Prose and lists in lines of at most WIDTH columns; tables and pictures as they are."""
    lines = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        whole = not line or line.startswith(("|", "!"))
        options = {
            "break_long_words": False,
            "break_on_hyphens": False,
            "subsequent_indent": indent,
        }
        lines += [line] if whole else textwrap.wrap(line, WIDTH, **options)
    return "\n".join(lines)


def write(path, tool, text):
    before, after = split_at_markers(path, tool)
    path.write_text(f"{before}\n{wrapped(text)}\n{after}")
