"""Wires carry frames, whatever was sent: draws of protocol, tunnel, offload, queue and MTU; and they prove it."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import Budget, UmlKernel, boot
from lab.spec.topology import parse
from lab.units import to_plain
from tests.guest.fabric.crossing import PROTOCOLS, TUNNELS

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "ethtool")]

SEED = 20
MTUS = (576, 1280, 1400, 1499, 1500, 1501, 2000, 4000, 9000)
ON_THE_LINK = ("vlan", "qinq", "macvlan", "bond")  # they have the device's MTU, and routes of their own
RAW = ("packet-tcp", "packet-udp", "tun-tcp", "tun-udp")  # they write IPv4 packets of their own, past any tunnel


def drawn(random: random.Random, folder: Path) -> dict[str, Any]:
    """Return one draw: a network, and what is sent from its host a to its host b."""
    protocol = random.choice([*PROTOCOLS])
    raw = protocol in RAW
    kind = None if raw else random.choice([None, None, *TUNNELS])
    middle = random.choice(["direct", "switch", *([] if kind in ON_THE_LINK else ["router"])])
    mtu, back = random.choice(MTUS), random.choice(MTUS)
    if middle == "switch":
        back = mtu
    version = 4 if raw or kind or min(mtu, back) < 1280 else random.choice([4, 6])
    way: dict[str, Any] = {"rate": random.choice(["10 Mbit/s", "1 Gbit/s", None]), "mtu": f"{mtu} B"}
    way = {key: value for key, value in way.items() if value}
    if "rate" in way:
        way |= random.choice([{}, {"shaper": "nic"}, {"queue": "fq_codel"}, {"queue": {"kind": "pfifo", "limit": 200}}])
    host: dict[str, Any] = random.choice([{}, {"gso_max_segs": 1}, {"gso_max_segs": 5}])
    receiver: dict[str, Any] = random.choice([{}, {"offloads": {"gro": True}, "coalescing": "20 us"}])
    topology: dict[str, Any] = {"about": "drawn", "hosts": {"a": host, "b": receiver}}
    ends = {"direct": [["a", "b"]], "switch": [["a", "m"], ["m", "b"]], "router": [["a", "m"], ["m", "b"]]}[middle]
    if middle != "direct":
        topology[f"{middle}s" if middle == "router" else "switches"] = ["m"]
    topology["links"] = {
        f"l{number}": {"ends": pair, "forward": way, "back": {"mtu": f"{back} B"}} for number, pair in enumerate(ends)
    }
    return {
        "network": to_plain(parse(json.dumps(topology), folder / "drawn.yaml").network),
        "protocol": protocol,
        "tunnel": kind,
        "tunnel_mtu": random.choice([None, None, mtu, 9000]) if kind not in (None, "bond", "macvlan") else None,
        "ip": version,
        "mtu": mtu,
        "back": back,
        "segment": random.choice([100, 536, 1200, 1400, 1472, 8000, 65_000]),
        "bytes": random.randrange(2_000, 200_000),
        "middle": middle,
    }


def crossings(kernel: UmlKernel, folder: Path, draws: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (folder / "draws.json").write_text(json.dumps(draws))
    shutil.copy(Path(__file__).parent / "crossing.py", folder)  # a guest sees the lab, and its own folder
    done = boot(kernel, folder, [sys.executable, "crossing.py"], budget=Budget(wall=1500))
    assert done.status == 0, done.console.read_text()[-3000:]
    found: list[dict[str, Any]] = json.loads((folder / "found.json").read_text())
    return found


@pytest.mark.parametrize(("count", "filled"), [(250, 0.01), pytest.param(1000, 0.02, marks=pytest.mark.nightly)])
def test_no_frame_is_above_the_mtu_of_any_wire(kernel: UmlKernel, tmp_path: Path, count: int, filled: float) -> None:
    """Each wire reports what our own look finds. Draws fill their frames, since one that sends nothing would pass."""
    chance = random.Random(SEED)
    draws = [drawn(chance, tmp_path) for _ in range(count)]
    found = crossings(kernel, tmp_path, draws)
    tried = [(draw, each) for draw, each in zip(draws, found, strict=True) if not each["skipped"]]
    for draw, each in tried:
        shown = {key: value for key, value in draw.items() if key != "network"}
        assert bool(each["over"]) == bool(each["reasons"]), shown
        # Of two MTUs both devices have the larger one, and so has a VLAN on them that is given none. A new bond has an
        # MTU of 1500 bytes, and gives it to its ports (bond_enslave()).
        larger = max(draw["back"], 1500 if draw["tunnel"] == "bond" else 0)
        assert not each["over"] or (draw["tunnel"] in ON_THE_LINK and draw["tunnel_mtu"] != draw["mtu"] < larger), shown
    many = Counter(draw["protocol"] for draw, each in tried if each["largest"] > 0.6 * draw["mtu"])
    assert all(many[protocol] > filled * count for protocol in PROTOCOLS if protocol != "sctp"), many
