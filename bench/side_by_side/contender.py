"""A program that waits on its standard input except while it is told to run (docs/formats.md has
the protocol)."""

import json
import os
import select
import subprocess
import tempfile
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")  # of /proc, in a second

# A start compiles and warms up; a run takes at least one step. Longer than this is a failure.
START_SECONDS, RUN_SECONDS = 900, 300


class Failed(Exception):
    """Why a contender takes part no longer."""


class Contender:
    def __init__(self, start):
        self.name = start.name
        self.errors = tempfile.TemporaryFile("w+")
        try:
            self.process = subprocess.Popen(
                start.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                env={**os.environ, **start.environment},
                text=True,
            )
        except OSError as error:
            raise Failed(f"cannot be started: {error.strerror}") from None
        self.about = self.read(START_SECONDS)

    def read(self, patience):
        """One answer. Answers are single lines, so nothing is left in the buffer that select would
        not see."""
        if not select.select([self.process.stdout], [], [], patience)[0]:
            self.kill()
            raise Failed(f"no answer in {patience:.0f} s")
        line = self.process.stdout.readline()
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            self.kill()
            raise Failed(
                self.last_words() or f"answered {line!r}, expected a line of JSON"
            ) from None

    def run(self, seconds):
        """Step times in milliseconds."""
        try:
            self.process.stdin.write(f"run {seconds}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self.last_words() or "ended by itself") from None
        return self.read(seconds + RUN_SECONDS)["step_ms"]

    def quit(self):
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def last_words(self):
        """The last line it wrote to standard error that says something; an `error:` rather than a
        hint after it."""
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith("error")]
        return (errors or lines or [""])[-1][:200]

    def cpu_seconds(self):
        """Processor time used so far by all its threads; Linux only."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return 0.0
        fields = text.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_mb(self):
        """Its largest resident size so far."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return None


def machine_cpu_seconds():
    """Processor time used so far by everybody, including what the host of a virtual machine took
    away."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS
