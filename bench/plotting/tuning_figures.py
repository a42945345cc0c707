"""Pictures of tuning: how good each setting is, and what no other setting beats."""

from plotting import style
from plotting.pareto import front, points_of
from plotting.rows import Missing, pick

# What a panel shows: heading, where the value is, where its 95 % interval is.
GRID = [("one of 128 dies:\nmedian until all know, s", "crash/all_know_s", ("p50", "p50_low95", "p50_high95")),
        ("30 % loss: false suspicions\nper member-hour", "loss/false_suspicions", ("per_member_hour", "low95", "high95")),
        ("30 % loss: datagrams\nper member and second", "loss", ("datagrams_per_member_s", None, None)),
        ("30 % loss: members\nfalsely declared dead", "loss/false_deaths", ("count", None, None)),
        ("of 600 frozen for 3 s:\ndeclared dead", "freeze/condemned", ("count", None, None))]
RULES = [GRID[0], GRID[1], GRID[2],
         ("blocked members: healthy\naccused per trial", "interval/healthy_accused", ("per_run", "low95", "high95")),
         ("four lossy of 32: failure\nevents about them, per run", "lossy/dead_bad", ("per_run", "low95", "high95"))]


def tuning(results):
    grid = [row for row in results.rows("tuning", lambda row: row["table"] == "grid") if not row["published"]]
    grid = [row for row in grid if not row["baseline"]]
    rules = results.maybe("tuning_rules")
    if not grid:
        raise Missing("tuning.jsonl: no setting of the grid")
    heights = [max(len(rows), 3) for rows in (grid, rules) if rows]
    columns = max(len(GRID), len(RULES))
    figure = style.pyplot.figure(figsize=(13.2, 0.215 * sum(heights) + 2.6))
    specs = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    forest(figure, specs, 0, grid, GRID, "One parameter changed at a time")
    if rules:
        forest(figure, specs, 1, rules, RULES, "One rule or part left out at a time")
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0.25 / height, 1, 1), h_pad=2.2, w_pad=0.8)
    style.note(figure, "Bars: 95 % intervals. Dashed: the default. The axes of suspicions, accusations and failure events are "
                       "logarithmic above 1. Simulated.")
    return figure


def forest(figure, specs, line, rows, quantities, title):
    """A row of panels, a setting a line in each."""
    places = range(len(rows))
    for column, (heading, where, (value, low, high)) in enumerate(quantities):
        axes = figure.add_subplot(specs[line, column])
        found = [pick(row, where) or {} for row in rows]
        values = [each.get(value) for each in found]
        default = next((v for row, v in zip(rows, values) if row["default"]), None)
        if default is not None:
            axes.axvline(default, color=style.GREY, linestyle="--", linewidth=1)
        for place, row, each, at in zip(places, rows, found, values):
            if at is None:
                continue
            colour = style.ORANGE if row["default"] else style.BLUE
            if low and each.get(low) is not None:
                axes.plot([each[low], each[high]], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot([at], [place], marker="D" if row["default"] else "o", color=colour, markersize=5.5)
        axes.set_yticks(places, [name_of(row) for row in rows] if column == 0 else [])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_title(heading, fontsize=9, fontweight="normal")
        if high and high != "p50_high95":
            style.symlog_axis(axes.xaxis, 1, max(max(each.get(high) or 0 for each in found), 1))
        elif low is None:
            most = max((v for v in values if v is not None), default=1) or 1
            axes.set_xlim(-0.04 * most, 1.06 * most)
        if column == 0:
            axes.annotate(title, (0, 1), xytext=(-108, 34), xycoords="axes fraction", textcoords="offset points",
                          fontsize=11, fontweight="bold")


def name_of(row):
    return "default" if row["default"] else row["name"].removeprefix("- ")


def pareto(results):
    points = points_of(results.rows("tuning", lambda row: row["table"] == "grid"))
    figure, axes = style.panels(1, 3, width=4.9, height=4.6)
    fp, traffic = (lambda point: point.fp), (lambda point: point.datagrams)
    most = max(point.fp for point in points)
    scatter(axes[0], points, fp, lambda: style.symlog_axis(axes[0].yaxis, 0.1, max(most, 1)))
    axes[0].set(title="Speed against mistakes", ylabel="false positives about healthy members, a trial")
    scatter(axes[1], points, traffic)
    own = [point for point in points if not point.published and not point.baseline]
    scatter(axes[2], own, traffic, close=True)
    for axis, title in zip(axes[1:], ("Speed against cost at 30 % loss", "The same, nekton's settings alone")):
        axis.set(title=title, ylabel="datagrams per member and second")
    style.common_legend(figure, axes, columns=4, notes=2)
    style.note(figure, "Lower left is better; dashed: no other setting is as good in both and better in one. Hollow blue: removed "
                       "members that only stood still for 3 s, on no front.",
               "Hollow grey: the nine alpha/beta that the Lifeguard paper publishes (table VII, real processes), as the same "
               "shares of what swim comes to here. Blue without a name: hardly another thing than the default.")
    return figure


def scatter(axes, points, worth, scale=None, close=False):
    """`close`: all points have names, and the axes need not begin at zero."""
    points = [point for point in points if worth(point) is not None]
    for point in points:
        colour, marker, label, hollow, size = look(point)
        axes.plot([point.seconds], [worth(point)], linestyle="", marker=marker, color=colour, label=label, markersize=size,
                  markerfacecolor="white" if hollow else colour, zorder=4 if point.default else 3)
    slowest, most = max(point.seconds for point in points), max(worth(point) for point in points)
    if close:
        quickest = min(point.seconds for point in points)
        axes.set_xlim(quickest - 0.15 * (slowest - quickest), slowest + 0.15 * (slowest - quickest))
    else:
        axes.set_xlim(0, 1.15 * slowest)
    if scale:
        scale()
    else:
        axes.set_ylim(0, 1.1 * most)
    stairs = draw_front(axes, [(point.seconds, worth(point)) for point in front(points, worth)])
    axes.set_xlabel("median until all know of a silent crash, s")
    named = [point for point in points if close or point.baseline or point.default or point.published]
    name_points(axes, named, worth, stairs)


def draw_front(axes, best):
    """Stairs; right of them and above them is what is beaten."""
    if not best:
        return []
    steps = [(best[0][0], axes.get_ylim()[1])]
    for x, y in best:
        steps += [(x, steps[-1][1]), (x, y)]
    steps.append((axes.get_xlim()[1], steps[-1][1]))
    axes.plot(*zip(*steps), color=style.GREEN, linestyle="--", linewidth=1.2, zorder=2)
    return steps


def look(point):
    """Colour, marker, words of the legend, whether hollow, size."""
    if point.published:
        return style.GREY, "o", "Lifeguard's nine, published", True, 5.5
    if point.default:
        return style.ORANGE, "D", "nekton, the default", False, 9
    if point.baseline:
        return style.BLACK, "s", "baselines in the same engine", False, 6.5
    return style.BLUE, "o", None if point.hasty else "nekton, one parameter changed", point.hasty, 6


def words_of(point):
    return "default" if point.default else point.name.removeprefix("Lifeguard ")


def name_points(axes, points, worth, stairs):
    """Names beside the points where nothing else stands; none for what hardly differs from the default."""
    def place(x, y):
        return tuple(axes.transAxes.inverted().transform(axes.transData.transform((x, y))))

    at = {point: place(point.seconds, worth(point)) for point in points}
    taken = [(x - 0.012, y - 0.012, x + 0.012, y + 0.012) for x, y in at.values()]
    corners = [place(x, y) for x, y in stairs]
    taken += [(min(a[0], b[0]), min(a[1], b[1]) - 0.004, max(a[0], b[0]), max(a[1], b[1]) + 0.004)
              for a, b in zip(corners, corners[1:])]
    default = next((at[point] for point in points if point.default), (9, 9))
    groups = {}  # points at the same place share a name
    for point in sorted(points, key=lambda point: (not point.default, not point.baseline)):
        x, y = at[point]
        dull = point.parameter not in (None, "staggered") and abs(x - default[0]) < 0.1 and abs(y - default[1]) < 0.05
        near = next((key for key in groups if abs(key[0] - x) < 0.012 and abs(key[1] - y) < 0.012), (x, y))
        if not dull:
            groups.setdefault(near, []).append(words_of(point))
    for (x, y), names in groups.items():
        put_name(axes, x, y, ", ".join(names), taken)


def put_name(axes, x, y, words, taken):
    width = 0.0165 * len(words)
    for lift in (0, 0.05, -0.05, 0.1, -0.1, 0.15):
        for left in (x + 0.024, x - 0.024 - width):
            box = (left, y + lift - 0.02, left + width, y + lift + 0.02)
            inside = box[0] > 0 and box[2] < 1 and box[1] > 0 and box[3] < 1
            if inside and not any(overlap(box, other) for other in taken):
                taken.append(box)
                axes.text(left, y + lift, words, transform=axes.transAxes, fontsize=7.5, va="center")
                if lift:
                    axes.plot([x, x + (0.022 if left > x else -0.022)], [y, y + lift], transform=axes.transAxes,
                              color="#999999", linewidth=0.6, zorder=1)
                return


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


PICTURES = {"tuning": tuning, "pareto": pareto}
