"""A typo in a sysctl's name is a mistake with its line, and the list of names is the default kernel's."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from lab.guest.fabric import build
from lab.guest.network import Sysctl
from lab.runner import guest
from lab.spec import find, sysctls, topology
from lab.spec.baseline import HOST, IPV4_ONLY, ROUTER
from lab.spec.errors import SpecError

ROOT = Path(__file__).parents[2]
LINK = "links: {wire: {ends: [a, b]}}"
EXPERIMENT = '''"""It does."""

from lab import Arm, Bulk, Duration, Experiment, Reported, Variant, Within, metric

EXPERIMENT = Experiment(
    topology="two-hosts",
    workload=Bulk(duration=Duration.of("1 s")),
    metric=metric.bulk_goodput(),
    arms=(
        Arm("plain", Reported("1 Mbit/s", "1 Mbit/s")),
        Arm(
            "one",
            Reported("1 Mbit/s", "1 Mbit/s"),
            VARIED
            hosts={"sender": {"sysctls": {"NAME": 1}}},
        ),
    ),
    tolerance=Within(0.5, because="so"),
)
'''


def _messages(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        topology.parse(text, Path("x.yaml"))
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("hosts: [a, b]\nsysctls:\n  NAME: 1", 4),
        ("hosts:\n  a:\n    sysctls:\n      NAME: 1\n  b:", 5),
        ("hosts: [a, b]\nrouters:\n  c:\n    sysctls: {NAME: 1}", 5),
    ],
)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("net.ipv4.tcp_smack", "unknown sysctl 'net.ipv4.tcp_smack'; did you mean 'net.ipv4.tcp_sack'?"),
        ("net/ipv4/tcp_sack", None),
        ("net.ipv4/tcp_sack", "unknown sysctl 'net.ipv4/tcp_sack'; did you mean 'net.ipv4.tcp_sack'?"),
        (
            "net.ipv6.conf.eth0.acept_dad",
            "unknown sysctl 'net.ipv6.conf.eth0.acept_dad'; did you mean 'net.ipv6.conf.eth0.accept_dad'?",
        ),
        (
            "net.ipv6.conf.etho.accept_dad",
            "sysctl 'net.ipv6.conf.etho.accept_dad': unknown interface 'etho'; did you mean 'eth",
        ),
        ("net.q", "unknown sysctl 'net.q'; `lab shell two-hosts -c 'find /proc/sys/net'` lists them"),
    ],
)
def test_a_topologys_unknown_sysctl_is_a_mistake_at_its_line(
    where: str, line: int, name: str, message: str | None
) -> None:
    ends = LINK if "routers" not in where else "links: {wire: {ends: [a, c]}, more: {ends: [c, b]}}"
    (found,) = _messages(f"about: a\n{where.replace('NAME', name)}\n{ends}\n")
    assert found.startswith(f"{line}: ")
    assert (message or "whose name starts with 'net.'") in found


def test_an_experiments_unknown_sysctl_is_one_mistake_at_the_line_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "experiments" / "mine" / "one.py"
    file.parent.mkdir(parents=True)
    file.write_text(EXPERIMENT.replace("VARIED", "").replace("NAME", "net.ipv4.tcp_smack"))
    (problem,) = find.check([file])
    assert problem.line == 15
    assert problem.message == "unknown sysctl 'net.ipv4.tcp_smack'; did you mean 'net.ipv4.tcp_sack'?"


@pytest.mark.parametrize(
    "varied", ['kernel=Variant(config=("more.config",)),', 'kernel=Variant(patches=("more.patch",)),']
)
def test_a_kernel_of_the_experiments_own_may_have_sysctls_of_its_own(tmp_path: Path, varied: str) -> None:
    file = tmp_path / "experiments" / "mine" / "one.py"
    file.parent.mkdir(parents=True)
    for name in ("more.config", "more.patch"):
        (file.parent / name).write_text("")
    file.write_text(EXPERIMENT.replace("VARIED", varied).replace("NAME", "net.ipv4.tcp_smack"))
    assert find.check([file]) == []


CONTROL = "sysctls: {net.ipv4.tcp_congestion_control: NAME}"


@pytest.mark.parametrize("where", [CONTROL, "hosts: {a: {CONTROL}, b: {}}", "routers: {c: {CONTROL}}"])
def test_a_topologys_unknown_congestion_control_is_a_mistake(tmp_path: Path, where: str) -> None:
    file = tmp_path / "x.yaml"
    hosts = "" if "hosts" in where else "hosts: [a, b]\n"
    ends = LINK if "routers" not in where else "links: {wire: {ends: [a, c]}, more: {ends: [c, b]}}"
    text = f"about: a\n{hosts}{where.replace('{CONTROL}', f'{{{CONTROL}}}')}\n{ends}\n"
    file.write_text(text.replace("NAME", "cubik"))
    (found,) = find.check([file])
    assert found.line == 2 + bool(hosts)
    assert found.message.endswith(
        "sysctls.net.ipv4.tcp_congestion_control: unknown congestion control 'cubik'; did you mean 'cubic'?"
    )
    file.write_text(text.replace("NAME", "cubic"))
    assert find.check([file]) == []


def test_a_topology_may_have_the_congestion_control_of_a_claims_own_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    net, claim = tmp_path / "topologies" / "net.yaml", tmp_path / "experiments" / "mine" / "one.py"
    for folder in (net.parent, claim.parent):
        folder.mkdir(parents=True)
    net.write_text(
        f"about: a\nhosts: [sender, receiver]\n{CONTROL.replace('NAME', 'mine')}\n{LINK}\n".replace(
            "a, b", "sender, receiver"
        )
    )
    assert [each.line for each in find.check([net])] == [3]
    (claim.parent / "mine.patch").write_text("")
    text = EXPERIMENT.replace("two-hosts", "net").replace("VARIED", "").replace("NAME", "net.ipv4.tcp_sack")
    claim.write_text(text.replace("    topology", '    kernel=Variant(patches=("mine.patch",)),\n    topology', 1))
    assert find.check([net]) == []


def test_the_lab_sets_only_sysctls_that_it_knows() -> None:
    assert not list(sysctls.mistakes([*HOST, *ROUTER, *IPV4_ONLY], ()))


def test_a_run_on_a_kernel_without_the_sysctl_names_the_kernel() -> None:
    said = guest._of_kernel("sysctl net.ipv4.tcp_pingpong_thresh = 1: No such file or directory", "6.1")
    assert said == "kernel 6.1 has no sysctl net.ipv4.tcp_pingpong_thresh; leave it out, or run on another kernel"
    refused = "sysctl net.ipv4.tcp_ecn = 99: Invalid argument"
    assert guest._of_kernel(refused, "6.1") == refused


@pytest.mark.guest
def test_a_guest_of_the_default_kernel_has_exactly_the_listed_sysctls() -> None:
    lab = Path(sys.executable).with_name("lab")
    listed = subprocess.run(
        [ROOT / "tools" / "sysctls"], env={**os.environ, "LAB": str(lab)}, capture_output=True, text=True, check=True
    )
    assert listed.stdout == sysctls.LIST.read_text()


def test_a_vlan_has_sysctls(tmp_path: Path) -> None:
    """As in sysctl(8), a slash stands for the dot in an interface's name."""
    text = """about: x
hosts: {a: {sysctls: {net.ipv4.conf.eth0/10.rp_filter: 2}}, b: }
links: {wire: {ends: [a, b]}, red: {ends: [a, b], vlan: 10, over: wire}}
"""
    node = topology.parse(text, tmp_path / "net.yaml").network.node("a")
    assert node.sysctls["net.ipv4.conf.eth0/10.rp_filter"] == "2"
    assert build._interface_of("net.ipv4.conf.eth0/10.rp_filter") == "eth0.10"
    assert str(build.sysctl("net.ipv4.conf.eth0/10.rp_filter")) == "/proc/sys/net/ipv4/conf/eth0.10/rp_filter"
    (message,) = _messages(text.replace("eth0/10", "eth0/11"))
    assert "did you mean 'eth0/10'?" in message
    with pytest.raises(msgspec.ValidationError):  # no name leads out of /proc/sys/net
        msgspec.json.decode(b'"net.//.//.kernel.x"', type=Sysctl)
