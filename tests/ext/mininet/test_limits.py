"""What a guest cannot have is named with its line before the script runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.mininet.limits import CPU, FAILURES, foreseen, has_module, instead_of
from lab.ext.mininet.packing import PackedScript

HAS = {"mininet", "numpy", "os"}


def lines(text: str, *others: str) -> list[str]:
    contents = {"net.py": text.encode(), **dict.fromkeys(others, b"")}
    packed = PackedScript("net.py", ("python3", "net.py"), contents)
    return list(foreseen(packed, Path("here"), HAS.__contains__))


def test_a_missing_module_is_named_unless_the_script_is_prepared() -> None:
    (said,) = lines("import os\nimport numpy.linalg\nfrom scipy import stats\nimport scipy\n")
    assert said.startswith("here/net.py:3: import scipy: the userland has no module scipy, and pip cannot be used")
    assert lines("try:\n    import scipy\nexcept ImportError:\n    scipy = None\n") == []
    assert lines("import own, mine\n", "own.py", "mine/__init__.py") == []
    assert len(lines("def later():\n    import scipy\n")) == 1


def test_a_cpu_limit_is_named_only_with_the_class_that_limits() -> None:
    limited = "net = Mininet(host=CPULimitedHost)\n"
    assert lines(limited) == []
    assert lines("h = net.addHost('h1', cpu=.5)\n") == []
    assert lines(limited + "h = net.addHost('h1', cpu=.5)\n") == [f"here/net.py:2: cpu=: {CPU}"]
    assert lines(limited + "h = net.addHost('h1', cpu=-1)\n") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("makeTerms([h1])", "makeTerms: a guest has no windows"),
        ("Mininet(xterms=True)", "xterms=: a guest has no windows"),
        ("import tkinter", "import tkinter: a guest has no windows"),
        ("os.system('sudo pip3 install ryu')", "pip3 install: a guest has no Internet"),
        ("h1.cmd(f'iperf3 -u -c {h2.IP()}')", "iperf3 -u: if the sender's link has a delay, iperf3 sends over UDP"),
        ("h1.popen(['iperf3', '-c', h2.IP(), '-u'])", "iperf3 -c ... -u: if the sender's link has a delay"),
        ("h1.cmd('xterm &')", "xterm: a guest has no windows"),
        ("open('/proc/net/tcp_probe')", "tcp_probe: Linux has had no tcp_probe since 4.16"),
        ("Mininet(controller=NOX)", "NOX: the userland has no such controller"),
        ("net = MininetCluster(servers=['a'])", "MininetCluster: a guest cannot reach other machines"),
    ],
)
def test_each_call_has_its_line_and_what_to_do(text: str, said: str) -> None:
    (line,) = lines(f"import os\n{text}\n")
    assert line.startswith(f"here/net.py:2: {said}")


def test_another_commands_option_is_not_iperf3s() -> None:
    assert lines("h1.cmd('iperf3 -c 10.0.0.2 -t 5 | grep -u')\n") == []


def test_only_the_script_and_its_modules_are_read() -> None:
    contents = {"net.py": b"import own\nopen('data.py')\n", "own.py": b"makeTerm(h)\n", "data.py": b"makeTerm(h)\n"}
    packed = PackedScript("net.py", ("python3", "net.py"), contents)
    (said,) = foreseen(packed, Path("here"), HAS.__contains__)
    assert said.startswith("here/own.py:1: makeTerm")
    assert lines('"""Needs apt-get install vlan."""\n') == []


@given(st.text() | st.binary().map(lambda raw: raw.decode(errors="replace")))
def test_any_text_is_read(text: str) -> None:
    assert all(line.startswith("here/net.py:") for line in lines(text))


def test_modules_of_a_userland_are_found(tmp_path: Path) -> None:
    for path in ("usr/lib/python3.13/json/__init__.py", "usr/lib/python3/dist-packages/six.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
    has = has_module(tmp_path)
    assert all(has(name) for name in ("json", "six", "sys", "distutils"))
    assert not has("scipy")


def test_the_reason_stands_after_a_failure_only() -> None:
    assert instead_of("_tkinter.TclError\n", 1) == FAILURES[1][1]
    assert instead_of("_tkinter.TclError\n", 0) == ""
    assert instead_of("mininet> ", 0).startswith("Mininet's prompt gets no input here")
