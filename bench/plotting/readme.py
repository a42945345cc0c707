"""The tables in a README, each between <!-- table NAME --> and <!-- end -->."""

import re
import sys

from plotting import tables
from plotting.rows import Missing

PLACE = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class BadReadme(Exception):
    """Its places are not what they should be. The text is one line."""


def body(results, name):
    """What belongs between the marks."""
    if name not in tables.TABLES:
        raise BadReadme(f"there is no table {name}")
    try:
        return tables.make(results, name).markdown() + "\n"
    except Missing as missing:
        return f"*Not recorded yet ({missing}).*\n"


def filled(results, text):
    opened, closed = text.count("<!-- table "), len(PLACE.findall(text))
    if opened != closed:
        raise BadReadme(f"{opened} tables begin, {closed} of them end")
    return PLACE.sub(lambda place: place[1] + body(results, place[2]) + place[4], text)


def write(results, path):
    text = path.read_text(encoding="utf-8")
    new = filled(results, text)
    if new != text:
        path.write_text(new, encoding="utf-8")
    return 0


def check(results, path):
    text = path.read_text(encoding="utf-8")
    filled(results, text)  # the marks
    wrong = [place[2] for place in PLACE.finditer(text) if place[3] != body(results, place[2])]
    for name in wrong:
        print(f"{path.name}: table {name} is not what the records say (bench/plot.py --tables writes it)", file=sys.stderr)
    return 1 if wrong else 0
