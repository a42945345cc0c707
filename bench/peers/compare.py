#!/usr/bin/python3
"""Measures nekton and HashiCorp memberlist side by side, over real sockets on loopback, on this machine.

Each run is a process with N nodes of one library; the two take turns, so that what else the machine does meets both. Rows
are appended to FILE, and what is there already is not measured again: a run that was broken off goes on where it was.
bench/plot.py makes the table and the picture of them. Needs Debian's golang-go and
golang-github-hashicorp-memberlist-dev, and a Release build (build/release/bin/nekton_peer).

  compare.py --out bench/results/peers.jsonl    measures what is missing there; some hours of a quiet machine
  compare.py --json                             the same on standard output, from the beginning
  compare.py --quick --out FILE                 minutes: two sizes, one run of each
  compare.py --list [--json]                    what would be run, and measures nothing
  compare.py --scenarios help                   the scenarios
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # the tree of sources stays as it is
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NEKTON, STAGGERED = "nekton", "nekton, staggered"
MEMBERLIST, PLAIN = "memberlist", "memberlist, compression off"
BOTH = (NEKTON, MEMBERLIST)

# `sizes`: None: those of --nodes. `peers`: who takes part. `times`: so many times --runs.
Scenario = collections.namedtuple("Scenario", "flags sizes peers times words", defaults=(None, BOTH, 1, ""))
SCENARIOS = {
    "alone": Scenario(["scenario=steady", "seconds=5"], [1], (NEKTON, MEMBERLIST, PLAIN),
                      words="one node, for the memory of each further one"),
    "steady": Scenario(["scenario=steady", "seconds=20"], None, (NEKTON, MEMBERLIST, PLAIN), words="what a node costs at rest"),
    "kill": Scenario(["scenario=kill", "kills=4"], words="a process ends, its port refuses"),
    "silent": Scenario(["scenario=kill", "kills=4", "silent"], None, (NEKTON, STAGGERED, MEMBERLIST), words="a host falls silent"),
    "quarter": Scenario(["scenario=quarter"], words="a quarter of the processes end at once"),
    "join": Scenario(["scenario=steady", "seconds=1"], [128], BOTH, 4, "all join through one seed at once"),
    "crowd": Scenario(["scenario=steady", "seconds=1"], [512, 1000], (NEKTON,), words="the same, with many nodes"),
    "loss15": Scenario(["scenario=loss", "loss=0.15", "seconds=30"], words="15 % loss, of streams too"),
    "loss30": Scenario(["scenario=loss", "loss=0.3", "seconds=30"], words="30 % loss, of streams too"),
    "loss30streams": Scenario(["scenario=loss", "loss=0.3", "seconds=30", "perfect_streams"], [128],
                              words="30 % loss of datagrams alone"),
    "split": Scenario(["scenario=split", "seconds=75"], [32], words="two halves for 75 s"),
    "longsplit": Scenario(["scenario=split", "seconds=600"], [32], words="two halves for 10 min"),
    "sick": Scenario(["scenario=sick", "seconds=120"], [32], words="four of 32 lose 80 %"),
}
Job = collections.namedtuple("Job", "peer case nodes run")


def say(words):
    print(f"compare.py: {words}", file=sys.stderr)


def jobs_of(options):
    """All runs, each size and scenario in turns of the peers."""
    found = []
    for case in options.scenarios:
        scenario = SCENARIOS[case]
        sizes = scenario.sizes if scenario.sizes and not options.only_nodes else options.nodes
        sizes = [1] if case == "alone" else [n for n in sizes if n >= (8 if case == "sick" else 4)]
        for nodes in sizes:
            for run in range(options.runs * scenario.times):
                found += [Job(peer, case, nodes, run) for peer in scenario.peers if peer in options.peers]
    return found


def build_memberlist(folder):
    """Compiles the Go side; returns its path, or None with a line why."""
    program = os.path.join(folder, "memberlist_peer")
    environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=os.path.join(folder, "cache"))
    try:
        subprocess.run(["go", "build", "-o", program, str(HERE / "memberlist" / "main.go")], env=environment, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"memberlist is left out: {error}")
        return None
    return program


def command_of(job, programs):
    """The words of a command line; Go's flags and ours are the same but for the dashes."""
    ours = job.peer in (NEKTON, STAGGERED)
    dash = "--" if ours else "-"
    words = [f"nodes={job.nodes}", f"seed={job.run + 1}", *SCENARIOS[job.case].flags]
    words += {STAGGERED: ["probing=staggered"], PLAIN: ["compression=false"]}.get(job.peer, [])
    return [programs[NEKTON if ours else MEMBERLIST]] + [dash + word for word in words]


def run_once(job, programs, limit):
    """The row, or None with a line why."""
    command = command_of(job, programs)
    named = " ".join([pathlib.Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
        row = json.loads(done.stdout.decode().strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        say(f"{named}: given up after {limit} s")
        return None
    except (OSError, ValueError, IndexError):
        say(f"{named}: no row")
        return None
    row.update({"peer": job.peer, "case": job.case, "nodes": job.nodes, "run": job.run})
    return row


def done_before(path):
    """The jobs whose rows are in the file."""
    if path is None or not path.exists():
        return set()
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {Job(row["peer"], row["case"], row["nodes"], row["run"]) for row in rows}


def measure(options):
    """Runs what is missing; 1 where something failed."""
    before = done_before(options.out)
    jobs = [job for job in jobs_of(options) if job not in before]
    lock, failed, finished = threading.Lock(), [], []

    def work(job, programs):
        row = run_once(job, programs, options.limit)
        with lock:
            finished.append(job)
            if options.progress:
                say(f"{len(finished)}/{len(jobs)} {job.peer}, {job.case}, {job.nodes}")
            if row is None:
                failed.append(job)
                return
            line = json.dumps(row)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as out:
                    out.write(line + "\n")
            if options.json or not options.out:
                print(line, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        programs = {NEKTON: options.nekton}
        if any(job.peer in (MEMBERLIST, PLAIN) for job in jobs):
            programs[MEMBERLIST] = options.memberlist or build_memberlist(folder)
        jobs = [job for job in jobs if programs.get(NEKTON if job.peer in (NEKTON, STAGGERED) else MEMBERLIST)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for _ in pool.map(lambda job: work(job, programs), jobs):
                pass
    return 1 if failed else 0


def print_jobs(options):
    before = done_before(options.out)
    programs = {NEKTON: "nekton_peer", MEMBERLIST: "memberlist_peer"}
    for job in jobs_of(options):
        line = {**job._asdict(), "command": " ".join(command_of(job, programs)), "done": job in before}
        print(json.dumps(line) if options.json else ("done  " if line["done"] else "      ") + line["command"])
    return 0


def numbers(words):
    return [int(word) for word in words.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="append rows there, and skip what is there")
    parser.add_argument("--json", action="store_true",
                        help="rows on standard output, too (they go there in any case without --out)")
    parser.add_argument("--nodes", type=numbers, default=None,
                        help="sizes, separated by commas, of all scenarios (default 8,32,128,256, and each scenario's own)")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="of them, separated by commas (default all)")
    parser.add_argument("--peers", default=None, help=f"of {NEKTON}; {STAGGERED}; {MEMBERLIST}; {PLAIN} (default all), "
                        "separated by semicolons")
    parser.add_argument("--runs", type=int, default=5, help="of each cell; of join four times as many (default 5)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1; more spoil CPU and times)")
    parser.add_argument("--limit", type=int, default=900, help="seconds after which a run is given up (default 900)")
    parser.add_argument("--quick", action="store_true", help="8 and 32 nodes, one run, without the long split and the crowd")
    parser.add_argument("--nekton", default=str(ROOT / "build/release/bin/nekton_peer"), help="the nekton side's program")
    parser.add_argument("--memberlist", default=None, help="the other side's, where it is compiled already")
    parser.add_argument("--list", action="store_true", help="print the runs, and measure nothing")
    parser.add_argument("--progress", action="store_true", help="say on standard error what has been run")
    options = parser.parse_args()
    if options.scenarios == "help":
        for name, scenario in SCENARIOS.items():
            print(f"{name:14} {scenario.words}")
        sys.exit(0)
    options.scenarios = options.scenarios.split(",")
    options.only_nodes = options.nodes is not None
    if options.quick:
        options.runs = 1
        options.only_nodes = True
        options.nodes = options.nodes or [8, 32]
        options.scenarios = [name for name in options.scenarios if name not in ("longsplit", "crowd")]
    options.nodes = options.nodes or [8, 32, 128, 256]
    known = [NEKTON, STAGGERED, MEMBERLIST, PLAIN]
    options.peers = [p.strip() for p in options.peers.split(";")] if options.peers else known
    unknown = [s for s in options.scenarios if s not in SCENARIOS] + [p for p in options.peers if p not in known]
    if unknown or min(options.nodes) < 4 or options.runs < 1 or options.jobs < 1:
        parser.error(f"unknown: {unknown}" if unknown else "--nodes: 4 and more; --runs, --jobs: 1 and more")
    return options


def main():
    options = arguments()
    return print_jobs(options) if options.list else measure(options)


if __name__ == "__main__":
    sys.exit(main())
