#!/usr/bin/python3
"""Tests of bench/plot.py, bench/record.py and bench/peers/compare.py. Usage: bench_scripts_test.py [unittest's arguments]."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
FIXTURE = ROOT / "tests" / "data" / "bench_results"
sys.path.insert(0, str(BENCH))

from plotting import peers, tables  # noqa: E402 (the path first)
from plotting.pareto import front, points_of  # noqa: E402
from plotting.rows import Results  # noqa: E402
from recording import micro  # noqa: E402

SCRIPTS = ("plot.py", "record.py", "peers/compare.py")


def run(script, *words, status=0):
    """Standard output and standard error of a script, which has to end so."""
    done = subprocess.run([sys.executable, str(BENCH / script), *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    if done.returncode != status:
        raise AssertionError(f"{script} {words}: status {done.returncode}, not {status}\n{out}\n{err}")
    if "Traceback" in err:
        raise AssertionError(f"{script} {words}: {err}")
    return out, err


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class Help(unittest.TestCase):
    def test_each_script_explains_itself(self):
        for script in SCRIPTS:
            out, _ = run(script, "--help")
            self.assertIn("usage:", out)
            self.assertIn("--json", out)

    def test_wrong_arguments_are_status_2(self):
        for script in SCRIPTS:
            run(script, "--no-such-flag", status=2)
        run("plot.py", "--picture", "nonsense", status=2)
        run("plot.py", "--table", "nonsense", status=2)
        run("record.py", "nonsense", status=2)
        run("record.py", status=2)
        run("peers/compare.py", "--scenarios", "nonsense", status=2)

    def test_a_script_run_as_it_is_finds_its_python(self):
        for script in SCRIPTS:
            self.assertEqual((BENCH / script).read_text(encoding="utf-8").splitlines()[0], "#!/usr/bin/python3")
            self.assertTrue(os.access(BENCH / script, os.X_OK))


class Pictures(Folder):
    def test_all_are_the_same_bytes_twice(self):
        names = [line["name"] for line in objects(run("plot.py", "--list", "--json")[0]) if line["kind"] == "picture"]
        for turn in ("a", "b"):
            (self.folder / turn).mkdir()
            _, err = run("plot.py", "--results", FIXTURE, "--out", self.folder / turn)
            self.assertEqual(err, "")
        self.assertEqual(sorted(path.stem for path in (self.folder / "a").iterdir()), sorted(names))
        for name in names:
            first, second = ((self.folder / turn / f"{name}.svg").read_bytes() for turn in ("a", "b"))
            self.assertEqual(first, second, name)
            self.assertIn(b"<svg", first)
            self.assertNotIn(b"<dc:date>", first)

    def test_what_is_not_recorded_is_one_clear_line(self):
        _, err = run("plot.py", "--results", self.folder, "--picture", "bootstrap", status=1)
        self.assertEqual(err, "plot.py: bootstrap.svg is left out: bootstrap.jsonl: not recorded\n")
        _, err = run("plot.py", "--results", self.folder, "--table", "soak", status=1)
        self.assertEqual(err, "plot.py: soak.jsonl: not recorded\n")

    def test_a_broken_row_is_one_clear_line(self):
        (self.folder / "soak.jsonl").write_text('{"protocol":"nekton"}\n{"proto', encoding="utf-8")
        _, err = run("plot.py", "--results", self.folder, "--table", "soak", status=1)
        self.assertIn("soak.jsonl:2: not a line of JSON", err)
        (self.folder / "soak.jsonl").write_text('{"protocol":"nekton"}\n', encoding="utf-8")
        _, err = run("plot.py", "--results", self.folder, "--table", "soak", status=1)
        self.assertIn("a row is not what its program prints", err)
        (self.folder / "message_cost.jsonl").write_text('{"loss":0}\n', encoding="utf-8")
        _, err = run("plot.py", "--results", self.folder, "--picture", "message_cost", status=1)
        self.assertIn("a row is not what its program prints", err)


class Tables(Folder):
    def test_every_table_of_the_fixture_in_both_forms(self):
        results = Results(FIXTURE)
        for name in tables.TABLES:
            table = tables.make(results, name)
            words = table.markdown().splitlines()
            self.assertRegex(words[1], r"^\|(---\||--:\|)+$", name)
            self.assertEqual({line.replace("\\|", "").count("|") for line in words}, {len(table.columns) + 1}, name)
            self.assertEqual(len(table.objects()), len(words) - 2, name)
            self.assertEqual(len(table.objects()[0]), len(table.columns), name)  # no key twice
        out, _ = run("plot.py", "--results", FIXTURE, "--table", "soak")
        self.assertEqual(out, tables.make(results, "soak").markdown() + "\n")
        self.assertEqual(objects(run("plot.py", "--results", FIXTURE, "--table", "soak", "--json")[0]),
                         tables.make(results, "soak").objects())

    def test_they_are_written_and_an_altered_one_is_found(self):
        page = self.folder / "README.md"
        page.write_text("# A\n\n<!-- table soak -->\n<!-- end -->\n\nwords\n\n<!-- table detection -->\nold\n<!-- end -->\n",
                        encoding="utf-8")
        run("plot.py", "--results", FIXTURE, "--readme", page, "--check", status=1)
        run("plot.py", "--results", FIXTURE, "--readme", page, "--tables")
        run("plot.py", "--results", FIXTURE, "--readme", page, "--check")
        text = page.read_text(encoding="utf-8")
        self.assertIn("\nwords\n", text)
        self.assertNotIn("\nold\n", text)
        altered = re.sub(r"\| bursts \| (\d)", "| bursts | 9\\1", text, count=1)
        self.assertNotEqual(altered, text)
        page.write_text(altered, encoding="utf-8")
        _, err = run("plot.py", "--results", FIXTURE, "--readme", page, "--check", status=1)
        self.assertIn("table soak is not what the records say", err)
        self.assertNotIn("detection", err)

    def test_unknown_and_open_places_are_refused(self):
        page = self.folder / "README.md"
        page.write_text("<!-- table nonsense -->\n<!-- end -->\n", encoding="utf-8")
        self.assertIn("no table nonsense", run("plot.py", "--readme", page, "--tables", status=1)[1])
        page.write_text("<!-- table soak -->\n", encoding="utf-8")
        self.assertIn("0 of them end", run("plot.py", "--readme", page, "--tables", status=1)[1])

    def test_what_is_not_recorded_says_so_in_the_page(self):
        page = self.folder / "README.md"
        page.write_text("<!-- table micro -->\n<!-- end -->\n", encoding="utf-8")
        run("plot.py", "--results", self.folder, "--readme", page, "--tables")
        self.assertIn("Not recorded yet (micro.jsonl: not recorded)", page.read_text(encoding="utf-8"))

    def test_the_committed_page_is_what_the_committed_records_say(self):
        run("plot.py", "--check")
        text = (BENCH / "README.md").read_text(encoding="utf-8")
        for name in tables.TABLES:
            self.assertIn(f"<!-- table {name} -->", text)
        for picture in re.findall(r"\(results/(\w+\.svg)\)", text):
            self.assertTrue((BENCH / "results" / picture).exists(), picture)


class Figures(unittest.TestCase):
    """What the numbers of the tables are made of."""

    def test_the_front_leaves_out_what_is_beaten_hasty_or_published(self):
        def row(name, seconds, datagrams, frozen=0, **more):
            return {"name": name, "published": False, "baseline": False, "default": False,
                    "crash": {"all_know_s": {"p50": seconds, "p50_low95": seconds, "p50_high95": seconds}},
                    "interval": {"fp": {"per_run": 0}}, "loss": {"datagrams_per_member_s": datagrams},
                    "freeze": {"frozen": 100, "condemned": {"count": frozen}}, **more}

        rows = [row("quick", 1, 9), row("cheap", 5, 2), row("beaten", 5, 9), row("hasty", 0.5, 1, frozen=1),
                row("swim", 10, 20, baseline=True),
                {"name": "x", "published": True, "percent_of_swim": {"full_dissemination_p50": 50, "fp": 10}}]
        points = points_of(rows)
        self.assertEqual([point.name for point in front(points, lambda point: point.datagrams)], ["quick", "cheap"])
        self.assertEqual(points[-1].seconds, 5)

    def test_a_peer_row_is_the_median_of_its_runs_and_the_ratio_of_both(self):
        def rows(peer, values):
            return [{"peer": peer, "case": "quarter", "nodes": 8, "run": i, "all_know_s": v} for i, v in enumerate(values)]

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "peers.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows("nekton", [1, 2, 9]) +
                                    rows("memberlist", [8, 4, 4])), encoding="utf-8")
            found = list(peers.cells(peers.load(Results(folder))))
        self.assertEqual([(cell[1], cell[2], cell[3], cell[4], cell[5]) for cell in found], [(8, 2, 4, 0.5, 3)])

    def test_a_group_that_never_healed_is_never_and_has_no_ratio(self):
        rows = [{"peer": peer, "case": "split", "nodes": 32, "run": 0, "healed_s": seconds}
                for peer, seconds in (("nekton", 3.0), ("memberlist", -1))]
        found = {cell[0].what: cell[2:5] for cell in peers.cells(rows)}
        self.assertEqual(found["split of 75 s: healed after, s"], (3.0, float("inf"), None))
        self.assertEqual(found["split of 75 s: runs that never healed (90 s)"], (0, 1, 0))

    def test_google_benchmark_becomes_rows(self):
        run_of = {"name": "A/8", "run_name": "A/8", "run_type": "iteration", "repetitions": 1, "iterations": 5, "real_time": 2.0,
                  "cpu_time": 1.5, "time_unit": "us", "items_per_second": 7.0, "frames": 3.0}
        mean = dict(run_of, run_type="aggregate", aggregate_name="mean", cpu_time=9.0)
        broken = dict(run_of, error_occurred=True)
        rows = micro.rows_of("x_bench", {"benchmarks": [run_of, mean, broken]})
        self.assertEqual(rows, [{"program": "x_bench", "name": "A/8", "repetitions": 1, "real_time_ns": 2000.0,
                                 "cpu_time_ns": 1500.0, "items_per_second": 7.0, "counters": {"frames": 3.0}}])


def flags_of(program):
    """The flags that the sources of a program define; None where there are no sources."""
    main = BENCH / program / "main.cc"
    if program == "peers/compare.py":
        return set(re.findall(r'add_argument\("--([\w-]+)"', (BENCH / program).read_text(encoding="utf-8")))
    if main.exists():
        return set(re.findall(r"ABSL_FLAG\((?:[^,<]|<[^>]*>)+,\s*(\w+)", main.read_text(encoding="utf-8")))
    if (BENCH / f"{program}.cc").exists():
        return {"benchmark_format", "benchmark_repetitions", "benchmark_report_aggregates_only", "benchmark_min_time"}
    return None


class Records(Folder):
    def test_commands_are_of_programs_and_flags_that_exist(self):
        built = (BENCH / "CMakeLists.txt").read_text(encoding="utf-8")
        names = {line["name"] for line in objects(run("record.py", "--list", "--json")[0])}
        seen = set()
        for quick in ((), ("--quick",)):
            for line in objects(run("record.py", "--dry-run", "--json", *quick)[0]):
                seen.add(line["record"])
                flags = flags_of(line["program"])
                if line["program"] == "papers" and not (BENCH / "papers").exists():
                    continue
                self.assertIsNotNone(flags, line["program"])
                self.assertTrue(line["program"].endswith((".py", "_bench")) or line["program"] in built, line["program"])
                for flag in line["flags"]:
                    if flag.startswith("--"):
                        self.assertIn(re.match(r"--([\w-]+)", flag)[1], flags, line)
        self.assertEqual(seen, names)

    def test_a_record_is_written_with_its_source_and_kept_where_a_command_fails(self):
        programs = self.folder / "build" / "bin"
        programs.mkdir(parents=True)
        program = programs / "detector_quality"
        program.write_text("#!/bin/sh\necho '{\"trace\":\"x\"}'\n", encoding="utf-8")
        program.chmod(0o755)
        words = ("--build", self.folder / "build", "--results", self.folder / "results", "--json", "detector_quality")
        said = objects(run("record.py", *words)[0])[0]
        record = self.folder / "results" / "detector_quality.jsonl"
        self.assertEqual(objects(record.read_text(encoding="utf-8")), [{"trace": "x"}])
        source = json.loads((self.folder / "results" / "sources.json").read_text(encoding="utf-8"))["detector_quality"]
        self.assertEqual({"record": "detector_quality", **source}, said)
        self.assertEqual(set(source), {"commands", "seeds", "quick", "commit", "date", "machine"})
        self.assertEqual(source["commands"], ["detector_quality --json --seed=1"])
        self.assertEqual(set(source["machine"]), {"cores", "cpu"})
        self.assertNotIn(str(self.folder), json.dumps(source))
        program.write_text("#!/bin/sh\necho '{\"trace\":\"y\"}'\nexit 1\n", encoding="utf-8")
        run("record.py", *words, status=1)
        self.assertEqual(objects(record.read_text(encoding="utf-8")), [{"trace": "x"}])

    def test_what_is_not_built_is_one_clear_line(self):
        _, err = run("record.py", "--build", self.folder, "--results", self.folder, "soak", status=1)
        self.assertIn("detection: not built", err)

    def test_every_committed_record_has_a_source(self):
        sources = json.loads((BENCH / "results" / "sources.json").read_text(encoding="utf-8"))
        self.assertEqual(sorted(sources), sorted(path.stem for path in (BENCH / "results").glob("*.jsonl")))


class Peers(Folder):
    def test_it_measures_what_is_missing_and_no_more(self):
        program = self.folder / "peer"
        program.write_text('#!/bin/sh\necho "$@" >> ' + str(self.folder / "calls") + '\necho \'{"peer":"?","nodes":0}\'\n',
                           encoding="utf-8")
        program.chmod(0o755)
        words = ("--nekton", program, "--memberlist", program, "--nodes", "8", "--runs", "2", "--scenarios", "steady,silent",
                 "--jobs", "2", "--out", self.folder / "rows.jsonl")
        run("peers/compare.py", *words)
        calls = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(calls), 12)
        self.assertIn("--nodes=8 --seed=2 --scenario=kill --kills=4 --silent --probing=staggered", calls)
        self.assertIn("-nodes=8 -seed=1 -scenario=steady -seconds=20 -compression=false", calls)
        rows = objects((self.folder / "rows.jsonl").read_text(encoding="utf-8"))
        self.assertEqual({(row["case"], row["nodes"]) for row in rows}, {("steady", 8), ("silent", 8)})
        self.assertTrue(all(line["done"] for line in objects(run("peers/compare.py", *words, "--list", "--json")[0])))
        run("peers/compare.py", *words)
        self.assertEqual(len((self.folder / "calls").read_text(encoding="utf-8").splitlines()), 12)
        (self.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]), encoding="utf-8")
        run("peers/compare.py", *words)
        self.assertEqual(len((self.folder / "calls").read_text(encoding="utf-8").splitlines()), 13)

    def test_a_run_that_fails_is_said_and_no_row(self):
        out, err = run("peers/compare.py", "--nekton", "/bin/false", "--memberlist", "/bin/false", "--scenarios", "split",
                       "--runs", "1", status=1)
        self.assertEqual(out, "")
        self.assertIn("no row", err)

    def test_every_quantity_of_the_table_is_measured(self):
        listed = objects(run("peers/compare.py", "--list", "--json")[0])
        measured = {(line["case"], line["peer"]) for line in listed}
        for quantity in peers.QUANTITIES:
            self.assertIn((quantity.case, quantity.mine), measured)
        self.assertLessEqual({8, 32, 128, 256}, {line["nodes"] for line in listed if line["case"] == "steady"})


if __name__ == "__main__":
    unittest.main()
