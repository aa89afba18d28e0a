"""A script's page shows the network that Mininet built, what the script printed and wrote, and its traffic."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab.ext import alone
from lab.ext.mininet import listing, page
from lab.ext.mininet.flows import flows
from lab.ext.mininet.networks import FOLDER, networks
from lab.ext.mininet.packing import pack
from lab.ext.mininet.running import ARCHIVE, COMMAND, FILES, PLACE, SAID, STATUS
from lab.ext.pagecheck import inspection
from lab.ext.pagecheck.browser import _PROGRAMS
from lab.machine.kernel import UmlKernel
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.units import to_plain
from tests.trials import trial

SCRIPT = Path(__file__).parents[2] / "data" / "mininet" / "transfer.py"
RATE, DELAY, QUEUE = 10e6, 0.005, 50  # of the slow link
FRAME_BITS, PAYLOAD = 8 * 1514, 1448
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=9), each, max_size=3),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def record(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The record of the script, with captures."""
    del kernel  # it has to be there
    folder = tmp_path_factory.mktemp("ran")
    found: Record = lab.mininet(
        SCRIPT, results=folder / "results", out=folder / "out", page=folder / "page.html"
    ).record
    return found


def is_network(contents: Any) -> bool:
    """Return whether this is a network without any moment, the only one that JSON above can be."""
    return isinstance(contents, dict) and contents.get("moments") == [] and contents.get("captures") == {}


def forged(folder: Path, outputs: dict[str, bytes], script: str = "print('<b>')\n") -> Record:
    """Return a record as a script leaves it, with these outputs."""
    (folder / "a script.py").write_text(script)
    contents = {
        ARCHIVE: pack(folder / "a script.py").archive,
        COMMAND: json.dumps(["python3", "a script.py", "--bw", "10"]).encode(),
    }
    workload = to_plain(alone.program(PLACE, ("true",), contents, 10))
    usual = {SAID: b"", STATUS: b'{"status": 0}'}
    with Store(folder / "store").stage(trial(claim="mininet/a-script", workload=workload)) as stage:
        for name, content in (usual | outputs).items():
            (stage.out / name).parent.mkdir(parents=True, exist_ok=True)
            (stage.out / name).write_bytes(content)
        return stage.commit({})


@pytest.mark.guest
def test_the_network_is_as_mininet_built_it(record: Record) -> None:
    (network,) = networks(record)
    plain = network.plain("pair")
    assert [node["name"] for node in plain["nodes"]] == ["h1", "h2", "s1"]
    assert [[end["node"] for end in link["ends"]] for link in plain["links"]] == [["h1", "s1"], ["h2", "s1"]]
    for link, rate, limit in zip(plain["links"], (None, "10 Mbit/s"), (1000, QUEUE), strict=True):
        for way in (link["forward"], link["back"]):
            assert (way["rate"], way["delay"], way["limit"]) == (rate, "5 ms", limit)
    assert [each.moment for each in network.moments] == ["start", "stop"]
    assert dict(network.interfaces())["h1", "h1-eth0"].addresses == ["10.0.0.1/8"]


@pytest.mark.guest
def test_the_traffic_obeys_its_laws(record: Record) -> None:
    (network,) = networks(record)
    assert network.missed == 0
    largest = flows(record, network)[0]
    assert largest.ends == ("h1", "h2")
    assert largest.goodput == pytest.approx(RATE * 8 * PAYLOAD / FRAME_BITS, rel=0.05)
    assert largest.payload == pytest.approx(RATE * 2 / 8, rel=0.15)
    trips, queued = (series[1] / 1e9 for series in (largest.trips, largest.queued))
    assert trips.min() == pytest.approx(4 * DELAY, abs=0.001)
    full = QUEUE * FRAME_BITS / RATE
    assert queued.max() <= full + 0.002
    assert trips.max() <= 4 * DELAY + full + 0.003
    assert queued.max() > full / 2


@pytest.mark.guest
def test_the_page_shows_the_run_and_the_browser_finds_no_fault(record: Record, tmp_path: Path) -> None:
    text = page.render(record)
    for shown in (record.address, "lab mininet transfer.py", "processes ", "data:image/svg+xml;base64,", "10 Mbit/s"):
        assert shown in text
    assert "1 &lt; 2 &amp; 3" in text
    assert "round trip, ms" in text
    assert "time in queues, ms" in text
    assert (record.folder.parents[2] / "page.html").read_text() == text
    if any(map(shutil.which, _PROGRAMS)):
        (tmp_path / "page.html").write_text(text)
        assert inspection.inspect(tmp_path, lambda _: None).problems == ()


@pytest.mark.guest
def test_captures_change_nothing_that_the_script_sees(record: Record, tmp_path: Path) -> None:
    """The output has the script's process numbers and iperf's rates."""
    bare = lab.mininet(SCRIPT, results=tmp_path / "results", out=tmp_path / "out", no_capture=True).record
    assert bare.address != record.address
    assert bare.outputs[SAID] == record.outputs[SAID]
    (network,) = networks(bare)
    assert network.captures == {}
    assert network.moments == networks(record)[0].moments
    assert "Without captures" in page.render(bare)


def test_a_page_needs_no_network_and_escapes_what_a_script_wrote(tmp_path: Path) -> None:
    outputs = {SAID: b"\x1b[31m<script>\xff", f"{FILES}<a>.bin": b"\0\1", f"{FILES}notes.txt": b"<i>"}
    text = page.render(forged(tmp_path, outputs))
    assert "lab mininet &#x27;a script.py&#x27; --bw 10" in text
    assert "The script built no network" in text
    assert "&lt;a&gt;.bin, 2 bytes" in text
    for dangerous in ("<script>", "<i>", "<b>", "<a>", "\x1b"):
        assert dangerous not in text


def test_a_long_output_is_shown_in_part(tmp_path: Path) -> None:
    said = b"first\n" + b"x" * 10 * page.MOST_TEXT + b"\nlast\n"
    text = page.render(forged(tmp_path, {SAID: said, f"{FILES}big.png": bytes(2 * page.MOST_EMBEDDED)}))
    assert len(text) < inspection.MOST
    assert "first\n" in text
    assert "bytes are left out" in text
    assert "\nlast" in text


@given(contents=JSON | st.builds(lambda moments: {"moments": moments, "captures": {}}, JSON))
def test_a_damaged_network_is_refused_in_one_sentence(tmp_path_factory: pytest.TempPathFactory, contents: Any) -> None:
    record = forged(tmp_path_factory.mktemp("forged"), {f"{FOLDER}1.json": json.dumps(contents).encode()})
    with suppress(RecordError):
        assert not any(each.captures for each in networks(record))
    assert ("describes no network" in page.render(record)) == (not is_network(contents))


def test_another_record_is_no_script(tmp_path: Path) -> None:
    with Store(tmp_path).stage(trial()) as stage:
        other = stage.commit({})
    with pytest.raises(RecordError, match="is not the record of a Mininet script"):
        page.render(other)


def test_a_report_lists_the_scripts_and_leaves_out_other_records(tmp_path: Path) -> None:
    record = forged(tmp_path, {STATUS: b'{"status": 3}'})
    with Store(tmp_path / "store").stage(trial(claim="mininet/other")) as stage:
        stage.commit({})
    (tmp_path / "report").mkdir()
    section = listing.write_all(Store(tmp_path / "store"), tmp_path / "report")
    assert section.count("<tr") == 2  # with the head
    assert "exit status 3" in section
    assert (tmp_path / "report" / "mininet" / f"{record.address[:12]}.html").is_file()
    assert listing.write_all(Store(tmp_path / "empty"), tmp_path / "report") == ""
