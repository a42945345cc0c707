#!/usr/bin/python3
"""Makes the records of bench/results: runs their commands, writes NAME.jsonl, and says in sources.json what made them.

  record.py NAME...             the records, in full: as they are committed
  record.py --quick NAME...     minutes of them, into build/quick-results (bench/plot.py --results build/quick-results)
  record.py --list [--json]     the records and what each measures
  record.py --dry-run NAME...   the commands, and runs nothing; without NAME those of all records

A record is replaced when all of its commands have ended well; until then its rows are in NAME.jsonl.part. That of peers is
appended to instead, and what it holds is not measured again. Status: 0, 1 failed, 2 wrong arguments.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from recording import micro  # noqa: E402 (the path first)
from recording.commands import RECORDS, commands_of, seeds_of  # noqa: E402


class Failed(Exception):
    """A command did not end well. The text is one line."""


def say(words):
    print(f"record.py: {words}", file=sys.stderr)


def program_of(words, build):
    """Where it is: a script lies beside this one, a program in the build."""
    return HERE / words[0] if words[0].endswith(".py") else build / "bin" / words[0]


def run(words, build, into):
    """Runs one command, its standard output into the file."""
    program = program_of(words, build)
    if not program.exists():
        raise Failed(f"{words[0]}: not built (cmake --preset release && cmake --build --preset release)")
    try:
        done = subprocess.run([str(program), *words[1:]], stdout=into, check=False)
    except OSError as wrong:
        raise Failed(f"{words[0]}: {wrong}") from wrong
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: status {done.returncode}")


def record(name, options):
    """Makes one, and returns what sources.json says of it."""
    results = options.results
    results.mkdir(parents=True, exist_ok=True)
    target, part = results / f"{name}.jsonl", results / f"{name}.jsonl.part"
    shown = commands_of(name, options.quick, f"results/{name}.jsonl")
    source = {"commands": [" ".join(words) for words in shown], "seeds": seeds_of(shown), "quick": options.quick,
              "commit": commit(), "date": datetime.date.today().isoformat(), "machine": machine()}
    if RECORDS[name].kind == "peers":
        for words in commands_of(name, options.quick, str(target)):
            run(words, options.build, sys.stdout)
        return source
    with open(part, "w", encoding="utf-8") as out:
        for words in commands_of(name, options.quick):
            say(" ".join(words))
            if RECORDS[name].kind == "micro":
                out.writelines(json.dumps(row) + "\n" for row in micro_rows(words, options.build))
            else:
                run(words, options.build, out)
            out.flush()
    if part.stat().st_size == 0:
        raise Failed(f"{name}: no row")
    os.replace(part, target)
    return source


def micro_rows(words, build):
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as output:
        program = program_of(words, build)
        if not program.exists():
            os.close(write)
            raise Failed(f"{words[0]}: not built")
        process = subprocess.Popen([str(program), *words[1:]], stdout=write, stderr=subprocess.DEVNULL)
        os.close(write)
        printed = output.read()
        if process.wait() != 0:
            raise Failed(f"{' '.join(words)}: status {process.returncode}")
    return micro.rows_of(words[0], json.loads(printed))


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def commit():
    """What was checked out, and whether the sources differed from it; None outside of a repository."""
    name = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "phi", "stm", "swim", "lease", "transport", "bench",
                  ":!bench/results", ":!bench/README.md")
    return (name + (" and changes" if changed else "")) if name else None


def machine():
    """What it is measured on: no name of it, no path."""
    model = "unknown"
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        model = found[1].strip() if found else model
    except OSError:
        pass
    return {"cores": os.cpu_count(), "cpu": model}


def note(results, name, source):
    """Writes it into sources.json, beside what is there of the other records."""
    path = results / "sources.json"
    sources = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sources[name] = source
    path.write_text(json.dumps(dict(sorted(sources.items())), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def print_list(as_json):
    for name, made in RECORDS.items():
        line = {"name": name, "measures": made.words, "commands": len(made.full), "quick_commands": len(made.quick)}
        print(json.dumps(line) if as_json else f"{name:17} {made.words}")
    return 0


def print_commands(names, quick, as_json):
    for name in names:
        for words in commands_of(name, quick, f"results/{name}.jsonl"):
            line = {"record": name, "quick": quick, "program": words[0], "flags": words[1:]}
            print(json.dumps(line) if as_json else f"{name:17} {' '.join(words)}")
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECORDS)}")
    parser.add_argument("--quick", action="store_true", help="the quick commands")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR",
                        help="where records go (default bench/results, with --quick build/quick-results)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="a Release build (default build/release)")
    parser.add_argument("--list", action="store_true", help="print the records")
    parser.add_argument("--dry-run", action="store_true", help="print the commands, and run nothing")
    parser.add_argument("--json", action="store_true", help="--list, --dry-run and what was made: one JSON object a line")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in RECORDS]
    if unknown:
        parser.error(f"there is no record {', '.join(unknown)}; see --list")
    if not (options.names or options.list or options.dry_run):
        parser.error("which records? see --list")
    options.results = options.results or (ROOT / "build/quick-results" if options.quick else HERE / "results")
    return options


def main():
    options = arguments()
    if options.list:
        return print_list(options.json)
    if options.dry_run:
        return print_commands(options.names or list(RECORDS), options.quick, options.json)
    failed = 0
    for name in options.names:
        try:
            source = record(name, options)
        except (Failed, OSError, ValueError, KeyError) as wrong:
            say(f"{name}: {wrong}")
            failed = 1
            continue
        note(options.results, name, source)
        print(json.dumps({"record": name, **source}) if options.json else f"{name}.jsonl")
    return failed


if __name__ == "__main__":
    sys.exit(main())
