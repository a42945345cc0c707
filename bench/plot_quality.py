#!/usr/bin/env python3
"""Draws the curves of detector_quality --json as an SVG: one panel a trace, detection time against mistakes.

Each point is one value of a detector's parameter; lower and further left is better. A hollow point on the line "none" is
the first value at which no mistake was seen. Values beyond it, slower and no better, are left out.
"""

import json
import math
import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is
from svg_plot import LogScale, axis_names, fail, grid, legend, line, marker, page_head, parser_of, run, text

COLUMNS = 2
PANEL_W, PANEL_H = 500, 380  # with its margins
LEFT, RIGHT, TOP, BOTTOM = 74, 14, 40, 58
NONE_BAND = 26  # below the scale: the place of zero, which a logarithm has not
LEGEND_H = 64

STYLES = {
    "fixed": ("#0072b2", "circle"),
    "chen": ("#d55e00", "square"),
    "phi": ("#cc79a7", "triangle"),
    "phi-loss-aware": ("#009e73", "diamond"),
}
SPARE_STYLES = [("#e69f00", "circle"), ("#56b4e9", "square"), ("#000000", "triangle")]
NEEDED = ("trace", "detector", "value", "detection_mean_s", "mistakes_per_hour")


def read_lines(source, name):
    """{trace: {detector: [(mean detection time, mistakes per hour)]}}, in the order of the input and of the values."""
    panels = {}
    for number, text in enumerate(source, 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            trace, detector, value, time, rate = (line[key] for key in NEEDED)
            point = (float(value), float(time), float(rate))
        except KeyError as missing:
            fail(f"{name}:{number}: {missing.args[0]} is missing")
        except (ValueError, TypeError) as wrong:
            fail(f"{name}:{number}: not a line of detector_quality --json: {wrong}")
        if not (all(map(math.isfinite, point)) and point[2] >= 0):
            fail(f"{name}:{number}: not a finite detection time and rate")
        if point[1] > 0:  # zero: nothing was detected, or the peer was always suspected
            panels.setdefault(str(trace), {}).setdefault(str(detector), []).append(point)
    if not panels:
        fail(f"{name}: there is nothing to draw")
    return {trace: {detector: curve(points) for detector, points in detectors.items()}
            for trace, detectors in panels.items()}


def curve(points):
    kept = []
    for _, time, rate in sorted(points):
        kept.append((time, rate))
        if rate == 0:
            break
    return kept


def draw_axes(x, y, left, top, right, bottom, none_at):
    out = grid(x, y, left, top, right, bottom)
    out.append(line(left, none_at, right, none_at, "none"))
    out.append(text(left - 7, none_at + 4, "none", 'text-anchor="end"'))
    return out + axis_names(left, top, right, bottom, "mean detection time, s", "mistakes per hour")


def draw_panel(title, detectors, styles, origin_x, origin_y):
    left, right = origin_x + LEFT, origin_x + PANEL_W - RIGHT
    top, bottom = origin_y + TOP, origin_y + PANEL_H - BOTTOM
    none_at = bottom - NONE_BAND / 2
    points = [point for curve_points in detectors.values() for point in curve_points]
    rates = [rate for _, rate in points if rate > 0] or [1.0]
    x = LogScale([time for time, _ in points], left, right)
    y = LogScale(rates, bottom - NONE_BAND, top)
    out = [text(left, top - 10, title, 'class="title"')]
    out += draw_axes(x, y, left, top, right, bottom, none_at)
    for i, (detector, curve_points) in enumerate(detectors.items()):
        colour, shape = styles[detector]
        size = max(1.5 - 0.22 * i, 0.8)  # what is drawn first shows beneath what covers it
        placed = [(x(time), y(rate) if rate > 0 else none_at, rate == 0) for time, rate in curve_points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _ in placed)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{2.2 * size:.1f}"/>')
        out += [marker(shape, px, py, colour, size, hollow) for px, py, hollow in placed]
    return out


def draw(panels):
    names = list(dict.fromkeys(detector for detectors in panels.values() for detector in detectors))
    spare = [name for name in names if name not in STYLES]
    styles = dict(STYLES)
    for i, name in enumerate(spare):
        styles[name] = SPARE_STYLES[i % len(SPARE_STYLES)]
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    width, height = columns * PANEL_W, LEGEND_H + rows * PANEL_H
    out = page_head(width, height)
    out += legend([(name, *styles[name]) for name in names], LEFT, 24)
    out.append(text(LEFT, 52, "Lower left is better. Hollow: no mistake seen.", 'fill="#555555"'))
    for i, (trace, detectors) in enumerate(panels.items()):
        out += draw_panel(trace, detectors, styles, i % columns * PANEL_W, LEGEND_H + i // columns * PANEL_H)
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    run(parser_of(__doc__), read_lines, lambda panels, _: draw(panels))


if __name__ == "__main__":
    main()
