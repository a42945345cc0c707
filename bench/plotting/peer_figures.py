"""The comparison with memberlist as ratios."""

from plotting import style
from plotting.peers import cells, load
from plotting.rows import Missing

SHADES = ["#9ecae1", "#4a98c9", "#1764ab", "#08306b", "#000000"]
SHOWN = ("at rest", "the same beside", "memory", "first suspicion", "all know", "a quarter", "all join at once: last",
         "15 % loss, streams too: susp", "15 % loss, streams too: data", "30 % loss, streams too: susp",
         "30 % loss, streams too: data")


def peers(results):
    found = [cell for cell in cells(load(results)) if cell[4] is not None and cell[0].what.startswith(SHOWN)]
    if not found:
        raise Missing("peers.jsonl: no quantity of both sides")
    names = list(dict.fromkeys(cell[0].what for cell in found))
    sizes = sorted({cell[1] for cell in found})
    figure, (axes,) = style.panels(1, 1, width=9.6, height=0.1 * len(found) + 0.14 * len(names) + 1.5)
    thick = 0.8 / len(sizes)
    least = min((cell[4] for cell in found if cell[4] > 0), default=0.1) / 2
    for quantity, nodes, ours, theirs, ratio, _ in found:
        place = names.index(quantity.what) + (sizes.index(nodes) - (len(sizes) - 1) / 2) * thick
        axes.barh(place, max(ratio, least) - least * 0.5, left=least * 0.5, height=thick * 0.92,
                  color=SHADES[sizes.index(nodes) % len(SHADES)], label=f"N = {nodes}")
        axes.annotate(f"{ours:.3g} : {theirs:.3g}", (max(ratio, least), place), xytext=(3, 0), textcoords="offset points",
                      fontsize=6.5, va="center")
    axes.axvline(1, color=style.ORANGE, linewidth=1.6)
    axes.set_xscale("log")
    style.plain_ticks(axes.xaxis)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(least * 0.5, max(2, 3 * max(cell[4] for cell in found)))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("nekton : memberlist, left of the line is less (logarithmic); beside each bar both numbers, medians of runs")
    style.common_legend(figure, [axes], columns=5)
    return figure


PICTURES = {"peers": peers}
