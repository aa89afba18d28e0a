"""`lab shell`: a person at a terminal, a script, and a person who pulls the plug."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kinds import Type
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


def test_own_files_can_be_read_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "hello.sh").write_text("echo hello from $HOSTNAME\n")
    (folder / "out").symlink_to("../secret")
    (tmp_path / "secret").write_text("secret\n")
    other = f'from lab.guest.init import mount; mount("lab", "/tmp/m", "hostfs", 0, "{tmp_path}")'
    commands = "bash scripts/hello.sh; touch scripts/new; cat scripts/out; mkdir m"
    commands = f"{commands}; python3 -c '{other}'; cat m/secret"
    done = lab("shell", "two-hosts", "--with", str(folder), "-c", commands)
    assert done.stdout == "hello from lab\n"
    assert "touch: cannot touch 'scripts/new': Read-only file system" in done.stderr
    assert "cat: scripts/out: No such file or directory" in done.stderr
    assert "cat: m/secret:" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["hello.sh", "out"]


def test_tcpdump_runs_as_it_is() -> None:
    done = lab("shell", "two-hosts", "-c", "tcpdump -ni eth0 -c 2 icmp & sleep 1; ping -c 1 receiver; wait $!")
    assert done.returncode == 0, done.stderr
    assert "ICMP echo reply" in done.stdout


def test_a_name_is_its_ipv4_address_first() -> None:
    done = lab("shell", "two-hosts", "-c", "ping -c 1 receiver; ping -6 -c 1 receiver", "--clock", "virtual")
    assert re.findall(r"PING receiver \(([\w.:]+)\)", done.stdout) == ["10.0.1.2", "fd00:1::2"]


def test_the_wires_show_their_queues() -> None:
    done = lab("shell", "shared-bottleneck", "-c", "ip netns exec wires tc -s qdisc | grep -c netem")
    assert int(done.stdout) >= 6, "two directions of three links"


def test_applications_are_in_the_userland_of_programs() -> None:
    assert lab("shell", "two-hosts", "-c", "curl --version", "--userland", "programs").stdout.startswith("curl ")


@pytest.mark.parametrize(
    ("clock", "command", "said"),
    [
        ("virtual", "mkfifo /tmp/f; cat /tmp/f", "did not end within 10 s\n"),
        ("real", "while :; do :; done", "did not end within 10 s: bash is busy\n"),
        ("virtual", "while sleep 1; do awk BEGIN{}; done", "did not end within 10 s: bash is busy\n"),
    ],
)
def test_a_command_that_never_ends_is_ended(clock: str, command: str, said: str) -> None:
    done = lab("shell", "two-hosts", "-c", command, "--clock", clock, "--budget", "10")
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["shell", "two-hosts", "-c", "true", "--with", "nowhere"], "--with nowhere: no such file"),
        (
            ["shell", "two-hosts", "-c", "true", "--with", __file__],
            "this is a file; name the folder that it is in",
        ),
        (["shell", "two-hosts", "-c", "true", "--userland", "mine"], "use sealed, programs or host"),
        (["shell", "two-hosts"], "standard input is not a terminal"),
        (["shell", "two-hosts", "sendr", "-c", "true"], "no host 'sendr'; did you mean 'sender'?"),
        (["shell", "two-host"], "did you mean 'two-hosts'?"),
        (["shell", "two-hosts", "--clock", "virtual"], "too fast for a person"),
        (["shell", "two-hosts", "--clock", "lunar", "-c", "true"], "--clock lunar is unknown; use virtual or real"),
    ],
)
def test_a_mistake_is_one_message(type_here: Type, args: list[str], said: str) -> None:
    done = type_here(shlex.join(("lab", *args)))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
