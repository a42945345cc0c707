"""The experiments of papers: where in a row of bench/papers each quantity is, and one cell out of the rows of several seeds.

Each row has "experiment". The first path that is there counts, and a quantity that no row has stays empty.
"""

from plotting.rows import in_order, median, number, pick

PROTOCOLS = ["nekton", "nekton, phi", "nekton, staggered", "nekton, staggered, phi", "memberlist", "lifeguard", "swim"]
CELL = ("nodes", "fault", "loss", "quantile", "mistake_probability")  # rows that agree in these and in the protocol are one cell

FIELDS = {
    "bootstrap": {
        "median": ("complete_s/p50",), "worst": ("complete_s/worst",), "sizes": ("sizes_seen",),
        "seed_bytes": ("seed_stream_bytes",), "bytes": ("member_stream_bytes",), "datagram_bytes": ("member_datagram_bytes",),
    },
    "faults": {
        "removed_p50": ("removed_s/p50",), "removed_worst": ("removed_s/worst",), "gone": ("gone_in_the_end",),
        "back": ("readmissions",), "healthy": ("failed_healthy_events_at_healthy",),
        "changes": ("view_changes_per_member/mean",), "views": ("different_sizes_max",), "disagreed": ("seconds_disagreed",),
        "rx_mean": ("kb_per_s/received/mean",), "rx_p99": ("kb_per_s/received/p99",), "rx_max": ("kb_per_s/received/max",),
        "tx_mean": ("kb_per_s/sent/mean",), "tx_p99": ("kb_per_s/sent/p99",), "tx_max": ("kb_per_s/sent/max",),
        "over_time": ("views",),
    },
    "spread": {
        "p50": ("last_member_s/p50",), "p99": ("last_member_s/p99",), "p999": ("last_member_s/p999",),
        "worst": ("last_member_s/worst",), "lost": ("not_known_to_all",), "floor": ("push_floor_s",),
        "copies": ("copies_per_member",), "bytes": ("news_bytes_per_member",),
    },
    "shrink": {
        "middle": ("size_mean",), "least": ("size_worst",), "spared": ("never_declared_dead_mean",),
        "deaths": ("death_events_per_run",), "joiners": ("nodes",),
    },
    "floor": {
        "period": ("period_s",), "at": ("first_suspicion_s",), "load": ("datagrams_per_member_t",),
        "floor": ("floor_datagrams_per_member_t",), "ratio": ("ratio_to_floor",), "wrong": ("mistakes_per_member_t",),
        "wrong_high": ("mistakes_high95",),
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
    rows = results.rows(experiment, lambda row: row.get("experiment") == experiment)
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
