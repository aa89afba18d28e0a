"""Draw a network as text for a terminal: a tree from one host. `lab.report.diagram` draws the network as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lab.report import overlays
from lab.report.layout import direction, neighbours

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree


def sketch(network: Mapping[str, Any], start: str) -> RenderableType:
    """Return the tree of wires from `start`, then a tree for each unconnected part, then all that wires carry.

    Each link appears once, at the node nearer to `start`; `→` points away from `start`.
    """
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    names = [start, *(node["name"] for node in network["nodes"] if node["name"] != start)]
    seen: set[str] = set()
    told: set[str] = set()
    trees = []
    for name in names:
        if name not in seen:
            seen.add(name)
            trees.append(Tree(_node(network, name), highlight=False))
            queue: list[tuple[str, Tree]] = [(name, trees[-1])]
            while queue:
                near, branch = queue.pop(0)
                for other, link in neighbours(network, near):
                    if link["name"] not in told:
                        told.add(link["name"])
                        again = other in seen
                        twig = branch.add(_link(network, link, near, other, again))
                        seen.add(other)
                        if not again:
                            queue.append((other, twig))
    notes = [Text.assemble((name, "bold"), f"  {text}") for name, text in overlays.notes(network)]
    return Group(*trees, *(["", *notes] if notes else ()))


def _node(network: Mapping[str, Any], name: str) -> RenderableType:
    from rich.text import Text

    (kind,) = (node["kind"] for node in network["nodes"] if node["name"] == name)
    ends = [end for link in network["links"] for end in link["ends"] if end["node"] == name and end["addresses"]]
    addresses = [f"{end['name']} {' '.join(end['addresses'])}" for end in ends]
    said = ", ".join(([] if kind == "host" else [kind]) + addresses)
    return Text.assemble((name, "bold"), f"  {said}" if said else "")


def _link(network: Mapping[str, Any], link: Mapping[str, Any], near: str, other: str, again: bool) -> RenderableType:
    """Return the link's name, both directions, and the node at its other end."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    out, back = link["forward"], link["back"]
    if link["ends"][0]["node"] != near:
        out, back = back, out
    ways = [("↔", out)] if out == back else [("→", out), ("←", back)]
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for row, (arrow, way) in enumerate(ways):
        table.add_row("" if row else link["name"], arrow, direction(way))
    target = Text.assemble((other, "bold"), "  (above)") if again else _node(network, other)
    return Group(table, target)
