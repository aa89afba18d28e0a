"""Rewrite the MSS of SYNs with the kernel's firewalls, set up with iptables and nft.

Both tools can only lower the MSS: net/netfilter/xt_TCPMSS.c and nft_exthdr.c do not change an MSS that is already
smaller.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from lab.guest.task import Task
from lab.guest.testbed import SOON_SECONDS, Testbed, WorkloadError
from lab.units import Size

Hook = Literal["out", "in"]


class MssSetter(Task, frozen=True):
    """Describes a middlebox that sets the MSS of SYNs that leave or enter `node` through `interface`."""

    node: str
    mss: Size
    way: Hook = "out"
    interface: str = "eth0"

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:
        """Return the MSS that the middlebox sets if the SYN passes through the middlebox, else the announced MSS."""
        passes = self.node == (sender if self.way == "out" else receiver)
        return self._set(announced, patches) if passes else announced

    def _set(self, announced: int, patches: Collection[str]) -> int:  # noqa: ARG002
        return self.mss.bytes

    def dropped(self) -> None:
        """Return None, because the middlebox drops nothing."""

    def loss(self) -> float:
        """Return 0, because the middlebox drops nothing."""
        return 0.0


TABLE, CHAIN = "replab", "syn"
MAY_RAISE = "xt-tcpmss-may-raise"  # the kernel patch of experiments/asymmetric-mtu


class TcpMss(MssSetter, frozen=True):
    """Runs `iptables -t mangle -j TCPMSS --set-mss` for SYNs that leave or enter `node` through `interface`.

    Writes iptables.NODE.txt: the rule as the kernel reports it, with its counters after the workload.
    """

    tools: ClassVar[tuple[str, ...]] = ("iptables",)

    def _set(self, announced: int, patches: Collection[str]) -> int:
        return self.mss.bytes if MAY_RAISE in patches else min(announced, self.mss.bytes)

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the rule active within this context. Raises WorkloadError if the kernel reports any other rule."""
        chain, side = ("POSTROUTING", "-o") if self.way == "out" else ("PREROUTING", "-i")
        rule = [chain, side, self.interface, "-p", "tcp", "-m", "tcp", "--tcp-flags", "SYN,RST", "SYN"]
        rule += ["-j", "TCPMSS", "--set-mss", str(self.mss.bytes)]

        def iptables(*argv: str) -> str:
            return testbed.run(self.node, ["iptables", "-t", "mangle", *argv], f"iptables.{self.node}.txt")

        def undo() -> None:
            testbed.wait(testbed.start(self.node, ["iptables", "-t", "mangle", "-D", *rule]), SOON_SECONDS)

        iptables("-A", *rule)
        listed = iptables("-S", chain).splitlines()
        if " ".join(["-A", *rule]) not in listed:
            raise WorkloadError(f"iptables on {self.node} has another rule than was set: {'; '.join(listed)}")
        try:
            yield
            iptables("-v", "-S", chain)
        finally:
            undo()


class NftMaxseg(MssSetter, frozen=True):
    """Applies nftables' `tcp option maxseg size set` to SYNs that leave or enter `node` through `interface`.

    Writes nft.NODE.json: the chain as the kernel reports it, with its counters after the workload.
    """

    tools: ClassVar[tuple[str, ...]] = ("nft",)

    def _set(self, announced: int, patches: Collection[str]) -> int:  # noqa: ARG002
        return min(announced, self.mss.bytes)

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the rule active within this context. Raises WorkloadError if the kernel reports any other rule."""
        key = {"tcp option": {"name": "maxseg", "field": "size"}}
        wanted = {"mangle": {"key": key, "value": self.mss.bytes}}
        statement = f"tcp option maxseg size set {self.mss.bytes}"
        with for_syns(testbed, self.node, self.way, self.interface, statement, wanted):
            yield


@contextmanager
def for_syns(
    testbed: Testbed, node: str, way: Hook, interface: str, statement: str, wanted: dict[str, Any]
) -> Iterator[None]:
    """Apply `statement` to SYNs over `interface`, with nftables, within this context. `wanted` is its JSON form.

    Raises WorkloadError if the kernel reports any other rule.
    """
    hook, key = ("postrouting", "oifname") if way == "out" else ("prerouting", "iifname")

    def nft(*argv: str) -> str:
        return testbed.run(node, ["nft", *argv], f"nft.{node}.json")

    nft(
        f"add table ip {TABLE}; "
        f"add chain ip {TABLE} {CHAIN} {{ type filter hook {hook} priority mangle; }}; "
        f"add rule ip {TABLE} {CHAIN} {key} {interface} tcp flags & (syn | rst) == syn counter {statement}"
    )
    found = json.loads(nft("-j", "list", "chain", "ip", TABLE, CHAIN))["nftables"]
    hooks = [each["chain"]["hook"] for each in found if "chain" in each]
    rules = [each["rule"]["expr"] for each in found if "rule" in each]
    match = {"match": {"op": "==", "left": {"meta": {"key": key}}, "right": interface}}
    if hooks != [hook] or len(rules) != 1 or match not in rules[0] or wanted not in rules[0]:
        raise WorkloadError(f"nftables on {node} has another rule than was set: {found}")
    try:
        yield
        nft("-j", "list", "chain", "ip", TABLE, CHAIN)
    finally:
        testbed.wait(testbed.start(node, ["nft", "delete", "table", "ip", TABLE]), SOON_SECONDS)
