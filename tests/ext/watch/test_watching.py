"""`lab watch`: what a trial's probes write is told while it runs, and its record is that of `lab run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import lab
from lab.cli.app import app
from lab.errors import InputError
from lab.ext.watch import api
from lab.ext.watch.live import Followed, FollowedPackets, FollowedSamples, Moment
from lab.ext.watch.watching import Glimpse
from lab.metric import Capture, bulk
from lab.metric.tcp_info import read
from lab.record.store import Store
from tests.examples import examples

DATA = Path(__file__).parents[2] / "data"
SMALL = "ack-rate/every-second-segment"


def followed(reader: Followed, source: Path, cuts: list[int], scratch: Path) -> list[Moment]:
    """What the reader says of a file that grows to these lengths, and to its end."""
    data, growing, found = source.read_bytes(), scratch / source.name, list[Moment]()
    found += reader.new(growing)  # it is not there yet
    for cut in [*sorted(cuts), len(data)]:
        growing.write_bytes(data[:cut])
        found += reader.new(growing)
    return found


@examples(30)
@given(cuts=st.lists(st.integers(0, 20_000), max_size=5))
def test_samples_are_those_of_the_whole_file_however_it_grows(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = max(read(DATA / "lossy.tcp_info.bin"), key=lambda each: int(each["bytes_acked"].max()))
    found = followed(FollowedSamples(), DATA / "lossy.tcp_info.bin", cuts, tmp_path_factory.mktemp("growing"))
    known = {each.time_ns: each for each in found}
    assert len(known) == len(found), "none comes twice"
    last = known[int(whole.time_ns[-1])]
    assert last.acked == int(whole["bytes_acked"][-1])
    assert last.window == int(whole["snd_cwnd"][-1]) * int(whole["snd_mss"][-1])
    assert last.trip_ns == 1000 * int(whole["rtt"][-1])


@examples(30)
@given(cuts=st.lists(st.integers(0, 200_000), max_size=5))
def test_all_bytes_that_a_capture_acknowledges_are_counted_however_it_grows(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = DATA / "lossy.pcap"
    connection = bulk(Capture(path))
    found = followed(FollowedPackets(at_sender=True), path, cuts, tmp_path_factory.mktemp("growing"))
    first = connection.forward.seq[connection.forward.data][0]
    whole = followed(FollowedPackets(at_sender=True), path, [], tmp_path_factory.mktemp("whole"))
    assert found[-1].acked == whole[-1].acked == int(connection.back.ack[-1] - first)
    assert abs(max(each.window or 0 for each in found) - max(each.window or 0 for each in whole)) <= 2 * 1448
    times = [each.time_ns for each in found]
    assert times == sorted(times)
    assert all(each.window is not None and each.window >= 0 for each in found)
    least = min(each.trip_ns for each in found if each.trip_ns is not None)
    assert least >= 20_000_000, "the path takes 10 ms each way"


def test_a_receivers_capture_shows_neither_window_nor_queue(tmp_path: Path) -> None:
    found = followed(FollowedPackets(at_sender=False), DATA / "lossy.pcap", [], tmp_path)
    assert {(each.window, each.trip_ns) for each in found} == {(None, None)}


@pytest.mark.guest
def test_a_watched_trial_has_the_record_that_a_run_makes(tmp_path: Path) -> None:
    seen: list[Glimpse] = []
    first = api.watch(SMALL, seen.append, results=tmp_path / "watched")
    assert first.is_new
    assert seen
    assert max(each.goodput for each in seen) == pytest.approx(941.5e6, rel=0.01)
    assert [each.seconds for each in seen] == sorted(each.seconds for each in seen)
    (claim,) = lab.run(SMALL, results=tmp_path / "run")
    ran = next(record for record in claim.records if record.address == first.trial)
    watched = Store(tmp_path / "watched").get(first.trial)
    assert watched
    assert watched.outputs == ran.outputs
    again = api.watch(SMALL, seen.append, results=tmp_path / "watched")
    assert (again.is_new, again.refused) == (False, ())
    assert not list((tmp_path / "watched" / ".staging").iterdir()), "nothing is left"


@pytest.mark.guest
def test_the_command_prints_lines_and_one_document(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["watch", SMALL, "--results", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["new"]
    assert len(found["glimpses"]) == len(done.stderr.strip().splitlines())
    assert all("goodput" in line and len(line) <= 80 for line in done.stderr.splitlines())


@pytest.mark.guest
def test_what_cannot_be_watched_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no arm 'ethtool-of'; did you mean 'ethtool-off'"):
        api.watch(SMALL, lambda _: None, arm="ethtool-of", results=tmp_path)
    with pytest.raises(InputError, match="is an article; watch one of"):
        api.watch("ack-rate", lambda _: None, results=tmp_path)
