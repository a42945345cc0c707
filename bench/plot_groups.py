#!/usr/bin/env python3
"""Draws what message_cost --json and detection --json measured, as an SVG.

  plot_groups.py cost FILE     message_cost: datagrams per member and period against size and loss, and of a crash
  plot_groups.py times FILE    detection: how long it takes to notice a crash, against size
"""

import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is
from svg_plot import (STYLES, LinearScale, LogScale, axis_names, grid, json_rows, legend, marker, page_head, parser_of,
                      run, text)

PANEL_W, PANEL_H = 500, 360  # with its margins
LEFT, RIGHT, TOP, BOTTOM = 74, 14, 40, 58
LEGEND_H = 46
FLOOR = ("bound for T = 1 period", "#555555", None)
QUANTILES = (("p50", "50 %"), ("p95", "95 %"), ("p99", "99 %"), ("p999", "99.9 %"), ("worst", "worst"))


class Panel:
    """A title, the names of the axes, which of them are logarithmic, and series of points, each with a style."""

    def __init__(self, title, x_name, y_name, log_y, log_x=True):
        self.title, self.x_name, self.y_name, self.log_y, self.log_x = title, x_name, y_name, log_y, log_x
        self.series = []
        self.y_reaches = None  # the scale does at least that

    def add(self, style, points):
        if points:
            self.series.append((style, sorted(points)))

    def draw(self, origin_x, origin_y):
        left, right = origin_x + LEFT, origin_x + PANEL_W - RIGHT
        top, bottom = origin_y + TOP, origin_y + PANEL_H - BOTTOM
        points = [point for _, series in self.series for point in series]
        x = (LogScale if self.log_x else LinearScale)([px for px, _ in points], left, right)
        values = [py for _, py in points] + ([self.y_reaches] if self.y_reaches else [])
        y = (LogScale if self.log_y else LinearScale)(values, bottom, top)
        out = [text(left, top - 10, self.title, 'class="title"')]
        out += grid(x, y, left, top, right, bottom)
        out += axis_names(left, top, right, bottom, self.x_name, self.y_name)
        for i, ((_, colour, shape), series) in enumerate(self.series):
            placed = [(x(px), y(py)) for px, py in series]
            path = " ".join(f"{px:.1f},{py:.1f}" for px, py in placed)
            dashes = ' stroke-dasharray="5 4"' if shape is None else ""
            size = max(1.5 - 0.22 * i, 0.8)  # what is drawn first shows beneath what covers it
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                       f'stroke-width="{2 * size:.1f}"{dashes}/>')
            if shape is not None:
                out += [marker(shape, px, py, colour, size) for px, py in placed]
        return out


def styled(names):
    return {name: (name, *STYLES[i % len(STYLES)]) for i, name in enumerate(names)}


def protocol_name(row):
    return row["protocol"] + (" staggered" if row["probing"] == "staggered" else "")


def cost_name(row):
    return "heartbeat mesh" if row["protocol"] == "mesh" else f'{protocol_name(row)}, {row["detector"]}'


def cost_panels(rows):
    steady = "datagrams_per_member_period"
    floor = "floor_datagrams_per_member_period"
    order = ["nekton, fixed", "nekton, phi", "nekton staggered, fixed", "nekton staggered, phi", "memberlist, fixed",
             "heartbeat mesh"]
    names = sorted({cost_name(row) for row in rows}, key=lambda name: (order + [name]).index(name))
    styles = styled(names)
    quiet = [row for row in rows if row["loss"] == 0]
    sizes = Panel("While all is well", "members", "datagrams per member and period", log_y=True)
    crash = Panel("Added by one silent crash, until all know", "members", "datagrams per survivor", log_y=False)
    for name in names:
        of_name = [row for row in quiet if cost_name(row) == name]
        sizes.add(styles[name], [(row["nodes"], row[steady]) for row in of_name])
        crash.add(styles[name], [(row["nodes"], row["crash_extra_per_survivor"]["datagrams"]) for row in of_name
                                 if "crash_extra_per_survivor" in row])
    sizes.add(FLOOR, sorted({(row["nodes"], row[floor]) for row in quiet}))
    panels = [sizes, crash]
    lossy = sorted({row["nodes"] for row in rows if row["loss"] > 0})
    for nodes in dict.fromkeys(lossy[:1] + lossy[-1:]):
        panel = Panel(f"On a lossy network, {nodes} members", "loss, %", "datagrams per member and period",
                      log_y=False, log_x=False)
        of_size = [row for row in rows if row["nodes"] == nodes and row["protocol"] != "mesh"]
        with_loss = {cost_name(row) for row in of_size if row["loss"] > 0}
        of_size = [row for row in of_size if cost_name(row) in with_loss]
        for name in names:
            panel.add(styles[name], [(100 * row["loss"], row[steady]) for row in of_size if cost_name(row) == name])
        panel.add(FLOOR, sorted({(100 * row["loss"], row[floor]) for row in of_size}))
        panels.append(panel)
    return panels, [styles[name] for name in names] + [FLOOR]


def time_panels(rows):
    styles = styled([label for _, label in QUANTILES])
    ports = {"silent": "machine dies", "refuses": "process dies"}
    panels = []
    slowest = max(row["all_know_s"]["worst"] for row in rows)
    for protocol in dict.fromkeys(protocol_name(row) for row in rows):
        for key, phase in (("first_suspicion_s", "first suspicion"), ("all_know_s", "all know")):
            for port, words in ports.items():
                of_port = [row for row in rows if row["port"] == port and protocol_name(row) == protocol]
                panel = Panel(f"{protocol}: {words}, {phase}", "members", "seconds since the crash", log_y=False)
                panel.y_reaches = slowest
                for quantile, label in QUANTILES:
                    panel.add(styles[label], [(row["nodes"], row[key][quantile]) for row in of_port])
                if panel.series:
                    panels.append(panel)
    return panels, list(styles.values())


def draw(panels, entries):
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    width, height = columns * PANEL_W, LEGEND_H + rows * PANEL_H
    out = page_head(width, height) + legend(entries, LEFT, 20, width)
    for i, panel in enumerate(panels):
        out += panel.draw(i % columns * PANEL_W, LEGEND_H + i // columns * PANEL_H)
    return "\n".join(out + ["</svg>\n"])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("kind", choices=("cost", "times"), help="what was measured")
    run(parser, json_rows,
        lambda rows, arguments: draw(*(cost_panels if arguments.kind == "cost" else time_panels)(rows)))


if __name__ == "__main__":
    main()
