"""NAT and firewalls: addresses are rewritten, and mappings last exactly as long as they should, even for hours."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import pytest

from lab.guest.middlebox import Firewall, Masquerade, Middlebox
from lab.machine.kernel import UmlKernel, boot
from lab.spec import find
from lab.units import from_plain, to_plain

BOXES = [Masquerade(node="nat"), Firewall(node="nat", inside="eth0")]

# Plays what needs hours: a guest's clock jumps over them. Prints nothing; leaves found.json.
SCRIPT = """
import json, socket, time
from contextlib import ExitStack
from pathlib import Path
from lab.guest.fabric.fabric import Fabric
from lab import Firewall, Masquerade
from lab.guest.network import Network
from lab.guest.testbed import Testbed
from lab.units import from_plain

def made(fabric, node, kind):
    with fabric.namespace(node).entered():
        return socket.socket(socket.AF_INET, kind)

def comes(sock):
    sock.settimeout(2)
    try:
        return sock.recv(100).decode()
    except (TimeoutError, ConnectionError) as error:
        return type(error).__name__

found = {}
with Fabric(from_plain(json.load(open("network.json")), Network)) as fabric, ExitStack() as undo:
    found["differences"] = fabric.differences()
    network = fabric.network
    inside, outside = network.address("sender"), network.address("receiver")
    spaces = {node.name: fabric.namespace(node.name) for node in network.nodes}
    testbed = Testbed(spaces, {}, Path.cwd(), undo)
    with Masquerade(node="nat").installed(testbed), Firewall(node="nat", inside="eth0").installed(testbed):
        for name, wait in (("before", 119.9), ("after", 120.1)):
            server, client = made(fabric, "receiver", socket.SOCK_DGRAM), made(fabric, "sender", socket.SOCK_DGRAM)
            server.bind((outside, 0))
            client.connect(server.getsockname())
            client.send(b"hello")
            _, seen = server.recvfrom(100)
            found["seen"] = [seen[0], inside, [a for e in network.interfaces("nat") for a in e.addresses]]
            time.sleep(wait)
            server.sendto(b"late", seen)
            found["udp " + name] = comes(client)
        for name, keepalive in (("without", 0), ("with", 1)):
            server, client = made(fabric, "receiver", socket.SOCK_STREAM), made(fabric, "sender", socket.SOCK_STREAM)
            server.bind((outside, 0))
            server.listen()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, keepalive)
            client.connect(server.getsockname())
            peer, _ = server.accept()
            time.sleep(7500)  # more than the mapping lasts; a keepalive comes after 7200
            peer.send(b"late")
            found["tcp " + name] = comes(client)
        caller, target = made(fabric, "receiver", socket.SOCK_DGRAM), made(fabric, "sender", socket.SOCK_DGRAM)
        target.bind((inside, 5000))
        caller.sendto(b"uninvited", (inside, 5000))
        found["uninvited"] = comes(target)
    caller.sendto(b"uninvited", (inside, 5000))
    found["without a firewall"] = comes(target)
json.dump(found, open("found.json", "w"))
"""


@pytest.mark.parametrize("box", BOXES, ids=lambda box: type(box).__name__)
def test_it_comes_back_whole(box: Any) -> None:
    assert from_plain(to_plain(box), cast(Any, Middlebox)) == box


@pytest.fixture(scope="module")
def found(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("nat")
    (folder / "network.json").write_text(json.dumps(to_plain(find.topology("nat").network)))
    done = boot(kernel, folder, [sys.executable, "-c", SCRIPT])
    assert done.status == 0, done.console.read_text()[-3000:]
    assert done.wall_seconds < 600, "five hours of the guest's time"
    return {"folder": folder, **json.loads((folder / "found.json").read_text())}


@pytest.mark.guest
@pytest.mark.needs("nft")
def test_what_leaves_has_the_nats_address(found: Any) -> None:
    seen, inside, of_nat = found["seen"]
    assert found["differences"] == []
    assert seen != inside
    assert any(address.startswith(f"{seen}/") for address in of_nat)


@pytest.mark.guest
@pytest.mark.needs("nft")
def test_a_mapping_lasts_as_long_as_it_should(found: Any) -> None:
    """120 s for UDP (RFC 4787, REQ-5): an answer 0.1 s before its end comes, one 0.1 s after it does not."""
    assert (found["udp before"], found["udp after"]) == ("late", "TimeoutError")


@pytest.mark.guest
@pytest.mark.needs("nft")
def test_a_keepalive_after_two_hours_keeps_a_mapping(found: Any) -> None:
    """2 h 4 min for TCP (RFC 5382, REQ-5), which Linux's keepalive after two hours just renews."""
    assert (found["tcp with"], found["tcp without"]) == ("late", "TimeoutError")


@pytest.mark.guest
@pytest.mark.needs("nft")
def test_a_firewall_lets_in_what_was_asked_for_alone(found: Any) -> None:
    assert (found["uninvited"], found["without a firewall"]) == ("TimeoutError", "uninvited")
    said = json.loads((found["folder"] / "firewall.nat.json").read_text())["nftables"]
    rules = [each["rule"]["expr"] for each in said if "rule" in each]
    assert all(part["counter"]["packets"] > 0 for rule in rules for part in rule if "counter" in part)
