#!/usr/bin/env python3
"""The leader is stopped past its lease, another takes over, the first comes back and writes. See failover.sh --help."""

import argparse
import json
import pathlib
import queue
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is
import ending  # noqa: E402
import one_etcd  # noqa: E402

NAMES = ("alpha", "beta", "gamma")
DURATION_MS = 2000
DEADLINE_S = 20.0  # of what should take a second or a lease


class Failed(Exception):
    """The demonstration cannot go on."""


class Process:
    def __init__(self, name, command, heard):
        self.name = name
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        threading.Thread(target=self._read, args=(heard,), daemon=True).start()

    def _read(self, heard):
        for line in self.process.stdout:
            try:
                heard.put(json.loads(line))
            except ValueError:
                pass

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Show:
    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.heard = queue.Queue()
        self.events = []
        self.checks = []

    def say(self, text, **fields):
        at = round(time.monotonic() - self.began, 3)
        if self.options.json:
            print(json.dumps({"t": at, "text": text, **fields}), flush=True)
        else:
            print(f"{at:7.3f} s  {text}", flush=True)

    def check(self, ok, text):
        self.checks.append(ok)
        self.say(("ok:      " if ok else "NOT MET: ") + text, check=text, ok=ok)

    def wait(self, what, condition, seconds=DEADLINE_S):
        """The first event that meets the condition."""
        limit = time.monotonic() + seconds
        while True:
            try:
                event = self.heard.get(timeout=max(0.0, limit - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no {what} within {seconds:.0f} s") from None
            self.events.append(event)
            if event["event"] != "working":
                rest = " ".join(str(event[key]) for key in ("value", "reason", "by", "why") if event.get(key))
                token = f" under token {event['token']}" if "token" in event else ""
                self.say(f"{event['name']}: {event['event']} {rest}{token}", **event)
            if condition(event):
                return event

    def collect(self, seconds):
        try:
            self.wait("", lambda event: False, seconds)
        except Failed:
            pass


def can_write(path):
    connection = sqlite3.connect(path, timeout=0.5, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return True
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()


def past_values(data):
    """Writes that did not go on from the one before: (number, value, value before, token, writer)."""
    rows = sqlite3.connect(data).execute("SELECT number, value, token, writer FROM history ORDER BY number").fetchall()
    past = [(b[0], b[1], a[1], b[2], b[3]) for a, b in zip(rows, rows[1:]) if b[1] != a[1] + 1]
    return rows, past


def run(show, processes, data, files):
    options = show.options
    first = show.wait("leader", lambda e: e["event"] == "acquired")["name"]
    show.wait("fifth write", lambda e: e["event"] == "wrote" and e["value"] >= 5)
    # Stopped where it hurts most: it has looked, and has not written.
    while True:
        working = show.wait("work", lambda e: e["event"] == "working" and e["name"] == first)
        processes[first].signal(signal.SIGSTOP)
        if all(can_write(path) for path in files):
            break
        # Inside a transaction: then its lock keeps all others out, and nobody can take over until it goes on. Safe, and
        # no failover: the price of a store on one machine. Here it is stopped a moment later instead.
        show.say(f"{first} was stopped inside a transaction, and goes on once more")
        processes[first].signal(signal.SIGCONT)
    show.say(f"{first} is stopped; it was about to write {working['value']} under token {working['token']}",
             step="stopped", name=first, token=working["token"])
    taken = show.wait("takeover", lambda e: e["event"] == "acquired" and e["name"] != first)
    second = taken["name"]
    show.wait("writes of the second", lambda e: e["event"] == "wrote" and e["name"] == second and
              e["value"] >= working["value"] + 4)
    show.say(f"{first} goes on, and writes at once", step="continued", name=first)
    processes[first].signal(signal.SIGCONT)
    mark = len(show.events)

    def of_first(*kinds):
        return [e for e in show.events[mark:] if e["name"] == first and e["event"] in kinds]

    # In either order: the one is told by a thread of its own.
    show.wait("late write and loss", lambda e: of_first("wrote", "refused") and of_first("lost"))
    late = of_first("wrote", "refused")[0]
    show.check(True, f"{first} learnt that it lost the lease")
    show.collect(1.0)
    if options.no_fence:
        show.check(late["event"] == "wrote" and late["token"] == working["token"],
                   f"without a fence the old write of {first} went through")
    else:
        named = late["event"] == "refused" and working["token"] in late["why"] and taken["token"] in late["why"]
        show.check(named, f"the old write of {first} was refused, naming {working['token']} and {taken['token']}")
    # In peace: the next one has it at once, not after the lease.
    began = time.monotonic()
    processes[second].end()
    show.wait("handover", lambda e: e["event"] == "acquired" and e["name"] != second)
    took = time.monotonic() - began
    show.check(took < DURATION_MS / 1000, f"{second} ended in peace and handed over within {took:.2f} s")
    show.wait("writes after it", lambda e: e["event"] == "wrote" and e["name"] != second)
    for process in processes.values():
        process.end()
    rows, past = past_values(data)
    for number, value, before, token, writer in past:
        show.say(f"write {number}: {writer} put {value} in the place of {before}, under token {token}", past=value)
    if options.no_fence:
        show.check(bool(past), f"the table went back into the past: {len(past)} of {len(rows)} writes")
        show.say("CORRUPTED, as it had to be: a lease alone stops nobody who was paused; only the fence does")
    else:
        show.check(not past and len(rows) > 10, f"{len(rows)} writes, each one more than the one before")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--backend", choices=("sqlite", "etcd"), default="sqlite")
    parser.add_argument("--no-fence", action="store_true")
    parser.add_argument("--json", action="store_true")
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--binary", default=str(root / "build/release/bin/failover"))
    options = parser.parse_args()
    if not pathlib.Path(options.binary).is_file():
        print(f"failover.sh: there is no {options.binary}", file=sys.stderr)
        return 1
    if options.backend == "etcd" and shutil.which("etcd") is None:
        print("failover.sh: etcd is not installed (Debian: etcd-server)", file=sys.stderr)
        return 77
    show = Show(options)
    etcd = None
    processes = {}
    with tempfile.TemporaryDirectory(prefix="nekton_failover_") as scratch:
        directory = pathlib.Path(scratch)
        leases = str(directory / "leases.db")
        data = str(directory / "data.db")
        try:
            if options.backend == "etcd":
                etcd, leases = one_etcd.start(directory)
            for name in NAMES:
                command = [options.binary, "--name", name, "--leases", leases, "--data", data,
                           "--duration_ms", str(DURATION_MS)]
                processes[name] = Process(name, command + (["--nofence"] if options.no_fence else []), show.heard)
            run(show, processes, data, [data] + ([leases] if options.backend == "sqlite" else []))
        except Failed as failed:
            show.check(False, str(failed))
        finally:
            for process in processes.values():
                process.end()
            if etcd is not None:
                etcd.kill()
                etcd.wait()
    ok = all(show.checks)
    show.say("as expected" if ok else "NOT as expected", summary=True, ok=ok, backend=options.backend,
             fence=not options.no_fence)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(ending.run(main))
