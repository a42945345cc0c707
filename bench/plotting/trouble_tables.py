"""Tables of lifeguard, hardship, tuning and detector_quality."""

from plotting import published
from plotting.pareto import points_of
from plotting.rows import in_order, pick
from plotting.table import Column, Table, bounded, count, fixed, short, text

PROTOCOLS = ["nekton", "staggered", "swim", "lifeguard", "memberlist"]
BLOCKS = {"blocked": "sends and receives block; timers run on (an event loop)",
          "prober": "the same with a prober thread that gets stuck", "frozen": "the process stands still"}


CASES = [("freeze/", "a tenth stands still for 3 s"), ("deaf/128", "one hears 30 % of what is sent to it"),
         ("deaf/1000", "the same"), ("deafer/", "one hears 10 % of what is sent to it"),
         ("lossy/32", "four lose 80 % both ways"), ("slow/tenth", "a tenth handles each input Exp(2 s) late"),
         ("slow/half", "half handle each input Exp(1 s) late"), ("pairs/", "so many % of the pairs cannot talk"),
         ("quarter/", "a quarter dies at once"), ("stall/", "one stands still 2 s of every 3"),
         ("survivor/", "two of three die"), ("crash/", "one dies"), ("loss/32", "30 % loss on every link"),
         ("pair/8", "two cannot talk"), ("oneway/", "one cannot send to one other"), ("deaf/8/half", "one does not hear four"),
         ("deaf/8", "one hears nobody"), ("mute/8/half", "one is not heard by four"), ("mute/8", "one is heard by nobody"),
         ("flip/1000/in", "ten hear nothing 20 s of every 40"), ("flip/1000/out", "ten are not heard 20 s of every 40"),
         ("lossy/1000/in", "ten lose 80 % of what is sent to them"), ("lossy/1000/out", "ten lose 80 % of what they send")]


def words_of(case):
    loss = ", 5 % loss" if case.endswith("/loss") else ""
    return next((words for start, words in CASES if case.startswith(start)), "") + loss


def times(prefix, words):
    return [Column(f"{prefix}_p50", f"{words}, 50 %, s", fixed(2)), Column(f"{prefix}_p99", "99 %", fixed(2)),
            Column(f"{prefix}_p999", "99.9 %", fixed(2))]


def spread(row, what):
    return [pick(row, f"{what}/{key}") for key in ("median_s", "p99_s", "p999_s")]


def removed(row, block_ms):
    """The share of the members blocked so long that were declared dead."""
    found = pick(row, f"removed_by_block_ms/{block_ms}")
    return found["removed"] / found["anomalies"] if found and found["anomalies"] else None


def lifeguard(results):
    rows = results.rows("lifeguard", lambda row: "/" not in row["points"] and not row.get("published"))
    rows = sorted(rows, key=lambda row: (list(BLOCKS).index(row["block"]), PROTOCOLS.index(row["protocol"])))
    columns = [Column("block", "an anomaly", text), Column("protocol", "protocol", text), Column("runs", "runs", count),
               Column("fp", "FP a run", short), Column("fp_healthy", "FP− a run", short)]
    columns += times("first", "first detection") + times("full", "all know")
    columns += [Column("removed", "8 s blocks removed", fixed(3)),
                Column("datagrams", "datagrams per member and second", fixed(1)), Column("bytes", "bytes", count)]
    lines = [[BLOCKS[row["block"]], row["protocol"], row["runs"], row["fp_per_run"], row["fp_at_healthy_per_run"]] +
             spread(row, "first_detection") + spread(row, "full_dissemination") +
             [removed(row, 8192), row["datagrams_per_member_s"], row["bytes_per_member_s"]] for row in rows]
    lines += [["**published**, real processes", row["protocol"], 4320, row["fp_per_run"], row["fp_at_healthy_per_run"],
               *row["first"], *row["full"], None, None, None] for row in published.LIFEGUARD]
    return Table(columns, lines)


def hardship(results):
    rows = results.rows("hardship")
    cases = in_order([row["case"] for row in rows], [])
    rows = sorted(rows, key=lambda row: (cases.index(row["case"]), PROTOCOLS.index(row["protocol"])))
    columns = [Column("case", "case", text), Column("words", "trouble", text), Column("protocol", "protocol", text), Column("runs", "runs", count),
               Column("hours", "member-hours", fixed(1)),
               Column("dead_healthy", "failure events about healthy members", count),
               Column("at_healthy", "of these at healthy ones", count),
               Column("accused", "healthy members accused", count), Column("sick", "members that suffer", count),
               Column("condemned", "of these declared dead", count), Column("rejoins", "taken back", count),
               Column("median", "what it waits for, 50 %, s", fixed(1)), Column("most", "worst", fixed(1)),
               Column("datagrams", "datagrams per member and second", fixed(1)), Column("bytes", "bytes", count)]
    lines = [[row["case"], words_of(row["case"]), row["protocol"], row["runs"], row["member_hours"], row["dead_healthy"],
              row["dead_healthy_at_healthy"], row["healthy_accused"], row["sick"], row["sick_condemned"], row["rejoins"],
              row["median_s"], row["max_s"], row["datagrams_per_member_s"], row["bytes_per_member_s"]] for row in rows]
    return Table(columns, lines)


def tuning_grid(results):
    points = points_of(results.rows("tuning", lambda row: row["table"] == "grid"))
    lines = [[("**published** " if point.published else "") + ("default" if point.default else point.name), point.seconds,
              pick(point.row, "crash/all_know_s/p99"), point.fp, pick(point.row, "interval/fp_at_healthy/per_run"),
              pick(point.row, "loss/false_suspicions"), pick(point.row, "loss/false_deaths/count"), point.datagrams,
              pick(point.row, "freeze/condemned/count")] for point in points]
    return Table([Column("setting", "setting", text), Column("know_p50", "crash: all know, 50 %, s", fixed(2)),
                  Column("know_p99", "99 %", fixed(2)), Column("fp", "FP a trial", short),
                  Column("fp_healthy", "FP− a trial", short),
                  Column("suspicions", "30 % loss: false suspicions per member-hour (95 %)", bounded),
                  Column("deaths", "false deaths", count),
                  Column("datagrams", "datagrams per member and second", fixed(2)),
                  Column("freeze", "of 600 frozen for 3 s removed", count)], lines)


def tuning_rules(results):
    rows = results.rows("tuning_rules")
    columns = [Column("left_out", "left out", text), Column("know_p50", "crash: all know, 50 %, s", fixed(2)),
               Column("know_p99", "99 %", fixed(2)), Column("accused", "blocked: healthy accused a trial", short),
               Column("suspicions", "30 % loss: false suspicions per member-hour (95 %)", bounded),
               Column("datagrams", "datagrams per member and second", fixed(2)),
               Column("pairs", "broken pairs: failure events a run", short),
               Column("lossy_healthy", "four lossy: about healthy, a run", short),
               Column("lossy", "about the lossy", short), Column("rejoins", "taken back", short)]
    lines = [["nothing (the default)" if row["default"] else row["name"].removeprefix("- "),
              pick(row, "crash/all_know_s/p50"), pick(row, "crash/all_know_s/p99"),
              pick(row, "interval/healthy_accused/per_run"), pick(row, "loss/false_suspicions"),
              pick(row, "loss/datagrams_per_member_s"), pick(row, "pairs/dead_events/per_run"),
              pick(row, "lossy/dead_healthy/per_run"), pick(row, "lossy/dead_bad/per_run"),
              pick(row, "lossy/rejoins/per_run")] for row in rows]
    return Table(columns, lines)


def quickest(rows, mistakes_per_hour):
    """Of the measured values of the parameter that keep below the rate the one with the shortest mean."""
    able = [row for row in rows if row["mistakes_per_hour"] <= mistakes_per_hour and row["detection_mean_s"] > 0]
    return min(able, key=lambda row: row["detection_mean_s"], default=None)


def detector_quality(results):
    rows = results.rows("detector_quality")
    detectors = in_order([row["detector"] for row in rows], ["fixed", "chen", "phi", "phi-loss-aware"])
    columns = [Column("trace", "trace", text), Column("rate", "mistakes per hour, at most", short)]
    for name in detectors:
        columns += [Column(f"{name}_mean", f"{name}: mean, s", fixed(3)), Column(f"{name}_p99", "99 %", fixed(3))]
    lines = []
    for trace in in_order([row["trace"] for row in rows], ["lan", "wan"]):
        for rate in (60, 10, 1, 0):
            line = [trace, rate]
            for name in detectors:
                best = quickest([row for row in rows if row["trace"] == trace and row["detector"] == name], rate)
                line += [pick(best, "detection_mean_s"), pick(best, "detection_p99_s")]
            lines.append(line)
    return Table(columns, lines)


TABLES = {"lifeguard": lifeguard, "hardship": hardship, "tuning_grid": tuning_grid, "tuning_rules": tuning_rules,
          "detector_quality": detector_quality}
