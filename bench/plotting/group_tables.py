"""Tables of message_cost, detection and detection --soak."""

from plotting.rows import in_order, pick, variant_name
from plotting.table import Column, Table, bounded, count, fixed, percent, short, text

VARIANTS = ["nekton", "nekton, phi", "nekton, staggered", "nekton, staggered, phi", "memberlist", "heartbeat mesh"]
STEADY = "datagrams_per_member_period"
KINDS = ["probe", "relay", "gossip", "reconnect", "heartbeat"]
QUANTILES = ["p50", "p95", "p99", "p999", "worst"]
NETWORKS = {"0": "0", "0.05": "5 %", "0.15": "15 %", "0.3": "30 %", "bursts": "bursts"}


def first(rows, **what):
    """The first row that has all these values, else None."""
    return next((row for row in rows if all(row.get(key) == value for key, value in what.items())), None)


def plain(row):
    """Not one of a group with sealed frames, which is a table of its own."""
    return not row.get("sealed")


def of_variant(rows, name, **what):
    return first([row for row in rows if variant_name(row) == name], **what)


def message_cost(results):
    rows = results.rows("message_cost", lambda row: row["loss"] == 0 and plain(row))
    crashes = results.maybe("detection", lambda row: row["loss"] == 0 and row["port"] == "silent")
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    columns = [Column("members", "members", count)]
    columns += [Column(name, name, fixed(2)) for name in names]
    columns += [Column("bound", "bound", fixed(0)), Column("bytes", "bytes, nekton", fixed(1)),
                Column("bytes_mesh", "bytes, mesh", count)]
    columns += [Column(f"know_{key}", f"all know, {words}, s", fixed(1))
                for key, words in (("p50", "50 %"), ("p99", "99 %"), ("p999", "99.9 %"))]
    lines = []
    for nodes in sorted({row["nodes"] for row in rows}):
        found = {name: of_variant(rows, name, nodes=nodes) for name in names}
        crash = of_variant(crashes, "nekton", nodes=nodes) or {}
        lines.append([nodes] + [pick(found[name], STEADY) for name in names] +
                     [next(row["floor_" + STEADY] for row in rows if row["nodes"] == nodes),
                      pick(found.get("nekton"), "bytes_per_member_period"),
                      pick(found.get("heartbeat mesh"), "bytes_per_member_period")] +
                     [pick(crash, f"all_know_s/{key}") for key in ("p50", "p99", "p999")])
    return Table(columns, lines)


def message_cost_flat(results):
    rows = results.rows("message_cost", lambda row: row["loss"] == 0 and row["protocol"] != "mesh" and plain(row))
    lines = []
    for name in in_order([variant_name(row) for row in rows], VARIANTS):
        mine = [row for row in rows if variant_name(row) == name and row["nodes"] >= 32]
        if len(mine) < 2:
            continue
        values = [row[STEADY] for row in mine]
        sizes = [row["nodes"] for row in mine]
        lines.append([name, f"{min(sizes):,} to {max(sizes):,}", min(values), max(values),
                      max(values) / min(values) - 1])
    return Table([Column("protocol", "protocol", text), Column("members", "members", text),
                  Column("least", "least datagrams", fixed(3)), Column("most", "most", fixed(3)),
                  Column("spread", "apart by", percent)], lines)


def message_cost_loss(results):
    rows = results.rows("message_cost", lambda row: row["protocol"] != "mesh" and plain(row))
    lossy = {row["nodes"] for row in rows if row["loss"] > 0}
    rows = [row for row in rows if row["nodes"] in lossy]
    names = [name for name in in_order([variant_name(row) for row in rows], VARIANTS)
             if any(variant_name(row) == name and row["loss"] > 0 for row in rows)]
    columns = [Column("members", "members", count), Column("loss", "loss", percent)]
    columns += [Column(name, name, fixed(2)) for name in names]
    columns += [Column("bound", "bound", fixed(2))]
    columns += [Column("bytes " + name, "bytes, " + name, fixed(0)) for name in names]
    lines = []
    for nodes in sorted(lossy):
        for loss in sorted({row["loss"] for row in rows if row["nodes"] == nodes}):
            found = [of_variant(rows, name, nodes=nodes, loss=loss) for name in names]
            lines.append([nodes, loss] + [pick(row, STEADY) for row in found] +
                         [next(row["floor_" + STEADY] for row in rows if row["loss"] == loss)] +
                         [pick(row, "bytes_per_member_period") for row in found])
    return Table(columns, lines)


def message_cost_kinds(results):
    rows = results.rows("message_cost", lambda row: row["source"] == "measured" and plain(row))
    lossy = [row["nodes"] for row in rows if row["loss"] > 0]
    sizes = {max(lossy, default=0), max(row["nodes"] for row in rows if row["protocol"] != "mesh")}
    sizes |= {max((row["nodes"] for row in rows if row["protocol"] == "mesh"), default=0)}
    rows = [row for row in rows if row["nodes"] in sizes and (row["loss"] > 0 or row["nodes"] == max(sizes)
                                                              or row["nodes"] in lossy or row["protocol"] == "mesh")]
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    rows.sort(key=lambda row: (row["nodes"], row["loss"], names.index(variant_name(row))))
    columns = [Column("members", "members", count), Column("loss", "loss", percent), Column("protocol", "protocol", text)]
    columns += [Column(kind, {"probe": "probes", "relay": "relays", "heartbeat": "heartbeats"}.get(kind, kind), fixed(2))
                for kind in KINDS]
    columns += [Column("bytes", "bytes of datagrams", fixed(0)), Column("sync", "bytes of streams", fixed(0))]
    lines = [[row["nodes"], row["loss"], variant_name(row)] +
             [row["steady_per_member_period"].get(f"{kind}_datagrams") for kind in KINDS] +
             [row["bytes_per_member_period"], row["steady_per_member_period"].get("sync_bytes")] for row in rows]
    return Table(columns, lines)


def message_cost_crash(results):
    rows = results.rows("message_cost", lambda row: row.get("crash_extra_per_survivor") and row["loss"] == 0 and plain(row))
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    rows = sorted(rows, key=lambda row: (names.index(variant_name(row)), row["nodes"]))
    lines = [[variant_name(row), row["nodes"], row["crashes"], row.get("crash_all_know_mean_s"),
              row["crash_extra_per_survivor"]["datagrams"], row["crash_extra_per_survivor"]["bytes"],
              row["crash_extra_of_group"]["datagrams"]] for row in rows]
    return Table([Column("protocol", "protocol", text), Column("members", "members", count),
                  Column("crashes", "crashes", count), Column("know", "all know, mean, s", fixed(1)),
                  Column("datagrams", "datagrams per survivor", fixed(1)),
                  Column("bytes", "bytes per survivor", fixed(0)),
                  Column("group", "datagrams of the group", count)], lines)


def detection(results):
    rows = results.rows("detection")
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    ports = {"refuses": "its port refuses", "silent": "host silent"}
    rows = sorted(rows, key=lambda row: (names.index(variant_name(row)), row["loss"], row["port"], row["nodes"]))
    columns = [Column("protocol", "protocol", text), Column("port", "what dies", text), Column("loss", "loss", percent),
               Column("members", "members", count), Column("crashes", "crashes", count),
               Column("first_p50", "first suspicion, 50 %, s", fixed(2)), Column("first_p999", "99.9 %", fixed(2))]
    columns += [Column(f"know_{key}", f"all know, {words}, s" if key == "p50" else words, fixed(2))
                for key, words in zip(QUANTILES, ["50 %", "95 %", "99 %", "99.9 %", "worst"])]
    columns += [Column("wrong", "false suspicions / deaths", text)]
    lines = [[variant_name(row), ports[row["port"]], row["loss"], row["nodes"], row["crashes"],
              row["first_suspicion_s"]["p50"], row["first_suspicion_s"]["p999"]] +
             [row["all_know_s"][key] for key in QUANTILES] +
             [f'{row["false_suspicions"]:,} / {row["false_deaths"]:,}'] for row in rows]
    return Table(columns, lines)


def soak(results):
    rows = results.rows("soak")
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    networks = list(NETWORKS)
    rows = sorted(rows, key=lambda row: (names.index(variant_name(row)), row["nodes"],
                                         networks.index(row["network"]) if row["network"] in networks else 99))
    lines = [[variant_name(row), row["nodes"], NETWORKS.get(row["network"], row["network"]), row["member_hours"],
              row["false_suspicions"], row["false_deaths"]["count"], row["false_deaths"]["high95"],
              row["datagrams_per_member_period"], row["bytes_per_member_period"]] for row in rows]
    return Table([Column("protocol", "protocol", text), Column("members", "members", count), Column("loss", "loss", text),
                  Column("hours", "member-hours", count),
                  Column("suspicions", "false suspicions per member-hour (95 %)", bounded),
                  Column("deaths", "members declared dead", count),
                  Column("deaths_high", "deaths per member-hour, 95 % below", short),
                  Column("datagrams", "datagrams per member and period", fixed(2)),
                  Column("bytes", "bytes", fixed(0))], lines)


TABLES = {"message_cost": message_cost, "message_cost_flat": message_cost_flat, "message_cost_loss": message_cost_loss,
          "message_cost_kinds": message_cost_kinds, "message_cost_crash": message_cost_crash, "detection": detection,
          "soak": soak}
