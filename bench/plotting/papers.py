"""The experiments of papers: where in a row of bench/papers each quantity is. Each row has "experiment"; the first path that
is there counts, and a quantity that a row lacks stays empty."""

from plotting.rows import in_order, pick

EXPERIMENTS = ("bootstrap", "faults", "spread", "shrink", "floor")
PROTOCOLS = ["nekton", "nekton, phi", "nekton, staggered", "nekton, staggered, phi", "memberlist", "lifeguard", "swim"]

FIELDS = {
    "bootstrap": {
        "median": ("all_know_s/p50", "complete_s/p50", "all_know_s/median_s", "median_s"),
        "worst": ("all_know_s/worst", "complete_s/worst", "all_know_s/max_s", "max_s"),
        "sizes": ("sizes_seen", "unique_sizes"),
        "seed_bytes": ("seed_bytes", "seed_sent_bytes"),
        "bytes": ("bytes_per_member",),
    },
    "faults": {
        "fault": ("fault", "case"),
        "faulty": ("faulty",),
        "removed": ("removed", "faulty_removed"),
        "removed_p50": ("removed_s/p50", "removed_s/median_s"),
        "removed_worst": ("removed_s/worst", "removed_s/max_s"),
        "back": ("taken_back", "readmitted", "rejoins"),
        "healthy": ("healthy_removed", "dead_healthy"),
        "changes": ("view_changes_per_member", "changes_per_member"),
        "views": ("most_views", "views_at_once"),
        "rx_mean": ("rx_kb_s/mean", "rx_kbs/mean"),
        "rx_p99": ("rx_kb_s/p99", "rx_kbs/p99"),
        "rx_max": ("rx_kb_s/max", "rx_kbs/max"),
        "tx_mean": ("tx_kb_s/mean", "tx_kbs/mean"),
        "tx_p99": ("tx_kb_s/p99", "tx_kbs/p99"),
        "tx_max": ("tx_kb_s/max", "tx_kbs/max"),
        "over_time": ("over_time", "views"),  # [[second, least, median, most members in a healthy member's view], ...]
    },
    "spread": {
        "p50": ("last_s/p50", "all_know_s/p50", "last_s/median_s"),
        "p99": ("last_s/p99", "all_know_s/p99", "last_s/p99_s"),
        "p999": ("last_s/p999", "all_know_s/p999", "last_s/p999_s"),
        "floor": ("push_floor_s", "floor_s"),
        "copies": ("copies_per_member",),
        "bytes": ("bytes_per_member",),
    },
    "shrink": {
        "joiners": ("joiners", "nodes"),
        "mean": ("size/mean", "group/mean", "mean"),
        "least": ("size/least", "size/min", "group/min", "least"),
        "whole": ("whole_runs", "complete_runs", "complete"),
        "deaths": ("false_deaths", "false_deaths/count"),
    },
    "floor": {
        "load": ("datagrams_per_member_s", "load"),
        "floor": ("floor", "floor_datagrams_per_member_s"),
        "ratio": ("ratio",),
        "p50": ("first_suspicion_s/p50", "detection_s/p50"),
        "p999": ("first_suspicion_s/p999", "detection_s/p999"),
        "wrong": ("false_suspicions_per_member_period", "false_suspicions/per_member_period"),
        "wrong_high": ("false_suspicions_high95", "false_suspicions/high95"),
        "period": ("period_s", "T_s"),
    },
}


def rows_of(results, experiment):
    """In the order of the protocols, sizes and losses."""
    rows = results.rows(experiment, lambda row: row.get("experiment") == experiment)
    names = in_order([name_of(row) for row in rows], PROTOCOLS)
    return sorted(rows, key=lambda row: (names.index(name_of(row)), row.get("nodes") or 0, str(of(row, "fault")),
                                         row.get("loss") or 0))


def name_of(row):
    """The protocol and what of it differs from the default."""
    parts = [row.get("protocol", "nekton")]
    parts += [row[key] for key, value in (("probing", "staggered"), ("detector", "phi")) if row.get(key) == value]
    return ", ".join(dict.fromkeys(parts))


def of(row, quantity):
    """The value of a quantity of the row's experiment; None where it is not there."""
    found = (pick(row, path) for path in FIELDS.get(row.get("experiment"), {}).get(quantity, ()))
    return next((value for value in found if value is not None), None)
