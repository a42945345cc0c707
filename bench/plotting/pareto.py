"""The settings of tuning --grid as points, and which of them no other one beats.

Not on a front are settings that removed 1 % or more of the members that only stood still for 3 s: haste alone is no
merit. The points that the Lifeguard paper publishes are shares of its SWIM's figures; here they are the same shares of
what swim came to in the simulator.
"""

HASTY = 0.01


class Point:
    """One setting. `fp`: false positives a trial; `datagrams`: at 30 % loss, None where the paper does not say."""

    def __init__(self, row, swim=None):
        self.row = row
        self.name = row["name"]
        self.published = row["published"]
        self.baseline = not self.published and row["baseline"]
        self.default = not self.published and row["default"]
        if self.published:
            share = row["percent_of_swim"]
            self.seconds = share["full_dissemination_p50"] / 100 * swim.seconds
            self.fp = share["fp"] / 100 * swim.fp
            self.datagrams, self.hasty, self.spread = None, False, None
            return
        known = row["crash"]["all_know_s"]
        self.seconds = known["p50"]
        self.spread = (known["p50"] - known["p50_low95"], known["p50_high95"] - known["p50"])
        self.fp = row["interval"]["fp"]["per_run"]
        self.datagrams = row["loss"]["datagrams_per_member_s"]
        self.hasty = row["freeze"]["condemned"]["count"] >= HASTY * row["freeze"]["frozen"]

    @property
    def parameter(self):
        """The one that is changed, where it is one."""
        plain = self.published or self.baseline or self.default or "," in self.name
        return None if plain else self.name.split(" ")[0]


def points_of(rows):
    """In the order of the rows; the published ones only where swim was measured."""
    measured = [Point(row) for row in rows if not row["published"]]
    swim = next((point for point in measured if point.name == "swim"), None)
    return measured + ([Point(row, swim) for row in rows if row["published"]] if swim else [])


def front(points, worth):
    """Of the points that may be on it those that none beats in seconds and in worth(point), by seconds."""
    def beats(a, b):
        return a.seconds <= b.seconds and worth(a) <= worth(b) and (a.seconds, worth(a)) != (b.seconds, worth(b))

    able = [point for point in points if worth(point) is not None and not point.published and not point.hasty]
    best = [point for point in able if not any(beats(other, point) for other in able)]
    return sorted(best, key=lambda point: (point.seconds, -worth(point)))
