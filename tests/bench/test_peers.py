"""Every peer's output is read, other work is refused, and a peer leaves nothing on the machine."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.peers import measuring, native, own, table
from bench.peers.enclosure import enclosed
from bench.peers.peer import FILLED, Peer, PeerRun, Row, judged, read
from bench.peers.transfer import FRAME, PAYLOAD, TRANSFERS, Transfer
from lab.errors import LabError

RECORDED = Path(__file__).parents[1] / "data" / "peers"  # what each printed here, for the first transfer
LONG, FAST = TRANSFERS
SUPER = "super-packets: its kernel handles far fewer packets than a link has frames"
ALONE = subprocess.run(["unshare", "--map-root-user", "--net", "--pid", "--fork", "true"], capture_output=True)
needs_namespaces = pytest.mark.skipif(ALONE.returncode != 0, reason="this user may make no namespaces")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is not below /tmp, because a peer has its own /tmp."""
    Path("build").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="test-peers-", dir="build") as made:
        yield Path(made).resolve()


def figures(share: float, **others: object) -> str:
    """What a peer prints that carries this share of the rate."""
    slots = [round(share * LONG.physics / 80)] * (10 * LONG.seconds)
    return json.dumps({"slots": slots, **others})


def row(share: float, *remarks: str) -> Row:
    return judged("peer", "1", True, LONG, [PeerRun(1.0, share * LONG.physics, "same", remarks)] * 3)


RECORDS = {  # Mbit/s between 0.5 and 9.5 s, by an own sum; and how the run differs
    "ns-3": (961.8, []),
    "Mininet": (881.8, ["without the delay", SUPER]),
    "NeST": (863.2, ["without the delay", SUPER]),
    "mahimahi": (593.2, []),
}


@pytest.mark.parametrize("name", RECORDS)
def test_the_output_of_a_peer_is_read(name: str) -> None:
    mbits, remarks = RECORDS[name]
    run = read((RECORDED / f"{name}.txt").read_text(), LONG, 1.5)
    assert run.goodput / 1e6 == pytest.approx(mbits, abs=0.1)
    assert list(run.remarks) == remarks
    assert run.cpu == 1.5


def test_every_peer_has_a_recorded_output() -> None:
    assert set(RECORDS) == {peer.name for peer in measuring.PEERS} == {file.stem for file in RECORDED.iterdir()}


def test_goodput_counts_only_within_the_window() -> None:
    slots = [10**9] * 5 + [LONG.gigabits * 10**7] * 90 + [10**9] * 9
    assert read(json.dumps({"slots": slots}), LONG, 0).goodput == LONG.gigabits * 8e8


@given(st.one_of(st.text(), st.builds(lambda value: json.dumps({"slots": value}), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=20))))  # fmt: skip
def test_no_output_is_read_into_anything_but_figures(text: str) -> None:
    with suppress(LabError):
        assert read(text, LONG, 1.0).goodput >= 0


@pytest.mark.parametrize("text", ["", "{", '{"slots": [1, -1]}', '{"slots": [true]}', "[" * 100_000, '{"a":' * 100_000])
def test_an_output_without_figures_is_an_error(text: str) -> None:
    with pytest.raises(LabError, match="no figures"):
        read(text, LONG, 1.0)


@pytest.mark.parametrize("share", [0.0, 0.5, FILLED - 0.001, 1 / FILLED + 0.001, 8.0])
def test_other_work_is_refused_without_a_cost(share: float) -> None:
    refused = row(share, "with bbr")
    assert refused.cpu == ()
    assert refused.remarks == (f"refused: it carries {100 * share:.0f} % of the rate, which is other work", "with bbr")


@pytest.mark.parametrize("share", [FILLED + 0.001, 1.0, 1.05])
def test_the_same_work_has_its_cost_and_error(share: float) -> None:
    kept = row(share, SUPER)
    assert kept.cpu == (1.0, 1.0, 1.0)
    assert kept.error == pytest.approx(share - 1)
    assert kept.remarks == (SUPER,)


def test_runs_are_identical_only_if_all_show_the_same() -> None:
    runs = [PeerRun(1.0, LONG.physics, seen) for seen in ("a", "a", "b")]
    assert judged("peer", "1", True, LONG, runs).identical is False
    assert judged("peer", "1", True, LONG, runs[:2]).identical is True
    assert judged("peer", "1", True, LONG, runs[:1]).identical is None


@pytest.mark.parametrize(
    ("others", "remarks"),
    [
        ({}, []),
        ({"rtt": 0.0201, "congestion": "bbr", "frames": 1_000_000}, []),
        ({"rtt": 0.0189}, ["without the delay"]),
        ({"congestion": "cubic"}, ["with cubic"]),
        ({"frames": 20_000}, [SUPER]),
        ({"frames": 0}, []),
    ],
)
def test_a_run_shows_how_it_differs(others: dict[str, object], remarks: list[str]) -> None:
    assert list(read(figures(1.0, **others), LONG, 1.0).remarks) == remarks


def a_peer(version: str | None = "1", command: tuple[str, ...] = ("true",)) -> Peer:
    return Peer("peer", False, "apt-get install peer", lambda: version, lambda *_: list(command))


def test_a_missing_peer_is_a_line_that_tells_how_to_install_it(folder: Path) -> None:
    missing = measuring.measured(a_peer(None), LONG, folder, 3)
    assert missing.remarks == ("missing: apt-get install peer",)
    assert "missing: apt-get install peer" in table.markdown([missing])


@pytest.mark.long
@needs_namespaces
def test_a_failing_peer_is_a_line_with_its_last_words(folder: Path) -> None:
    failed = measuring.measured(a_peer(command=("sh", "-c", "echo no route; exit 3")), LONG, folder, 3)
    assert failed.remarks == ("failed: sh ended with status 3: no route",)
    silent = measuring.measured(a_peer(), LONG, folder, 3)
    assert silent.remarks == ("failed: no figures: no output",)
    assert not list(folder.iterdir())


@pytest.mark.long
@needs_namespaces
def test_a_peer_is_run_as_often_as_asked(folder: Path) -> None:
    answered = measuring.measured(a_peer(command=("echo", figures(1.0))), LONG, folder, 3)
    assert len(answered.cpu) == 3
    assert answered.identical is True
    assert answered.error == pytest.approx(0, abs=1e-6)


@pytest.mark.long
@needs_namespaces
def test_a_peer_leaves_nothing(folder: Path) -> None:
    """Neither a process, a namespace, a file, an interface nor a setting stays, and all of its time counts."""
    mark = f"peer-{os.getpid()}"
    script = f"""set -e
        ip netns add {mark}
        touch /tmp/{mark} /run/{mark}
        ip link add {mark[:15]} type veth peer name {mark[:14]}b
        echo 1 >/proc/sys/net/ipv4/ip_forward
        setsid sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; touch spun; sleep 3600; : {mark}' &
        until [ -e spun ]; do sleep 0.01; done
        ! touch /etc/{mark} 2>/dev/null
        ! echo 100 2>/dev/null >/proc/sys/kernel/pid_max
    """
    forward = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    _, cpu = enclosed(["sh", "-c", script], folder, 60)
    assert cpu > 0.05  # the loop's own, in a process that outlives the script
    assert not [place for place in ("/tmp", "/run", "/run/netns", "/etc") if Path(place, mark).exists()]
    assert mark[:15] not in {each.name for each in Path("/sys/class/net").iterdir()}
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == forward
    assert not [each for each in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _bytes(each)]


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


@pytest.mark.long
@needs_namespaces
def test_the_program_of_the_transfer_counts_what_it_carries(folder: Path) -> None:
    short = replace(LONG, seconds=1, window=(0.0, 0.9))
    both = f"{' '.join(short.receive())} & {' '.join(short.send('127.0.0.1'))}; wait"
    text, _ = enclosed(["sh", "-c", both], folder, 60)
    assert read(text, short, 0.0).goodput > 0
    assert '"rtt": ' in text


@pytest.mark.long
def test_mahimahi_gets_a_chance_for_each_frame(folder: Path) -> None:
    peer = next(peer for peer in measuring.PEERS if peer.name == "mahimahi")
    for transfer in TRANSFERS:
        peer.command(transfer, folder)
        chances = [int(line) for line in (folder / "trace").read_text().split()]
        assert chances == sorted(chances)
        assert (chances[0], chances[-1]) == (1, 1000)
        assert len(chances) * 8 * FRAME == pytest.approx(transfer.gigabits * 1e9, rel=1e-5)


@pytest.mark.parametrize("peer", measuring.PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("transfer", TRANSFERS, ids=lambda transfer: transfer.name)
def test_scripts_can_be_parsed(peer: Peer, transfer: Transfer, folder: Path) -> None:
    if peer.name == "ns-3":
        pytest.skip("it compiles a program")
    command = peer.command(transfer, folder)
    scripts = [*(command[2:] if command[0] == "sh" else []), *(file.read_text() for file in folder.glob("link"))]
    for script in [*scripts, native.command()[2]]:
        assert subprocess.run(["sh", "-n", "-c", script]).returncode == 0


def test_figures_survive_their_file() -> None:
    rows = [row(1.0, SUPER), Row("other", "", False, FAST, remarks=("missing: x",))]
    assert table.rows_of(json.loads(json.dumps(table.plain(rows)))) == rows


@pytest.mark.long
def test_the_drawing_has_every_line_that_has_seconds(tmp_path: Path) -> None:
    rows = [
        row(1.0),
        row(0.5),
        replace(row(1.0), peer=own.NAME),
        Row("other", "", False, FAST, (2.0,), 0.0),
    ]
    table.draw(rows, 1e-6, tmp_path / "a.svg")
    table.draw(rows, 1e-6, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    assert all(f">{name}<" in drawn for name in ("peer", "other", own.NAME))


def test_the_limit_is_the_frames_of_the_transfer() -> None:
    assert table.limit_of(LONG, 1e-6) == pytest.approx(0.813, abs=0.001)
    assert table.limit_of(FAST, 1e-6) == pytest.approx(1.626, abs=0.001)
    assert native.per_frame('x\n{"slots": [14480, 14480]}\n', 1.0) == PAYLOAD / 28960
