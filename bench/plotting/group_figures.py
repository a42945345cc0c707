"""Pictures of message_cost, detection and detector_quality."""

from plotting import style
from plotting.group_tables import KINDS, STEADY, VARIANTS, of_variant, plain
from plotting.rows import Missing, in_order, variant_name

KIND_COLOURS = dict(zip(KINDS, (style.BLUE, style.SKY, style.AMBER, style.GREEN, style.PINK)))
KIND_WORDS = {"probe": "probes", "relay": "indirect probes", "gossip": "gossip", "reconnect": "reconnecting",
              "heartbeat": "heartbeats"}
QUANTILES = {"p50": ("median", style.BLUE, "o"), "p95": ("95 %", style.SKY, "P"), "p99": ("99 %", style.GREEN, "D"),
             "p999": ("99.9 %", style.ORANGE, "s"), "worst": ("worst", style.GREY, "v")}


def message_cost(results):
    rows = results.rows("message_cost", plain)
    quiet = [row for row in rows if row["loss"] == 0]
    if not quiet:
        raise Missing("message_cost.jsonl: no row without loss")
    figure, axes = style.panels(2, 2)
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    draw_sizes(axes[0], quiet, names)
    draw_crash(axes[1], quiet, names)
    draw_loss(axes[2], rows, names)
    draw_kinds(axes[3], rows)
    style.common_legend(figure, axes[:3], columns=4, notes=2)
    style.note(figure, "A period is 1 s, of the mesh 10 s. Bound: what one member has to send to find a crash within one period, "
                       "and be mistaken for dead in one of 100,000",
               "(Gupta, Chandra, Goldszmidt 2001); who takes longer may send less. memberlist: its parameters and rules in the "
               "same engine. Simulated.")
    return figure


def draw_sizes(axes, quiet, names):
    for i, name in enumerate(names):
        widths = {"linewidth": 3.4 - 0.5 * min(i, 4), "markersize": 8 - 0.9 * min(i, 4)} if "mesh" not in name else {}
        style.draw_line(axes, [(row["nodes"], row[STEADY]) for row in quiet if variant_name(row) == name], name, i, **widths)
    style.draw_line(axes, {(row["nodes"], row["floor_" + STEADY]) for row in quiet}, "bound",
                    label="bound for detection within a period")
    style.sizes_axis(axes, [row["nodes"] for row in quiet])
    style.log_axis(axes)
    axes.set(title="While all is well", ylabel="datagrams per member and period")


def draw_crash(axes, quiet, names):
    for i, name in enumerate(names):
        style.draw_line(axes, [(row["nodes"], row["crash_extra_per_survivor"]["datagrams"]) for row in quiet
                               if variant_name(row) == name and row.get("crash_extra_per_survivor")], name, i)
    style.sizes_axis(axes, [row["nodes"] for row in quiet])
    axes.set_ylim(bottom=0)
    axes.set(title="Added by one silent crash, until all know", ylabel="datagrams per survivor")


def draw_loss(axes, rows, names):
    lossy = [row for row in rows if row["loss"] > 0]
    nodes = max((row["nodes"] for row in lossy), default=None)
    mine = [row for row in rows if row["nodes"] == nodes and row["protocol"] != "mesh"]
    with_loss = {variant_name(row) for row in mine if row["loss"] > 0}
    for i, name in enumerate(names):
        if name in with_loss:
            style.draw_line(axes, [(100 * row["loss"], row[STEADY]) for row in mine if variant_name(row) == name], name, i)
    style.draw_line(axes, {(100 * row["loss"], row["floor_" + STEADY]) for row in mine}, "bound",
                    label="bound for detection within a period")
    axes.set(title=f"On a lossy network, {nodes} members" if nodes else "On a lossy network: not recorded",
             xlabel="loss, %", ylabel="datagrams per member and period")
    axes.set_ylim(bottom=0)


def draw_kinds(axes, rows):
    """Stacked bars: what the datagrams are for, at each loss."""
    lossy = [row for row in rows if row["loss"] > 0]
    nodes = max((row["nodes"] for row in lossy), default=max(row["nodes"] for row in rows))
    bars = []
    for name in ("nekton", "memberlist"):
        for loss in sorted({row["loss"] for row in rows if row["nodes"] == nodes}):
            row = of_variant(rows, name, nodes=nodes, loss=loss)
            if row is not None:
                bars.append((f"{name}, {100 * loss:g} %", row["steady_per_member_period"]))
    for kind in KINDS:
        lefts = [sum(steady[f"{other}_datagrams"] for other in KINDS[:KINDS.index(kind)]) for _, steady in bars]
        widths = [steady[f"{kind}_datagrams"] for _, steady in bars]
        if any(width > 0.005 for width in widths):
            axes.barh(range(len(bars)), widths, left=lefts, color=KIND_COLOURS[kind], label=KIND_WORDS[kind], height=0.7,
                      edgecolor="white", linewidth=0.5)
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper right")
    axes.set(title=f"What they are for, {nodes:,} members", xlabel="datagrams per member and period")


def detection(results):
    rows = results.rows("detection", lambda row: row["loss"] == 0)
    names = in_order([variant_name(row) for row in rows], VARIANTS)
    ports = {"silent": "host silent", "refuses": "its port refuses"}
    wanted = [(name, key, port) for name in names for key in ("first_suspicion_s", "all_know_s") for port in ports
              if any(variant_name(row) == name and row["port"] == port for row in rows)]
    columns = 4 if len(wanted) > 6 else 2
    figure, axes = style.panels(-(-len(wanted) // columns), columns, width=3.5, height=3.1, sharey=True)
    for axis, (name, key, port) in zip(axes, wanted):
        mine = [row for row in rows if variant_name(row) == name and row["port"] == port]
        for quantile, (label, colour, marker) in QUANTILES.items():
            points = sorted((row["nodes"], row[key][quantile]) for row in mine if row[key][quantile] is not None)
            dashes = ":" if quantile == "worst" else "-"
            axis.plot(*zip(*points), color=colour, marker=marker, linestyle=dashes, label=label, markeredgecolor="white",
                      markeredgewidth=0.6)
        style.sizes_axis(axis, [row["nodes"] for row in mine])
        words = "first suspicion" if key == "first_suspicion_s" else "all know"
        axis.set_title(f"{name}\n{words}, {ports[port]}", fontsize=10)
    axes[0].set_ylim(0, 1.04 * max(value for row in rows for value in row["all_know_s"].values() if value is not None))
    for axis in axes[len(wanted):]:
        axis.set_visible(False)
    for axis in axes[::columns]:
        axis.set_ylabel("seconds since the crash")
    style.common_legend(figure, axes[:1], columns=5, notes=1)
    style.note(figure, "Simulated, links of 0.5 to 1 ms. memberlist: its parameters and rules in the same engine.")
    return figure


QUALITY_LOOKS = {"fixed": (style.BLUE, "o"), "chen": (style.ORANGE, "s"), "phi": (style.PINK, "^"),
                 "phi-loss-aware": (style.GREEN, "D")}


def detector_quality(results):
    rows = results.rows("detector_quality", lambda row: row["detection_mean_s"] > 0)
    traces = in_order([row["trace"] for row in rows], ["wan", "lan"])
    figure, axes = style.panels(-(-len(traces) // 2), min(2, len(traces)))
    for axis, trace in zip(axes, traces):
        draw_trace(axis, [row for row in rows if row["trace"] == trace])
        axis.set(title=f"trace {trace}", xlabel="mean detection time, s", ylabel="mistakes per hour")
    for axis in axes[len(traces):]:
        axis.set_visible(False)
    style.common_legend(figure, axes[:len(traces)], columns=4, notes=1)
    style.note(figure, "Lower left is better. Each point is one value of a detector's parameter; hollow, at 0: no mistake seen.")
    return figure


def draw_trace(axis, rows):
    for i, detector in enumerate(in_order([row["detector"] for row in rows], list(QUALITY_LOOKS))):
        colour, marker = QUALITY_LOOKS.get(detector, (style.BLACK, "X"))
        curve = until_none([row for row in rows if row["detector"] == detector])
        size = max(9 - 1.5 * i, 4)  # what is drawn first shows beneath what covers it
        axis.plot([row["detection_mean_s"] for row in curve], [row["mistakes_per_hour"] for row in curve], color=colour,
                  linewidth=0.32 * size)
        for none in (False, True):
            some = [row for row in curve if (row["mistakes_per_hour"] == 0) == none]
            axis.plot([row["detection_mean_s"] for row in some], [row["mistakes_per_hour"] for row in some],
                      linestyle="", marker=marker, color=colour, markersize=size, label=None if none else detector,
                      markerfacecolor="white" if none else colour)
    seen = [row["mistakes_per_hour"] for row in rows if row["mistakes_per_hour"] > 0] or [1]
    style.log_axis(axis, "x")
    style.symlog_axis(axis.yaxis, min(seen), max(seen))


def until_none(rows):
    """By the parameter, up to the first value at which no mistake was seen; those beyond are slower and no better."""
    kept = []
    for row in sorted(rows, key=lambda row: row["value"]):
        kept.append(row)
        if row["mistakes_per_hour"] == 0:
            break
    return kept


PICTURES = {"message_cost": message_cost, "detection": detection, "detector_quality": detector_quality}
