#!/usr/bin/env python3
"""Five agents on this machine: one is killed, started again, frozen and let go, one leaves. See demo.sh --help."""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is
import ending  # noqa: E402

NAMES = ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau "
         "upsilon").split()
COLOURS = {"ACTIVE": "32", "SUSPECT": "33", "INACTIVE": "31", "LEFT": "36", "ok": "32", "NOT MET": "1;31"}

FREEZE_S = 3.0
WATCH_S = 4.0  # after the freeze: longer than any hold that the silence could have started
DETECTION_DEADLINE_S = 30.0
RESTART_LIMIT_S = 3.0
DEADLINE_S = 15.0  # of what should take a second


def now():
    """Seconds on the clock of the agents' at_ns."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Failed(Exception):
    """The demonstration cannot go on."""


class Agent:
    """One process of `nekton agent --json`. Its events are handed to `hear(agent, event)` on a thread of its own."""

    def __init__(self, binary, name, bind, seed, detector, hear):
        self.name = name
        self.hear = hear
        self.started = threading.Event()
        self.info = {}
        self.answers = []
        self.began = now()
        command = [binary, "agent", "--json", "--name", name, "--bind", bind, "--detector", detector]
        if seed:
            command += ["--join", seed]
        # A session of its own: Ctrl-C on the terminal is for the demonstration, which ends its agents itself.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.expected_to_end = False

    def _read(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                print(f"{self.name}: {line.rstrip()}", file=sys.stderr)
                continue
            if event.get("event") == "started":
                self.info = event
                self.started.set()
            self.hear(self, event)
        self.started.set()  # or it never will

    @property
    def pid(self):
        return self.process.pid

    @property
    def generation(self):
        return self.info["generation"]

    @property
    def address(self):
        return self.info["address"]

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.name} (pid {self.pid}) is gone") from None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout):
        """The exit status, or None."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self.reader.join(timeout)
        return status

    def end(self):
        """Whatever state it is in. Only ever this very child."""
        if self.process.poll() is None:
            self.process.kill()  # a stopped process, too
            self.process.wait()
        self.reader.join(5)
        self.process.stdin.close()
        self.process.stdout.close()


class Output:
    """Lines for people, or JSON objects."""

    def __init__(self, as_json):
        self.as_json = as_json
        self.colours = not as_json and sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def paint(self, word, width=0):
        padded = word.ljust(width)
        return f"\033[{COLOURS[word]}m{padded}\033[0m" if self.colours and word in COLOURS else padded

    def text(self, line=""):
        if not self.as_json:
            print(line, flush=True)

    def object(self, **members):
        if self.as_json:
            print(json.dumps(members), flush=True)


def why(event):
    """The cause of a change of state, in words."""
    kind = event["event"]
    transition = event.get("transition")
    if kind == "left":
        return "said goodbye"
    if kind == "restarted":
        before = f" {event['generation_before']} ->" if "generation_before" in event else ""
        return f"restarted, generation{before} {event['generation']}"
    if kind == "recovered" and transition == "refuted":
        return f"it refuted, incarnation {event['incarnation']}"
    if event.get("attempts"):
        return f"{len(event['attempts'])} attempts failed: " + ", ".join(attempt(a) for a in event["attempts"])
    accusers = ", ".join(event.get("observers", [])) or "nobody known"
    if kind == "failed":
        reason = {"confirm_dead_hold_elapsed": f"held for {event.get('lasted_s', 0):.1f} s in vain",
                  "gossip": "verdict of the group", "refused": "its port refused"}.get(transition, transition)
        return f"{reason}; accused by {accusers}"
    if kind == "suspected":
        return f"heard that {accusers} accused it"
    return (transition or "").replace("_", " ")


def attempt(report):
    text = "direct"
    if report["relays"]:
        text = f"with {report['relays']} relay{'s' if report['relays'] != 1 else ''}"
        if report["nacks"]:
            text += f" ({report['nacks']} nack{'s' if report['nacks'] != 1 else ''})"
    if report["stream"]:
        text += " and stream"
    return text + (": refused" if report["refused"] else "")


class Demo:
    def __init__(self, options):
        self.out = Output(options.json)
        self.binary = options.binary
        self.detector = options.detector
        self.names = NAMES[:options.nodes]
        self.agents = {}  # the running ones by name
        self.all = []     # every process ever started
        self.changed = threading.Condition()
        self.heard = []   # (agent, event) in the order of arrival
        self.shown = 0
        self.step = ""
        self.cause = now()  # times are shown since then
        self.expectations = []
        self.results = {}
        self.addresses = set()

    # ---- agents

    def hear(self, agent, event):
        with self.changed:
            if "answer" in event:
                agent.answers.append(event)
            else:
                self.heard.append((agent, event))
            self.changed.notify_all()

    def launch(self, name, bind="127.0.0.1:0", seed=None):
        agent = Agent(self.binary, name, bind, seed, self.detector, self.hear)
        self.all.append(agent)
        if not agent.started.wait(DEADLINE_S) or not agent.info:
            raise Failed(f"{name} did not start")
        self.agents[name] = agent
        self.addresses.add(agent.address)
        return agent

    def others(self, *names):
        return [agent for agent in self.agents.values() if agent.name not in names]

    def members_of(self, agents):
        """What each of them knows now: {name: {member: its object}}."""
        counts = {agent: len(agent.answers) for agent in agents}
        for agent in agents:
            agent.ask("members")
        answered = self.wait(lambda: all(len(a.answers) > n for a, n in counts.items()), DEADLINE_S, "answers")
        if not answered:
            raise Failed("an agent does not answer `members`")
        return {a.name: {m["name"]: m for m in a.answers[-1]["members"]} for a in agents}

    def all_see(self, agents, wanted):
        """Whether `wanted(member objects by name)` holds for each of the agents now."""
        return all(wanted(members) for members in self.members_of(agents).values())

    # ---- waiting and showing

    def wait(self, done, limit, what):
        """Until `done()`; shows what is heard meanwhile. Returns whether it came about in time."""
        end = now() + limit
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.shown < len(self.heard) or done(), min(0.1, max(0, end - now())))
            self.show_new()
            if done():
                return True
            for agent in self.all:
                if not agent.expected_to_end and agent.process.poll() is not None:
                    raise Failed(f"{agent.name} (pid {agent.pid}) ended with status {agent.process.returncode} "
                                 f"while waiting for {what}")
            if now() >= end:
                return False

    def watch(self, seconds):
        end = now() + seconds
        self.wait(lambda: now() >= end, seconds + 1, "the time to pass")

    def poll(self, done, limit):
        """As wait(), for what is asked of the agents again and again."""
        end = now() + limit
        while not done():
            if now() >= end:
                return False
            self.watch(0.1)
        return True

    def show_new(self):
        while self.shown < len(self.heard):
            agent, event = self.heard[self.shown]
            self.shown += 1
            self.show(agent, event)

    def show(self, agent, event):
        kind = event["event"]
        if "at_ns" not in event:
            return
        after = event["at_ns"] / 1e9 - self.cause
        observation = {"observation": kind, "step": self.step, "observer": agent.name, "after_s": round(after, 6)}
        if "name" in event:
            observation["member"] = event["name"]
        if "transition" in event:
            observation["why"] = why(event)
        self.out.object(**observation, event=event)
        if kind in ("suspected", "recovered", "failed", "restarted", "left"):
            self.line(after, agent.name, event["status"], event["name"], why(event))
        elif kind == "accused":
            accusers = ", ".join(event.get("observers", []))
            self.line(after, agent.name, "", "",
                      f"was accused by {accusers}, and refutes with incarnation {event['incarnation']}")
        elif kind == "paused":
            self.line(after, agent.name, "", "",
                      f"did not run for {event['duration_s']:.3f} s, and accuses nobody for it")

    def line(self, after, observer, status, member, text):
        self.out.text(f"  {after:+8.3f} s  {observer:<8} {self.out.paint(status, 8)}  {member:<8} {text}".rstrip())

    # ---- steps

    def begin(self, step, text):
        self.show_new()
        self.step = step
        self.cause = now()
        self.first = len(self.heard)
        self.expectations = []
        self.out.text(f"\n{text}")

    def expect(self, met, what):
        self.expectations.append({"what": what, "ok": bool(met)})
        self.out.text(f"  {self.out.paint('ok' if met else 'NOT MET')}: {what}")

    def finish(self, **details):
        ok = all(e["ok"] for e in self.expectations)
        self.results[self.step] = ok
        self.out.object(step=self.step, ok=ok, took_s=round(now() - self.cause, 3), expectations=self.expectations,
                        **details)

    def seen(self, kind, member=None, observer=None):
        """The events of this step."""
        return [(a, e) for a, e in self.heard[self.first:] if e["event"] == kind and
                (member is None or e.get("name") == member) and (observer is None or a is observer)]

    def reported_by_all(self, kind, member, agents, generation=None):
        observers = {a for a, e in self.seen(kind, member) if generation in (None, e["generation"])}
        return observers.issuperset(agents)

    def after(self, events):
        """The time of the last of them since the cause; None where there is none."""
        return max((e["at_ns"] / 1e9 - self.cause for _, e in events), default=None)

    def form(self):
        count = len(self.names)
        self.begin("form", f"{count} agents start; the first one is the seed of the others")
        seed = self.launch(self.names[0])
        for name in self.names[1:]:
            self.launch(name, seed=seed.address)
        for agent in self.agents.values():
            self.out.text(f"  {agent.name:<8} pid {agent.pid:<7} at {agent.address}")
        agreed = self.poll(lambda: self.all_see(self.others(), lambda m: len(m) == count and all(
            x["status"] == "ACTIVE" for x in m.values())), DEADLINE_S)
        took = now() - self.cause
        self.expect(agreed, f"all {count} agree that {count} are ACTIVE, after {took:.1f} s")
        self.finish(agents=[{"name": a.name, "pid": a.pid, "address": a.address} for a in self.agents.values()])

    def kill(self, name):
        victim = self.agents.pop(name)
        generation = victim.generation
        self.begin("kill", f"{name} (pid {victim.pid}) is killed with SIGKILL")
        victim.expected_to_end = True
        self.cause = now()
        victim.signal(signal.SIGKILL)
        victim.wait(5)
        survivors = self.others()
        failed = self.wait(lambda: self.reported_by_all("failed", name, survivors, generation), DETECTION_DEADLINE_S,
                           f"everyone to find {name} dead")
        self.expect(failed, f"all {len(survivors)} survivors report {name} INACTIVE")
        suspected = self.reported_by_all("suspected", name, survivors, generation)
        self.expect(suspected, "each of them suspected it first")
        accusers = [a.name for a, e in self.seen("suspected", name) if e["own"]]
        self.expect(accusers, f"the first suspicion comes from a failed probe round of {' and '.join(accusers) or '?'}")
        bystanders = [e["name"] for k in ("suspected", "failed") for _, e in self.seen(k) if e["name"] != name]
        self.expect(not bystanders, "nobody else is suspected")
        self.finish(member=name, first_suspect_s=min((e["at_ns"] / 1e9 - self.cause
                                                      for _, e in self.seen("suspected", name)), default=None),
                    last_inactive_s=self.after(self.seen("failed", name)))
        return victim

    def restart(self, dead):
        name = dead.name
        self.begin("restart", f"{name} is started again, under its name and at its address {dead.address}")
        seed = self.agents[self.names[0]]
        agent = self.launch(name, bind=dead.address, seed=seed.address)
        self.cause = agent.began
        others = self.others(name)
        told = self.wait(lambda: self.reported_by_all("restarted", name, others, agent.generation), DEADLINE_S,
                         f"everyone to see the restart of {name}")
        self.expect(told, f"all others report `restarted` with generation {agent.generation}")
        self.expect(agent.generation > dead.generation, f"which is above the one before, {dead.generation}")
        count = len(self.agents)
        agreed = self.poll(lambda: self.all_see(self.others(), lambda m: all(
            x["status"] == "ACTIVE" for x in m.values()) and len(m) == count and
            m[name]["generation"] == agent.generation), DEADLINE_S)
        self.expect(agreed, f"all {count} hold all ACTIVE")
        # By the clocks of those who saw it: each of the others, and the new one as it heard of them.
        took = self.after(self.seen("restarted", name) + self.seen("joined", observer=agent))
        self.expect(took is not None and took <= RESTART_LIMIT_S,
                    f"within {RESTART_LIMIT_S:.0f} s of its start: after {took or 0:.1f} s")
        self.finish(member=name, generation=agent.generation, generation_before=dead.generation, active_s=took)

    def freeze(self, name):
        frozen = self.agents[name]
        others = self.others(name)
        self.begin("freeze", f"{name} (pid {frozen.pid}) is stopped with SIGSTOP for {FREEZE_S:.0f} s, then continued")
        self.cause = now()
        frozen.signal(signal.SIGSTOP)
        self.watch(FREEZE_S)
        frozen.signal(signal.SIGCONT)
        self.out.text(f"  {now() - self.cause:+8.3f} s  {name} is continued")
        self.watch(WATCH_S)
        count = len(self.agents)
        agreed = self.poll(lambda: self.all_see(self.others(), lambda m: len(m) == count and all(
            x["status"] == "ACTIVE" for x in m.values())), DEADLINE_S)
        self.expect(not self.seen("failed"), "nobody is declared dead")
        suspicious = [a for a, _ in self.seen("suspected", name)]
        if suspicious:
            refuted = {a for a, e in self.seen("recovered", name)}
            self.expect(self.seen("accused", observer=frozen), f"{name}, which was suspected, hears of it and refutes")
            self.expect(refuted.issuperset(suspicious), "each who suspected it takes it back")
        else:
            self.expect(True, f"{name} is not even suspected")
        self.expect(self.seen("paused", observer=frozen), f"{name} knows that it did not run")
        accused = [e["name"] for _, e in self.seen("suspected", observer=frozen)]
        self.expect(not accused, f"{name} accuses nobody when it wakes" + "".join(f", but {n}" for n in accused))
        self.expect(agreed, f"all {count} hold all ACTIVE")
        self.finish(member=name, suspected_by=[a.name for a in suspicious])

    def leave(self, name):
        leaver = self.agents.pop(name)
        self.begin("leave", f"{name} (pid {leaver.pid}) leaves: SIGINT")
        leaver.expected_to_end = True
        self.cause = now()
        leaver.signal(signal.SIGINT)
        others = self.others()
        told = self.wait(lambda: self.reported_by_all("left", name, others), DEADLINE_S,
                         f"everyone to hear that {name} left")
        status = leaver.wait(DEADLINE_S)
        self.watch(1.0)
        done = self.seen("leave_done", observer=leaver)
        heard = done[0][1]["heard_by"] if done else 0
        self.expect(told, f"all {len(others)} others report `left`")
        self.expect(not self.seen("failed") and not self.seen("suspected"), "nobody reports `failed` or `suspected`")
        self.expect(status == 0, f"{name} was heard by {heard} and ended with status {status}")
        listed = self.all_see(others, lambda m: m[name]["status"] == "LEFT")
        self.expect(listed, f"all others list {name} as LEFT")
        self.finish(member=name, heard_by=heard, status=status)

    def end(self):
        self.begin("end", "the others leave one after another: SIGTERM")
        statuses = {}
        for name in list(self.agents):
            agent = self.agents.pop(name)
            agent.expected_to_end = True
            agent.signal(signal.SIGTERM)
            statuses[name] = agent.wait(DEADLINE_S)
        self.expect(all(s == 0 for s in statuses.values()), "each ends with status 0")
        self.expect(all(a.process.poll() is not None for a in self.all), "all processes are gone")
        busy = [address for address in sorted(self.addresses) if not is_free(address)]
        self.expect(not busy, "all ports are free" + "".join(f", but {b}" for b in busy))
        self.finish(statuses=statuses)

    def run(self):
        began = now()
        error = None
        try:
            self.form()
            dead = self.kill(self.names[1])
            self.restart(dead)
            self.freeze(self.names[2])
            self.leave(self.names[-1])
            self.end()
        except Failed as failure:
            error = str(failure)
            self.show_new()
            self.out.text(f"  {self.out.paint('NOT MET')}: {error}")
        finally:
            for agent in self.all:
                agent.end()
        ok = error is None and all(self.results.values())
        took = now() - began
        self.out.object(summary=True, ok=ok, nodes=len(self.names), seconds=round(took, 3), steps=self.results,
                        error=error)
        self.out.text(f"\n{'everything as it should be' if ok else 'NOT everything as it should be'}, {took:.1f} s")
        return 0 if ok else 1


def is_free(address):
    host, port = address.rsplit(":", 1)
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections may linger
            try:
                probe.bind((host, int(port)))
            except OSError:
                return False
    return True


def parse(arguments):
    default = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "bin" / "nekton"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(default), help="the command nekton")
    parser.add_argument("--detector", choices=("fixed", "phi"), default="fixed")
    parser.add_argument("--nodes", type=int, default=5, help="3 to 20")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(arguments)
    if not 3 <= options.nodes <= len(NAMES):
        parser.error(f"--nodes: must be from 3 to {len(NAMES)}")
    if not os.access(options.binary, os.X_OK):
        parser.error(f"--binary: cannot run {options.binary}")
    return options


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    sys.exit(ending.run(lambda: Demo(chosen).run()))
