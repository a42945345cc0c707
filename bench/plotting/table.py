"""Tables: columns with a key, a heading and a way to write a value; rows of raw values."""

import collections

Column = collections.namedtuple("Column", "key head form")


class Table:
    """`rows`: lists of raw values, one a column. `notes`: paragraphs below."""

    def __init__(self, columns, rows, notes=()):
        self.columns, self.rows, self.notes = columns, rows, notes

    def markdown(self):
        words = [column.form is text for column in self.columns]
        out = ["| " + " | ".join(column.head for column in self.columns) + " |",
               "|" + "|".join("---" if word else "--:" for word in words) + "|"]
        for row in self.rows:
            cells = ["" if value is None else column.form(value) for column, value in zip(self.columns, row)]
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        for note in self.notes:
            out += ["", note]
        return "\n".join(out)

    def objects(self):
        """One dict a row."""
        return [{column.key: value for column, value in zip(self.columns, row)} for row in self.rows]


def text(value):
    return str(value)


def count(value):
    return f"{value:,.0f}"


def fixed(digits):
    """That many digits after the point; 0 is 0, and what would round to it says so."""
    def form(value):
        if value == 0:
            return "0"
        words = f"{value:,.{digits}f}"
        return f"<{10 ** -digits:g}" if float(words.replace(",", "")) == 0 and value > 0 else words
    return form


def short(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9:
        return f"{value / 1e9:.3g} G"
    if size >= 1e6:
        return f"{value / 1e6:.3g} M"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if size >= 1e-3 else f"{value:.1e}"


def percent(value):
    return f"{100 * value:.3g} %"


def bounded(value):
    """A rate, and its 95 % interval: {"per_...", "low95", "high95"}."""
    rate = next(value[key] for key in value if key.startswith("per_"))
    if rate == 0:
        return f"0 (<{value['high95']:.2g})"
    return f"{short(rate)} ({short(value['low95'])}–{short(value['high95'])})"
