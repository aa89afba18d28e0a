"""`lab mn TOPOLOGY`: Mininet's command line on a network with the lab's wires."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.terminal import Terminal, in_a_process

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("kernel")]


def test_a_person_types_at_mininets_prompt(terminal: Callable[..., Terminal]) -> None:
    prompt = terminal("mn", "two-hosts")
    prompt.until("mininet> ")
    prompt.type("sender ping receiver\n")
    prompt.until("icmp_seq=2")
    prompt.type("\x03")
    prompt.until("rtt ")
    prompt.until("mininet> ")
    prompt.type("\x04")
    assert prompt.left() == (0, [])


def test_mininets_commands_act_on_our_network() -> None:
    done = in_a_process("mn", "shared-bottleneck", "-c", "pingall\nnet\nrival ping -c 1 receiver", "--clock", "virtual")
    assert done.returncode == 0, done.stderr
    assert "0% dropped (12/12 received)" in done.stdout
    assert "router eth0:eth0 eth1:eth0 eth2:eth0" in done.stdout
    assert "time=20." in done.stdout, "10 ms each way, and the wires' own time"


def test_mininets_iperf_prints_the_rate_of_the_bottleneck() -> None:
    """Slow start from 10 segments over 20 ms leaves 502 frames of 100 Mbit/s unused, 62 ms; nothing else is lost."""
    goodput = 100 * 1448 / 1538  # Mbit/s
    commands = "iperf sender receiver\npy net.iperf((sender, receiver), seconds=15)"
    done = in_a_process("mn", "shared-bottleneck", "-c", commands, "--clock", "virtual")
    assert done.returncode == 0, done.stderr
    short, long = re.findall(r"Results: \['([\d.]+) Mbits/sec', '[\d.]+ Mbits/sec'\]", done.stdout)
    assert float(short) == pytest.approx(goodput * (1 - 0.062 / 5.08), rel=0.005)
    assert float(long) == pytest.approx(goodput * (1 - 0.062 / 15.08), rel=0.005)


def test_mininets_timeouts_end_in_time() -> None:
    """Mininet polls its shells for room to write as well, which there always is; ours are polled for output alone."""
    commands = "py sender.sendCmd('iperf -s')\npy sender.monitor()\npy [sender.monitor(timeoutms=500) for _ in 'ab']"
    done = in_a_process("mn", "two-hosts", "-c", commands, "--clock", "virtual")
    assert "['', '']" in done.stdout, done
