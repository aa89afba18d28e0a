"""`lab mn` is Mininet's own command in a guest: tests have a record, and a person gets a prompt."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import lab
from lab.errors import InputError
from lab.ext.mininet.mn import command_of, is_attended
from lab.ext.mininet.options import MnOptions
from lab.ext.mininet.recorded import described
from lab.ext.verify.verification import verify
from lab.machine.kernel import Budget
from tests.kinds import Type
from tests.terminal import Terminal

PAIR = """from mininet.topo import Topo


class Pair(Topo):
    def build(self, hosts):
        for number in range(int(hosts)):
            self.addLink(self.addHost(f"h{number}"), self.addSwitch("s1") if not number else "s1")


topos = {"pair": Pair}
"""


def test_options_become_those_of_mininet(tmp_path: Path) -> None:
    (tmp_path / "pair.py").write_text(PAIR)
    (tmp_path / "first.mn").write_text("nodes\n")
    custom, pre = str(tmp_path / "pair.py"), str(tmp_path / "first.mn")
    options = MnOptions(topo="pair,3", mac=True, link="tc,bw=10", custom=custom, pre=pre)
    packed, arguments = command_of(options, "h1 ls\nh2 ls")
    assert packed.files == ("commands.mn", "first.mn", "pair.py")
    assert packed.start == ("mn",)
    pairs = dict(pairwise(arguments))
    assert {name: pairs[name] for name in ("--topo", "--custom", "--pre", "--post", "--test", "--link")} == {
        "--topo": "pair,3",
        "--custom": "pair.py",
        "--pre": "first.mn",
        "--post": "commands.mn",
        "--test": "build",
        "--link": "tc,bw=10",
    }
    assert "--mac" in arguments


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(f"# {folder}\n")
    with pytest.raises(InputError, match=r"another file has the name net\.py"):
        command_of(MnOptions(custom=f"{tmp_path}/a/net.py,{tmp_path}/b/net.py"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (MnOptions(xterms=True), "-x: a guest has no windows"),
        (MnOptions(cluster="one,two"), "--cluster: a guest cannot reach other machines"),
        (MnOptions(host="cfs,cpu=0.1"), "--host cfs,cpu=0.1: CPU limits have no effect in virtual time"),
        (MnOptions(controller="nox"), "--controller nox: the userland has no such controller"),
        (MnOptions(switch="ivs"), "--switch ivs: the userland has no Indigo switch"),
        (MnOptions(custom="nowhere.py"), "nowhere.py: no such file"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_do(options: MnOptions, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        command_of(options)


def test_the_tests_of_mininet_and_of_own_files_are_known(tmp_path: Path) -> None:
    known = "pingall+pingPair+PINGALL+iperf,l4Type=UDP+pingAllFull+build+none"
    assert known in command_of(MnOptions(test=known))[1]
    (tmp_path / "own.py").write_text("tests = {'mine': print}\n")
    assert "mine" in command_of(MnOptions(test="mine", custom=str(tmp_path / "own.py")))[1]


def test_tests_run_in_virtual_time_and_a_prompt_in_real_time() -> None:
    assert is_attended(MnOptions(), None, None)
    assert not is_attended(MnOptions(test="pingall"), None, None)
    assert not is_attended(MnOptions(), "h1 ls", None)
    assert is_attended(MnOptions(test="pingall"), None, "real")
    with pytest.raises(InputError, match="too fast for a person"):
        is_attended(MnOptions(), None, "virtual")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--topo", "single,2"], "standard input is not a terminal"),
        (
            ["two-hosts", "--topo", "single,2"],
            "--topo does not go with a topology of the lab; leave out 'two-hosts', or the option",
        ),
        (["--topo", "single,2", "--with", "."], "--userland and --with are for a TOPOLOGY"),
        (["--tpo", "single,2"], "no such option: --tpo"),
        (["--topo", "singel,2", "--test", "pingall"], "--topo singel is unknown; did you mean 'single'?"),
        (["--link", "bw", "--test", "pingall"], "--link bw is unknown; use default, tc, tcu, ovs"),
        (["two-hosts", "-c", "sender ping -c 1 receiver\npingal"], "unknown command 'pingal'; did you mean 'pingall'?"),
        (["--topo", "tree,2", "--test", "pingal"], "--test pingal is unknown; did you mean 'pingall'?"),
        (["--test", "pingall+iperv", "--clock", "real"], "--test iperv is unknown; did you mean 'iperf'?"),
        (["--test", "x"], "--test x is unknown; use pingall, pingpair, iperf, all, build, none"),
        (
            ["--test", "iperfudp"],
            "--test iperfudp: Mininet lists this test, but does not have it; use iperf,l4Type=UDP",
        ),
        (["--topo", "single,2", "--exact"], "--exact: a run in real time has Mininet's own wires"),
        (["--test", "none", "--clock", "real", "--page", "p.html"], "--page: a run in real time has Mininet's own"),
        (["two-hosts", "--no-capture"], "--no-capture: a topology of the lab has the lab's wires"),
        (["--test", "none", "--page", "."], "--page .: this is a folder; name a file"),
        (["two-hosts", "--memory", "2GiB"], "--memory: a topology of the lab has the memory that it needs"),
        (["--test", "none", "--memory", "2"], "--memory: size '2' lacks a unit"),
        (["--test", "none", "--memory", "1TiB"], "--memory: size '1TiB' has the unknown unit 'TiB'"),
        (
            ["--test", "none", "--memory", "65GiB"],
            "--memory 65GiB: this is no size for a guest; use whole MiB, from 256 MiB to 64 GiB",
        ),
        (["--test", "none", "--memory", "300MB"], "--memory 300MB: this is no size for a guest; use whole MiB"),
    ],
)
def test_a_mistake_is_one_message(args: list[str], said: str, type_here: Type) -> None:
    done = type_here(shlex.join(["lab", "mn", *args]))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_a_custom_topology_is_tested_and_the_second_run_is_the_first(tmp_path: Path) -> None:
    (tmp_path / "pair.py").write_text(PAIR)
    given = {"topo": "pair,3", "custom": str(tmp_path / "pair.py"), "test": "pingall", "results": tmp_path / "store"}
    first, again = (lab.mn(**given, commands="h1 ls > seen.txt", out=tmp_path / "out") for _ in range(2))
    assert "0% dropped (6/6 received)" in first.plain()["output"]
    assert (first.status, first.is_new, again.is_new) == (0, True, False)
    assert "pair.py" in (tmp_path / "out" / "seen.txt").read_text()


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_an_own_test_that_raises_fails_the_run_although_mn_ends_with_0(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("tests = {'own': lambda net: 1 / 0}\n")
    found = lab.mn(test="own", custom=str(tmp_path / "own.py"), results=tmp_path / "store", out=tmp_path / "out")
    assert (found.status, found.exit_code) == (0, 1)
    assert found.sentence.startswith("mn with own.py: exit status 0 after an exception")


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_a_link_with_a_rate_carries_that_rate(tmp_path: Path) -> None:
    found = lab.mn(topo="single,2", link="tc,bw=10", test="iperf", results=tmp_path / "store", out=tmp_path)
    rates = re.search(r"Results: \['([\d.]+) Mbits/sec'", found.plain()["output"])
    assert rates
    assert 9 < float(rates[1]) < 10


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_with_exact_wires_the_rate_is_exact_and_the_record_is_like_a_scripts(tmp_path: Path) -> None:
    page, store = tmp_path / "page.html", tmp_path / "store"
    given = {"topo": "single,2", "link": "tc,bw=10", "test": "iperf", "seed": 2}
    found = lab.mn(**given, exact=True, page=page, results=store, out=tmp_path)
    rates = re.search(r"Results: \['([\d.]+) Mbits/sec'", found.plain()["output"])
    assert rates
    assert float(rates[1]) == pytest.approx(10 * 1448 / 1538, rel=0.02)
    again = "lab mn --exact --seed 2 --topo single,2 --link tc,bw=10 --test iperf"
    assert described(found.record).command == again
    assert again in page.read_text()
    assert "2 hosts, 1 switch, 1 controller and 2 links" in page.read_text()
    assert [each.outcome for each in verify(store, 1, Budget()).checked] == ["identical"]


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("command", ["mn", "script"])
def test_a_person_types_at_the_prompt(
    command: str,
    terminal: Callable[..., Terminal],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C ends the host's command. What the script writes is there afterwards."""
    monkeypatch.chdir(tmp_path_factory.mktemp("own"))
    Path("net.py").write_text(
        "from mininet.cli import CLI\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(SingleSwitchTopo(2))\nnet.start()\nCLI(net)\nopen('end.txt', 'w').write('ended')\nnet.stop()\n"
    )
    args = ("mn", "--topo", "single,2") if command == "mn" else ("mininet", "--clock", "real", "net.py")
    prompt = terminal(*args)
    prompt.until("mininet> ")
    prompt.type("h1 ping h2\n")
    prompt.until("icmp_seq=2")
    prompt.type("\x03")
    prompt.until("rtt ")
    prompt.until("mininet> ")
    prompt.type("exit\n")
    assert prompt.left() == (0, [])
    assert command == "mn" or Path("net/end.txt").read_text() == "ended"


def test_a_run_may_build_1024_hosts_at_one_instant() -> None:
    """This took 130 s of CPU (docs/measurements/mininet.md), in which a guest's clock stands still."""
    assert MnOptions().stall >= 2 * 130
