"""Records: files of JSON lines in one folder, one object a line, as the programs of bench/ print them with --json."""

import json
import math
import pathlib
import statistics


class Missing(Exception):
    """A record is not there, or holds nothing of what is asked for. The text is one clear line."""


class BadRecord(Exception):
    """A record cannot be read. The text names the file and the line."""


class Results:
    """A folder of records."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self._read = {}

    def rows(self, name, keep=None):
        """The rows of NAME.jsonl, of those the ones that `keep` takes. Raises Missing where there is none."""
        if name not in self._read:
            self._read[name] = self._load(self.folder / f"{name}.jsonl")
        rows = [row for row in self._read[name] if keep is None or keep(row)]
        if not rows:
            raise Missing(f"{name}.jsonl: no row of this kind" if self._read[name] else f"{name}.jsonl: not recorded")
        return rows

    def maybe(self, name, keep=None):
        """The same; none is no mistake."""
        try:
            return self.rows(name, keep)
        except Missing:
            return []

    def sources(self):
        """{record: what it was made by}; empty without sources.json."""
        path = self.folder / "sources.json"
        if not path.exists():
            return {}
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as wrong:
            raise BadRecord(f"{path.name}: {wrong}") from wrong

    @staticmethod
    def _load(path):
        rows = []
        if not path.exists():
            return rows
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except ValueError as wrong:
                raise BadRecord(f"{path.name}:{number}: not a line of JSON: {wrong}") from wrong
            if not isinstance(row, dict):
                raise BadRecord(f"{path.name}:{number}: not an object")
            rows.append(row)
        return rows


def pick(row, path):
    """row["a"]["b"] of "a/b"; None where it ends before."""
    for key in path.split("/"):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def number(value):
    """Whether it is one that can be drawn."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def median(values):
    values = [value for value in values if number(value)]
    return statistics.median(values) if values else None


def quantile(values, share):
    """Of few values the nearest rank; None of none."""
    values = sorted(value for value in values if number(value))
    return values[max(math.ceil(share * len(values)), 1) - 1] if values else None


def in_order(values, order):
    """The distinct values, those of `order` first and in its order, the others as they come."""
    seen = list(dict.fromkeys(values))
    return [value for value in order if value in seen] + [value for value in seen if value not in order]


def protocol_name(row):
    """The protocol, and how it probes where that is not at random."""
    staggered = row.get("probing") == "staggered" and row["protocol"] != "staggered"
    return row["protocol"] + (", staggered" if staggered else "")


def variant_name(row):
    """The same and the detector."""
    if row["protocol"] == "mesh":
        return "heartbeat mesh"
    phi = row.get("detector") == "phi"
    return protocol_name(row) + (", phi" if phi else "")
