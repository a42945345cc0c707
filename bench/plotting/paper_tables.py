"""Tables of the experiments of papers, with what the papers publish."""

import math

from plotting import published
from plotting.papers import cells_of, fault_words
from plotting.table import Column, Table, count, fixed, percent, short, text

PUBLISHED = "**published** "


def make(cells, columns, more=()):
    """`columns`: after the protocol's, each a quantity or a key of the rows. `more`: lines of what is published."""
    lines = [[cell.name] + [value_of(cell, column.key) for column in columns] for cell in cells]
    lines += [[PUBLISHED + name] + [values.get(column.key) for column in columns] for name, values in more]
    return Table([Column("protocol", "protocol", text), *columns], lines)


def value_of(cell, key):
    if key in ("nodes", "loss", "quantile", "mistake_probability"):
        return cell.key(key)
    if key == "fault":
        return fault_words(cell.key("fault"))
    return cell.runs if key == "runs" else cell.of(key)


def bootstrap(results):
    more = [(name, {"nodes": nodes, "median": seconds, "sizes": sizes})
            for name, of_sizes in published.RAPID_BOOTSTRAP.items() for nodes, (seconds, sizes) in of_sizes.items()]
    return make(cells_of(results, "bootstrap"), [
        Column("nodes", "members", count), Column("loss", "loss", percent), Column("runs", "runs", count),
        Column("median", "all know all, median, s", fixed(2)), Column("worst", "worst, s", fixed(2)),
        Column("sizes", "different sizes seen meanwhile", count), Column("seed_bytes", "stream bytes of the seed", short),
        Column("bytes", "stream bytes per other member", short),
        Column("datagram_bytes", "datagram bytes per other member", short)], more)


def faults(results):
    def kilobytes(rates):
        return {f"{way}_{key}": value for way in ("rx", "tx") for key, value in zip(("mean", "p99", "max"), rates[way])}

    more = [(name, {"nodes": 1000, "fault": "ten crash", **kilobytes(rates)})
            for name, rates in published.RAPID_BANDWIDTH.items()]
    return make(cells_of(results, "faults"), [
        Column("fault", "ten members", text), Column("nodes", "of", count), Column("runs", "runs", count),
        Column("removed_p50", "removed after, median, s", fixed(1)), Column("removed_worst", "worst, s", fixed(1)),
        Column("gone", "gone in the end", count), Column("back", "taken back, all runs", count),
        Column("healthy", "failure events about healthy ones, all runs", count),
        Column("changes", "changes a healthy member saw", short), Column("views", "different sizes at once", count),
        Column("disagreed", "seconds with several", count),
        Column("rx_mean", "KB/s received, mean", fixed(2)), Column("rx_p99", "99 %", fixed(2)),
        Column("rx_max", "most", fixed(2)), Column("tx_mean", "KB/s sent, mean", fixed(2)),
        Column("tx_p99", "99 %", fixed(2)), Column("tx_max", "most", fixed(2))], more)


def push_floor(nodes, loss=0.0):
    """Seconds until all of them can have one update at the best: three copies per member every 200 ms, each to somebody new."""
    return 0.2 * math.ceil(math.log(nodes) / math.log(1 + 3 * (1 - loss)) - 1e-9)


def spread(results):
    cells = cells_of(results, "spread")
    table = make(cells, [
        Column("nodes", "members", count), Column("loss", "loss", percent), Column("runs", "runs", count),
        Column("p50", "last member knows, 50 %, s", fixed(2)), Column("p99", "99 %", fixed(2)),
        Column("p999", "99.9 %", fixed(2)), Column("worst", "worst", fixed(2)), Column("floor", "push floor, s", fixed(1)),
        Column("copies", "copies per member", fixed(2)), Column("bytes", "bytes of it per member", fixed(0)),
        Column("lost", "not known to all after a minute", count)])
    at = [column.key for column in table.columns].index("floor")
    for cell, row in zip(cells, table.rows):
        if row[at] is None and cell.key("nodes"):
            row[at] = push_floor(cell.key("nodes"), cell.key("loss") or 0)
    return table


def shrink(results):
    more = [(name, {"joiners": 17, "loss": 0.1, "middle": size}) for name, size in published.SWIM_JOINERS.items()]
    return make(cells_of(results, "shrink"), [
        Column("joiners", "joiners", count), Column("loss", "loss", percent), Column("runs", "runs", count),
        Column("middle", "in the group in the end, median", fixed(1)), Column("least", "fewest that anyone counts", count),
        Column("spared", "never declared dead", fixed(1)), Column("deaths", "failure events a run", short)], more)


def floor(results):
    return make(cells_of(results, "floor"), [
        Column("nodes", "members", count), Column("loss", "loss", percent), Column("quantile", "of crashes within T", percent),
        Column("mistake_probability", "bound for mistakes, PM", short),
        Column("period", "longest period that does, s", short), Column("at", "first suspicion then, s", fixed(2)),
        Column("load", "datagrams per member and T", fixed(2)), Column("floor", "floor L*", fixed(2)),
        Column("ratio", "load / L*", fixed(2)), Column("wrong", "false suspicions per member and T", short),
        Column("wrong_high", "95 % below", short)])


def known(results):
    """Failures of the field: the same trouble for the baseline and for nekton."""
    lines = []
    for row in results.rows("known", lambda row: row.get("experiment") == "known"):
        for side in ("baseline", "nekton"):
            mine = row[side]
            wrong = mine.get("wrong_pairs", mine.get("failed_healthy_events_at_healthy"))
            lines.append([row["case"], row["nodes"], row["seed"], side, "right" if mine["right"] else "**wrong**",
                          mine.get("whole_s"), wrong, mine.get("load_to_idle")])
    return Table([Column("case", "case", text), Column("nodes", "members", count), Column("seed", "seed", text),
                  Column("side", "protocol", text), Column("right", "outcome", text), Column("whole", "whole again after, s", fixed(1)),
                  Column("wrong", "pairs still wrong; semi: failure events about healthy", count),
                  Column("load", "load, times that of rest", fixed(2))], lines)


TABLES = {"known": known, "bootstrap": bootstrap, "faults": faults, "spread": spread, "shrink": shrink, "floor": floor}
