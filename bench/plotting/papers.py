"""The experiments of papers: where in a row of bench/papers each quantity is, and one cell out of the rows of several seeds.

Each row has "experiment". The first path that is there counts, and a quantity that no row has stays empty.
"""

from plotting.rows import in_order, median, number, pick

EXPERIMENTS = ("bootstrap", "faults", "spread", "shrink", "floor")
PROTOCOLS = ["nekton", "nekton, phi", "nekton, staggered", "nekton, staggered, phi", "memberlist", "lifeguard", "swim"]
CELL = ("nodes", "joiners", "fault", "loss", "quantile")  # rows that agree in these and in the protocol are one cell

FIELDS = {
    "bootstrap": {
        "median": ("complete_s/p50", "complete_s/median", "complete_s"),
        "worst": ("complete_s/worst", "complete_s/max", "complete_s"),
        "incomplete": ("incomplete", "not_complete"),
        "sizes": ("sizes/p50", "sizes/median", "sizes"),
        "seed_bytes": ("seed_stream_bytes/p50", "seed_stream_bytes"),
        "bytes": ("member_stream_bytes/p50", "member_stream_bytes"),
        "datagram_bytes": ("member_datagram_bytes/p50", "member_datagram_bytes"),
    },
    "faults": {
        "removed_p50": ("removed_s/p50", "removed_s/median", "removed_s"),
        "removed_worst": ("removed_s/worst", "removed_s/max", "removed_s"),
        "removed": ("removed",),
        "gone": ("gone",),
        "back": ("readmissions",),
        "healthy": ("failed_healthy_at_healthy", "failed_healthy"),
        "suspected": ("suspected_healthy",),
        "changes": ("changes_mean",),
        "views": ("sizes_max",),
        "disagreed": ("seconds_disagreed",),
        "rx_mean": ("received/mean", "received_kb_s/mean"),
        "rx_p99": ("received/p99", "received_kb_s/p99"),
        "rx_max": ("received/max", "received_kb_s/max"),
        "tx_mean": ("sent/mean", "sent_kb_s/mean"),
        "tx_p99": ("sent/p99", "sent_kb_s/p99"),
        "tx_max": ("sent/max", "sent_kb_s/max"),
        "over_time": ("views",),
    },
    "spread": {
        "p50": ("last_s/p50", "last_s"),
        "p99": ("last_s/p99",),
        "p999": ("last_s/p999",),
        "worst": ("last_s/worst", "last_s/max"),
        "lost": ("lost",),
        "floor": ("push_floor_s", "floor_s"),
        "copies": ("copies", "copies_per_member"),
        "bytes": ("bytes", "bytes_per_member"),
        "syncs": ("syncs",),
    },
    "shrink": {
        "middle": ("median/mean", "median/p50", "median"),
        "least": ("smallest/least", "smallest/min", "smallest"),
        "spared": ("spared/mean", "spared/p50", "spared"),
        "deaths": ("death_events/mean", "death_events"),
        "over_time": ("sizes",),
    },
    "floor": {
        "period": ("period_s",),
        "at": ("first_suspicion_s",),
        "load": ("load",),
        "floor": ("bound", "floor"),
        "ratio": ("ratio",),
        "wrong": ("mistake_rate",),
        "wrong_high": ("mistake_interval/high", "mistake_interval/high95", "mistake_rate_high95", "mistake_high95"),
    },
}
GREATEST = {"worst", "removed_worst", "views", "disagreed", "rx_max", "tx_max"}
LEAST = {"least", "gone", "removed"}
ADDED = {"healthy", "back", "incomplete", "lost"}


class Cell:
    """All rows of one protocol, size, loss, fault and quantile."""

    def __init__(self, name, rows):
        self.name, self.rows = name, rows

    def key(self, name):
        return self.rows[0].get(name)

    @property
    def runs(self):
        return sum(row["runs"] if number(row.get("runs")) else 1 for row in self.rows)

    def values(self, quantity):
        """Those of the rows that have it; lists as they are."""
        paths = FIELDS[self.rows[0]["experiment"]].get(quantity, (quantity,))
        found = [next((value for path in paths if (value := pick(row, path)) is not None and not isinstance(value, dict)), None)
                 for row in self.rows]
        return [value for value in found if value is not None]

    def of(self, quantity):
        """One number: the median of the rows, or what suits it better; None where there is none."""
        values = []
        for value in self.values(quantity):
            values += value if isinstance(value, list) else [value]
        values = [value for value in values if number(value)]
        if not values:
            return None
        reduce = max if quantity in GREATEST else min if quantity in LEAST else sum if quantity in ADDED else median
        return reduce(values)


def cells_of(results, experiment):
    """In the order of the protocols, faults, sizes and losses."""
    rows = results.rows(experiment, lambda row: row.get("experiment") == experiment and not row.get("published"))
    names = in_order([name_of(row) for row in rows], PROTOCOLS)
    groups = {}
    for row in rows:
        groups.setdefault((name_of(row), *(row.get(key) for key in CELL)), []).append(row)
    cells = [Cell(key[0], mine) for key, mine in groups.items()]
    return sorted(cells, key=lambda cell: (names.index(cell.name), str(cell.key("fault")), cell.key("nodes") or 0,
                                           cell.key("loss") or 0, cell.key("quantile") or 0))


def name_of(row):
    """The protocol and what of it differs from the default."""
    parts = [row.get("protocol", "nekton")]
    parts += [row[key] for key, value in (("probing", "staggered"), ("detector", "phi")) if row.get(key) == value]
    return "nekton, staggered" if parts == ["staggered"] else ", ".join(dict.fromkeys(parts))


FAULTS = {"crash": "ten crash", "flip_in": "hear nothing 20 s of every 40", "flip_out": "are not heard 20 s of every 40",
          "loss_in": "lose 80 % of what is sent to them", "loss_out": "lose 80 % of what they send"}


def fault_words(name):
    return FAULTS.get(name, str(name))
