"""The page of a trial: what went in, what came out, and a capture that other programs open."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.guest.network import Network
from lab.metric import Capture
from lab.metric.pcap import GLOBAL, beginning
from lab.record.record import Record
from lab.record.store import Store
from lab.report import trials
from lab.report.commands import commands
from lab.units import from_plain, to_plain
from tests.packed import pack
from tests.report.conftest import DATA, declare, kept, write_trials

Keep = Callable[..., list[Record]]
CAPTURES = ("transfer.pcap", "hole.pcap", "lossy.pcap", "small_writes.pcap")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The first trial of a claim, which no test changes."""
    place = tmp_path_factory.mktemp("kept")
    declare(place)
    return kept(place, "header", "", {})[0]


@pytest.fixture(scope="module")
def written(first: Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of that trial's page, written once: the tests only read it."""
    report = tmp_path_factory.mktemp("report")
    write_trials([first], report)
    return report / "trials" / first.address


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_trials_folder_can_be_published(written: Path) -> None:
    page = (written / "index.html").read_text()
    for text in ("toy/header: on", "1, repeat 0", "virtual time", "SHA-256", "7.2.13-1"):
        assert text in page
    assert 'href="../../toy.html#header"' in page
    assert 'href="capture.sender.eth0.pcap.gz"' in page
    assert "Time-sequence graph" in page
    assert 'href="early/program.out"' in page, "the output of one of several flows"
    names = ("trial.json", "record.json", "qdiscs.before.json", "capture.receiver.eth0.pcap.gz", "early/program.out")
    for name in names:
        assert (written / name).is_file()


def test_a_trial_runs_again_alone_and_its_clock_is_explained(written: Path) -> None:
    page = (written / "index.html").read_text()
    alone = f"<code>lab verify --only {written.name[:12]}</code>"
    assert page.index(alone) < page.index("<code>lab run toy/header"), "the whole claim takes longer"
    assert "every guest in virtual time starts at the same date" in page


def test_the_packets_are_on_the_first_screen_with_the_probes_own_snap_length(written: Path) -> None:
    page = (written / "index.html").read_text()
    top = page[: page.index('<h2 id="time"')]
    assert "capture.sender.eth0.pcap.gz" in top
    assert re.search(r"Packets for Wireshark</a> \(\d+ of \d+ packets, at most 96 B of each;", top)
    assert re.search(r'<a href="#environment">the guest\'s date</a>, \d{4}-\d\d-\d\d', top)
    assert '<a href="#cite">Cite</a>' in top
    receiver = page[page.index('id="capture.receiver.eth0.pcap"') :]
    assert "at most 128 B of each" in receiver, "of a capture that no probe of the trial made, the copy cuts packets"


def test_a_trial_without_a_capture_says_so_at_the_top(keep: Keep, tmp_path: Path) -> None:
    (record,) = keep("rate")
    write_trials([record], tmp_path / "report")
    page = (tmp_path / "report" / "trials" / record.address / "index.html").read_text()
    assert "No packets were captured." in page[: page.index('<h2 id="time"')]


def test_a_trials_page_has_its_entry_folded(written: Path) -> None:
    page = (written / "index.html").read_text()
    folded = page[page.index("<summary>How to cite this trial</summary>") :]
    assert f"@misc{{replab-trial-{written.name[:12]}," in folded
    assert f"trials/{written.name}/index.html" in folded


def test_traffic_is_told_without_what_is_in_its_files() -> None:
    program = {"kind": "program", "argv": ["sh", "a.sh"], "contents": {"a.sh": "eNp1"}, "ready": {"kind": "listens"}}
    flows = {"flows": [{"name": "one", "workload": program}, {"name": "two", "workload": None}], "kind": "flows"}
    told = "flows, flows (name one, workload (program, argv sh a.sh, ready (listens))) (name two)"
    assert trials._said(flows) == told


def test_a_shared_run_is_told(keep: Keep, tmp_path: Path) -> None:
    first = keep("header")[0]
    other = Store(tmp_path / "results").share(first, msgspec.structs.replace(first.trial, arm="another"))
    write_trials([first, other], tmp_path / "report")
    told = f"one run for this trial and <code>{first.address}</code>"
    pages = [(tmp_path / "report" / "trials" / each.address / "index.html").read_text() for each in (first, other)]
    assert [told in page for page in pages] == [False, True]


def test_the_same_trial_makes_the_same_bytes(first: Record, written: Path, tmp_path: Path) -> None:
    write_trials([Record(first.folder)], tmp_path / "again")
    again = tmp_path / "again" / "trials" / written.name
    assert contents(again) == contents(written)


def test_the_copied_capture_has_the_same_packets(written: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.pcap").write_bytes(gzip.decompress((written / "capture.sender.eth0.pcap.gz").read_bytes()))
    cut, whole = Capture(tmp_path / "cut.pcap"), Capture(DATA / "transfer.pcap")
    count = min(len(whole), trials._PACKETS)
    assert len(cut) == count
    for column in ("time_ns", "seq", "ack", "payload", "window"):
        assert (getattr(cut, column) == getattr(whole, column)[:count]).all()


@given(st.sampled_from(CAPTURES), st.integers(0, 400), st.integers(14, 200))
def test_the_beginning_of_a_capture_is_a_capture(name: str, packets: int, length: int) -> None:
    data = (DATA / name).read_bytes()
    cut = beginning(data, packets, length)
    assert cut[:GLOBAL] == data[:GLOBAL]
    assert beginning(cut, packets, length) == cut
    assert beginning(data, 10**6, 10**6) == data
    assert len(cut) <= GLOBAL + packets * (16 + length)


def test_a_network_as_commands(keep: Keep) -> None:
    (record,) = keep("rate")
    network = to_plain(record.trial.network)
    said = commands(network, record.json("qdiscs.before.json"))
    assert "tc -n path qdisc add dev w0b root netem delay 100ms rate 1gbit 24 limit 5\n" in said
    assert "filter add dev w0a ingress matchall action mirred egress redirect dev w0b" in said
    assert "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'" in said
    for node in network["nodes"]:
        assert f"ip netns add {node['name']}" in said


def test_chance_has_its_seed_and_a_card_its_burst(keep: Keep) -> None:
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    wires[0]["options"]["loss"] = 0.01
    card = {"rate": "20 Mbit/s", "limit": "15140 B", "overhead": "24 B"}
    wires.append({"node": "sender", "interface": "eth0", "direction": "forward", "kind": "tbf", "options": card})
    said = commands(network, wires)
    assert "netem delay 100ms loss 1% rate 1gbit 24 limit 5 seed 42\n" in said
    assert "qdisc add dev eth0 root tbf rate 20mbit burst 3076 limit 15140 overhead 24\n" in said


def test_a_queue_stands_before_its_wire(keep: Keep) -> None:
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    parameters = [["ce_threshold", "246 us"], ["ecn", True], ["limit", 10000]]
    network["links"][0]["forward"] |= {"rate": "10 Mbit/s", "queue": {"kind": "codel", "parameters": parameters}}
    wires.append({"node": "path", "interface": "q0b", "direction": "forward", "kind": "codel", "options": {}})
    said = commands(network, wires)
    assert "filter add dev w0a ingress matchall action mirred egress redirect dev q0b\n" in said
    assert "filter add dev p0b ingress matchall action mirred egress redirect dev w0b\n" in said
    assert "filter add dev w0b ingress matchall action mirred egress redirect dev w0a\n" in said, (
        "the way back has none"
    )
    assert "class add dev q0b parent 1: classid 1:1 htb rate 10mbit overhead 24 burst 1 cburst 1\n" in said
    assert "qdisc add dev q0b parent 1:1 codel ce_threshold 246us ecn limit 10000\n" in said
    network["links"][0]["forward"] |= {"queue": {"kind": "bfifo", "parameters": [["limit", "62500 B"]]}}
    assert "qdisc add dev q0b parent 1:1 bfifo limit 62500\n" in commands(network, wires)


def test_a_token_bucket_is_shown_as_tc_commands(keep: Keep) -> None:
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    wires.append({"node": "path", "interface": "q0b", "direction": "forward", "kind": "tbf", "options": {}})
    parameters = [["burst", "4000 B"], ["latency", "400 ms"]]
    network["links"][0]["forward"] |= {"rate": "1 Mbit/s", "queue": {"kind": "tbf", "parameters": parameters}}
    told = "qdisc add dev q0b root tbf rate 1mbit overhead 24 burst 4000 latency 400ms\n"
    assert told in commands(network, wires)
    parameters = [["burst", "9000 B"], ["rate", "2 Mbit/s"]]
    network["links"][0]["forward"]["queue"] = {"kind": "htb", "parameters": parameters}
    said = commands(network, wires)
    assert "class add dev q0b parent 1: classid 1:1 htb burst 9000 rate 2mbit\n" in said
    assert "qdisc add dev q0b parent 1:1 pfifo limit 1000\n" in said


def test_every_setting_of_a_wire_is_a_command_or_a_comment(keep: Keep) -> None:
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    wires[0]["options"] |= {
        "jitter": "3 s",
        "jitter_correlation": 0.25,
        "burst_loss": [0.01, 0.2, 1.0, 0.0],
        "corrupt": 0.001,
        "slot": ["1 ms", "50 ms", 4, 0],
    }
    changes = [{"at": "5 s", "rate": "2 Mbit/s", "loss": 0.1}, {"at": "0 ns", "every": "15 s", "down": "1 s"}]
    trace = {"file": "radio\ntouch hacked", "counts": "1", "opportunity": "1500 B"}
    network["links"][0]["forward"] |= {"changes": changes, "trace": trace, "mtu": "1400 B"}
    network["links"][0]["ends"][1] |= {"gro_flush_timeout": "20 us", "napi_defer_hard_irqs": 1}
    said = commands(network, wires)
    chance = "delay 100ms 3s 25% loss gemodel 1% 20% 100% 0% corrupt 0.1% slot 1ms 50ms packets 4"
    assert f"netem {chance} rate 1gbit 24 limit 5 seed 42\n" in said
    assert "# a change, which tc does not make by itself: at 5 s, rate 2 Mbit/s, loss 10%\n" in said
    assert "# a change, which tc does not make by itself: at 0 ns, every 15 s, down 1 s\n" in said
    assert r"# the trace 'radio\ntouch hacked' decides when a frame leaves" in said
    assert "# a packet of more than 1400 B is lost\n" in said
    assert "exec receiver sh -c 'echo 20000 > /sys/class/net/eth0/gro_flush_timeout'\n" in said


def test_no_text_of_a_record_is_a_command(keep: Keep) -> None:
    """The reader pastes these commands into a shell, and the record may come from somebody else."""
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    wires.append({"node": "path", "interface": "q0b", "direction": "forward", "kind": "codel", "options": {}})
    wires[0]["options"]["jitter"] = "1 ms"
    bad = {"kind": "cake", "parameters": [["diffserv", "x; touch hacked"], ["rtt", "1 ms; touch hacked"]]}
    more = {"jitter": "1 ms", "distribution": {"name": "x; touch hacked", "table": "1 2"}, "queue": bad}
    for way in ("forward", "back"):
        network["links"][0][way] |= more
    lines = [line for line in commands(network, wires).splitlines() if "hacked" in line]
    assert lines
    for line in lines:
        assert line.startswith("#") or not any(word.startswith("touch") for word in shlex.split(line))
    with pytest.raises((LabError, msgspec.ValidationError)):
        from_plain(json.loads(json.dumps(network)), Network)


def test_a_vrf_keeps_its_addresses_and_ends_its_table(keep: Keep) -> None:
    (record,) = keep("rate")
    network = to_plain(record.trial.network)
    end = network["links"][0]["ends"][0]
    node = next(each for each in network["nodes"] if each["name"] == end["node"])
    node["vrfs"] = [{"name": "red", "table": 1001, "interfaces": [end["name"]]}]
    lines = commands(network, ()).splitlines()
    joins = lines.index(f"ip -n {node['name']} link set {end['name']} master red")
    six = next(text for text in end["addresses"] if ":" in text)
    assert lines[joins + 1] == f"ip -n {node['name']} address replace {six} dev {end['name']}"
    for version in ("", " -6"):
        assert (
            f"ip -n {node['name']}{version} route add unreachable default metric 4278198272 table 1001" in lines[:joins]
        )


def test_delays_by_destination_are_shown_as_tc_commands(keep: Keep) -> None:
    (record,) = keep("rate")
    network, wires = to_plain(record.trial.network), record.json("qdiscs.before.json")
    wire = next(each for each in wires if each["interface"] == "w0b")
    wire["options"] |= {"delays": [wire["options"]["delay"], "251 ms"]}
    network["links"][0]["forward"]["delays"] = [{"to": "10.0.3.0/24", "delay": "251 ms"}]
    said = commands(network, wires)
    assert "qdisc add dev w0b root handle 1: prio bands 2 priomap 0 0 0" in said
    assert "qdisc add dev w0b parent 1:2 netem delay 251ms rate 1gbit 24 limit 5\n" in said
    assert "filter add dev w0b parent 1: protocol ip prio 1 flower dst_ip 10.0.3.0/24 classid 1:2\n" in said


def test_a_packed_trial_has_the_same_page(first: Record, written: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results" / first.address[:2] / first.address
    shutil.copytree(first.folder, copy)
    pack(tmp_path / "results")
    write_trials([Record(copy)], tmp_path / "again")
    again = tmp_path / "again" / "trials" / written.name
    assert contents(again) == contents(written)
