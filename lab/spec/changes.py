"""Describe how an arm or a point of a sweep changes the topology, and apply the changes to the topology's data."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.guest.typed import Declared
from lab.spec.errors import suggestion

Fields = Mapping[str, Any]


class UnknownName(LookupError):
    """Raised when a change names a link or a host that the topology does not have."""


@dataclass(frozen=True, kw_only=True)
class Changes(Declared):
    """Holds changes with the keys of a topology file. A quantity is a text or a `Quantity`; None means "not set".

    A change to a shared setting also overrides the setting of each part that shares it.
    """

    # {link: {field: value}}, with `forward`, `back` and `ends` as in the file
    links: Mapping[str, Fields] = field(default_factory=dict)
    # of every host and router
    sysctls: Mapping[str, int | str] = field(default_factory=dict)
    # {host or router: {"sysctls": {...}, "offloads": {...}, ...}}
    hosts: Mapping[str, Fields] = field(default_factory=dict)

    def sysctls_of_hosts(self) -> Iterator[str]:
        """Yield the names of the sysctls that change on single hosts."""
        for fields in self.hosts.values():
            own = fields.get("sysctls")
            yield from own if isinstance(own, Mapping) else ()

    def apply(self, data: Fields) -> dict[str, Any]:
        """Return the topology data with these changes. `data` must have mappings even where a file may list names.

        Raises UnknownName if the topology has no such link or host.
        """
        changed: dict[str, Any] = copy.deepcopy(dict(data))
        links = changed.get("links", {})
        for name, fields in self.links.items():
            link = _known("link", name, links)
            for way in ("forward", "back"):
                link[way] = _without(link.get(way, {}), fields)
            _merge(link, fields)
        nodes = {**changed.get("hosts", {}), **changed.get("routers", {})}
        for node in nodes.values():
            node["sysctls"] = _without(node.get("sysctls", {}), self.sysctls)
        _merge(changed, {"sysctls": self.sysctls})
        for name, fields in self.hosts.items():
            _merge(_known("host", name, nodes), fields)
        return changed


def _known(what: str, name: str, among: dict[str, Any]) -> dict[str, Any]:
    if name not in among:
        raise UnknownName(f"unknown {what} '{name}'{suggestion(name, among)}")
    found: dict[str, Any] = among[name]
    return found


def _without(part: Any, keys: Fields) -> Any:
    """Return the part without these keys.

    A part that is not a mapping is returned as is, because the topology's check reports it.
    """
    return {key: value for key, value in part.items() if key not in keys} if isinstance(part, Mapping) else part


def _merge(base: dict[str, Any], changes: Fields) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(base.get(key, {}), dict):
            _merge(base.setdefault(key, {}), value)
        else:
            base[key] = value
