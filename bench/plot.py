#!/usr/bin/python3
"""Draws the records of bench/results as SVG, and writes the tables of bench/README.md.

  plot.py                         remakes every picture whose record is there, beside the records
  plot.py --picture NAME          one picture
  plot.py --tables                writes the tables into bench/README.md, between <!-- table NAME --> and <!-- end -->
  plot.py --check                 fails where these tables are not what the records say; draws nothing
  plot.py --table NAME [--json]   one table on standard output, in Markdown or as JSON lines
  plot.py --list [--json]         which pictures and tables there are, and whether their records are

Pictures need Debian's python3-matplotlib, tables nothing. The same records give the same bytes.
Status: 0, 1 failed or --check found a difference, 2 wrong arguments.
"""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from plotting import readme, tables  # noqa: E402 (the path first)
from plotting.rows import BadRecord, Missing, Results  # noqa: E402

PICTURES = {"message_cost": "group_figures", "detection": "group_figures", "detector_quality": "group_figures",
            "tuning": "tuning_figures", "pareto": "tuning_figures", "peers": "peer_figures", "bootstrap": "paper_figures",
            "faults": "paper_figures", "spread": "paper_figures", "shrink": "paper_figures", "floor": "paper_figures"}


def say(words):
    print(f"plot.py: {words}", file=sys.stderr)


def picture(results, name):
    """The bytes of one picture."""
    try:
        from plotting import style
    except ImportError as missing:
        raise SystemExit(f"plot.py: {missing}: pictures need Debian's python3-matplotlib (run it with /usr/bin/python3)")
    module = __import__(f"plotting.{PICTURES[name]}", fromlist=["PICTURES"])
    try:
        return style.svg(module.PICTURES[name](results))
    except (KeyError, TypeError, AttributeError) as wrong:
        raise BadRecord(f"{name}: a row is not what its program prints: {type(wrong).__name__}: {wrong}") from wrong


def draw(results, names, out):
    """Each into its file; what is not recorded is said, and no failure unless it was asked for alone."""
    drawn = 0
    for name in names:
        try:
            (out / f"{name}.svg").write_bytes(picture(results, name))
            drawn += 1
            print(f"{name}.svg")
        except Missing as missing:
            say(f"{name}.svg is left out: {missing}")
    return 0 if drawn == len(names) or (len(names) > 1 and drawn) else 1


def print_table(results, name, as_json):
    try:
        table = tables.make(results, name)
    except Missing as missing:
        say(missing)
        return 1
    if as_json:
        for row in table.objects():
            print(json.dumps(row, ensure_ascii=False))
    else:
        print(table.markdown())
    return 0


def print_list(results, as_json):
    lines = [{"kind": "picture", "name": name, "recorded": recorded(results, name)} for name in PICTURES]
    lines += [{"kind": "table", "name": name, "recorded": recorded(results, name)} for name in tables.TABLES]
    for line in lines:
        print(json.dumps(line) if as_json else f"{line['kind']:8} {line['name']:20} "
                                               f"{'' if line['recorded'] else 'not recorded'}".rstrip())
    return 0


def recorded(results, name):
    try:
        return bool(tables.make(results, name)) if name in tables.TABLES else bool(results.rows(RECORD_OF.get(name, name)))
    except Missing:
        return False


RECORD_OF = {"pareto": "tuning", "tuning": "tuning"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", metavar="DIR",
                        help="where the records are (default bench/results)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where pictures go (default: beside the records)")
    parser.add_argument("--readme", type=pathlib.Path, default=HERE / "README.md", metavar="FILE",
                        help="what --tables and --check are about (default bench/README.md)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--picture", choices=PICTURES, metavar="NAME", help="draw this one alone")
    what.add_argument("--table", choices=tables.TABLES, metavar="NAME", help="print this one")
    what.add_argument("--tables", action="store_true", help="write all of them into the README")
    what.add_argument("--check", action="store_true", help="compare them with the README")
    what.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--json", action="store_true", help="--table, --list: one JSON object a line")
    return parser.parse_args()


def main():
    options = arguments()
    results = Results(options.results)
    try:
        if options.table:
            return print_table(results, options.table, options.json)
        if options.list:
            return print_list(results, options.json)
        if options.tables or options.check:
            return readme.write(results, options.readme) if options.tables else readme.check(results, options.readme)
        return draw(results, [options.picture] if options.picture else list(PICTURES), options.out or options.results)
    except (BadRecord, OSError, readme.BadReadme) as wrong:
        say(wrong)
        return 1


if __name__ == "__main__":
    sys.exit(main())
