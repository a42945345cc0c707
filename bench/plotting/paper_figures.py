"""Pictures of the experiments of papers, with what the papers publish."""

from plotting import published, style
from plotting.paper_tables import push_floor
from plotting.papers import cells_of, fault_words
from plotting.rows import Missing, in_order, number

THEIRS = {"ZooKeeper": (style.GREY, "h"), "memberlist": (style.ORANGE, "s"), "Rapid": (style.BLACK, "X")}


def by_name(cells):
    """{protocol: its cells}, in the order of the cells."""
    return {name: [cell for cell in cells if cell.name == name] for name in in_order([cell.name for cell in cells], [])}


def having(cells, *quantities):
    """The cells with all of them as numbers; raises Missing where there is none."""
    found = [cell for cell in cells if all(number(cell.of(quantity)) for quantity in quantities)]
    if not found:
        raise Missing(f"{cells[0].rows[0]['experiment']}.jsonl: no row has {' and '.join(quantities)}")
    return found


def losses_of(cells):
    return sorted({cell.key("loss") or 0 for cell in cells})


def at_loss(cells, loss):
    return [cell for cell in cells if (cell.key("loss") or 0) == loss]


def bootstrap(results):
    cells = having(cells_of(results, "bootstrap"), "median")
    figure, (axes,) = style.panels(1, 1, width=7.6, height=4.8)
    quiet = at_loss(cells, losses_of(cells)[0])
    for i, (name, mine) in enumerate(by_name(quiet).items()):
        style.draw_line(axes, [(cell.key("nodes"), cell.of("median")) for cell in mine], name, i, label=f"{name}, simulated")
    for name, sizes in published.RAPID_BOOTSTRAP.items():
        colour, marker = THEIRS[name]
        points = sorted((nodes, seconds) for nodes, (seconds, _) in sizes.items())
        axes.plot(*zip(*points), color=colour, marker=marker, linestyle=":", markerfacecolor="white",
                  label=f"{name}, published (read off a plot)")
    style.sizes_axis(axes, [cell.key("nodes") for cell in quiet] + [1000, 2000], apart=1.9)
    style.log_axis(axes)
    axes.set(title="All join through one seed at once", ylabel="until every member knows all, median, s")
    style.common_legend(figure, [axes], columns=2, notes=1)
    style.note(figure, "Published: real processes on 100 machines, their start included (Rapid, USENIX ATC 2018, figure 5).")
    return figure


def view(point):
    """(second, smallest, median, largest) of an object or a list."""
    if isinstance(point, dict):
        return tuple(point[key] for key in ("second", "smallest", "median", "largest"))
    return tuple(point)


VIEWS_SHOWN = 120  # seconds, also of a run in which less happens


def faults(results):
    cells = [cell for cell in cells_of(results, "faults") if cell.values("over_time")]
    if not cells:
        raise Missing("faults.jsonl: no row has its views over time")
    names = in_order([cell.key("fault") for cell in cells], ["crash", "flip_in", "flip_out", "loss_in", "loss_out"])
    columns = min(len(names), 3)
    figure, axes = style.panels(-(-len(names) // columns), columns, width=4.6, height=3.4)
    for axis, fault in zip(axes, names):
        mine = [cell for cell in cells if cell.key("fault") == fault]
        last = max(view(cell.values("over_time")[0][-1])[0] for cell in mine)
        for i, (name, of_name) in enumerate(by_name(mine).items()):
            end = min(of_name[0].key("seconds") or last, max(VIEWS_SHOWN, last))
            draw_views(axis, of_name[0].values("over_time")[0], style.look(name, i), name, end)
        faulty, nodes = mine[0].key("faulty") or 0, mine[0].key("nodes")
        axis.set_ylim(nodes - 1.2 * faulty - 1, nodes + 1)
        axis.set(title=fault_words(fault), xlabel="seconds since the first fault", ylabel="members in a view")
        style.plain_ticks(axis.yaxis)
    for axis in axes[len(names):]:
        axis.set_visible(False)
    style.common_legend(figure, axes[:len(names)], columns=4, notes=1)
    style.note(figure, "Ten of a thousand members. Lines: the median of the healthy members' views; bands: from the smallest to the "
                       "largest view. One run each, simulated.")
    return figure


def draw_views(axis, series, look, name, end):
    """The last view holds until the end."""
    colour, _, dashes = look
    points = [view(point) for point in series]
    points.append((end, *points[-1][1:]))
    times = [point[0] for point in points]
    axis.fill_between(times, [point[1] for point in points], [point[3] for point in points], color=colour, alpha=0.2,
                      linewidth=0, step="post")
    axis.step(times, [point[2] for point in points], where="post", color=colour, linestyle=dashes, label=name)


def spread(results):
    cells = having(cells_of(results, "spread"), "p50")
    losses = losses_of(cells)
    figure, axes = style.panels(1, len(losses) + 1, width=4.2, height=3.9)
    sizes = sorted({cell.key("nodes") for cell in cells})
    for axis, loss in zip(axes, losses):
        for i, (name, mine) in enumerate(by_name(at_loss(cells, loss)).items()):
            style.draw_line(axis, [(cell.key("nodes"), cell.of("p999")) for cell in mine], name, i, label=f"{name}, 99.9 %")
            style.draw_line(axis, [(cell.key("nodes"), cell.of("p50")) for cell in mine], name, i, label=f"{name}, median",
                            linestyle=":")
        style.draw_line(axis, [(nodes, push_floor(nodes, loss)) for nodes in sizes], "bound", label="push floor")
        style.sizes_axis(axis, sizes)
        axis.set_ylim(bottom=0)
        axis.set(title=f"{100 * loss:g} % loss", ylabel="until the last member knows, s")
    draw_copies(axes[len(losses)], cells, losses, sizes)
    style.common_legend(figure, axes, columns=5, notes=1)
    style.note(figure, "One update. Push floor: three copies per member every 200 ms, each to somebody new. Copies: paler where more is "
                       "lost; dashed: one each. Simulated.")
    return figure


def draw_copies(axis, cells, losses, sizes):
    for i, (name, mine) in enumerate(by_name(cells).items()):
        for loss in losses:
            style.draw_line(axis, [(cell.key("nodes"), cell.of("copies")) for cell in at_loss(mine, loss)], name, i, label="_",
                            alpha=1 - 0.3 * min(losses.index(loss), 2))
    axis.axhline(1, color=style.GREY, linestyle="--")
    axis.set_ylim(bottom=0)
    style.sizes_axis(axis, sizes)
    axis.set(title="Copies", ylabel="copies sent per member")


def shrink(results):
    cells = having(cells_of(results, "shrink"), "middle")
    bars = [(f"{cell.name}, {100 * (cell.key('loss') or 0):g} %", cell.of("middle"), cell.key("nodes") or 17, style.BLUE)
            for cell in cells]
    bars += [(f"{name}, 10 %, published", size, 17, style.LIGHT) for name, size in published.SWIM_JOINERS.items()]
    figure, (axes,) = style.panels(1, 1, width=7.6, height=0.3 * len(bars) + 1.3)
    axes.barh(range(len(bars)), [100 * size / joiners for _, size, joiners, _ in bars],
              color=[colour for *_, colour in bars], height=0.7)
    for place, (_, size, joiners, _) in enumerate(bars):
        axes.annotate(f"{size:.4g} of {joiners}", (100 * size / joiners, place), xytext=(4, 0), textcoords="offset points",
                      va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.grid(axis="y", visible=False)
    axes.set(title="Who is still in the group, on a lossy network", xlabel="members in the group in the end, % of those that joined")
    figure.tight_layout()
    return figure


def floor(results):
    cells = having(cells_of(results, "floor"), "load", "floor")
    strictest = min((cell.key("mistake_probability") or 0 for cell in cells))
    nodes = max(cell.key("nodes") for cell in cells)
    cells = [cell for cell in cells if (cell.key("mistake_probability") or 0) == strictest and cell.key("nodes") == nodes]
    losses = losses_of(cells)
    quantiles = sorted({cell.key("quantile") for cell in cells if number(cell.key("quantile"))}) or [None]
    names = list(by_name(cells))
    figure, axes = style.panels(1, len(losses), width=4.6, height=0.42 * len(names) * len(quantiles) / 2 + 2.4)
    thick = 0.8 / len(quantiles)
    for axis, loss in zip(axes, losses):
        mine = at_loss(cells, loss)
        for cell in mine:
            which = quantiles.index(cell.key("quantile")) if cell.key("quantile") in quantiles else 0
            place = names.index(cell.name) + (which - (len(quantiles) - 1) / 2) * thick
            label = "median within T" if quantiles[which] == 0.5 else f"{100 * (quantiles[which] or 0):g} % within T"
            axis.barh(place, cell.of("load"), height=0.9 * thick, color=(style.SKY, style.BLUE, style.BLACK)[which % 3], label=label)
            axis.annotate(f"{cell.of('load') / cell.of('floor'):.1f} L*", (cell.of("load"), place), xytext=(3, 0),
                          textcoords="offset points", va="center", fontsize=7.5)
        axis.axvline(mine[0].of("floor"), color=style.ORANGE, linestyle="--", label="floor L*")
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(0, 1.2 * max(cell.of("load") for cell in mine))
        axis.grid(axis="y", visible=False)
        axis.set(title=f"{100 * loss:g} % loss", xlabel="datagrams per member and T")
    style.common_legend(figure, axes, columns=4, notes=1)
    style.note(figure, f"{nodes} members: the least load with which so many crashes are suspected by somebody within T = 1 s. "
                       f"L*: at most {strictest:g} mistakes (Gupta, Chandra, Goldszmidt 2001).")
    return figure


PICTURES = {"bootstrap": bootstrap, "faults": faults, "spread": spread, "shrink": shrink, "floor": floor}
