"""Keep a device's qdiscs and classes as tc builds them, and derive the settings of a link's direction from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from lab.ext.importing import netem, quantities
from lab.ext.importing.where import Where
from lab.spec import queue
from lab.units import Rate

ONE_LINK = "a direction here has one rate for all packets; give each destination a delay with `delays`, or its own link"
PLAIN = ("pfifo_fast", "noqueue", "mq", "ingress", "clsact")
_PLACES = {"filter": ("parent", "handle", "protocol", "prio", "pref")}
_TXQUEUELEN = 1000  # frames: the length of a veth's queue, and the limit of a FIFO that HTB makes


@dataclass(frozen=True)
class Qdisc:
    """Holds one qdisc: its parent, its handle, its kind and its parameters."""

    parent: str  # "root", or a class's id, such as 1:10
    handle: str  # such as "1:"; "" if tc chooses
    kind: str
    words: tuple[str, ...]
    where: Where


@dataclass(frozen=True)
class QueueClass:
    """Holds one HTB class."""

    id: str  # such as 1:10
    parent: str
    words: tuple[str, ...]
    where: Where

    def rates(self) -> tuple[Rate, Rate]:
        """Return the class's rate and its ceil. Raises ValueError."""
        given = dict(zip(self.words[::2], self.words[1::2], strict=False))
        if "rate" not in given:
            raise netem.RefusedWords("an HTB class needs a rate")
        rate = Rate.of(quantities.rate(given["rate"]))
        return rate, Rate.of(quantities.rate(given["ceil"])) if "ceil" in given else rate


@dataclass
class DirectionSettings:
    """Holds what a device's qdiscs mean for the direction that leaves through the device."""

    keys: dict[str, tuple[Any, Where]] = field(default_factory=dict)  # with a topology's keys
    untaken: list[tuple[Where, str]] = field(default_factory=list)

    def add(self, keys: dict[str, Any], where: Where) -> None:
        """Add the settings of one more qdisc. If there are two rates, the lower one applies."""
        for key, value in keys.items():
            if key == "rate" and key in self.keys:
                value = min(Rate.of(value), Rate.of(self.keys[key][0]))
                self.keys[key] = (str(value), where)
            elif key in self.keys and key not in ("limit", "queue"):
                self.untaken.append((where, f"a second {key} in one direction; add both up in one netem"))
            else:
                self.keys[key] = (value, where)


@dataclass
class QueueTree:
    """Holds the qdiscs, classes and filters of a device."""

    qdiscs: dict[str, Qdisc] = field(default_factory=dict)  # by parent
    classes: dict[str, QueueClass] = field(default_factory=dict)  # by id
    filters: list[Where] = field(default_factory=list)

    def copy(self) -> QueueTree:
        """Return an independent copy of the tree."""
        return QueueTree(dict(self.qdiscs), dict(self.classes), list(self.filters))

    def settings(self) -> DirectionSettings:
        """Return the settings of a direction, and a reason for each qdisc that is left out."""
        found = DirectionSettings()
        if "root" in self.qdiscs:
            self._read(self.qdiscs["root"], found, 0)
        if "queue" in found.keys and "limit" in found.keys:
            limit, where = found.keys.pop("limit")
            if limit != netem.NETEM_LIMIT:
                found.untaken.append((where, f"netem's limit of {limit}: the queue has its own limit"))
        return found

    def _read(self, qdisc: Qdisc, found: DirectionSettings, depth: int) -> None:
        try:
            self._take(qdisc, found, depth)
        except ValueError as error:
            found.untaken.append((qdisc.where, str(error)))

    def _take(self, qdisc: Qdisc, found: DirectionSettings, depth: int) -> None:
        words = list(qdisc.words)
        found.untaken += [(qdisc.where, each) for each in quantities.unitless_rates(words)]
        if qdisc.kind in ("netem", "tbf"):
            read = netem.netem(words) if qdisc.kind == "netem" else netem.tbf(words)
            child = self._below(qdisc, depth)
            if child is not None:
                read.keys.pop("queue", None)
            found.add(read.keys, qdisc.where)
            found.untaken += [(qdisc.where, each) for each in read.untaken]
            if child is not None:
                self._read(child, found, depth + 1)
        elif qdisc.kind == "htb":
            self._htb(qdisc, found, depth)
        elif qdisc.kind in queue.KINDS:
            made = netem.fifo(qdisc.kind, words)
            if rate := made.pop("bandwidth", None):
                found.add({"rate": rate}, qdisc.where)
            found.add({"queue": made if len(made) > 1 else made["kind"]}, qdisc.where)
        elif qdisc.kind not in PLAIN:
            for each in self._at_and_below(qdisc):
                found.untaken.append((each.where, f"{each.kind} has no counterpart; {ONE_LINK}"))

    def _below(self, qdisc: Qdisc, depth: int) -> Qdisc | None:
        if not qdisc.handle or depth > 5:
            return None
        return next((each for each in self.qdiscs.values() if each.parent.startswith(qdisc.handle)), None)

    def _at_and_below(self, qdisc: Qdisc) -> list[Qdisc]:
        return [qdisc, *(each for each in self.qdiscs.values() if each is not qdisc)]

    def _htb(self, qdisc: Qdisc, found: DirectionSettings, depth: int) -> None:
        own = [each for each in self.classes.values() if qdisc.handle and each.id.startswith(qdisc.handle)]
        leaves = [each for each in own if not any(other.parent == each.id for other in own)]
        if not leaves:
            return  # HTB without a class sends everything at once
        if len(leaves) > 1:
            for each in leaves:
                found.untaken.append((each.where, f"one of {len(leaves)} classes of HTB; {ONE_LINK}"))
            return
        leaf = leaves[0]
        if not _leads_to(qdisc, leaf):
            if not self.filters:
                found.untaken.append((leaf.where, "no packet reaches this class: no filter or default selects it"))
                return
            found.untaken.append(
                (self.filters[0], "a filter selects the packets that HTB limits: the lab's rate applies to all packets")
            )
        found.untaken += [(leaf.where, each) for each in quantities.unitless_rates(leaf.words)]
        found.add({"rate": str(self._rate(leaf, 0))}, leaf.where)
        child = self.qdiscs.get(leaf.id)
        if child is None:
            found.add({"queue": {"kind": "pfifo", "limit": _TXQUEUELEN}}, leaf.where)
        elif depth < 5:
            self._read(child, found, depth + 1)

    def _rate(self, leaf: QueueClass, depth: int) -> Rate:
        """Return the rate of a class that is alone below its parents, from which it borrows up to its ceil."""
        rate, ceil = leaf.rates()
        parent = self.classes.get(leaf.parent)
        if parent is None or depth > 8:
            return rate
        return max(rate, min(ceil, self._rate(parent, depth + 1)))


def _leads_to(htb: Qdisc, leaf: QueueClass) -> bool:
    """Return whether HTB puts packets without a filter into this class. Both numbers are hexadecimal."""
    given = dict(pairwise(htb.words))
    try:
        return int(given.get("default", "0"), 16) == int(leaf.id.partition(":")[2], 16)
    except ValueError:
        return False


def command(tree: QueueTree, what: str, verb: str, words: list[str], where: Where) -> str:
    """Apply `tc WHAT VERB ...`, without `dev NAME`, to the tree. Return "", or the reason why it was left out."""
    place, rest = _placed(words, what)
    if what == "filter":
        if verb == "add" and place.get("parent", "") not in ("ffff:", "ingress") and "ingress" not in place:
            tree.filters.append(where)
        return ""
    if what == "class":
        name = place.get("classid", "")
        if verb in ("del", "delete"):
            tree.classes.pop(name, None)
        elif rest and rest[0] != "htb":
            return f"a class of {rest[0]} has no counterpart; {ONE_LINK}"
        elif name:
            tree.classes[name] = QueueClass(name, place.get("parent", ""), tuple(rest[1:]), where)
        return ""
    parent = "ingress" if rest[:1] in (["ingress"], ["clsact"]) else place.get("parent", "root")
    if verb in ("del", "delete"):
        if parent == "root":
            tree.qdiscs.clear()
            tree.classes.clear()
            tree.filters.clear()
        tree.qdiscs.pop(parent, None)
        return ""
    if not rest:
        return "the kind of the qdisc is missing"
    handle = place.get("handle", "")
    if parent == "root" and verb in ("add", "replace"):
        tree.qdiscs = {at: each for at, each in tree.qdiscs.items() if at == "ingress"}
        tree.classes.clear()
    tree.qdiscs[parent] = Qdisc(parent, f"{handle.split(':')[0]}:" if handle else "", rest[0], tuple(rest[1:]), where)
    return ""


def _placed(words: list[str], what: str) -> tuple[dict[str, str], list[str]]:
    """Return the place of a qdisc or a class, and the rest: its kind and its parameters."""
    place: dict[str, str] = {}
    left = list(words)
    while left:
        word = left[0]
        if word in ("root", "ingress", "egress"):
            if word == "ingress" and len(left) == 1:
                return place, left  # the qdisc of this name
            place["parent" if word == "root" else word] = word
            left = left[1:]
        elif word in _PLACES.get(what, ("parent", "handle", "classid")) and len(left) > 1:
            place[word] = left[1]
            left = left[2:]
        else:
            break
    return place, left
