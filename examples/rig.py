#!/usr/bin/env python3
"""Real processes, real sockets, one fault, and every row of evidence that it must and must not cause. See rig.sh --help."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is
import ending  # noqa: E402
import one_etcd  # noqa: E402

NAMES = ["root"] + [f"m{i}" for i in range(1, 8)]
OBJECTS = [f"object-{i:02}" for i in range(16)]
LABEL = "rig"

# At speed 1, in seconds.
BEAT, SUSPECT, FAIL, WRITE_LEASE = 5.0, 6.0, 12.0, 6.0
SEAT = 10.0  # of candidates
DRIFT = 0.01
DEADLINE_S = 20.0   # of what should take a second
MACHINE_S = 1.5     # how late a busy machine may be
TOTAL_S = 170.0     # nothing goes on for longer, whatever happens

ROWS = {  # every row, as it is specified; a row that is none of these ends the run
    "suspect": r"mesh-fail: suspect node=(?P<node>\S+) epoch=(?P<epoch>\d+)",
    "failed": r"mesh-fail: failed node=(?P<node>\S+) epoch=(?P<epoch>\d+)",
    "recovered": r"mesh-fail: recovered node=(?P<node>\S+) epoch=(?P<epoch>\d+)",
    "removed": r"mesh-fail: removed node=(?P<node>\S+) epoch=(?P<epoch>\d+) members=(?P<members>\d+) "
               r"digest=(?P<digest>[0-9a-f]{32}) snapshot=(?P<snapshot>\S+)",
    "joined": r"mesh-fail: joined node=(?P<node>\S+) epoch=(?P<epoch>\d+) members=(?P<members>\d+) "
              r"digest=(?P<digest>[0-9a-f]{32}) snapshot=(?P<snapshot>\S+)",
    "authority": r"mesh-fail: authority state=(?P<state>lost|restored) epoch=(?P<epoch>\d+)( root=(?P<root>\S+))? "
                 r"mutable=(?P<mutable>[01])( reads=(?P<reads>lease))?",
    "entry": r"mesh-route: entry object=(?P<object>[0-9a-f]{64}) home=(?P<home>\S+) home_epoch=(?P<home_epoch>\d+) "
             r"moved=(?P<moved>[01])",
    "disabled": r"mesh-fail: disabled reason=(?P<reason>config)",
    "standing": r"mesh-route: authority state=(?P<state>current|lost) epoch=(?P<epoch>\d+) mutable=(?P<mutable>[01]) "
                r"write_lease_ms=(?P<write_lease_ms>\d+)",
    "fence": r"mesh-route: fence object=(?P<object>[0-9a-f]{64}) stale_home=(?P<stale_home>\S+) "
             r"stale_home_epoch=(?P<stale_home_epoch>\d+) home=(?P<home>\S+) home_epoch=(?P<home_epoch>\d+) "
             r"reason=(?P<reason>left-view|lease-left-view)",
    "result": r"mesh-route: result request=(?P<request>\d+) object=(?P<object>[0-9a-f]{64}) home=(?P<home>\S+) "
              r"epoch=(?P<epoch>\d+) attempts=(?P<attempts>\d+) moved=(?P<moved>[01]) timeouts=(?P<timeouts>\d+) "
              r"op=(?P<op>stat|commit) status=(?P<status>\S+)",
    "counters": r"mesh-route: counters served=(?P<served>\d+) refused=(?P<refused>\d+) moved=(?P<moved>\d+) "
                r"fences=(?P<fences>\d+) commits=(?P<commits>\d+) replays=(?P<replays>\d+) "
                r"last_replay=(?P<last_replay>\S+)",
    "view-refused": r"mesh-fail: view-refused epoch=(?P<epoch>\d+) digest=(?P<digest>[0-9a-f]{32}) "
                    r"reason=(?P<reason>\S+) current=(?P<current>\d+)",
    "store-behind": r"mesh-fail: store-behind epoch=(?P<epoch>\d+) seen=(?P<seen>\d+)",
    "seat": r"mesh-fail: seat state=(?P<state>taken|lost) epoch=(?P<epoch>\d+) token=(?P<token>\d+)",
    "join": r"mesh-fail: join node=(?P<node>\S+) epoch=(?P<epoch>\d+) state=(?P<state>asked|accepted|refused)"
            r"( reason=(?P<reason>\S+))?",
}
PATTERNS = {kind: re.compile(pattern) for kind, pattern in ROWS.items()}


def now():
    """Seconds on the clock of the agents' at_ns."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Failed(Exception):
    """The run cannot go on."""


class Row:
    def __init__(self, agent, text, at):
        self.agent = agent
        self.text = text
        self.at = at
        for kind, pattern in PATTERNS.items():
            match = pattern.fullmatch(text)
            if match:
                self.kind = kind
                self.fields = {k: int(v) if v is not None and v.isdigit() else v for k, v in match.groupdict().items()}
                return
        raise Failed(f"{agent.name} printed a row of no known form: {text}")

    def __getitem__(self, key):
        return self.fields[key]


class Process:
    """A child with lines in and out; what it says is handed to `hear(line)` on a thread of its own."""

    def __init__(self, command, hear):
        # A session of its own: Ctrl-C on the terminal is for the rig, which ends its processes itself.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.hear = hear
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.hear(line.rstrip("\n"))

    @property
    def pid(self):
        return self.process.pid

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Failed(f"process {self.pid} is gone") from None

    def end(self):
        """Whatever state it is in. Only ever this very child."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class Agent(Process):
    def __init__(self, rig, name, arguments):
        self.name = name
        self.rig = rig
        self.info = {}
        self.answers = []
        self.expected_to_end = False
        super().__init__([rig.binary, "agent", "--json", "--evidence", "--name", name] + arguments, self.take)

    def take(self, line):
        with self.rig.changed:
            try:
                said = json.loads(line)
                if "answer" in said:
                    self.answers.append(said)
                elif "row" in said:
                    row = Row(self, said["row"], said["at_ns"] / 1e9)
                    if row.kind != self.rig.options.ignore:
                        self.rig.rows.append(row)
                elif said.get("event") == "started":
                    self.info = said
            except (ValueError, Failed) as error:
                self.rig.broken.append(f"{self.name}: {error}: {line}")
            self.rig.changed.notify_all()

    @property
    def address(self):
        return self.info["address"]


class Relay(Process):
    def __init__(self, rig, names):
        self.rig = rig
        self.lines = []
        super().__init__([sys.executable, str(pathlib.Path(__file__).with_name("rig_relay.py"))] + names, self.take)
        self.names = names

    def take(self, line):
        with self.rig.changed:
            self.lines.append(line)
            self.rig.changed.notify_all()

    def addresses(self):
        self.rig.must(lambda: len(self.lines) >= len(self.names), "the relay opens its ports")
        return dict(line.split() for line in self.lines[:len(self.names)])

    def order(self, line):
        count = len(self.lines)
        self.say(line)
        self.rig.must(lambda: len(self.lines) > count, "the relay obeys")
        if self.lines[count] != "ok":
            raise Failed(f"the relay does not understand {line}")


class Rig:
    def __init__(self, options):
        self.options = options
        self.binary = options.binary
        self.speed = options.speed
        self.names = NAMES[:options.members]
        self.victim = self.names[1]
        self.changed = threading.Condition()
        self.rows = []      # in the order of arrival
        self.broken = []    # what no agent may say
        self.shown = 0
        self.agents = {}    # the running ones by name
        self.processes = []
        self.cause = self.began = now()
        self.checks = []
        self.directory = tempfile.mkdtemp(prefix="nekton-rig-")
        self.register = None  # of candidates
        self.etcd = None
        self.colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def scaled(self, seconds):
        return seconds / self.speed

    # ---- showing, waiting, checking

    def print(self, text, **members):
        if self.options.json:
            print(json.dumps(members), flush=True)
        else:
            print(text, flush=True)

    def show_new(self):
        while self.shown < len(self.rows):
            row = self.rows[self.shown]
            self.shown += 1
            self.print(f"  {row.at - self.cause:+9.3f} s  {row.agent.name:<5} {row.text}", row=row.text,
                       member=row.agent.name, at_s=round(row.at - self.began, 6))
        if self.broken:
            raise Failed(self.broken[0])

    def wait(self, done, limit):
        """Until `done()`; shows what comes meanwhile. Returns whether it came about in time."""
        end = now() + limit
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.shown < len(self.rows) or self.broken or done(),
                                      min(0.1, max(0, end - now())))
            self.show_new()
            if done():
                return True
            for agent in self.agents.values():
                if not agent.expected_to_end and agent.process.poll() is not None:
                    raise Failed(f"{agent.name} (pid {agent.pid}) ended with status {agent.process.returncode}")
            if now() - self.began > TOTAL_S:
                raise Failed(f"it takes longer than {TOTAL_S:.0f} s")
            if now() >= end:
                return False

    def must(self, done, what, limit=DEADLINE_S):
        if not self.wait(done, limit):
            raise Failed(f"not within {limit:.0f} s: {what}")

    def watch(self, seconds):
        end = now() + seconds
        self.wait(lambda: now() >= end, seconds + 1)

    def step(self, text):
        self.show_new()
        self.cause = now()
        self.first = len(self.rows)
        self.print(f"\n{text}", step=text)

    def check(self, met, what):
        self.show_new()
        self.checks.append((bool(met), what))
        word = "ok" if met else "NOT MET"
        painted = f"\033[{'32' if met else '1;31'}m{word}\033[0m" if self.colours else word
        self.print(f"  {painted}: {what}", check=what, ok=bool(met))
        return met

    def seen(self, kind, agent=None, since=None, **fields):
        first = self.first if since is None else since
        return [r for r in self.rows[first:] if r.kind == kind and (agent is None or r.agent is agent) and
                all(r[k] == v for k, v in fields.items())]

    def expect_row(self, what, kind, agent, limit=DEADLINE_S, since=None, **fields):
        """Waits for a row; a check. Returns it, or None."""
        self.wait(lambda: self.seen(kind, agent, since, **fields), limit)
        found = self.seen(kind, agent, since, **fields)
        self.check(found, what)
        return found[0] if found else None

    # ---- processes

    def ask(self, agent, command):
        count = len(agent.answers)
        agent.say(command)
        self.must(lambda: len(agent.answers) > count, f"{agent.name} answers `{command}`")
        return agent.answers[count]

    def use(self, agent, command):
        """A request for an object; its row."""
        count = len(self.rows)
        answer = self.ask(agent, command)
        if "row" in answer:
            return Row(agent, answer["row"], now())
        found = [r for r in self.rows[count:] if r.kind == "result" and r.agent is agent]
        if not found:
            raise Failed(f"{agent.name} says nothing of `{command}`: {answer}")
        return found[-1]

    def requests_sent(self, agent):
        return self.ask(agent, "counters")["counters"]["requests_sent"]

    def standing(self, agent):
        rows = [Row(agent, row, now()) for row in self.ask(agent, "routes")["rows"]]
        return next(r for r in rows if r.kind == "standing"), next(r for r in rows if r.kind == "counters")

    def homes(self, agent):
        return self.ask(agent, "homes")

    def command(self, *arguments):
        return subprocess.run([self.binary, *arguments], check=True, capture_output=True, text=True, timeout=30).stdout

    def prepare(self):
        self.key_file = os.path.join(self.directory, "authority.key")
        self.key = self.command("keygen", "--out", self.key_file).strip()
        rights = "".join(self.command("capability", "--key", self.key_file, "--label", LABEL, "--object", name)
                         for name in OBJECTS)
        self.rights = os.path.join(self.directory, "rights")
        pathlib.Path(self.rights).write_text(rights, encoding="ascii")
        if self.options.fault == "kill-root":
            self.register = os.path.join(self.directory, "register.db")
            if self.options.backend == "etcd":
                self.etcd, self.register = one_etcd.start(pathlib.Path(self.directory))
        self.relay = Relay(self, self.names)
        self.processes.append(self.relay)
        self.advertised = self.relay.addresses()

    def launch(self, name, key=None, authority=True, join=True):
        arguments = ["--bind", "127.0.0.1:0", "--advertise", self.advertised[name], "--label", LABEL,
                     "--profile", "pair" if len(self.names) == 2 else "lan", "--speed", str(self.speed)]
        if authority and self.register:
            arguments += ["--candidates", ",".join(self.names), "--register", self.register, "--authority-secret",
                          self.key_file, "--authority-key", self.key, "--capabilities", self.rights]
        elif authority:
            arguments += ["--authority", "root", "--authority-key", key or self.key, "--capabilities", self.rights]
        if name == "root" and not self.register:
            arguments += ["--authority-secret", self.key_file, "--store", os.path.join(self.directory, "view.db")]
        elif join and self.agents:
            arguments += ["--join", self.advertised[next(iter(self.agents))]]
        agent = Agent(self, name, arguments)
        self.processes.append(agent)
        self.must(lambda: agent.info or agent.process.poll() is not None, f"{name} starts")
        if not agent.info:
            raise Failed(f"{name} did not start")
        self.agents[name] = agent
        self.relay.order(f"member {name} {agent.address} {agent.pid}")
        return agent

    def kill(self, name):
        agent = self.agents.pop(name)
        agent.expected_to_end = True
        agent.process.send_signal(signal.SIGKILL)
        agent.process.wait()

    # ---- the sequence before the fault: epoch 1, then 2

    def form(self):
        count = len(self.names)
        self.step("the root starts: epoch 1")
        root = self.launch("root")
        self.must(lambda: self.homes(root)["epoch"] == 1, "the root writes epoch 1")
        self.check(self.homes(root)["members"] == ["root"], "the root alone is in the view of epoch 1")
        self.step(f"{', '.join(self.names[1:])} join{'s' if count == 2 else ''}")
        for name in self.names[1:]:
            self.launch(name)
        everybody = sorted(self.names)
        formed = self.wait(lambda: all(self.homes(a)["members"] == everybody for a in self.agents.values()), DEADLINE_S)
        self.epoch = self.homes(root)["epoch"]
        self.check(formed, f"all {count} hold the view of all {count}, epoch {self.epoch}")
        if count == 2:
            self.check(self.epoch == 2, "a join is one epoch: 2")
        self.check(self.same_tables(everybody), "with the same digest, and the same homes")
        ready = self.wait(lambda: all(self.standing(a)[0]["mutable"] == 1 for a in self.agents.values()), DEADLINE_S)
        self.check(ready, "every member may commit")

        self.step("before the fault: requests to homes here and there")
        homes = {h["name"]: h["home"] for h in self.homes(root)["homes"]}
        self.moving = [n for n, h in homes.items() if h == self.victim]
        self.staying = [n for n, h in homes.items() if h == "root"]
        if not self.moving or not self.staying:
            raise Failed("no object is homed at the root, or none at the victim")
        for name in self.moving:
            row = self.use(root, f"commit {name} before")
            if not (row["status"] == "served" and row["home"] == self.victim):
                self.check(False, f"the root commits to {name}, homed at {self.victim}: {row.text}")
        self.check(True, f"the root commits to {len(self.moving)} objects at {self.victim}")
        victim = self.agents[self.victim]
        own = self.use(victim, f"commit {self.moving[0]} own")
        self.check(own["status"] == "served" and own["home"] == self.victim, f"{self.victim} commits to its own")
        remote = self.use(victim, f"stat {self.staying[0]}")
        self.check(remote["status"] == "served" and remote["home"] == "root", f"{self.victim} is served by the root")

    def same_tables(self, members):
        answers = [self.homes(self.agents[name]) for name in members]
        tables = [(a["epoch"], a["digest"], [(h["object"], h["home"]) for h in a["homes"]]) for a in answers]
        return all(t == tables[0] for t in tables)

    # ---- what both main faults have in common

    def lose(self):
        """suspect -> failed -> removed, at their bounds, at the root."""
        root, name = self.agents["root"], self.victim
        self.fault = self.first
        pair = len(self.names) == 2
        limit = self.scaled(FAIL) + WRITE_LEASE / self.speed + DEADLINE_S
        suspect = self.expect_row(f"the root suspects {name}, in epoch {self.epoch}", "suspect", root, limit,
                                  node=name, epoch=self.epoch)
        before = self.homes(root)
        self.check(before["epoch"] == self.epoch and name in before["members"],
                   "a suspect stays in the view, and no home has moved")
        failed = self.expect_row(f"then holds it failed", "failed", root, limit, node=name, epoch=self.epoch)
        removed = self.expect_row(f"then removes it: epoch {self.epoch + 1}", "removed", root, limit, node=name,
                                  epoch=self.epoch + 1)
        if not (suspect and failed and removed):
            raise Failed("the failure was not found")
        self.removed = removed
        after = [row.at - self.cause for row in (suspect, failed, removed)]
        told = f"after {after[0]:.2f}, {after[1]:.2f}, {after[2]:.2f} s"
        self.check(after[0] <= after[1] <= after[2], f"in this order, {told}")
        if pair:
            # The last proof of life (requests of programs are none) came at most a beat before the fault.
            for what, at, bound in (("SUSPECT", after[0], SUSPECT), ("failed", after[1], FAIL)):
                low, high = self.scaled(bound - BEAT), self.scaled(bound) + MACHINE_S
                self.check(low <= at <= high, f"{what} {bound / self.speed:g} s after the last frame: {at:.2f} s after "
                                              f"the fault, from {low:.2f} to {high:.2f}")
            hold = failed.at - suspect.at
            self.check(abs(hold - self.scaled(FAIL - SUSPECT)) < MACHINE_S,
                       f"failed {self.scaled(FAIL - SUSPECT):g} s after SUSPECT: {hold:.2f} s")
        lease = self.scaled(WRITE_LEASE * (1 + DRIFT) / (1 - DRIFT))
        self.check(removed.at - failed.at <= lease + MACHINE_S, "removed as soon as its write lease has run out")
        left = [n for n in sorted(self.names) if n != name]
        self.check(removed["members"] == len(left) and removed["snapshot"] == ",".join(left),
                   f"the new view has {len(left)} member{'s' if len(left) != 1 else ''}: {removed['snapshot']}")

    def survivors(self):
        """The root goes on alone, at once, and asks nobody."""
        root = self.agents["root"]
        epoch = self.epoch + 1
        homes = self.homes(root)
        self.check(homes["epoch"] == epoch and homes["digest"] == self.removed["digest"],
                   f"its homes are those of epoch {epoch}, and of the digest in the row")
        self.check(all(h["home"] != self.victim and h["epoch"] == epoch for h in homes["homes"]),
                   f"every row of its homes is worked out anew, none at {self.victim}")
        moved = [h["object"] for h in homes["homes"] if h["name"] in self.moving]
        fences = self.seen("fence", root, self.fault)
        self.check(sorted(f["object"] for f in fences) == sorted(moved),
                   f"one fence for each of the {len(moved)} routes to {self.victim}, and for no other")
        self.check(all(f["stale_home"] == self.victim and f["stale_home_epoch"] == self.epoch and
                       f["home"] != self.victim and f["home_epoch"] == epoch and f["reason"] == "left-view"
                       for f in fences), f"each from {self.victim} in epoch {self.epoch} to its new home in {epoch}")
        # An object whose new home is the root itself: with two members each of them.
        name = next((h["name"] for h in homes["homes"] if h["name"] in self.moving and h["home"] == "root"), None)
        if name is None:
            raise Failed("no object of the victim came to the root")
        self.taken = name
        stale = self.use(root, f"replay {name}")
        self.check(stale["status"] == "stale-epoch" and stale["epoch"] == self.epoch,
                   f"a frame of epoch {self.epoch} that comes late is refused: stale-epoch")
        _, counters = self.standing(root)
        self.check(counters["last_replay"] == "stale-epoch" and counters["replays"] >= 1,
                   "and counted: last_replay=stale-epoch")
        sent = self.requests_sent(root)
        before = now()
        row = self.use(root, f"commit {name} after")
        took = now() - before
        sent = self.requests_sent(root) - sent
        self.check(row["status"] == "served" and row["epoch"] == epoch and row["op"] == "commit",
                   f"a commit to {name} is served in epoch {epoch}")
        self.check(row["attempts"] == 1 and row["moved"] == 0 and row["timeouts"] == 0 and row["home"] == "root",
                   f"in one attempt, at the root itself, with no MOVED and no timeout ({1000 * took:.0f} ms)")
        self.check(sent == 0, f"nothing was sent for it, to {self.victim} or anybody")
        _, after = self.standing(root)
        self.check(after["commits"] == counters["commits"] + 1 and after["fences"] == len(moved),
                   f"the counters have one commit more, and {len(moved)} fences")

    def recover(self, recovered, since=None):
        """A fresh join: one epoch more, the same table on all sides, and commits at the one that is back."""
        root, name, epoch = self.agents["root"], self.victim, self.epoch + 2
        joined = self.expect_row(f"the root takes {name} in again: epoch {epoch}", "joined", root, node=name,
                                 epoch=epoch)
        everybody = sorted(self.names)
        agreed = joined and self.wait(lambda: all(a["epoch"] == epoch and a["members"] == everybody for a in (
            self.homes(x) for x in self.agents.values())), DEADLINE_S)
        self.check(agreed, f"everybody holds the view of all {len(everybody)} in epoch {epoch}")
        self.check(self.same_tables(everybody), "with the same digest, and the same homes")
        ready = self.wait(lambda: self.standing(recovered)[0]["mutable"] == 1, DEADLINE_S)
        standing, _ = self.standing(recovered)
        self.check(ready and standing["state"] == "current" and standing["epoch"] == epoch and
                   standing["write_lease_ms"] > 0, f"{name} has the authority again: {standing.text}")
        row = self.use(root, f"commit {self.moving[0]} again")
        self.check(row["status"] == "served" and row["home"] == name and row["epoch"] == epoch,
                   f"{name} serves a commit of the root in epoch {epoch}")

    # ---- the faults

    def kill_peer(self):
        self.form()
        self.step(f"{self.victim} (pid {self.agents[self.victim].pid}) is killed: SIGKILL")
        self.kill(self.victim)
        self.lose()
        self.step("the survivor")
        self.survivors()
        self.step(f"{self.victim} is started again")
        self.recover(self.launch(self.victim))

    def partition(self):
        self.form()
        isolated = self.agents[self.victim]
        self.step(f"the relay drops all frames between {self.victim} and the rest; all are alive")
        self.relay.order(f"cut {self.victim}")
        self.lose()
        self.isolated(isolated)
        self.step("the side of the root")
        self.survivors()
        self.check(not self.seen("removed", isolated, 0), f"{self.victim} has removed nobody")
        self.step("the relay lets everything pass again")
        self.relay.order("heal")
        since = self.first
        self.recover(isolated)
        # In a larger group the view may not have settled yet, so it may not commit at that very moment.
        more = {"mutable": 1} if len(self.names) == 2 else {}
        self.expect_row(f"{self.victim} says so", "authority", isolated, since=since, state="restored",
                        epoch=self.epoch + 2, **more)

    def isolated(self, agent):
        """The side without the authority, at the moment when the other has moved its homes."""
        name, epoch = self.victim, self.epoch
        standing, _ = self.standing(agent)
        self.step(f"the side of {name}")
        self.check(standing["state"] == "lost" and standing["mutable"] == 0 and standing["write_lease_ms"] == 0,
                   f"when it is removed it has no write lease: {standing.text}")
        self.check(standing["epoch"] == epoch, f"it stays in epoch {epoch}")
        self.expect_row("it says that the authority is lost, and that it serves reads by its lease alone", "authority",
                        agent, since=0, state="lost", epoch=epoch, root="root", mutable=0, reads="lease")
        lost = self.seen("authority", agent, 0, state="lost")
        self.check(lost and lost[0].at < self.removed.at,
                   f"it had stopped before its objects moved: {self.removed.at - lost[0].at:.2f} s" if lost else "?")
        own = self.use(agent, f"commit {self.moving[0]} isolated")
        self.check(own["status"] == "no-authority" and own["epoch"] == epoch,
                   f"it refuses a commit to its own object: {own['status']}")
        read = self.use(agent, f"stat {self.moving[0]}")
        self.check(read["status"] == "served" and read["epoch"] == epoch, f"it still serves reads: {read['status']}")
        homes = self.homes(agent)
        self.check(homes["epoch"] == epoch and name in homes["members"] and "root" in homes["members"],
                   "its view is the one it had")
        states = {h["home"]: h["state"] for h in homes["homes"]}
        self.check(states.get("root") == "no-authority", f"it reports homes elsewhere as {states.get('root')}")
        remote = self.use(agent, f"commit {self.staying[0]} isolated")
        self.check(remote["status"] == "no-authority", f"and a commit there ends in {remote['status']}")

    # ---- the authority is whoever of all members holds a lease

    def kill_root(self):
        store = "etcd" if self.etcd else "an SQLite file"
        self.step(f"the root starts: alone it takes the seat, in {store}")
        root = self.launch("root")
        first = self.expect_row("it has the seat", "seat", root, state="taken", epoch=0)
        if first is None:
            raise Failed("nobody is the authority")
        self.must(lambda: self.homes(root)["epoch"] == 1, "the root writes epoch 1")
        self.step(f"{', '.join(self.names[1:])} join, candidates as well")
        for name in self.names[1:]:
            self.launch(name)
        everybody = sorted(self.names)
        formed = self.wait(lambda: all(self.homes(a)["members"] == everybody for a in self.agents.values()), DEADLINE_S)
        self.check(formed and self.same_tables(everybody), f"all {len(everybody)} hold one view of all")
        self.epoch = self.homes(root)["epoch"]
        ready = self.wait(lambda: all(self.standing(a)[0]["mutable"] == 1 for a in self.agents.values()), DEADLINE_S)
        self.check(ready, f"every member may commit, in epoch {self.epoch}")
        self.check(len(self.seen("seat", since=0, state="taken")) == 1, "and one alone has the seat")
        orphans = [h["name"] for h in self.homes(root)["homes"] if h["home"] == "root"]
        if not orphans:
            raise Failed("no object is homed at the root")

        self.step(f"the root (pid {root.pid}) is killed: SIGKILL")
        self.kill("root")
        killed, since = self.cause, self.first
        limit = self.scaled(SEAT + WRITE_LEASE) + DEADLINE_S
        self.wait(lambda: self.seen("seat", since=since, state="taken"), limit)
        taken = self.seen("seat", since=since, state="taken")
        if not self.check(len(taken) == 1, "one other member takes the seat"):
            raise Failed("nobody followed" if not taken else "two followed")
        seat, heir = taken[0], taken[0].agent
        self.check(seat["token"] > first["token"] and seat["epoch"] == self.epoch,
                   f"{heir.name}, under a higher token ({first['token']}, then {seat['token']}), from epoch {self.epoch} on")
        self.check(seat.at - killed >= self.scaled(SEAT * 0.5),
                   f"not before the lease of the dead one has run out: after {seat.at - killed:.2f} s")
        left = everybody[:-1] if everybody[-1] == "root" else [n for n in everybody if n != "root"]
        alone = self.wait(lambda: all(self.homes(self.agents[n])["members"] == left for n in left), limit)
        self.check(alone and self.same_tables(left), "all follow: one view without the root, the same homes everywhere")
        epoch = self.homes(heir)["epoch"]
        self.check(epoch > self.epoch, f"at a higher epoch: {epoch} after {self.epoch}")
        moved = [row for row in self.seen("removed", heir, since, node="root")]
        self.check(len(moved) == 1 and moved[0].at - seat.at >= self.scaled(WRITE_LEASE) - MACHINE_S,
                   "the new one writes nothing before the leases that the dead one granted have run out")
        for name in left:
            if self.agents[name] is not heir:
                self.expect_row(f"{name} says that the root is lost", "authority", self.agents[name], since=since,
                                state="lost", root="root", epoch=self.epoch)
                self.expect_row(f"{name} says whom it follows", "authority", self.agents[name], since=since,
                                state="restored", root=heir.name)
        ready = self.wait(lambda: all(self.standing(self.agents[n])[0]["mutable"] == 1 for n in left), DEADLINE_S)
        self.check(ready, "every member that is left may commit")
        other = next(self.agents[n] for n in left if self.agents[n] is not heir)
        row = self.use(other, f"commit {orphans[0]} after")
        self.check(row["status"] == "served" and row["home"] in left and row["epoch"] == epoch,
                   f"an object of the root is at {row['home']}, and a commit to it is served in epoch {row['epoch']}")

        self.step("the root is started again")
        again = self.launch("root")
        back = self.wait(lambda: all(self.homes(a)["members"] == everybody for a in self.agents.values()), limit)
        self.check(back and self.same_tables(everybody), f"{heir.name} takes it in: one view of all again")
        self.check(self.homes(again)["epoch"] > epoch, f"at a higher epoch: {self.homes(again)['epoch']}")
        ready = self.wait(lambda: all(self.standing(a)[0]["mutable"] == 1 for a in self.agents.values()), DEADLINE_S)
        self.check(ready, "every member may commit")
        self.check(len(self.seen("seat", since=0)) == 2, f"the seat stays with {heir.name}")
        self.check(self.once(), "no epoch was used twice: one digest of each, whoever printed it")

    def once(self):
        digests = {}
        for row in self.rows:
            if row.kind in ("joined", "removed"):
                digests.setdefault(row["epoch"], set()).add(row["digest"])
        return len(digests) > 1 and all(len(of) == 1 for of in digests.values())

    def no_peer(self):
        self.step("the root starts, and nobody else does")
        root = self.launch("root")
        self.must(lambda: self.homes(root)["epoch"] == 1, "the root writes epoch 1")
        self.must(lambda: self.standing(root)[0]["mutable"] == 1, "the root may commit")
        row = self.use(root, f"commit {OBJECTS[0]} alone")
        self.check(row["status"] == "served" and row["home"] == "root" and row["epoch"] == 1,
                   "it serves every object itself, in epoch 1")
        self.watch(self.scaled(FAIL) + 0.5)
        self.quiet(root, 1)
        self.step("a member without an authority starts")
        plain = self.launch(self.victim, authority=False, join=False)
        self.expect_row("it says that nothing of this runs there", "disabled", plain, reason="config")
        refused = self.ask(plain, f"commit {OBJECTS[0]} x")
        self.check("message" in refused, f"it takes no requests for objects: {refused.get('message')}")

    def quiet(self, root, epoch):
        homes = self.homes(root)
        self.check(homes["epoch"] == epoch, f"the epoch stays {epoch}")
        rows = [r.text for r in self.rows if r.agent is root and
                r.kind in ("suspect", "failed", "removed", "authority", "fence")]
        self.check(not rows, "nobody was suspected, failed or removed, and nothing was fenced" +
                   "".join(f"; but {r}" for r in rows))

    def without_view(self, agent):
        standing, _ = self.standing(agent)
        self.check(standing["state"] == "lost" and standing["epoch"] == 0 and standing["mutable"] == 0 and
                   standing["write_lease_ms"] == 0, f"{agent.name} has no view and no lease: {standing.text}")
        row = self.use(agent, f"commit {OBJECTS[0]} x")
        self.check(row["status"] == "no-route" and row["attempts"] == 0, "its requests end in no-route, and ask nobody")

    def wrong_authority(self):
        other = os.path.join(self.directory, "other.key")
        wrong = self.command("keygen", "--out", other).strip()
        self.step("the root starts")
        root = self.launch("root")
        self.must(lambda: self.homes(root)["epoch"] == 1, "the root writes epoch 1")
        self.step(f"{self.victim} believes in another authority's key")
        agent = self.launch(self.victim, key=wrong)
        self.expect_row("it refuses the root's view: bad-signature", "view-refused", agent, reason="bad-signature",
                        current=0)
        self.expect_row("it is told that it cannot join", "join", agent, state="refused")
        self.watch(self.scaled(FAIL))
        self.without_view(agent)
        self.quiet(root, 1)
        self.check(not self.seen("joined", root, 0, node=self.victim), f"{self.victim} was never in the view")

    def no_route(self):
        self.step(f"the root starts; the relay passes nothing to or from {self.victim}")
        root = self.launch("root")
        self.must(lambda: self.homes(root)["epoch"] == 1, "the root writes epoch 1")
        self.relay.order(f"cut {self.victim}")
        agent = self.launch(self.victim)
        self.watch(self.scaled(FAIL))
        self.without_view(agent)
        self.quiet(root, 1)
        self.step("the relay lets everything pass")
        self.relay.order("heal")
        joined = self.wait(lambda: self.homes(agent)["epoch"] == 2, DEADLINE_S + self.scaled(30))
        self.check(joined, f"{self.victim} joins by itself: epoch 2")
        self.expect_row("the root says so", "joined", root, node=self.victim, epoch=2)
        self.check(self.wait(lambda: self.standing(agent)[0]["mutable"] == 1, DEADLINE_S), "and may commit")

    def run(self):
        error = None
        try:
            self.first = 0
            self.prepare()
            {"kill-peer": self.kill_peer, "kill-root": self.kill_root, "partition": self.partition, "no-peer": self.no_peer,
             "wrong-authority": self.wrong_authority, "no-route": self.no_route}[self.options.fault]()
            self.show_new()
        except (Failed, subprocess.SubprocessError) as failure:
            error = str(failure)
            self.print(f"  NOT MET: {error}", error=error)
        finally:
            for process in self.processes:
                process.end()
            if self.etcd is not None:
                self.etcd.kill()
                self.etcd.wait()
            shutil.rmtree(self.directory, ignore_errors=True)  # ours alone: made by mkdtemp
        unmet = [what for met, what in self.checks if not met]
        ok = error is None and not unmet
        took = now() - self.began
        words = f"verdict: {'ok' if ok else 'NOT ok'}: {len(self.checks) - len(unmet)} of {len(self.checks)} checks met"
        self.print(f"\n{words}, {self.options.fault}, {len(self.names)} members, speed {self.speed:g}, {took:.1f} s",
                   verdict="ok" if ok else "not ok", fault=self.options.fault, members=len(self.names),
                   speed=self.speed, checks=len(self.checks), unmet=unmet, error=error, seconds=round(took, 3),
                   rows=len(self.rows))
        return 0 if ok else 1


def parse(arguments):
    default = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "bin" / "nekton"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(default))
    parser.add_argument("--fault", required=True,
                        choices=("kill-peer", "kill-root", "partition", "no-peer", "wrong-authority", "no-route"))
    parser.add_argument("--speed", type=float, default=1)
    parser.add_argument("--members", type=int)
    parser.add_argument("--backend", choices=("sqlite", "etcd"), default="sqlite")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ignore", choices=sorted(ROWS), help="rows that are not seen: the verdict must not be ok then")
    options = parser.parse_args(arguments)
    if not 1 <= options.speed <= 8:
        parser.error("--speed: must be from 1 to 8")
    least = 3 if options.fault == "kill-root" else 2
    options.members = options.members or least
    if not least <= options.members <= len(NAMES):
        parser.error(f"--members: must be from {least} to {len(NAMES)}")
    if options.backend == "etcd" and shutil.which("etcd") is None:
        print("rig.sh: etcd is not installed (Debian: etcd-server)", file=sys.stderr)
        sys.exit(77)
    if not os.access(options.binary, os.X_OK):
        parser.error(f"--binary: cannot run {options.binary}")
    return options


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    sys.exit(ending.run(lambda: Rig(chosen).run()))
