"""Rounds in which every contender has its turn, and which of them count."""

import statistics
import sys
import time
from dataclasses import dataclass, field

from .contender import Contender, Failed, machine_cpu_seconds

# Thread teams spin for a while after their last job before they sleep; the next in turn waits that
# long.
SETTLE_SECONDS = 0.4
# A contender counts as idle if it used less than this part of a core while another ran.
IDLE_CORE = 0.02
# A round is disturbed if even its best step, of any contender, is this much slower than in rounds
# usually, or if other programs (or, in a virtual machine, its host) used more than this part of a
# core.
DISTURBED, OTHER_LOAD = 1.15, 0.1


@dataclass
class Turn:
    """One contender's step times, and how much of a core the others of the round and everyone else
    used meanwhile."""

    step_ms: list
    waiter_load: float
    other_load: float

    def best(self):
        return min(self.step_ms)

    def median(self):
        return statistics.median(self.step_ms)


@dataclass
class Side:
    """What became of one contender of a job."""

    name: str
    failure: str = ""
    about: dict = field(default_factory=dict)
    peak_mb: float = None


@dataclass
class Outcome:
    """Of one job: its sides, and its rounds, each a turn by the name of every side that did not
    fail."""

    job: str
    sides: list
    rounds: list
    kept: list


def log(text):
    print(text, file=sys.stderr, flush=True)


def wait_for_quiet(patience):
    """Returns once nobody computes, all contenders being asleep, or when patience runs out."""
    deadline = time.perf_counter() + patience
    while time.perf_counter() < deadline:
        before = machine_cpu_seconds()
        time.sleep(1.0)
        if machine_cpu_seconds() - before <= OTHER_LOAD:
            return


def turn(runner, everybody, seconds):
    time.sleep(SETTLE_SECONDS)
    waiters = [contender for contender in everybody if contender is not runner]
    waited_for = lambda: sum(waiter.cpu_seconds() for waiter in waiters)
    clocks = (time.perf_counter, machine_cpu_seconds, runner.cpu_seconds, waited_for)
    before = [clock() for clock in clocks]
    step_ms = runner.run(seconds)
    elapsed, machine, ran, waited = (clock() - start for clock, start in zip(clocks, before))
    return Turn(step_ms, waited / elapsed, (machine - ran - waited) / elapsed)


def measure(job, starts, args):
    """Starts everybody, lets them take turns, and stops everybody."""
    sides, running = [Side(start.name) for start in starts], {}
    by_name = {side.name: side for side in sides}
    for start in starts:
        log(f"{job}: {start.name} starts")
        try:
            running[start.name] = Contender(start)
            by_name[start.name].about = running[start.name].about
        except Failed as failed:
            fail(by_name[start.name], failed)
    rounds = []
    for number in range(args.rounds):
        wait_for_quiet(args.patience)
        rounds.append(one_round(running, by_name, args.seconds))
        shown = ", ".join(f"{name} {t.best():.2f}" for name, t in rounds[-1].items())
        other = max((t.other_load for t in rounds[-1].values()), default=0.0)
        log(f"{job} round {number + 1}: best ms {shown}; other load {other:.0%} of a core")
    for name, contender in running.items():
        by_name[name].peak_mb = contender.peak_mb()
        contender.quit()
    # Who failed half-way has turns in some rounds only: they do not count.
    rounds = [{name: t for name, t in r.items() if not by_name[name].failure} for r in rounds]
    warn_about_differences(job, sides)
    return Outcome(job, sides, rounds, screen(job, rounds))


def one_round(running, by_name, seconds):
    turns = {}
    for name, contender in list(running.items()):
        try:
            turns[name] = turn(contender, running.values(), seconds)
        except Failed as failed:
            fail(by_name[name], failed)
            del running[name]
            continue
        if turns[name].waiter_load > IDLE_CORE:
            log(
                f"  not idle while {name} ran: the others used {turns[name].waiter_load:.0%} of "
                f"a core"
            )
    return turns


def fail(side, failed):
    side.failure = str(failed)
    log(f"  {side.name} FAILED: {failed}")


def warn_about_differences(job, sides):
    counts = {side.name: side.about.get("parameters") for side in sides if not side.failure}
    if len(set(counts.values())) > 1:
        log(f"{job}: NOT THE SAME MODEL, parameters: {counts}")


def screen(job, rounds):
    """The rounds in which nobody was disturbed by other load."""
    names = rounds[0].keys() if rounds else []
    usual = {name: statistics.median(r[name].best() for r in rounds) for name in names}
    quiet = lambda name, t: t.best() <= DISTURBED * usual[name] and t.other_load <= OTHER_LOAD
    kept = [r for r in rounds if all(quiet(name, t) for name, t in r.items())]
    if len(kept) < len(rounds):
        log(
            f"{job}: {len(rounds) - len(kept)} of {len(rounds)} rounds disturbed by other load, "
            f"left out"
        )
    return kept
