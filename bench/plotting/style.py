"""How all pictures look, and how they become the same bytes each time. Imports matplotlib (Debian: python3-matplotlib)."""

import io
import math

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402 (the backend first)
from matplotlib import ticker  # noqa: E402

# Colours that also the colour-blind tell apart (Okabe and Ito); each series has a shape of its own besides.
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
AMBER, SKY, BLACK, GREY = "#e69f00", "#56b4e9", "#000000", "#6b6b6b"
LIGHT = "#c8c8c8"
CYCLE = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "D"), (PINK, "^"), (AMBER, "v"), (SKY, "P"), (BLACK, "X"), (GREY, "h")]

# One look for each protocol, in every picture.
LOOKS = {
    "nekton": (BLUE, "o", "-"),
    "nekton, phi": (SKY, "P", "-"),
    "nekton, staggered": (GREEN, "D", "-"),
    "staggered": (GREEN, "D", "-"),
    "nekton, staggered, phi": (AMBER, "v", "-"),
    "memberlist": (ORANGE, "s", "-"),
    "lifeguard": (PINK, "^", "-"),
    "swim": (BLACK, "X", "-"),
    "heartbeat mesh": (PINK, "^", "-"),
    "bound": (GREY, "", "--"),
}

matplotlib.rcParams.update({
    "svg.hashsalt": "nekton",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "text.color": "#222222",
    "axes.labelcolor": "#222222",
    "path.simplify": False,
})


def look(name, spare=0):
    """(colour, marker, line style); of unknown names the spare ones in turn."""
    if name in LOOKS:
        return LOOKS[name]
    colour, marker = CYCLE[spare % len(CYCLE)]
    return colour, marker, "-"


def draw_line(axes, points, name, spare=0, label=None, **extra):
    """A line through the sorted points."""
    points = sorted(point for point in points if point[1] is not None)
    if not points:
        return
    colour, marker, dashes = look(name, spare)
    style = {"color": colour, "marker": marker, "linestyle": dashes, "label": label or name, "markeredgecolor": "white",
             "markeredgewidth": 0.6, **extra}
    axes.plot([x for x, _ in points], [y for _, y in points], **style)


def panels(rows, columns, width=5.2, height=3.7, **extra):
    """A figure and its axes, as a flat list."""
    figure, axes = pyplot.subplots(rows, columns, figsize=(columns * width, rows * height), squeeze=False, **extra)
    return figure, list(axes.flat)


def plain(value, _=None):
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1 and abs(value - round(value)) < 1e-9 else f"{value:.6g}"


def plain_ticks(axis):
    """1,000 instead of 10^3."""
    axis.set_major_formatter(ticker.FuncFormatter(plain))
    axis.set_minor_formatter(ticker.NullFormatter())


def sizes_axis(axes, sizes, apart=2.5):
    """Group sizes, logarithmic; those are labelled that are so many times the one before."""
    axes.set_xscale("log", base=2)
    chosen = []
    for size in sorted(set(sizes), reverse=True):
        if not chosen or chosen[-1] / size >= apart:
            chosen.append(size)
    axes.xaxis.set_major_locator(ticker.FixedLocator(chosen))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(plain))
    axes.set_xlabel("members")


def log_axis(axes, which="y"):
    """Call it when all is drawn: of few decades also 2 and 5 are labelled."""
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    axis = axes.yaxis if which == "y" else axes.xaxis
    low, high = sorted(axis.get_view_interval())
    subs = (1.0,) if low <= 0 or high / low > 150 else (1.0, 2.0, 5.0)
    axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=20))
    plain_ticks(axis)


def symlog_axis(axis, least, most):
    """Zero, a little of nothing up to `least` > 0, and logarithmic from there to `most`; labels at 0 and the decades."""
    axes = axis.axes
    start = 10.0 ** math.floor(math.log10(least))
    (axes.set_yscale if axis is axes.yaxis else axes.set_xscale)("symlog", linthresh=start, linscale=0.4)
    decades = [start * 10 ** i for i in range(12) if start * 10 ** i <= most * 3]
    axis.set_major_locator(ticker.FixedLocator([0] + decades))
    plain_ticks(axis)
    axis.set_minor_locator(ticker.NullLocator())
    (axes.set_ylim if axis is axes.yaxis else axes.set_xlim)(-0.3 * start, most * 2)


def common_legend(figure, axes, columns=4, notes=0):
    """One legend above all panels, each name once. `notes`: lines at the bottom."""
    entries = {}
    for each in axes:
        for handle, name in zip(*each.get_legend_handles_labels()):
            entries.setdefault(name, handle)
    height = figure.get_figheight()
    lines = -(-len(entries) // columns)
    top = 1 - (0.12 + 0.22 * lines) / height
    figure.tight_layout(rect=(0, (NOTE * notes + 0.05) / height, 1, top), h_pad=1.6, w_pad=1.6)
    figure.legend(entries.values(), entries.keys(), loc="upper center", ncol=columns, bbox_to_anchor=(0.5, 1.0),
                  handlelength=2.4, columnspacing=1.8)


NOTE = 0.2  # inches that a line of a note takes


def note(figure, *lines):
    """At the bottom. The panels leave NOTE inches for each line, and a little."""
    for i, words in enumerate(reversed(lines)):
        figure.text(0.012, (0.06 + NOTE * i) / figure.get_figheight(), words, fontsize=8.5, color="#555555", va="bottom")


def svg(figure):
    """Its bytes, the same for the same rows: no date, fixed identifiers."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    lines = [line.rstrip() for line in out.getvalue().decode("utf-8").splitlines()]
    return ("\n".join(lines) + "\n").encode("utf-8")
