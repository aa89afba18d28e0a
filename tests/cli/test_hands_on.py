"""`lab shell` and `lab mn`: a person at a terminal, a script, and whoever pulls the plug."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.terminal import LAB, SECONDS, Terminal

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("kernel")]


def lab(*args: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LAB, *args], stdin=stdin, capture_output=True, text=True, timeout=SECONDS)


def test_a_person_types_in_a_host(terminal: Callable[..., Terminal]) -> None:
    shell = terminal("shell", "delay-10ms", "receiver")
    assert "root of receiver" in shell.until("receiver:~# ")
    assert shell.changed(), "every key goes to the guest"
    shell.type("ping -c 1 sender\n")
    assert "0% packet loss" in shell.until("rtt ")
    shell.until("receiver:~# ")
    shell.type("ping sender\n")
    shell.until("icmp_seq=2")
    shell.type("\x03")
    shell.until("rtt ")
    shell.until("receiver:~# ")
    shell.type("exit 7\n")
    assert shell.left() == (7, [])


def test_ctrl_d_ends_it(terminal: Callable[..., Terminal]) -> None:
    shell = terminal("shell", "two-hosts")
    shell.until("sender:~# ")
    shell.type("\x04")
    assert shell.left() == (0, [])


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


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_session_that_is_killed_leaves_nothing(terminal: Callable[..., Terminal], number: signal.Signals) -> None:
    shell = terminal("shell", "two-hosts")
    shell.until("sender:~# ")
    shell.program.send_signal(number)
    assert shell.left() == (-number, [])


def test_a_command_runs_as_in_a_script() -> None:
    done = lab("shell", "shared-bottleneck", "rival", "-c", "ping -4 -c 2 receiver; echo bad >&2; exit 3")
    assert done.returncode == 3
    assert done.stderr == "bad\n"
    assert "2 received" in done.stdout


def test_in_virtual_time_a_command_says_the_same_every_time() -> None:
    runs = [lab("shell", "lossy", "-c", "ping -4 -c 100 receiver", "--clock", "virtual").stdout for _ in range(2)]
    assert runs[0] == runs[1]
    assert "100 packets transmitted" in runs[0]


def test_mininets_commands_act_on_our_network() -> None:
    done = lab("mn", "shared-bottleneck", "-c", "pingall\nnet\nrival ping -c 1 receiver", "--clock", "virtual")
    assert done.returncode == 0, done.stderr
    assert "0% dropped (12/12 received)" in done.stdout
    assert "router eth0:eth0 eth1:eth0 eth2:eth0" in done.stdout
    assert "time=20." in done.stdout, "10 ms each way, and the wires' own time"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["shell", "two-hosts"], "standard input is no terminal"),
        (["shell", "two-hosts", "sendr", "-c", "true"], "no host 'sendr', did you mean 'sender'?"),
        (["shell", "two-host"], "did you mean 'two-hosts'?"),
        (["shell", "two-hosts", "--clock", "virtual"], "nobody types that fast"),
        (["mn", "two-hosts", "--clock", "lunar", "-c", "nodes"], "it is virtual or real"),
    ],
)
def test_a_mistake_is_one_message(args: list[str], said: str) -> None:
    done = lab(*args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
