"""Drawing of plots as SVG, shared by the plot_*.py programs. Needs nothing beyond the standard library."""

import argparse
import html
import json
import math
import os
import sys

# Colours that also the colour-blind tell apart (Okabe and Ito), and a shape each.
STYLES = [("#0072b2", "circle"), ("#d55e00", "square"), ("#009e73", "diamond"), ("#cc79a7", "triangle"),
          ("#e69f00", "circle"), ("#56b4e9", "square"), ("#000000", "triangle")]


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


class LinearScale:
    """Maps values between zero and the most, with some air, onto begin..end."""

    def __init__(self, values, begin, end):
        self.least = 0.0
        self.most = max(max(values), 1e-9) * 1.06
        self.begin, self.end = begin, end

    def __call__(self, value):
        share = (value - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        """Pairs of a value and whether it is labelled."""
        rough = (self.most - self.least) / 7
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        count = math.floor(self.most / step + 1e-9)
        for i in range(math.ceil(self.least / step - 1e-9), count + 1):
            yield i * step, True


class SymlogScale:
    """Maps values from zero on: linearly up to `knee`, and by their logarithm from there on."""

    def __init__(self, values, knee, begin, end):
        self.knee = knee
        self.most = max(self._place(max(values)), 1.0) * 1.06
        self.least = -0.05 * self.most
        self.begin, self.end = begin, end

    def _place(self, value):
        return value / self.knee if value <= self.knee else 1 + math.log10(value / self.knee)

    def __call__(self, value):
        share = (self._place(value) - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        """Pairs of a value and whether it is labelled."""
        yield 0.0, True
        power = self.knee
        while self._place(power) <= self.most:
            yield power, True
            for step in range(2, 10):
                if self._place(step * power) <= self.most:
                    yield step * power, False
            power *= 10


def number(value):
    if value == 0:
        return "0"
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


def page_head(width, height):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#222222">',
            "<style>.title{font-size:15px;font-weight:bold}.frame{fill:none;stroke:#555555}"
            ".grid{stroke:#d4d4d4}.fine{stroke:#f0f0f0}.none{stroke:#999999;stroke-dasharray:4 3}</style>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>']


def grid(x, y, left, top, right, bottom):
    """The frame, and lines and labels at the ticks of both scales."""
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
    return out


def axis_names(left, top, right, bottom, x_name, y_name):
    middle = (top + bottom) / 2
    return [text((left + right) / 2, bottom + 36, x_name, 'text-anchor="middle"'),
            text(left - 54, middle, y_name,
                 f'text-anchor="middle" transform="rotate(-90 {left - 54:.1f} {middle:.1f})"')]


def legend(entries, left, y, right=math.inf):
    """`entries`: triples of a name, a colour and a shape; no shape: a dashed line. In rows of 18 up to `right`."""
    out = []
    at = left
    for name, colour, shape in entries:
        if at > left and at + 33 + 7 * len(name) > right:
            at, y = left, y + 18
        dashes = ' stroke-dasharray="5 4"' if shape is None else ""
        out.append(f'<line x1="{at}" y1="{y}" x2="{at + 26}" y2="{y}" stroke="{colour}" stroke-width="1.6"{dashes}/>')
        if shape is not None:
            out.append(marker(shape, at + 13, y, colour))
        out.append(text(at + 33, y + 4, name))
        at += 33 + 8 * len(name) + 26
    return out


def fail(what):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


def json_rows(source, name):
    """What the lines of a file hold; empty ones do not matter."""
    rows = []
    for number, words in enumerate(source, 1):
        if not words.strip():
            continue
        try:
            rows.append(json.loads(words))
        except ValueError as wrong:
            fail(f"{name}:{number}: not a line of JSON: {wrong}")
    if not rows:
        fail(f"{name}: there is nothing to draw")
    return rows


def parser_of(description):
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def run(parser, read, draw):
    """Reads FILE by read(source, name), draws it by draw(what was read, arguments), and writes the picture."""
    parser.add_argument("file", nargs="?", default="-", help="lines of JSON (default: standard input)")
    parser.add_argument("--out", default="-", metavar="SVG", help="where the picture goes (default: standard output)")
    arguments = parser.parse_args()
    try:
        if arguments.file == "-":
            rows = read(sys.stdin, "standard input")
        else:
            with open(arguments.file, encoding="utf-8") as source:
                rows = read(source, arguments.file)
        picture = draw(rows, arguments)
        if arguments.out == "-":
            sys.stdout.write(picture)
        else:
            with open(arguments.out, "w", encoding="utf-8") as out:
                out.write(picture)
    except OSError as error:
        fail(error)
    except UnicodeDecodeError as error:
        fail(f"{arguments.file}: {error}")
    except (KeyError, TypeError) as missing:
        fail(f"a line is not of the program that was said: {missing}")
