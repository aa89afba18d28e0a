"""What Multipath TCP may take over several paths: never less than the sum of their rates allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.mptcp.model import Path, multipath
from lab.model import Scenario
from lab.model.scenario import PathEnd
from lab.units import Duration, Rate, Size
from tests.model.scenarios import hop, host

ANY = Scenario((hop(),), (hop(),), host(), host())
SIZE = Size.of("16 MiB")
PATHS = st.builds(
    Path,
    st.integers(10**5, 10**10).map(lambda bps: Rate(8 * bps)),
    st.integers(0, 10**8).map(Duration),
)


def seconds(*paths: Path, client: PathEnd = "receiver", wait: str = "0 s", size: Size = SIZE) -> float:
    return multipath.transfer_time_by_paths(paths, size, client, Duration.of(wait))(ANY).number


def test_a_segment_has_28_bytes_less_than_without_the_option() -> None:
    path = Path(Rate.of("1538 kbit/s"), Duration(0))
    assert multipath.goodput_of_paths([path]).number == pytest.approx(1_420_000)


def test_two_paths_without_delay_take_what_their_sum_takes() -> None:
    """16 MiB by 10 and 3 Mbit/s of whole frames, of which 1420 in 1538 bytes count."""
    paths = (Path(Rate.of("10 Mbit/s"), Duration(0)), Path(Rate.of("3 Mbit/s"), Duration(0)))
    assert seconds(*paths) == pytest.approx(8 * (16 << 20) * 1538 / 1420 / 13e6)
    assert seconds(*paths, wait="200 ms") == pytest.approx(seconds(*paths) + 0.2)


def test_a_path_idles_in_slow_start_until_its_window_covers_a_round_trip() -> None:
    """10 Mbit/s over 25 ms: ten segments of 1.2304 ms take 12.3 ms of 51.2, twenty 24.6, forty 49.2."""
    frame = 1538 * 8 / 10e6
    trip = 0.05 + frame
    path = Path(Rate.of("10 Mbit/s"), Duration.of("25 ms"))
    assert path.idle == pytest.approx(0.025 + 3 * trip - 70 * frame)


def test_who_accepts_is_connected_a_path_later() -> None:
    path = Path(Rate.of("10 Mbit/s"), Duration.of("25 ms"))
    assert seconds(path, client="receiver") - seconds(path, client="sender") == pytest.approx(0.05)


@given(st.lists(PATHS, min_size=1, max_size=4))
def test_no_transfer_is_faster_than_its_paths_together(paths: list[Path]) -> None:
    least = 8 * SIZE.bytes / multipath.goodput_of_paths(paths).number
    assert seconds(*paths) >= least * (1 - 1e-12)


@given(PATHS, PATHS)
def test_twice_the_bytes_take_twice_the_rest(first: Path, second: Path) -> None:
    """What is idle at the start is so once, however much is sent."""
    one, two, four = (seconds(first, second, size=Size(each * SIZE.bytes)) for each in (1, 2, 4))
    assert four - two == pytest.approx(2 * (two - one), rel=1e-6)
