"""Tables of the experiments of papers, with what the papers publish."""

import math

from plotting import published
from plotting.papers import name_of, of, rows_of
from plotting.table import Column, Table, count, fixed, percent, short, text

PUBLISHED = "**published** "


def either(value):
    """A number, or words."""
    return value if isinstance(value, str) else short(value)


def make(results, experiment, columns, more=()):
    """`columns`: pairs of a quantity, or a key of the row, and its Column. `more`: lines of what is published."""
    lines = [[name_of(row)] + [of(row, quantity) if of(row, quantity) is not None else row.get(quantity)
                               for quantity, _ in columns] for row in rows_of(results, experiment)]
    lines += [[name] + [values.get(quantity) for quantity, _ in columns] for name, values in more]
    return Table([Column("protocol", "protocol", text)] + [column for _, column in columns], lines)


def column(quantity, head, form):
    return quantity, Column(quantity, head, form)


def bootstrap(results):
    more = [(PUBLISHED + name, {"nodes": nodes, "median": seconds, "sizes": sizes})
            for name, of_sizes in published.RAPID_BOOTSTRAP.items() for nodes, (seconds, sizes) in of_sizes.items()]
    return make(results, "bootstrap", [
        column("nodes", "members", count), column("loss", "loss", percent), column("runs", "runs", count),
        column("median", "all know all, median, s", fixed(2)), column("worst", "worst, s", fixed(2)),
        column("sizes", "different sizes seen meanwhile", count), column("seed_bytes", "bytes of the seed", short),
        column("bytes", "bytes per member", short)], more)


def faults(results):
    more = [(PUBLISHED + name, {"nodes": 1000, "fault": "ten crashes", "rx_mean": of_name["rx"][0], "rx_p99": of_name["rx"][1],
                                "rx_max": of_name["rx"][2], "tx_mean": of_name["tx"][0], "tx_p99": of_name["tx"][1],
                                "tx_max": of_name["tx"][2]}) for name, of_name in published.RAPID_BANDWIDTH.items()]
    return make(results, "faults", [
        column("nodes", "members", count), column("fault", "fault", text), column("runs", "runs", count),
        column("faulty", "faulty", count), column("removed", "of these removed", either),
        column("removed_p50", "after, median, s", fixed(1)), column("removed_worst", "worst, s", fixed(1)),
        column("back", "taken back", either), column("healthy", "healthy removed", either),
        column("changes", "changes of view per member", short), column("views", "different views at once, at most", count),
        column("rx_mean", "KB/s received, mean", fixed(2)), column("rx_p99", "99 %", fixed(2)),
        column("rx_max", "most", fixed(2)), column("tx_mean", "KB/s sent, mean", fixed(2)),
        column("tx_p99", "99 %", fixed(2)), column("tx_max", "most", fixed(2))], more)


def push_floor(nodes):
    """Seconds until all of them can have one update at the best: three copies per member every 200 ms."""
    return 0.2 * math.ceil(math.log(nodes) / math.log(4) - 1e-9)


def spread(results):
    table = make(results, "spread", [
        column("nodes", "members", count), column("loss", "loss", percent), column("runs", "runs", count),
        column("p50", "last member knows, 50 %, s", fixed(2)), column("p99", "99 %", fixed(2)),
        column("p999", "99.9 %", fixed(2)), column("floor", "push floor, s", fixed(1)),
        column("copies", "copies per member", fixed(2)), column("bytes", "bytes per member", fixed(0))])
    for row in table.rows:
        if row[7] is None and row[1]:
            row[7] = push_floor(row[1])
    return table


def shrink(results):
    more = [(PUBLISHED + name, {"joiners": 17, "loss": 0.1, "mean": size}) for name, size in published.SWIM_JOINERS.items()]
    return make(results, "shrink", [
        column("joiners", "joiners", count), column("loss", "loss", percent), column("runs", "runs", count),
        column("mean", "in the group, mean", fixed(2)), column("least", "fewest", count),
        column("whole", "runs with all", count), column("deaths", "false deaths", either)], more)


def floor(results):
    table = make(results, "floor", [
        column("nodes", "members", count), column("loss", "loss", percent), column("period", "period, s", short),
        column("load", "datagrams per member and T", fixed(2)), column("floor", "floor L*", fixed(2)),
        column("ratio", "load / L*", fixed(2)), column("p50", "first suspicion, 50 %, s", fixed(2)),
        column("p999", "99.9 %", fixed(2)), column("wrong", "false suspicions per member and T", short),
        column("wrong_high", "95 % below", short)])
    for row in table.rows:
        if row[6] is None and row[4] and row[5]:
            row[6] = row[4] / row[5]
    return table


TABLES = {"bootstrap": bootstrap, "faults": faults, "spread": spread, "shrink": shrink, "floor": floor}
