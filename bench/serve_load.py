#!/usr/bin/env python3
"""Load on a `limpid serve` of its own, with the accounts of both sides.

    bench/serve_load.py overload REQUESTS.jsonl NAME=MODEL…   capacity, then ten times that
    bench/serve_load.py steady REQUESTS.jsonl NAME=MODEL… --seconds 3600
    bench/serve_load.py restart REQUESTS.jsonl NAME=MODEL…    kill -9 under load, ten times
    bench/serve_load.py drain REQUESTS.jsonl NAME=MODEL…      SIGTERM under load, ten times
    bench/serve_load.py idle REQUESTS.jsonl NAME=MODEL…       CPU and memory without requests

REQUESTS.jsonl is of bench/serve_requests.py, so every answer is compared with the command line's.
Prints a line of JSON for each phase; ends with 1 if a bound does not hold. LIMPID names another
binary than target/release/limpid."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LIMPID = os.environ.get("LIMPID", Path(__file__).resolve().parent.parent / "target/release/limpid")


class Server:
    """A server process, without proxies or keys, on a port of its own."""

    def __init__(self, args, *more):
        command = [LIMPID, "serve", *args.models, "--port", str(args.port), "--log", "json", *more]
        self.url = f"http://127.0.0.1:{args.port}"
        self.log = tempfile.NamedTemporaryFile("a")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        until = time.time() + 60
        while "Serving on" not in Path(self.log.name).read_text():
            if self.process.poll() is not None or time.time() > until:
                raise SystemExit(Path(self.log.name).read_text())
            time.sleep(0.05)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def requests(self):
        """Requests of the routes that the load uses, by outcome."""
        counts = {}
        for line in self.get("/metrics").splitlines():
            found = re.match(r'limpid_requests_total\{(.*)\} (\d+)', line)
            if found and "/metrics" not in line:
                outcome = re.search(r'outcome="(\w+)"', found[1])[1]
                counts[outcome] = counts.get(outcome, 0) + int(found[2])
        return counts

    def gauge(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.get("/metrics"), re.M)[1])

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu_seconds(self):
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def answered(self):
        """Answers in the log."""
        lines = Path(self.log.name).read_text().splitlines()
        return sum('"answered"' in line for line in lines)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(120)


def load(args, *options, seconds=None, wait=True):
    command = [LIMPID, "bench", "serve", f"127.0.0.1:{args.port}", "--requests", args.requests,
               "--seconds", str(seconds or args.seconds), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return report(process) if wait else process


def report(process):
    out, err = process.communicate()
    return json.loads(out) if out.strip() else {"sent": 0, "error": err}


def show(phase, **values):
    print(json.dumps({"phase": phase, **values}), flush=True)


def check(holds, what):
    if not holds:
        check.failed = True
        print(f"FAILED: {what}", file=sys.stderr, flush=True)


check.failed = False


def settle(server):
    """Waits until nothing runs; what is then left would be a leak."""
    for _ in range(100):
        if server.gauge("limpid_running_generations") == server.gauge("limpid_queued_tokens") == 0:
            break
        time.sleep(0.1)
    names = ["limpid_running_generations", "limpid_queued_tokens", "limpid_kv_bytes"]
    left = {name: server.gauge(name) for name in names}
    check(not any(left.values()), f"left over: {left}")


def accounts(server, before, found, leavers):
    """What the server counted, beside what its clients counted."""
    after = server.requests()
    ours = {name: after.get(name, 0) - before.get(name, 0) for name in after}
    theirs = {}
    for status, count in found["statuses"].items():
        kind = f"{status[0]}xx"
        theirs[kind] = theirs.get(kind, 0) + count
    answered = sum(theirs.values())
    adds_up = found["sent"] == answered + found["left"] + found["closed"] + found["timed_out"]
    check(adds_up, f"clients: {found}")
    check(found["wrong"] == 0, f"{found['wrong']} wrong answers")
    check(set(found["statuses"]) <= {"200", "413", "429", "503", "504"}, found["statuses"])
    # A client that leaves may be answered first, or not be seen at all; no other one.
    extra = {name: ours.get(name, 0) - theirs.get(name, 0) for name in {*ours, *theirs}}
    extra["unseen"] = found["sent"] - sum(ours.values())
    gone = found["left"] + found["closed"] + found["timed_out"]
    check(sum(extra.values()) == gone, f"server {ours}, clients {found}")
    check(all(count >= 0 for count in extra.values()), extra)
    if not leavers:
        check(not any(extra.values()) and gone == 0, f"server {ours}, clients {theirs}")
    return {"server": ours, "clients": found}


def overload(args):
    server = Server(args, "--max-queue-tokens", str(args.queue))
    load(args, "--clients", "32", seconds=5)
    before = server.requests()
    found = load(args, "--clients", "32", seconds=min(30, args.seconds))
    capacity = found["answers_per_second"]
    show("capacity", **accounts(server, before, found, False), resident_mb=server.resident_mb())
    rate = ["--rate", f"{10 * capacity:.0f}"]
    leaving = ["--leaving", "0.3", "--slow", "0.05", "--dripping", "32"]
    for phase, options in [("10x", rate), ("10x, 30% leave, 5% read slowly, 32 drip",
                                            [*rate, *leaving])]:
        before, memory = server.requests(), server.resident_mb()
        found = load(args, *options)
        settle(server)
        shown = accounts(server, before, found, len(options) > 2)
        goodput = found["answers_per_second"] / capacity
        show(phase, goodput_of_capacity=goodput, resident_mb=[memory, server.resident_mb()],
             **shown)
    check(server.stop() == 0, "SIGTERM must end with 0")


def steady(args):
    server = Server(args)
    load(args, "--clients", "8", seconds=10)
    before, begun = server.requests(), time.time()
    process = load(args, "--rate", str(args.rate), wait=False)
    memory = []
    while process.poll() is None and time.time() - begun < args.seconds:
        time.sleep(min(10, args.seconds / 20))
        memory.append(round(server.resident_mb(), 1))
    found = report(process)
    settle(server)
    show("steady", **accounts(server, before, found, False), resident_mb=memory[:: args.every])
    # After a tenth of the time everything has been used once.
    rest = memory[len(memory) // 10:]
    check(max(rest) <= 1.01 * rest[0], f"resident memory grew from {rest[0]} to {max(rest)} MB")
    check(server.stop() == 0, "SIGTERM must end with 0")


def restart(args):
    for turn in range(10):
        server = Server(args)
        process = load(args, "--clients", "16", seconds=4, wait=False)
        time.sleep(1 + turn / 10)
        server.stop(signal.SIGKILL)
        time.sleep(0.2)
        server = Server(args)
        found = report(process)
        show("kill -9 and restart", **found)
        check(found["wrong"] == 0 and found["timed_out"] == 0, "only connections may end")
        check(set(found["statuses"]) <= {"200", "503"}, found["statuses"])
        check(found["statuses"].get("200", 0) > 0, "nothing was answered")
        check(server.stop() == 0, "SIGTERM must end with 0")


def drain(args):
    for turn in range(10):
        server = Server(args)
        process = load(args, "--rate", str(args.rate), seconds=2, wait=False)
        time.sleep(1 + turn / 20)
        code = server.stop()
        found = report(process)
        # Every request that the server took was answered, and its client has the answer.
        answered = server.answered()
        show("SIGTERM under load", exit_code=code, answered=answered, **found)
        check(answered == sum(found["statuses"].values()), "an answer was lost")
        check(code == 0, "SIGTERM must end with 0")
        check(found["wrong"] == 0 and found["timed_out"] == 0, "an accepted request was lost")
        check(set(found["statuses"]) <= {"200", "503"}, found["statuses"])


def idle(args):
    server = Server(args)
    load(args, "--clients", "8", seconds=10)
    time.sleep(5)
    cpu = server.cpu_seconds()
    time.sleep(args.seconds)
    weights = sum(file.stat().st_size for named in args.models
                  for file in Path(named.split("=")[-1]).glob("*.safetensors")) / 2**20
    show("idle", cpu_seconds=server.cpu_seconds() - cpu, of=args.seconds,
         resident_mb=server.resident_mb(), weights_mb=weights)
    check(server.stop() == 0, "SIGTERM must end with 0")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    phases = {run.__name__: run for run in [overload, steady, restart, drain, idle]}
    parser.add_argument("phase", choices=phases)
    parser.add_argument("requests")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--port", type=int, default=8121)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rate", type=float, default=20, help="requests per second, where fixed")
    parser.add_argument("--queue", type=int, default=4096, help="tokens in the queue")
    parser.add_argument("--every", type=int, default=6, help="which samples of memory are printed")
    args = parser.parse_args()
    phases[args.phase](args)
    raise SystemExit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
