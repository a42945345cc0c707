"""Pictures of tuning: how good each setting is, and what no other setting beats."""

from plotting import style
from plotting.pareto import front, points_of
from plotting.rows import Missing, pick

# What a panel shows: heading, where the value is, where its 95 % interval is.
GRID = [("one of 128 dies:\nmedian until all know, s", "crash/all_know_s", ("p50", "p50_low95", "p50_high95")),
        ("30 % loss: false suspicions\nper member-hour", "loss/false_suspicions", ("per_member_hour", "low95", "high95")),
        ("30 % loss: datagrams\nper member and second", "loss", ("datagrams_per_member_s", None, None)),
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
                       "logarithmic above 1.")
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
            axes.set_xscale("symlog", linthresh=1)
            style.plain_ticks(axes.xaxis)
            axes.set_xlim(left=-0.05)
        elif low is None:
            axes.set_xlim(left=0)
        if column == 0:
            axes.annotate(title, (0, 1), xytext=(-108, 34), xycoords="axes fraction", textcoords="offset points",
                          fontsize=11, fontweight="bold")


def name_of(row):
    return "default" if row["default"] else row["name"].removeprefix("- ")


def pareto(results):
    points = points_of(results.rows("tuning", lambda row: row["table"] == "grid"))
    figure, axes = style.panels(1, 3, width=4.9, height=4.5)
    fp, traffic = (lambda point: point.fp), (lambda point: point.datagrams)
    scatter(axes[0], points, fp, "Speed against mistakes", "false positives about healthy members, a trial")
    axes[0].set_yscale("symlog", linthresh=0.1, linscale=0.35)
    style.plain_ticks(axes[0].yaxis)
    axes[0].set_ylim(bottom=-0.03)
    scatter(axes[1], points, traffic, "Speed against cost at 30 % loss", "datagrams per member and second")
    axes[1].set_ylim(bottom=0)
    own = [point for point in points if not point.published and not point.baseline]
    scatter(axes[2], own, traffic, "The same, nekton's settings alone", "datagrams per member and second", close=True)
    for axis in axes[:2]:
        axis.set_xlim(left=0)
    style.common_legend(figure, axes, columns=4, reserve=0.42)
    style.note(figure, "Lower left is better; dashed: no other setting is as good in both and better in one. Hollow blue: removed "
                       "members that only stood still for 3 s, on no front.", at=0.22)
    style.note(figure, "Hollow grey: the nine alpha/beta that the Lifeguard paper publishes (table VII, real processes), as the same "
                       "shares of what swim comes to here.")
    return figure


def scatter(axes, points, worth, title, y_name, close=False):
    points = [point for point in points if worth(point) is not None]
    best = [(point.seconds, worth(point)) for point in front(points, worth)]
    for point in points:
        colour, marker, label, hollow, size = look(point)
        axes.plot([point.seconds], [worth(point)], linestyle="", marker=marker, color=colour, label=label, markersize=size,
                  markerfacecolor="white" if hollow else colour, zorder=4 if point.default else 3)
    if best:
        high = axes.get_ylim()[1]
        far = axes.get_xlim()[1]
        steps = [(best[0][0], high)]
        for x, y in best:
            steps += [(x, steps[-1][1]), (x, y)]
        steps.append((far, steps[-1][1]))
        axes.plot(*zip(*steps), color=style.GREEN, linestyle="--", linewidth=1.2, zorder=2)
        axes.set_xlim(right=far)
        axes.set_ylim(top=high)
    axes.set(title=title, xlabel="median until all know of a silent crash, s", ylabel=y_name)
    name_points(axes, [point for point in points if close or point.baseline or point.default], worth)


def look(point):
    """Colour, marker, words of the legend, whether hollow, size."""
    if point.published:
        return style.GREY, "o", "Lifeguard's nine, published", True, 5.5
    if point.default:
        return style.ORANGE, "D", "nekton, the default", False, 9
    if point.baseline:
        return style.BLACK, "s", "baselines in the same engine", False, 6.5
    return style.BLUE, "o", None if point.hasty else "nekton, one parameter changed", point.hasty, 6


def name_points(axes, points, worth):
    """Names beside the points, pushed apart in height where they would stand on each other."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    groups = []  # points at the same place share a name
    for point in sorted(points, key=lambda point: (worth(point), point.seconds)):
        near = next((group for group in groups if abs(group[0] - point.seconds) < 0.02 * (right - left)
                     and abs(group[1] - worth(point)) < 0.012 * (top - bottom)), None)
        if near:
            near[2].append("default" if point.default else point.name)
        else:
            groups.append([point.seconds, worth(point), ["default" if point.default else point.name]])
    taken = []
    for x, y, names in groups:
        words = ", ".join(names)
        here = (x - left) / (right - left)
        at = (y - bottom) / (top - bottom)
        flip = here > 0.62
        width = 0.017 * len(words) + 0.03
        span = (here - width, here) if flip else (here, here + width)
        place = at
        for step in range(40):
            place = at + 0.042 * ((step + 1) // 2) * (1 if step % 2 else -1)
            if 0 <= place < 0.97 and not any(abs(place - other) < 0.041 and span[0] < b and a < span[1]
                                             for other, a, b in taken):
                break
        taken.append((place, *span))
        axes.annotate(words, (here, at), xytext=(here + (-0.02 if flip else 0.02), place), xycoords="axes fraction",
                      textcoords="axes fraction", fontsize=7.5, va="center", ha="right" if flip else "left",
                      arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#999999"} if abs(place - at) > 0.03 else None)


PICTURES = {"tuning": tuning, "pareto": pareto}
