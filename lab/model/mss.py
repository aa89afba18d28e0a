"""Compute the MSS: what each end announces, what the other takes it for, and the segments that they then send.

No end negotiates. Each announces what it can receive, by its own route (ipv4_default_advmss(), or `advmss`), and sends
what its own way carries, but no more than it was told (tcp_sync_mss()). RFC 9293 3.7.1; `TCP_MAXSEG` bounds both.
"""

from __future__ import annotations

from typing import Literal

from lab.model.path import Path
from lab.prediction import law
from lab.units import Size, Value

__all__ = [
    "client",
    "header_bytes",
    "heard",
    "largest_payload",
    "largest_payload_back",
    "mss",
    "mss_of_syn",
    "mss_of_syn_ack",
    "no_fragments",
    "own_segment",
    "segment",
    "tcp_header_length",
]

Side = Literal["sender", "receiver"]

_TCP, _TIMESTAMPS = 20, 12  # RFC 9293; NOP NOP and the option of 10 bytes (RFC 7323 appendix A; TCPOLEN_TSTAMP_ALIGNED)
_LEAST = 256  # ip_rt_min_advmss, of IPv4
_SETTERS = ("tcp_mss", "nft_maxseg", "mss_program", "mss_queue")  # kinds of middleboxes that set the MSS of a SYN
_LOWERING = ("tcp_mss", "nft_maxseg")  # of these, those that never raise it: xt_TCPMSS.c, nft_exthdr.c
_ANNOUNCED = "RFC 9293, 3.7.1; RFC 6691; ipv4_default_advmss()"
_SENT = "RFC 9293, 3.7.1; RFC 6691; tcp_sync_mss()"
_MAY_RAISE = "xt-tcpmss-may-raise"  # the patch of experiments/asymmetric-mtu


@law(formula="20 B, and 12 B for timestamps", source="RFC 9293, 3.1; RFC 7323, appendix A")
def tcp_header_length(path: Path) -> Value:
    """The TCP header of a data segment has 20 bytes, and 12 more with timestamps."""
    return Value(_TCP + _timestamps(path), "B")


def header_bytes(path: Path) -> int:
    """Return the bytes of a data segment's headers: IP's 20 or 40 (RFC 791, 8200), TCP's 20, and the timestamps' 12."""
    return _ip(path) + _TCP + _timestamps(path)


def mss(path: Path) -> int:
    """Return the payload of the sender's full segment, in bytes."""
    return segment(path, "sender")


def segment(path: Path, side: Side) -> int:
    """Return the payload of the full segments that one end sends, in bytes."""
    hops = path.forward if side == "sender" else path.back
    carried = min((hop.mtu for hop in hops), default=path.sender.mtu).bytes - _ip(path) - _TCP
    return min(carried, heard(path, _other(side)), _asked(path, side)) - _timestamps(path)


def own_segment(path: Path, side: Side) -> int:
    """Return the payload of a full segment as that end expects to receive it, in bytes: tcp_sock's advmss."""
    return _announced(path, side) - _timestamps(path)


def heard(path: Path, side: Side) -> int:
    """Return the MSS of one end as the other one learns it, after all that is in between."""
    value, names = _announced(path, side), {"sender": path.sender.name, "receiver": path.receiver.name}
    for box in path.middleboxes:
        leaving = (box.get("node"), box.get("way")) == (names[side], "out")
        coming = (box.get("node"), box.get("way")) == (names[_other(side)], "in")
        if box["kind"] in _SETTERS and (leaving or coming):
            patched = box["kind"] == "tcp_mss" and _MAY_RAISE in path.patches
            wanted = Size.of(box["mss"]).bytes
            value = min(value, wanted) if box["kind"] in _LOWERING and not patched else wanted
    return value


@law(formula="MTU − 40 B (IPv6: 60 B), unless a route, a program or a middlebox sets it", source=_ANNOUNCED)
def mss_of_syn(path: Path) -> Value:
    """The SYN arrives with the client's MSS, as middleboxes on its way leave it."""
    return Value(heard(path, client(path)), "B")


@law(formula="MTU − 40 B (IPv6: 60 B), unless a route, a program or a middlebox sets it", source=_ANNOUNCED)
def mss_of_syn_ack(path: Path) -> Value:
    """The SYN-ACK arrives with the server's MSS, as middleboxes on its way leave it."""
    return Value(heard(path, _other(client(path))), "B")


@law(formula="min(MTU − headers, MSS of the other end − options)", source=_SENT)
def largest_payload(path: Path) -> Value:
    """The largest payload is that of a full segment from the sender."""
    return Value(mss(path), "B")


@law(formula="min(MTU − headers, MSS of the other end − options)", source=_SENT)
def largest_payload_back(path: Path) -> Value:
    """The largest payload is that of a full segment from the receiver."""
    return Value(segment(path, "receiver"), "B")


@law(formula="0, as a segment is at most MTU − headers", source=_SENT)
def no_fragments(path: Path) -> Value:
    """There are 0 fragments: an end sends no segment longer than its own way carries, whatever it was told."""
    del path
    return Value(0, "1")


def _announced(path: Path, side: Side) -> int:
    """Return the MSS by the route of that end: its `advmss`, or its MTU less the headers without options.

    Its program may have lowered it.
    """
    end, hops = (path.sender, path.forward) if side == "sender" else (path.receiver, path.back)
    mtu = hops[0].mtu if hops else end.mtu
    route = end.advmss.bytes if end.advmss else max(mtu.bytes - _ip(path) - _TCP, _LEAST)
    return min(route, _asked(path, side))


def _asked(path: Path, side: Side) -> int:
    """Return the bound that this end's program sets with TCP_MAXSEG, 65535 without."""
    asked = path.workload.get("maxseg")
    return Size.of(asked).bytes if asked is not None and client(path) == side else 65535


def client(path: Path) -> Side:
    """Return the end that connects."""
    return "receiver" if path.workload.get("client") == path.receiver.name != path.sender.name else "sender"


def _other(side: Side) -> Side:
    return "receiver" if side == "sender" else "sender"


def _ip(path: Path) -> int:
    return 20 if path.version == 4 else 40


def _timestamps(path: Path) -> int:
    return _TIMESTAMPS * path.timestamps
