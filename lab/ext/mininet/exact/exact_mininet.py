"""Change Mininet's modules so that their links are the lab's wires. The scripts and their calls stay as they are."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from lab.errors import LabError

if TYPE_CHECKING:
    from lab.ext.mininet.exact.exact_link import direction_of
    from lab.ext.mininet.exact.exact_wires import Wire, Wires
else:  # in a guest, the files are in one folder
    from exact_link import direction_of
    from exact_wires import Wires

# Mininet raises these for all hosts. The hosts of exact wires keep what the kernel has.
KERNELS_OWN = ("net.core.wmem_max", "net.core.rmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
FIRST = 1  # the process in whose namespace an end is made that is moved to its node later


def change_util(module: Any) -> None:
    """Let `fixLimits` raise what Mininet itself needs, such as open files, and no buffer of TCP."""
    fix, test_and_set = module.fixLimits, module.sysctlTestAndSet

    def test_and_set_others(name: str, limit: object) -> None:
        if name not in KERNELS_OWN:
            test_and_set(name, limit)

    @wraps(fix)
    def fix_limits() -> None:
        module.sysctlTestAndSet = test_and_set_others
        try:
            fix()
        finally:
            module.sysctlTestAndSet = test_and_set

    module.fixLimits = fix_limits


def change_link(module: Any) -> None:
    """Make each link a wire, and let the calls of `TCIntf` set the wire's rate, delay, loss and queue."""
    links = _Links(module, Wires(os.environ["EXACT_SEED"]))
    atexit.register(links.wires.finish)
    module.makeIntfPair = links.pair(module.makeIntfPair)
    module.Intf.ifconfig = links.ifconfig(module.Intf.ifconfig)
    module.Intf.delete = links.delete(module.Intf.delete)
    module.TCIntf.config = links.config(module.TCIntf.config)


class _Links:
    """Makes a wire's version of each function of Mininet's module for links."""

    def __init__(self, module: Any, wires: Wires) -> None:
        self.module = module
        self.wires = wires

    def end(self, intf: Any) -> tuple[Wire, int] | None:
        """Return the wire of an interface and the number of this end, or None for an interface that has no wire."""
        if "exact" not in vars(intf) and intf.node:
            intf.exact = self.wires.find(intf.name, intf.node.pid)
        end: tuple[Wire, int] | None = vars(intf).get("exact")
        return end

    def has_own_commands(self, intf: Any) -> bool:
        """Return whether the interface has a class of the script's own, which makes tc commands of its own."""
        usual = self.module.TCIntf
        return type(intf).bwCmds is not usual.bwCmds or type(intf).delayCmds is not usual.delayCmds

    def pair(self, plain: Callable[..., None]) -> Callable[..., None]:
        """Make a wire in place of a veth pair."""
        from mininet.util import quietRun

        @wraps(plain)
        def make(
            intf1: str,
            intf2: str,
            addr1: str | None = None,
            addr2: str | None = None,
            node1: Any = None,
            node2: Any = None,
            deleteIntfs: bool = True,  # noqa: N803  # this and the next are Mininet's names
            runCmd: Any = None,  # noqa: N803
        ) -> None:
            if runCmd:
                plain(intf1, intf2, addr1, addr2, node1, node2, deleteIntfs, runCmd)
                return
            nodes = ((intf1, node1), (intf2, node2))
            for name, node in nodes if deleteIntfs else ():
                (node.cmd if node else quietRun)(f"ip link del {name}")
            processes = (node1.pid if node1 else FIRST, node2.pid if node2 else FIRST)
            try:
                self.wires.make((intf1, intf2), processes, (addr1, addr2))
            except (LabError, OSError) as problem:
                raise Exception(f"Error creating interface pair ({intf1},{intf2}): {problem} ") from None

        return make

    def ifconfig(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Let the other end see whether this one is up."""

        @wraps(plain)
        def set_up_or_down(intf: Any, *args: Any) -> Any:
            said = plain(intf, *args)
            words = " ".join(map(str, args)).split()
            if found := self.end(intf):
                wire, side = found
                if wire.names[side] != intf.name:
                    self.wires.rename(wire, side, intf.name)
                if "down" in words or "up" in words:
                    self.wires.set_carrier(wire, side, "up" in words)
            return said

        return set_up_or_down

    def delete(self, plain: Callable[..., None]) -> Callable[..., None]:
        """Remove the whole wire with its first end, as the kernel does with a veth pair."""

        @wraps(plain)
        def delete(intf: Any) -> None:
            if found := self.end(intf):
                self.wires.remove(found[0])
            plain(intf)

        return delete

    def config(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Set the wire in place of `tc`, and print what Mininet prints."""
        from mininet.log import error, info

        @wraps(plain)
        def config(
            intf: Any,
            bw: float | None = None,
            delay: str | None = None,
            jitter: str | None = None,
            loss: float | None = None,
            gro: bool = False,
            txo: bool = True,
            rxo: bool = True,
            speedup: float = 0,
            use_hfsc: bool = False,
            use_tbf: bool = False,
            latency_ms: float | None = None,
            enable_ecn: bool = False,
            enable_red: bool = False,
            max_queue_size: float | None = None,
            **params: Any,
        ) -> Any:
            given: dict[str, Any] = {
                "bw": bw,
                "delay": delay,
                "jitter": jitter,
                "loss": loss,
                "max_queue_size": max_queue_size,
                "use_tbf": use_tbf,
                "latency_ms": latency_ms,
                "enable_ecn": enable_ecn,
                "enable_red": enable_red,
            }
            found = self.end(intf)
            if found is None or self.has_own_commands(intf):
                return plain(intf, **given, use_hfsc=use_hfsc, speedup=speedup, gro=gro, txo=txo, rxo=rxo, **params)
            gro = not params.pop("disable_gro", not gro)
            result = self.module.Intf.config(intf, **params)
            for name, is_on in (("tx", txo), ("rx", rxo)):
                if not is_on:
                    intf.cmd("ethtool -K", intf, name, "off")
            self.wires.receive_merged(*found, gro)
            if bw is None and not delay and not loss and max_queue_size is None:
                return None
            if bw is not None and speedup > 0 and intf.node.name[0:1] == "s":
                given["bw"] = bw = speedup
            try:
                given["use_tbf"] = use_tbf and not use_hfsc  # as in `bwCmds`
                self.wires.change(*found, direction_of(**given), {key: value for key, value in given.items() if value})
            except (ValueError, LabError, OSError) as problem:
                error(f"*** Error: {intf}: {problem}\n")
            info(f"({_shown(bw, delay, jitter, loss, enable_ecn, enable_red)}) ")
            return result | {"tcoutputs": [], "parent": " root "}

        return config


def _shown(bw: float | None, delay: Any, jitter: Any, loss: float | None, ecn: bool, red: bool) -> str:
    """Return the parameters as `TCIntf.config` prints them."""
    parts = [
        f"{bw:.2f}Mbit" if bw is not None else "",
        f"{delay} delay" if delay is not None else "",
        f"{jitter} jitter" if jitter is not None else "",
        f"{loss:.5f}% loss" if loss is not None else "",
        "ECN" if ecn else "RED" if red else "",
    ]
    return " ".join(filter(None, parts))
