#!/usr/bin/env python3
"""Measures nekton and HashiCorp memberlist side by side, over real sockets on loopback, on this machine.

Each run is a process with N nodes of one library; the two take turns, so that what else the machine does meets both.
A row is the median of its runs. Needs Debian's golang-go and golang-github-hashicorp-memberlist-dev, and a Release build
(build/release/bin/nekton_peer).

  compare.py --json > rows.jsonl      measures; one JSON object a run
  compare.py --table rows.jsonl       the table of what was measured, in Markdown
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# scenario, its arguments, the sizes it is measured at (all by default)
SCENARIOS = {
    "steady": (["seconds=20"], None),
    "kill": (["kills=4"], None),
    "silent": (["kills=4", "silent"], None),
    "quarter": ([], None),
    "loss15": (["loss=0.15", "seconds=30"], None),
    "loss30": (["loss=0.3", "seconds=30"], None),
    "split": (["seconds=75"], [32]),
}
NAME_OF = {"silent": "kill", "loss15": "loss", "loss30": "loss"}


def build_memberlist(folder):
    """Compiles the Go side; returns its path, or None with a line why."""
    program = os.path.join(folder, "memberlist_peer")
    environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=os.path.join(folder, "cache"))
    try:
        subprocess.run(["go", "build", "-o", program, str(HERE / "memberlist" / "main.go")], env=environment, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"compare.py: memberlist is left out: {error}", file=sys.stderr)
        return None
    return program


def arguments_of(scenario, nodes, seed, single_dash):
    dash = "-" if single_dash else "--"
    flags, _ = SCENARIOS[scenario]
    words = [f"nodes={nodes}", f"scenario={NAME_OF.get(scenario, scenario)}", f"seed={seed}", *flags]
    return [dash + word for word in words]


def run_once(command, limit):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
    lines = done.stdout.decode().strip().splitlines()
    if done.returncode != 0 or not lines:
        print(f"compare.py: {' '.join(command)}: status {done.returncode} {done.stderr.decode()[-300:]}", file=sys.stderr)
        return None
    return json.loads(lines[-1])


def measure(options):
    with tempfile.TemporaryDirectory() as folder:
        memberlist = build_memberlist(folder)
        peers = {"nekton": ([options.nekton], False)}
        if memberlist:
            peers["memberlist"] = ([memberlist], True)
            peers["memberlist, compression off"] = ([memberlist, "-compression=false"], True)
        jobs = []
        for scenario in options.scenarios:
            for nodes in SCENARIOS[scenario][1] or options.nodes:
                # Compression is a matter of processor time alone.
                names = [p for p in peers if "off" not in p or scenario == "steady"]
                jobs += [(run, scenario, nodes, name) for run in range(options.runs) for name in names]
        if "steady" in options.scenarios:  # what one node alone takes, for the memory of each further one
            jobs = [(0, "alone", 1, name) for name in peers] + jobs
        for at, (run, scenario, nodes, name) in enumerate(jobs):
            if options.progress:
                print(f"{at + 1}/{len(jobs)} {name}, {scenario}, {nodes}", file=sys.stderr)
            command, single_dash = peers[name]
            if scenario == "alone":
                dash = "-" if single_dash else "--"
                words = [f"{dash}nodes=1", f"{dash}scenario=steady", f"{dash}seconds=5"]
            else:
                words = arguments_of(scenario, nodes, run + 1, single_dash)
            row = run_once(command + words, options.limit)
            if row is None:
                continue
            row.update({"peer": name, "case": scenario, "run": run})
            print(json.dumps(row), flush=True)


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def pick(row, path):
    for key in path.split("/"):
        row = row.get(key) if isinstance(row, dict) else None
    return row


QUANTITIES = [
    # what, case, where in the row, digits
    ("datagrams per node and second", "steady", "datagrams_per_node_second", 2),
    ("bytes per node and second", "steady", "bytes_per_node_second", 1),
    ("CPU, ms per node and second", "steady", "cpu_ms_per_node_second", 3),
    ("memory, KiB per node", "steady", "kib_per_node", 0),
    ("join of all at once: last table complete, s", "steady", "join/complete_s/worst", 2),
    ("killed: first suspicion, s", "kill", "first_suspicion_s/p50", 2),
    ("killed: all know, median, s", "kill", "all_know_s/p50", 2),
    ("killed: all know, 95 %, s", "kill", "all_know_s/p95", 2),
    ("silent host: all know, median, s", "silent", "all_know_s/p50", 2),
    ("a quarter killed at once: all know, s", "quarter", "all_know_s", 2),
    ("15 % loss: suspicions a minute", "loss15", "suspicions_per_minute", 1),
    ("15 % loss: false deaths", "loss15", "deaths", 0),
    ("15 % loss: datagrams per node and second", "loss15", "datagrams_per_node_second", 2),
    ("30 % loss: suspicions a minute", "loss30", "suspicions_per_minute", 1),
    ("30 % loss: false deaths", "loss30", "deaths", 0),
    ("30 % loss: datagrams per node and second", "loss30", "datagrams_per_node_second", 2),
    ("split of 75 s: healed after, s (-1: not within 90)", "split", "healed_s", 1),
]


def add_memory(rows):
    alone = {r["peer"]: r["resident_kib"] for r in rows if r["case"] == "alone"}
    for row in rows:
        if row["case"] == "steady" and row["peer"] in alone and row["nodes"] > 1:
            row["kib_per_node"] = (row["resident_kib"] - alone[row["peer"]]) / (row["nodes"] - 1)


def table(path):
    rows = [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]
    add_memory(rows)
    print("| | N | nekton | memberlist | ratio | runs |")
    print("|---|--:|--:|--:|--:|--:|")
    for what, case, where, digits in QUANTITIES:
        for nodes in sorted({r["nodes"] for r in rows if r["case"] == case}):
            def of(peer):
                mine = [r for r in rows if r["case"] == case and r["nodes"] == nodes and r["peer"] == peer]
                return median([pick(r, where) for r in mine]), len(mine)
            ours, runs = of("nekton")
            theirs, _ = of("memberlist")
            if ours is None:
                continue
            other = "" if theirs is None else f"{theirs:.{digits}f}"
            ratio = "" if not theirs or theirs <= 0 or ours < 0 else f"{ours / theirs:.2f}"
            print(f"| {what} | {nodes} | {ours:.{digits}f} | {other} | {ratio} | {runs} |")
            off, _ = of("memberlist, compression off")
            if where.startswith("cpu") and off:
                print(f"| … beside memberlist without compression | {nodes} | {ours:.{digits}f} | {off:.{digits}f} | "
                      f"{ours / off:.2f} | {runs} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="8,32,128,256", help="sizes, separated by commas (default 8,32,128,256)")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)} (default all)")
    parser.add_argument("--runs", type=int, default=5, help="of each cell (default 5)")
    parser.add_argument("--limit", type=int, default=600, help="seconds after which a run is given up (default 600)")
    parser.add_argument("--nekton", default=str(ROOT / "build/release/bin/nekton_peer"), help="the nekton side's program")
    parser.add_argument("--table", metavar="FILE", help="print the table of these rows, and measure nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object a run; how measuring prints in any case")
    parser.add_argument("--progress", action="store_true", help="say on standard error what is being run")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    options.nodes = [int(n) for n in options.nodes.split(",")]
    options.scenarios = options.scenarios.split(",")
    unknown = [s for s in options.scenarios if s not in SCENARIOS]
    if unknown or min(options.nodes) < 8:
        parser.error(f"unknown scenarios {unknown}" if unknown else "--nodes: 8 and more")
    measure(options)


if __name__ == "__main__":
    main()
