"""What a trial's captures say of its packets, and those of all trials of a case."""

import itertools
from collections.abc import Callable, Mapping

import pytest

from lab.ext.comparison.captures import PacketChange, captured, together
from lab.ext.comparison.packets import PacketDifference
from lab.guest.clock import Clock
from lab.record.record import Record
from lab.record.store import Store
from tests.trials import trial

Make = Callable[..., Record]


@pytest.fixture
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    def make(outputs: Mapping[str, bytes], clock: Clock = "virtual") -> Record:
        with Store(tmp_path_factory.mktemp("store")).stage(trial(clock=clock)) as stage:
            for name, content in outputs.items():
                (stage.out / name).write_bytes(content)
            return stage.commit({})

    return make


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        ({}, {}, "identical"),
        ({}, {"isn": 2}, "same"),
        ({}, {"window": 8193}, "differ"),
        ({"datagram": b"1"}, {"datagram": b"1"}, "identical"),
        ({"datagram": b"1"}, {"datagram": b"2"}, None),
        ({}, {"datagram": b"2"}, "differ"),
    ],
)
def test_one_capture(
    make: Make, syn: Callable[..., bytes], base: dict[str, object], new: dict[str, object], said: str | None
) -> None:
    found = captured(make({"a.pcap": syn(**base)}), make({"a.pcap": syn(**new)}))
    assert found.said == said
    assert bool(found.divergence) == (said == "differ")


def test_several_captures(make: Make, syn: Callable[..., bytes]) -> None:
    """The first that parts is named; what is not TCP says nothing beside one that does."""
    base = make({"a.pcap": syn(), "b.pcap": syn(), "c.pcap": syn(datagram=b"1")})
    new = make({"a.pcap": syn(isn=2), "b.pcap": syn(window=1), "c.pcap": syn(datagram=b"2")})
    assert (captured(base, new).said, captured(base, new).capture) == ("differ", "b.pcap")
    same = make({"a.pcap": syn(), "b.pcap": syn(), "c.pcap": syn(datagram=b"2")})
    assert captured(base, same).said == "same"


def test_no_capture_tells(make: Make, syn: Callable[..., bytes]) -> None:
    """There is none; only one side has it; or the trials ran in real time."""
    for base, new in (
        (make({"a.json": b"1"}), make({"a.json": b"2"})),
        (make({"a.pcap": syn()}), make({"a.pcap": syn(), "b.pcap": syn()})),
        (make({"a.pcap": syn()}, "real"), make({"a.pcap": syn(window=1)}, "real")),
    ):
        assert captured(base, new) == PacketChange(None)


def test_a_case_is_what_all_its_trials_are() -> None:
    kinds = [
        PacketChange("identical"),
        PacketChange("same"),
        PacketChange(None),
        PacketChange("differ", "a", PacketDifference(1, "time", "", "")),
    ]
    for first, second in itertools.product(range(4), repeat=2):
        assert together([kinds[first], kinds[second]]) == kinds[max(first, second)]
    later = PacketChange("differ", "b", PacketDifference(2, "window", "", ""))
    assert together([kinds[0], later, kinds[3]]) == later
    assert together([]) == PacketChange(None)
