"""Write a topology file, with comments that show the original names of its parts."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from lab.ext.importing.draft import Draft
from lab.spec.document import Place
from lab.spec.errors import Problem
from lab.spec.format import LinkPart

_LONGEST = 90  # characters of a mapping in one line
_ORDER = [*LinkPart.model_fields]


def text(made: Draft, heading: str, untaken: Iterable[Problem]) -> str:
    """Return the draft as YAML, below comments: the heading, and everything that was left out."""
    yaml = YAML()
    yaml.width = 1000  # `_plain` decides what fits on one line
    yaml.indent(mapping=2, sequence=4, offset=2)
    root = CommentedMap({"about": made.data["about"]})
    for kind in ("hosts", "routers", "switches"):
        if kind in made.data:
            root[kind] = _nodes(made, kind)
    if made.data["links"]:
        root["links"] = CommentedMap()
        for name, link in made.data["links"].items():
            root["links"][name] = _link(made, name, link)
    if made.data.get("multicast"):
        root["multicast"] = CommentedMap({group: _plain(each) for group, each in made.data["multicast"].items()})
    out = io.StringIO()
    yaml.dump(root, out)
    lines = [f"# {heading}"]
    if left := [str(problem) for problem in untaken]:
        lines += ["# Left out:", *(f"#   {each}" for each in left)]
    return "\n".join(lines) + "\n" + out.getvalue()


def _nodes(made: Draft, kind: str) -> CommentedMap | CommentedSeq:
    nodes = made.data[kind]
    if not any(nodes.values()) and not any((kind, name) in made.comments for name in nodes):
        listed = CommentedSeq(nodes)
        listed.fa.set_flow_style()
        return listed
    found = CommentedMap({name: _plain(settings) if settings else None for name, settings in nodes.items()})
    for name in nodes:
        if comment := made.comments.get((kind, name)):
            found.yaml_add_eol_comment(comment, name)
    return found


def _link(made: Draft, name: str, link: Mapping[str, Any]) -> CommentedMap:
    found = CommentedMap()
    place: Place = ("links", name, "ends")
    ends = link["ends"]
    names = {node: made.comments.get((*place, node), "") for node in ends}
    if any(ends.values()):
        found["ends"] = CommentedMap({node: _plain(settings) if settings else None for node, settings in ends.items()})
        for node, device in names.items():
            if device:
                found["ends"].yaml_add_eol_comment(device, node)
    else:
        found["ends"] = _plain(list(ends))
        if said := ", ".join(f"{device} of {node}" for node, device in names.items() if device):
            found.yaml_add_eol_comment(said, "ends")
    for key in sorted(link, key=_ORDER.index):
        if key != "ends":
            found[key] = _plain(link[key])
    return found


def _plain(value: Any) -> Any:
    """Return a value that YAML shows in one line, or as a block if it is long."""
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: _ORDER.index(key) if key in _ORDER else -1)
        return _in_one_line(CommentedMap({key: _plain(value[key]) for key in keys}), value)
    if isinstance(value, list | tuple):
        return _in_one_line(CommentedSeq([_plain(each) for each in value]), value)
    return value


def _in_one_line(made: Any, value: Any = "") -> Any:
    if len(str(value)) <= _LONGEST:
        made.fa.set_flow_style()
    else:
        made.fa.set_block_style()
    return made
