"""Tables of the Google Benchmark programs, and of what each record was made by."""

from plotting.rows import Missing
from plotting.table import Column, Table, count, short, text


def nanoseconds(value):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} ns"


def micro(results):
    rows = results.rows("micro")
    lines = []
    for row in rows:
        more = ", ".join(f"{key} {short(value)}" for key, value in sorted((row.get("counters") or {}).items()))
        lines.append([row["program"], row["name"], row["cpu_time_ns"], row.get("items_per_second"), more])
    return Table([Column("program", "program", text), Column("name", "what", text),
                  Column("time", "time of one", nanoseconds), Column("rate", "per second and core", short),
                  Column("counters", "", text)], lines)


def sources(results):
    made = results.sources()
    if not made:
        raise Missing("sources.json: not recorded")
    lines = []
    for name in sorted(made):
        source = made[name]
        machine = source.get("machine")
        lines.append([name, source.get("date"), source.get("commit"), ", ".join(map(str, source.get("seeds") or [])),
                      f'{machine["cores"]} × {machine["cpu"]}' if machine else "not noted",
                      "quick" if source.get("quick") else "full", len(results.maybe(name)),
                      "<br>".join(f"`{command}`" for command in source["commands"])])
    return Table([Column("record", "record", text), Column("date", "made on", text), Column("commit", "commit", text),
                  Column("seeds", "seeds", text), Column("machine", "machine", text), Column("kind", "kind", text),
                  Column("rows", "rows", count), Column("commands", "commands", text)], lines)


TABLES = {"micro": micro, "sources": sources}
