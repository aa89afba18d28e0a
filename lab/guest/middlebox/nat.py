"""Turn a router into a NAT or a stateful firewall, with nftables and the kernel's connection tracking.

The router's sysctls decide how long a mapping or a state lasts. The topology sets these sysctls (for example
net.netfilter.nf_conntrack_udp_timeout), and they are read back like all others.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from lab.guest.task import Task
from lab.guest.testbed import SOON_SECONDS, Testbed, WorkloadError


class _Tracking(Task, frozen=True):
    """Tracks the connections that pass through `node`.

    Connection tracking does not change the segments in a way that TCP would notice.
    """

    node: str

    tools: ClassVar[tuple[str, ...]] = ("nft",)

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:  # noqa: ARG002
        """Return the announced MSS, because the middlebox does not change the MSS."""
        return announced

    def dropped(self) -> None:
        """Return None, because the middlebox drops no segment of a connection that it has seen from the start."""

    def loss(self) -> float:
        """Return 0, because the middlebox drops nothing."""
        return 0.0


class Masquerade(_Tracking, frozen=True):
    """Gives packets that leave `node` through `interface` that interface's address and a free port.

    Writes nat.NODE.json: the rules as the kernel reports them, with their counters after the workload.
    """

    interface: str = "eth1"

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the rule active within this context. Raises WorkloadError if the kernel reports any other rule."""
        chain = "add chain ip replab_nat out { type nat hook postrouting priority srcnat; }"
        rules = [[_is("oifname", self.interface), {"masquerade": None}]]
        texts = [f"oifname {self.interface} counter masquerade"]
        with _tables(testbed, self.node, "replab_nat", f"nat.{self.node}.json", chain, "out", texts, rules):
            yield


class Firewall(_Tracking, frozen=True):
    """Lets `node` forward packets that come in through `inside`, and replies to them, and drops all other packets.

    Writes firewall.NODE.json: the rules as the kernel reports them, with their counters after the workload.
    """

    inside: str = "eth0"

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the rules active within this context. Raises WorkloadError if the kernel reports any other rules."""
        chain = "add chain ip replab_filter through { type filter hook forward priority filter; policy drop; }"
        states = {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}
        rules: list[list[dict[str, Any]]] = [
            [{"match": states}, {"accept": None}],
            [_is("iifname", self.inside), {"accept": None}],
        ]
        texts = ["ct state established,related counter accept", f"iifname {self.inside} counter accept"]
        file = f"firewall.{self.node}.json"
        with _tables(testbed, self.node, "replab_filter", file, chain, "through", texts, rules):
            yield


def _is(key: str, name: str) -> dict[str, Any]:
    return {"match": {"op": "==", "left": {"meta": {"key": key}}, "right": name}}


@contextmanager
def _tables(
    testbed: Testbed,
    node: str,
    table: str,
    file: str,
    chain: str,
    name: str,
    texts: Sequence[str],
    wanted: Sequence[Sequence[dict[str, Any]]],
) -> Iterator[None]:
    """Keep a table with one chain and its rules within this context. `wanted` is the JSON form of each rule.

    Raises WorkloadError if the rules that the kernel reports differ from `wanted`.
    """

    def nft(*argv: str) -> str:
        return testbed.run(node, ["nft", *argv], file)

    nft("; ".join([f"add table ip {table}", chain, *(f"add rule ip {table} {name} {text}" for text in texts)]))
    try:
        found = json.loads(nft("-j", "list", "table", "ip", table))["nftables"]
        rules = [each["rule"]["expr"] for each in found if "rule" in each]
        kept = [[part for part in rule if "counter" not in part] for rule in rules]
        if kept != [list(rule) for rule in wanted]:
            raise WorkloadError(f"nftables on {node} has other rules than were set: {kept}")
        yield
        nft("-j", "list", "table", "ip", table)
    finally:
        testbed.wait(testbed.start(node, ["nft", "delete", "table", "ip", table]), SOON_SECONDS)
