"""Say what an arm or a point of a sweep changes in a topology, and apply it to the topology's plain data."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.spec.errors import suggestion

Fields = Mapping[str, Any]


class UnknownName(LookupError):
    """Raised when a change names a link or a host that the topology does not have."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Holds changes in the words of a topology file; quantities as text or as themselves, None for "not set".

    A change to what many share holds for all of them, whatever each had set for itself.
    """

    # {link: {field: value}}, with `forward`, `back` and `ends` as in the file
    links: Mapping[str, Fields] = field(default_factory=dict)
    # of every host and router
    sysctls: Mapping[str, int | str] = field(default_factory=dict)
    # {host or router: {"sysctls": {...}, "offloads": {...}, ...}}
    hosts: Mapping[str, Fields] = field(default_factory=dict)

    def apply(self, data: Fields) -> dict[str, Any]:
        """Return the topology data with these changes. `data` has the long form: mappings, even where names would do.

        Raises UnknownName when the topology has no such link or host.
        """
        changed: dict[str, Any] = copy.deepcopy(dict(data))
        links = changed.get("links", {})
        for name, fields in self.links.items():
            link = _known("link", name, links)
            for way in ("forward", "back"):
                link[way] = {key: value for key, value in link.get(way, {}).items() if key not in fields}
            _merge(link, fields)
        nodes = {**changed.get("hosts", {}), **changed.get("routers", {})}
        for node in nodes.values():
            node["sysctls"] = {key: value for key, value in node.get("sysctls", {}).items() if key not in self.sysctls}
        _merge(changed, {"sysctls": self.sysctls})
        for name, fields in self.hosts.items():
            _merge(_known("host", name, nodes), fields)
        return changed


def _known(what: str, name: str, among: dict[str, Any]) -> dict[str, Any]:
    if name not in among:
        raise UnknownName(f"unknown {what} '{name}'{suggestion(name, among)}")
    found: dict[str, Any] = among[name]
    return found


def _merge(base: dict[str, Any], changes: Fields) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(base.get(key, {}), dict):
            _merge(base.setdefault(key, {}), value)
        else:
            base[key] = value
