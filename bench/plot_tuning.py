#!/usr/bin/env python3
"""Draws what tuning --grid --json measured, as an SVG: two panels, each with its Pareto front, and enlarged below it.

  plot_tuning.py FILE      the median time until all know of a crash against false positives of the Interval set, and
                           against datagrams at 30 % loss

A setting is on a front where no other one is as good in both and better in one. Not on it are settings that removed
1 % or more of the members that only stood still for 3 s, for haste alone is no merit; they are drawn hollow. So are the
points that the Lifeguard paper publishes, as shares of SWIM's figures: here they are such shares of what swim came to.
"""

import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is
from svg_plot import (STYLES, LinearScale, LogScale, SymlogScale, axis_names, fail, grid, json_rows, marker, page_head,
                      parser_of, run, text)

PANEL_W, PANEL_H = 640, 470  # with its margins
LEFT, RIGHT, TOP, BOTTOM = 74, 18, 40, 58
LEGEND_H, NOTE_H = 64, 34
FP_KNEE = 0.1
OTHERS, MANY = "#777777", "#333333"
DEFAULT, FRONT = "#d00000", "#009e73"
LABEL_W, LABEL_H = 6.3, 13  # of a letter, at 11 px
HASTY = 0.01  # share of the members that stood still and were removed
NEAR = 5  # pixels: such points share a label
# Where a label may stand, from its point: the first place that is free. Beside it, or over or under it.
PLACES = [(9, 4), (-9, 4)] + [(dx, sign * reach + (4 if sign > 0 else 0)) for reach in range(14, 150, 14)
                              for sign in (-1, 1) for dx in (9, -9, 45, -45)]


def read_lines(source, name):
    rows = json_rows(source, name)
    rows = [row for row in rows if row["table"] == "grid"]
    if not any(not row["published"] for row in rows):
        fail(f"{name}: there is nothing of --grid to draw")
    return rows


class Point:
    """One setting: seconds, false positives, datagrams; the latter None where the paper does not say."""

    def __init__(self, row, swim):
        self.name = row["name"]
        self.published = row["published"]
        self.baseline = not self.published and row["baseline"]
        self.default = not self.published and row["default"]
        if self.published:
            share = row["percent_of_swim"]
            self.seconds = share["full_dissemination_p50"] / 100 * swim.seconds
            self.fp = share["fp"] / 100 * swim.fp
            self.datagrams = None
            self.hasty = False
            return
        self.seconds = row["crash"]["all_know_s"]["p50"]
        known = row["crash"]["all_know_s"]
        self.spread = max(known["p50_high95"] - known["p50"], known["p50"] - known["p50_low95"])
        self.fp = row["interval"]["fp"]["per_run"]
        self.fp_high = row["interval"]["fp"]["high95"]
        self.trials = row["interval"]["runs"]
        self.datagrams = row["loss"]["datagrams_per_member_s"]
        self.hasty = row["freeze"]["condemned"]["count"] >= HASTY * row["freeze"]["frozen"]

    def axis(self):
        """The one parameter that is changed, in a star."""
        plain = self.published or self.baseline or self.default or "," in self.name
        return None if plain else self.name.split(" ")[0]


def points_of(rows):
    measured = [Point(row, None) for row in rows if not row["published"]]
    swim = next((point for point in measured if point.name == "swim"), None)
    published = [Point(row, swim) for row in rows if row["published"]] if swim else []
    return measured + published


def front(points, worth):
    """Of the points that may be on it those that none beats, by seconds."""
    def beats(a, b):
        return a.seconds <= b.seconds and worth(a) <= worth(b) and (a.seconds, worth(a)) != (b.seconds, worth(b))

    able = [point for point in points if not point.published and not point.hasty]
    best = [point for point in able if not any(beats(other, point) for other in able)]
    return sorted(best, key=lambda point: (point.seconds, -worth(point)))


def styles_of(points):
    axes = dict.fromkeys(point.axis() for point in points if point.axis())
    shades = [style for style in STYLES if style[0] not in ("#000000", FRONT)]
    return {axis: shades[i % len(shades)] for i, axis in enumerate(axes)}


def style_of(point, styles):
    if point.published:
        return OTHERS, "circle"
    if point.baseline:
        return "#000000", "square"
    if point.default:
        return DEFAULT, "diamond"
    return styles.get(point.axis(), ("#0072b2", "circle"))


def label_of(point, crowded):
    if point.default:
        return "default"
    if point.published:
        return point.name.replace("Lifeguard ", "")
    return "" if crowded and not point.baseline else point.name


class Ticks(LogScale):
    """Labels whole numbers too where there is less than a decade of them."""

    def ticks(self):
        for value, labelled in super().ticks():
            yield value, labelled or self.most - self.least < 0.8


class CloseUp:
    """Maps the values that there are, and some air, linearly."""

    def __init__(self, values, begin, end):
        air = max(0.08 * (max(values) - min(values)), 1e-3)
        self.least, self.most = min(values) - air, max(values) + air
        self.begin, self.end = begin, end

    __call__ = LinearScale.__call__
    ticks = LinearScale.ticks


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def free_place(words, x, y, taken, bounds):
    """Where it begins, how far from its point it stands, and its box; None where there is no room."""
    width = LABEL_W * len(words)
    for dx, dy in PLACES:
        begin = x + dx - (width if dx < 0 else 0)
        box = (begin, y + dy - LABEL_H + 3, begin + width, y + dy + 3)
        inside = box[0] > bounds[0] and box[2] < bounds[2] and box[1] > bounds[1] and box[3] < bounds[3]
        if inside and not any(overlap(box, other) for other in taken):
            return begin, dy, box
    return None


def place_labels(labels, taken, steps, bounds):
    """Labels (words, x, y of its point, colour) where nothing else stands, or at worst upon the steps of the front."""
    out = []
    for words, x, y, colour in labels:
        place = free_place(words, x, y, taken + steps, bounds) or free_place(words, x, y, taken, bounds)
        if place is None:
            continue  # the point stays without a name
        begin, dy, box = place
        taken.append(box)
        if abs(dy) > 5:  # a thread to its point
            edge = box[3] if dy < 0 else box[1]
            out.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{max(box[0], min(x, box[2])):.1f}" y2="{edge:.1f}" '
                       f'stroke="{colour}" stroke-width="0.7"/>')
        out.append(text(begin, y + dy, words, f'font-size="11" fill="{colour}"'))
    return out


def together(labels):
    """Labels of points that are drawn at the same place, as one."""
    out = []
    for words, x, y, colour in labels:
        for i, (others, at_x, at_y, shade) in enumerate(out):
            if abs(x - at_x) < NEAR and abs(y - at_y) < NEAR:
                out[i] = (f"{others}, {words}", at_x, at_y, colour if colour == shade else MANY)
                break
        else:
            out.append((words, x, y, colour))
    return out


class Panel:
    def __init__(self, title, y_name, worth, y_scale, close_up=False):
        self.title, self.y_name, self.worth, self.y_scale, self.close_up = title, y_name, worth, y_scale, close_up

    def draw(self, points, styles, origin_x, origin_y):
        left, right = origin_x + LEFT, origin_x + PANEL_W - RIGHT
        top, bottom = origin_y + TOP, origin_y + PANEL_H - BOTTOM
        worth = self.worth
        best = front(points, worth)
        points = [point for point in points if worth(point) is not None]
        if self.close_up:
            points = [point for point in points if not point.published and not point.baseline]
        x = (CloseUp if self.close_up else Ticks)([point.seconds for point in points], left, right)
        y = self.y_scale([worth(point) for point in points], bottom, top)
        out = [text(left, top - 10, self.title, 'class="title"')] + grid(x, y, left, top, right, bottom)
        out += axis_names(left, top, right, bottom, "median time until all know of a crash, s", self.y_name)
        best = [point for point in best if point in points]
        steps = self.staircase([(x(point.seconds), y(worth(point))) for point in best], top, right)
        out.append(f'<polyline points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in steps)}" fill="none" '
                   f'stroke="{FRONT}" stroke-width="2" stroke-dasharray="5 4"/>')
        steps = [(a[0] - 2, min(a[1], b[1]) - 2, b[0] + 2, max(a[1], b[1]) + 2) for a, b in zip(steps, steps[1:])]
        taken, labels = [], []
        # The default last: nothing covers it.
        for point in sorted(points, key=lambda point: (point.default, not point.published)):
            colour, shape = style_of(point, styles)
            px, py = x(point.seconds), y(worth(point))
            if point in best:
                out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="10" fill="none" stroke="{FRONT}" '
                           f'stroke-width="1.6"/>')
            size = 1.9 if point.default else 1.25
            out.append(marker(shape, px, py, colour, size, hollow=point.published or point.hasty))
            taken.append((px - 6, py - 6, px + 6, py + 6))
            crowded = not self.close_up or ("," in point.name and point not in best)
            if label := label_of(point, crowded):
                labels.append((label, px, py, colour))
        labels = sorted(together(reversed(labels)), key=lambda label: (label[0] != "default", label[1]))
        return out + place_labels(labels, taken, steps, (left, top, right, bottom))

    @staticmethod
    def staircase(placed, top, right):
        """Corners; right of it and above it is what is beaten."""
        if not placed:
            return []
        at = [(placed[0][0], top)]
        for px, py in placed:
            at += [(px, at[-1][1]), (px, py)]
        return at + [(right, at[-1][1])]


def key(styles, published):
    entries = [("the default", DEFAULT, "diamond", False)]
    entries += [(f"{axis} changed", *style, False) for axis, style in styles.items()]
    entries += [("baselines", "#000000", "square", False)]
    if published:
        entries += [("Lifeguard alpha/beta, published, scaled to swim here", OTHERS, "circle", True)]
    out = []
    at = LEFT
    for name, colour, shape, hollow in entries:
        out += [marker(shape, at, 24, colour, 1.3, hollow), text(at + 11, 28, name)]
        at += 11 + 7.2 * len(name) + 22
    out += [f'<circle cx="{LEFT}" cy="46" r="8" fill="none" stroke="{FRONT}" stroke-width="1.6"/>',
            text(LEFT + 14, 50, "on the front: no other setting is as good in both and better in one; "
                                "hollow, and on no front: removed members that stood still for 3 s")]
    return out


def notes(points):
    own = [point for point in points if not point.published and not point.baseline]
    nones = [point for point in own if point.fp == 0]
    words = f"The medians of nekton are sure to {max(point.spread for point in own):.2f} s (95 %)." if own else ""
    if nones:
        words += (f" 0 false positives were seen in {min(point.trials for point in nones)} trials or more: the mean is "
                  f"below {max(point.fp_high for point in nones):.2g} per trial (95 %).")
    return words


def symlog(values, begin, end):
    return SymlogScale(values, FP_KNEE, begin, end)


def draw(rows):
    points = points_of(rows)
    styles = styles_of(points)
    mistakes, traffic = "false positives per trial", "datagrams per member and second"
    panels = [Panel("Speed against mistakes among blocked members", mistakes, lambda point: point.fp, symlog),
              Panel("Speed against traffic at 30 % loss", traffic, lambda point: point.datagrams, LinearScale),
              Panel("The same, enlarged", mistakes, lambda point: point.fp, symlog, close_up=True),
              Panel("The same, enlarged", traffic, lambda point: point.datagrams, CloseUp, close_up=True)]
    height = LEGEND_H + 2 * PANEL_H + NOTE_H
    out = page_head(2 * PANEL_W, height) + key(styles, any(point.published for point in points))
    for i, panel in enumerate(panels):
        out += panel.draw(points, styles, i % 2 * PANEL_W, LEGEND_H + i // 2 * PANEL_H)
    out.append(text(LEFT, height - 16, notes(points)))
    return "\n".join(out + ["</svg>\n"])


def main():
    run(parser_of(__doc__), read_lines, lambda rows, _: draw(rows))


if __name__ == "__main__":
    main()
