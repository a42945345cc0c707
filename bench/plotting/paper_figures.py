"""Pictures of the experiments of papers, with what the papers publish."""

from plotting import published, style
from plotting.paper_tables import push_floor
from plotting.papers import PROTOCOLS, name_of, of, rows_of
from plotting.rows import Missing, in_order, number

THEIRS = {"ZooKeeper": (style.GREY, "h"), "memberlist": (style.ORANGE, "s"), "Rapid": (style.BLACK, "X")}


def by_name(rows):
    """{protocol: its rows}, in one order everywhere."""
    names = in_order([name_of(row) for row in rows], PROTOCOLS)
    return {name: [row for row in rows if name_of(row) == name] for name in names}


def having(rows, *quantities):
    """The rows with all of them as numbers; raises Missing where there is none."""
    found = [row for row in rows if all(number(of(row, quantity)) for quantity in quantities)]
    if not found:
        raise Missing(f"{rows[0]['experiment']}.jsonl: no row has {' and '.join(quantities)}")
    return found


def bootstrap(results):
    rows = having(rows_of(results, "bootstrap"), "median")
    figure, (axes,) = style.panels(1, 1, width=7.2, height=4.6)
    quiet = [row for row in rows if not row.get("loss")] or rows
    for i, (name, mine) in enumerate(by_name(quiet).items()):
        style.draw_line(axes, [(row["nodes"], of(row, "median")) for row in mine], name, i, label=f"{name}, simulated")
    for name, sizes in published.RAPID_BOOTSTRAP.items():
        colour, marker = THEIRS[name]
        points = sorted((nodes, seconds) for nodes, (seconds, _) in sizes.items())
        axes.plot(*zip(*points), color=colour, marker=marker, linestyle=":", markerfacecolor="white",
                  label=f"{name}, published (read off a plot)")
    style.sizes_axis(axes, [row["nodes"] for row in quiet] + [1000, 2000])
    style.log_axis(axes)
    axes.set(title="All join through one seed at once", ylabel="until every member knows all, median, s")
    style.common_legend(figure, [axes], columns=3, notes=1)
    style.note(figure, "Published: real processes on 100 machines, their start included (Rapid, USENIX ATC 2018, figure 5).")
    return figure


def faults(results):
    rows = rows_of(results, "faults")
    lines = [row for row in rows if isinstance(of(row, "over_time"), list) and of(row, "over_time")]
    if not lines:
        raise Missing("faults.jsonl: no row has its views over time")
    names = in_order([of(row, "fault") for row in lines], [])
    columns = min(len(names), 3)
    figure, axes = style.panels(-(-len(names) // columns), columns, width=4.6, height=3.4)
    for axis, fault in zip(axes, names):
        for i, (name, mine) in enumerate(by_name([row for row in lines if of(row, "fault") == fault]).items()):
            colour, _, dashes = style.look(name, i)
            series = [point for point in of(mine[0], "over_time") if isinstance(point, (list, tuple)) and len(point) >= 2]
            times = [point[0] for point in series]
            if all(len(point) >= 4 for point in series):
                axis.fill_between(times, [point[1] for point in series], [point[3] for point in series], color=colour, alpha=0.2,
                                  linewidth=0, step="post")
            middle = [point[2] if len(point) >= 4 else point[1] for point in series]
            axis.step(times, middle, where="post", color=colour, linestyle=dashes, label=name)
        axis.set(title=fault, xlabel="seconds since the fault began", ylabel="members in a view")
        style.plain_ticks(axis.yaxis)
    for axis in axes[len(names):]:
        axis.set_visible(False)
    style.common_legend(figure, axes[:len(names)], columns=4, notes=1)
    style.note(figure, "Lines: the median of the healthy members' views; bands: the smallest and the largest view. One run each.")
    return figure


def spread(results):
    rows = having(rows_of(results, "spread"), "p999")
    losses = sorted({row.get("loss") or 0 for row in rows})
    figure, axes = style.panels(1, len(losses) + 1, width=4.2, height=3.8)
    for axis, loss in zip(axes, losses):
        for i, (name, mine) in enumerate(by_name([row for row in rows if (row.get("loss") or 0) == loss]).items()):
            style.draw_line(axis, [(row["nodes"], of(row, "p999")) for row in mine], name, i, label=f"{name}, 99.9 %")
            style.draw_line(axis, [(row["nodes"], of(row, "p50")) for row in mine], name, i, label=f"{name}, median",
                            linestyle=":")
        sizes = sorted({row["nodes"] for row in rows})
        style.draw_line(axis, [(nodes, push_floor(nodes)) for nodes in sizes], "bound", label="push floor")
        style.sizes_axis(axis, sizes)
        axis.set_ylim(bottom=0)
        axis.set(title=f"{100 * loss:g} % loss", ylabel="until the last member knows, s")
    last = axes[len(losses)]
    for i, (name, mine) in enumerate(by_name([row for row in rows if of(row, "copies") is not None]).items()):
        for loss in losses:
            points = [(row["nodes"], of(row, "copies")) for row in mine if (row.get("loss") or 0) == loss]
            style.draw_line(last, points, name, i, label="_", alpha=1 - 0.3 * losses.index(loss))
    last.axhline(1, color=style.GREY, linestyle="--")
    last.set_ylim(bottom=0)
    style.sizes_axis(last, [row["nodes"] for row in rows])
    last.set(title="Copies", ylabel="copies sent per member")
    style.common_legend(figure, axes, columns=4, notes=1)
    style.note(figure, "One update. Push floor: three copies per member every 200 ms, each to somebody new. Copies: paler where more is "
                       "lost; dashed: one each.")
    return figure


def shrink(results):
    rows = having(rows_of(results, "shrink"), "mean")
    bars = [(f"{name_of(row)}, {100 * (row.get('loss') or 0):g} %", of(row, "mean"), of(row, "joiners"), style.BLUE) for row in rows]
    bars += [(f"{name}, 10 %, published", size, 17, style.LIGHT) for name, size in published.SWIM_JOINERS.items()]
    figure, (axes,) = style.panels(1, 1, width=7.6, height=0.3 * len(bars) + 1.3)
    axes.barh(range(len(bars)), [100 * size / (joiners or 17) for _, size, joiners, _ in bars],
              color=[colour for *_, colour in bars], height=0.7)
    for place, (_, size, joiners, _) in enumerate(bars):
        axes.annotate(f"{size:.4g} of {joiners or 17}", (100 * size / (joiners or 17), place), xytext=(4, 0),
                      textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.grid(axis="y", visible=False)
    axes.set(title="Who is still in the group, on a lossy network", xlabel="members in the group, % of those that joined")
    figure.tight_layout()
    return figure


def floor(results):
    rows = having(rows_of(results, "floor"), "load", "p999")
    losses = sorted({row.get("loss") or 0 for row in rows})
    figure, axes = style.panels(1, len(losses), width=4.6, height=3.8)
    for axis, loss in zip(axes, losses):
        mine_all = [row for row in rows if (row.get("loss") or 0) == loss]
        for i, (name, mine) in enumerate(by_name(mine_all).items()):
            colour, marker, _ = style.look(name, i)
            points = sorted((of(row, "load"), of(row, "p50"), of(row, "p999")) for row in mine)
            axis.plot([p[0] for p in points], [p[2] for p in points], color=colour, marker=marker, label=f"{name}, 99.9 %")
            if all(number(p[1]) for p in points):
                axis.plot([p[0] for p in points], [p[1] for p in points], color=colour, marker=marker, linestyle=":",
                          markerfacecolor="white", label=f"{name}, median")
        bound = next((of(row, "floor") for row in mine_all if number(of(row, "floor"))), None)
        if bound is not None:
            axis.axvline(bound, color=style.GREY, linestyle="--", label="floor L*")
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.set(title=f"{100 * loss:g} % loss", xlabel="datagrams per member and second", ylabel="first suspicion of a crash, s")
    style.common_legend(figure, axes, columns=4)
    return figure


PICTURES = {"bootstrap": bootstrap, "faults": faults, "spread": spread, "shrink": shrink, "floor": floor}
