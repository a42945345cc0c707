#!/usr/bin/env python3
"""Draws the curves of detector_quality --json as an SVG: one panel a trace, detection time against mistakes.

Each point is one value of a detector's parameter; lower and further left is better. A hollow point on the line "none" is
the first value at which no mistake was seen. Values beyond it, slower and no better, are left out.
"""

import argparse
import html
import json
import math
import sys

COLUMNS = 2
PANEL_W, PANEL_H = 500, 380  # with its margins
LEFT, RIGHT, TOP, BOTTOM = 74, 14, 40, 58
NONE_BAND = 26  # below the scale: the place of zero, which a logarithm has not
LEGEND_H = 64

# Colours that also the colour-blind tell apart (Okabe and Ito), and a shape each.
STYLES = {
    "fixed": ("#0072b2", "circle"),
    "chen": ("#d55e00", "square"),
    "phi": ("#cc79a7", "triangle"),
    "phi-loss-aware": ("#009e73", "diamond"),
}
SPARE_STYLES = [("#e69f00", "circle"), ("#56b4e9", "square"), ("#000000", "triangle")]
NEEDED = ("trace", "detector", "value", "detection_mean_s", "mistakes_per_hour")


def fail(what):
    sys.exit(f"plot_quality.py: {what}")


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


class LogScale:
    """Maps values between the least and the most, with some air, onto begin..end."""

    def __init__(self, values, begin, end):
        least, most = math.log10(min(values)), math.log10(max(values))
        air = max(0.04 * (most - least), 0.05)
        self.least, self.most = least - air, most + air
        self.begin, self.end = begin, end

    def __call__(self, value):
        share = (math.log10(value) - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        """Pairs of a value and whether it is labelled."""
        steps = (1, 2, 5) if self.most - self.least < 3.2 else (1,)
        for power in range(math.floor(self.least), math.ceil(self.most) + 1):
            for step in range(1, 10):
                value = step * 10.0 ** power
                if self.least <= math.log10(value) <= self.most:
                    yield value, step in steps


def number(value):
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def marker(shape, x, y, colour, size=1.0, hollow=False):
    paint = f'fill="{"#ffffff" if hollow else colour}" stroke="{colour}" stroke-width="1.5"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3.6 * size:.1f}" {paint}/>'
    if shape == "square":
        half = 3.3 * size
        return f'<rect x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}" {paint}/>'
    corners = {"triangle": [(0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
               "diamond": [(0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)]}[shape]
    points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {paint}/>'


def draw_axes(x, y, left, top, right, bottom, none_at):
    out = [f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" class="frame"/>']
    for value, labelled in x.ticks():
        at = x(value)
        out.append(line(at, top, at, bottom, "grid" if labelled else "fine"))
        if labelled:
            out.append(text(at, bottom + 16, number(value), 'text-anchor="middle"'))
    for value, labelled in y.ticks():
        at = y(value)
        out.append(line(left, at, right, at, "grid" if labelled else "fine"))
        if labelled:
            out.append(text(left - 7, at + 4, number(value), 'text-anchor="end"'))
    out.append(line(left, none_at, right, none_at, "none"))
    out.append(text(left - 7, none_at + 4, "none", 'text-anchor="end"'))
    middle = (top + bottom) / 2
    out.append(text((left + right) / 2, bottom + 36, "mean detection time, s", 'text-anchor="middle"'))
    out.append(text(left - 54, middle, "mistakes per hour",
                    f'text-anchor="middle" transform="rotate(-90 {left - 54:.1f} {middle:.1f})"'))
    return out


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
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#222222">',
           "<style>.title{font-size:15px;font-weight:bold}.frame{fill:none;stroke:#555555}"
           ".grid{stroke:#d4d4d4}.fine{stroke:#f0f0f0}.none{stroke:#999999;stroke-dasharray:4 3}</style>",
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    at = LEFT
    for name in names:
        colour, shape = styles[name]
        out.append(f'<line x1="{at}" y1="24" x2="{at + 26}" y2="24" stroke="{colour}" stroke-width="1.6"/>')
        out.append(marker(shape, at + 13, 24, colour))
        out.append(text(at + 33, 28, name))
        at += 33 + 8 * len(name) + 26
    out.append(text(LEFT, 52, "Lower left is better. Hollow: no mistake seen.", 'fill="#555555"'))
    for i, (trace, detectors) in enumerate(panels.items()):
        out += draw_panel(trace, detectors, styles, i % columns * PANEL_W, LEGEND_H + i // columns * PANEL_H)
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default="-", help="lines of detector_quality --json (default: standard input)")
    parser.add_argument("--out", default="-", metavar="SVG", help="where the picture goes (default: standard output)")
    arguments = parser.parse_args()
    try:
        if arguments.file == "-":
            panels = read_lines(sys.stdin, "standard input")
        else:
            with open(arguments.file, encoding="utf-8") as source:
                panels = read_lines(source, arguments.file)
        picture = draw(panels)
        if arguments.out == "-":
            sys.stdout.write(picture)
        else:
            with open(arguments.out, "w", encoding="utf-8") as out:
                out.write(picture)
    except OSError as error:
        fail(error)
    except UnicodeDecodeError as error:
        fail(f"{arguments.file}: {error}")


if __name__ == "__main__":
    main()
