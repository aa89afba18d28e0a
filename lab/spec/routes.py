"""Define the keys of declared routes, VRFs and multicast groups in a topology file."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from lab.spec.document import Place
from lab.spec.parts import AdvmssText, Mistakes, MtuText, Part

Weight = Annotated[int, Field(ge=1, le=256)]
WindowText = Annotated[int, Field(ge=1, le=65535)]


def _hops(value: Any) -> Any:
    """Turn a name, or a list of names, into a mapping from each name to its weight."""
    if isinstance(value, str):
        return {value: 1}
    if isinstance(value, list | tuple):
        if not value or not all(isinstance(name, str) for name in value):
            raise ValueError("should be a node or an address, several of them, or a mapping from each to its weight")
        if len(set(value)) < len(value):
            raise ValueError("has a next hop twice; give it a weight instead, like {r1: 2, r2: 1}")
        return dict.fromkeys(value, 1)
    if isinstance(value, dict) and not value:
        raise ValueError("has no next hop")
    return value


def _group(text: str) -> str:
    try:
        address = ipaddress.ip_address(text if "%" not in text else "")  # the topology decides the interface
    except ValueError:
        raise ValueError(f"'{text}' is not an address; write a group like 239.1.2.3") from None
    if not address.is_multicast:
        raise ValueError(f"{text} is not a multicast address; write a group like 239.1.2.3")
    if address.is_link_local or text.startswith("224.0.0.") or (address.version == 6 and address.packed[1] & 15 < 3):
        raise ValueError(f"no router forwards {text}; choose a group like 239.1.2.3 or ff3e::1")
    return str(address)


def _different(groups: Any) -> Any:
    """Refuse two spellings of one group's address."""
    seen: dict[object, str] = {}
    mistakes: list[tuple[Place, str]] = []
    for text in groups if isinstance(groups, dict) else ():
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if address in seen:
            mistakes.append(((text,), f"is the same group as {seen[address]}; leave one of them out"))
        seen.setdefault(address, text)
    if mistakes:
        raise Mistakes(mistakes)
    return groups


class RoutePart(Part):
    """A route of a node, instead of the automatic routes to the same destination."""

    to: str
    """The destination: a node, its address NODE.LINK on one link, a link (its subnet), a prefix, or `default`."""
    via: (
        Annotated[
            dict[str, Weight],
            BeforeValidator(_hops, json_schema_input_type=str | list[str] | dict[str, Weight]),
        ]
        | None
    ) = None
    """The next hop: a neighbour, its address NODE.LINK on one link, or an address. The kernel spreads flows over a list
    of next hops, or over a mapping from each to its weight. Default: the automatic next hop.
    """
    metric: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    """The route's priority. If a destination has two routes, the kernel uses the one with the smaller metric."""
    initcwnd: WindowText | None = None
    """The congestion window, in segments, at the start of connections over this route. Default: 10."""
    initrwnd: WindowText | None = None
    """The receive window, in segments, at the start of connections over this route."""
    advmss: AdvmssText | None = None
    """The MSS that the node advertises over this route."""
    mtu: MtuText | None = None
    """The largest IP packet over this route."""


class MulticastPart(Part):
    """The members of a multicast group. Routers forward the source's packets along the shortest paths."""

    source: str
    """The node that sends to the group."""
    receivers: Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]
    """The nodes to which routers forward the packets. Their programs join the group themselves."""


Routes = Annotated[tuple[RoutePart, ...], Strict(False)]
Vrfs = dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,14}$")], Annotated[tuple[str, ...], Strict(False)]]
Groups = Annotated[dict[Annotated[str, AfterValidator(_group)], MulticastPart], BeforeValidator(_different)]
