"""An imported script in a guest: its bond and its tunnel carry what they should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.ext.importing.importing import ImportOptions, read
from tests.kinds import Type

SCRIPT = """\
for s in a b; do ip netns add $s; done
for w in 1 2; do
  ip link add w$w netns a type veth peer name w$w netns b
  for s in a b; do tc -n $s qdisc add dev w$w root netem rate 100mbit delay 1ms; done
done
n=1
for s in a b; do
  ip -n $s link add pair type bond mode balance-rr
  for w in 1 2; do ip -n $s link set w$w master pair; done
  ip -n $s addr add 10.1.0.$n/24 dev pair
  ip -n $s link add site type gre local 10.1.0.$n remote 10.1.0.$((3 - n))
  ip -n $s addr add 10.8.0.$n/30 dev site
  n=2
done
"""
RUN = (
    "ping -q -c 1 -M do -s 1448 b.site; ping -q -c 1 -M do -s 1449 b.site;"
    "ip netns exec b iperf3 -s -1 -D; sleep 0.1; iperf3 -c b.pair -t 1 -J"
)


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_a_bond_and_a_tunnel(type_in: Type, tmp_path: Path) -> None:
    """GRE leaves 1476 of 1500 B. Two wires carry twice 100 Mbit/s x 1448/1538 = 188.3 Mbit/s."""
    file = tmp_path / "net.sh"
    file.write_text(SCRIPT)
    found = read([file], tmp_path / "net.yaml", ImportOptions())
    assert found.untaken == ()
    found.write(tmp_path / "net.yaml")
    done = type_in(f"lab shell net.yaml a -c '{RUN}' --clock virtual")
    fits, too_long = done.stdout.split("ping statistics")[1:]
    assert "1 received" in fits
    assert "0 received, +1 errors" in too_long
    answer = json.loads(done.stdout[done.stdout.index("{") :])
    assert answer["end"]["sum_received"]["bits_per_second"] / 1e6 == pytest.approx(2 * 100 * 1448 / 1538, rel=0.02)
