"""What bench/peers/compare.py measured of nekton and memberlist, side by side."""

import collections
import statistics

from plotting.rows import median, pick, quantile
from plotting.table import Column, Table, short, text

OURS, THEIRS, PLAIN, STAGGERED = "nekton", "memberlist", "memberlist, compression off", "nekton, staggered"

# One line of the comparison. `of(rows)`: one number out of all runs of one cell. `beside`: the peer that it is compared
# with. `aim`: the ratio, or the value where it begins with a word, that nekton is meant to reach.
Quantity = collections.namedtuple("Quantity", "what case of aim mine beside", defaults=(OURS, THEIRS))


def each(path):
    """The median over the runs."""
    return lambda rows: median([pick(row, path) for row in rows])


def pooled(path, share):
    """A quantile of all that was seen in all runs."""
    return lambda rows: quantile([value for row in rows for value in pick(row, path) or []], share)


def most(path):
    return lambda rows: quantile([pick(row, path) for row in rows], 1)


def total(path):
    def add(rows):
        values = [pick(row, path) for row in rows]
        return sum(value for value in values if value is not None) if any(v is not None for v in values) else None
    return add


def unhealed(rows):
    """How many runs never became one group again."""
    return sum(1 for row in rows if pick(row, "healed_s") is not None and row["healed_s"] < 0)


def healed(rows):
    """The median of the runs; infinite where most of them did not heal."""
    values = [float("inf") if row["healed_s"] < 0 else row["healed_s"] for row in rows if "healed_s" in row]
    return statistics.median(values) if values else None


QUANTITIES = [
    Quantity("at rest: datagrams per node and second", "steady", each("datagrams_per_node_second"), "the same"),
    Quantity("at rest: bytes per node and second", "steady", each("bytes_per_node_second"), "≤ 0.6"),
    Quantity("at rest: CPU, ms per node and second", "steady", each("cpu_ms_per_node_second"), "≤ 0.1"),
    Quantity("the same beside memberlist without compression", "steady", each("cpu_ms_per_node_second"), "≤ 0.25", OURS, PLAIN),
    Quantity("memory, KiB for each further node", "steady", each("kib_per_node"), "≤ 0.125"),
    Quantity("first suspicion of a killed process, median, s", "kill", each("first_suspicion_s/p50"), "≤ 1"),
    Quantity("all know of a killed process, median, s", "kill", each("all_know_s/p50"), "≤ 0.5"),
    Quantity("all know of a killed process, 95 %, s", "kill", pooled("each_all_know_s", 0.95), "≤ 0.5"),
    Quantity("all know of a silent host, median, s", "silent", each("all_know_s/p50"), "nekton ≤ 5 s"),
    Quantity("all know of a silent host, 99 %, s", "silent", pooled("each_all_know_s", 0.99), "nekton ≤ 9 s"),
    Quantity("the same, staggered, worst, s", "silent", pooled("each_all_know_s", 1), "nekton ≤ 5.3 s", STAGGERED),
    Quantity("a quarter killed at once: all know, s", "quarter", each("all_know_s"), "≤ 0.5"),
    Quantity("all join at once: last table complete, median, s", "steady", each("join/complete_s/worst"), "less"),
    Quantity("all join at once: slowest of 20 runs, s", "join", most("join/complete_s/worst"), "nekton ≤ 2 s"),
    Quantity("many join at once: slowest run, s", "crowd", most("join/complete_s/worst"), "nekton converges"),
    Quantity("15 % loss, streams too: suspicions a minute", "loss15", each("suspicions_per_minute"), "≤ 0.1"),
    Quantity("15 % loss, streams too: false deaths, all runs", "loss15", total("deaths"), "nekton 0"),
    Quantity("15 % loss, streams too: datagrams per node and second", "loss15", each("datagrams_per_node_second"), "≤ 0.5"),
    Quantity("30 % loss, streams too: suspicions a minute", "loss30", each("suspicions_per_minute"), "≤ 0.1"),
    Quantity("30 % loss, streams too: false deaths, all runs", "loss30", total("deaths"), "nekton 0"),
    Quantity("30 % loss, streams too: datagrams per node and second", "loss30", each("datagrams_per_node_second"), "≤ 0.5"),
    Quantity("30 % loss, perfect streams: suspicions a minute", "loss30streams", each("suspicions_per_minute"), ""),
    Quantity("30 % loss, perfect streams: false deaths, all runs", "loss30streams", total("deaths"), "both 0"),
    Quantity("split of 75 s: healed after, s", "split", healed, "nekton ≤ 10 s"),
    Quantity("split of 75 s: runs that never healed (90 s)", "split", unhealed, "nekton 0"),
    Quantity("split of 10 min: healed after, s", "longsplit", healed, "nekton ≤ 10 s"),
    Quantity("split of 10 min: runs that never healed (90 s)", "longsplit", unhealed, "nekton 0"),
    Quantity("four lose 80 %: failure events about healthy nodes, all runs", "sick", total("dead_healthy"), "nekton 0"),
    Quantity("four lose 80 %: failure events about them again, all runs", "sick", total("dead_sick_again"), "nekton 0"),
]


def load(results):
    """The rows, those at rest with the memory of each further node."""
    rows = results.rows("peers")
    alone = {peer: median([row["resident_kib"] for row in rows if row["case"] == "alone" and row["peer"] == peer])
             for peer in {row["peer"] for row in rows}}
    for row in rows:
        if row["case"] == "steady" and alone.get(row["peer"]) and row["nodes"] > 1:
            row["kib_per_node"] = (row["resident_kib"] - alone[row["peer"]]) / (row["nodes"] - 1)
    return rows


def cells(rows):
    """Each quantity at each size: (quantity, nodes, ours, theirs, ratio, runs of ours). Values may be None."""
    for quantity in QUANTITIES:
        of_case = [row for row in rows if row["case"] == quantity.case]
        for nodes in sorted({row["nodes"] for row in of_case if row["peer"] == quantity.mine}):
            mine = [row for row in of_case if row["nodes"] == nodes and row["peer"] == quantity.mine]
            other = [row for row in of_case if row["nodes"] == nodes and row["peer"] == quantity.beside]
            ours, theirs = quantity.of(mine), quantity.of(other) if other else None
            if ours is None:
                continue
            able = theirs is not None and 0 < theirs < float("inf") and ours >= 0
            yield quantity, nodes, ours, theirs, ours / theirs if able else None, len(mine)


def value(number):
    if number == float("inf"):
        return "never"
    return short(number)


def peers(results):
    lines = [[cell[0].what, *cell[1:5], cell[0].aim, cell[5]]
             for cell in cells(load(results))]
    return Table([Column("what", "", text), Column("nodes", "N", text), Column("nekton", "nekton", value),
                  Column("memberlist", "memberlist", value), Column("ratio", "ratio", value),
                  Column("aim", "aimed at", text), Column("runs", "runs", text)], lines)


TABLES = {"peers": peers}
