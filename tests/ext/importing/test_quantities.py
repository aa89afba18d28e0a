"""tc's words, as numbers of the lab."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.importing import netem, quantities
from lab.guest.share import Percent
from lab.units import Duration, Rate, Size


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("10ms", "10 ms"),
        ("1500", "1500 us"),
        ("0.5s", "500 ms"),
        ("2usecs", "2 us"),
        ("7ns", "7 ns"),
        ("1.5msec", "1.5 ms"),
    ],
)
def test_times(said: str, meant: str) -> None:
    assert Duration.of(quantities.time(said)) == Duration.of(meant)


@pytest.mark.parametrize(
    ("words", "keys", "untaken"),
    [
        ("delay 20", {"delay": "20 ns"}, ["delay 20 has no unit, so tc reads 20 ns"]),
        ("latency 0.5us", {"delay": "500 ns"}, []),
        ("delay 0", {"delay": "0 ns"}, []),
        (
            "delay 100 20",
            {"delay": "100 ns", "jitter": "20 ns"},
            ["delay 100 has no unit, so tc reads 100 ns", "jitter 20 has no unit, so tc reads 20 ns"],
        ),
        ("delay 5000000", {"delay": "5 ms"}, ["delay 5000000 has no unit, so tc reads 5 ms"]),
        ("slot 800", {"slot": {"min": "800 ns", "max": "800 ns"}}, ["slot 800 has no unit, so tc reads 800 ns"]),
        (
            "slot 800 1ms",
            {"slot": {"min": "800 ns", "max": "1 ms"}},
            ["slot 800 has no unit, so tc reads 800 ns"],
        ),
    ],
)
def test_a_bare_time_of_netem_is_in_nanoseconds(words: str, keys: dict[str, object], untaken: list[str]) -> None:
    """iproute2: netem reads its times with get_time64(), and all other qdiscs theirs with get_time(), in us."""
    found = netem.netem(words.split())
    assert keys.items() <= found.keys.items()
    assert found.untaken == untaken
    assert netem.tbf(["rate", "8mbit", "limit", "1000", "latency", "20"]).untaken == []
    assert netem.fifo("codel", ["target", "20"])["target"] == "20 us"
    assert netem.tbf(["rate", "8mbit", "latency", "1000"]).keys["queue"]["limit"] == "1000 B"


@pytest.mark.parametrize(
    ("said", "bps"),
    [
        ("1mbit", 10**6),
        ("2Mbit", 2 * 10**6),
        ("9600", 9600),
        ("1kbps", 8000),
        ("1gbit", 10**9),
        ("1kibit", 1024),
        ("0.5mbit", 500_000),
    ],
)
def test_rates(said: str, bps: int) -> None:
    assert Rate.of(quantities.rate(said)).bps == bps


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("1540", 1540),
        ("16kb", 16384),
        ("16k", 16384),
        ("32kbit", 4096),
        ("1mb", 1 << 20),
        ("10b", 10),
        ("1mbit", 131072),
    ],
)
def test_sizes(said: str, size: int) -> None:
    assert Size.of(quantities.size(said)).bytes == size


@pytest.mark.parametrize(
    "said", ["", "fast", "-1ms", "10 ms", "1e3ms", "ms", "1parsec", "\N{ARABIC-INDIC DIGIT ONE}ms"]
)
def test_what_is_no_time(said: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        quantities.time(said)


@given(st.integers(0, 10**12), st.sampled_from([("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)]))
def test_every_time_survives(number: int, unit: tuple[str, int]) -> None:
    if number * unit[1] < 2**62:
        assert Duration.of(quantities.time(f"{number}{unit[0]}")).ns == number * unit[1]


@given(st.integers(0, 10**8).map(lambda number: number / 10**6))
def test_every_share_survives(percent: float) -> None:
    assert float(Percent.of(quantities.share(f"{percent:.6f}%"))) == pytest.approx(percent / 100, abs=1e-12)


TIMES = st.integers(1, 10**6).map(lambda us: f"{us}us")
SHARES = st.integers(1, 100).map(lambda percent: f"{percent}%")


@given(
    delay=TIMES,
    jitter=st.none() | TIMES,
    shares=st.dictionaries(st.sampled_from(["loss", "duplicate", "corrupt", "reorder"]), SHARES),
    limit=st.none() | st.integers(1, 10**6),
    rate=st.none() | st.integers(1, 10**6),
    order=st.randoms(use_true_random=False),
)
def test_netem_in_any_order(
    delay: str, jitter: str | None, shares: dict[str, str], limit: int | None, rate: int | None, order: object
) -> None:
    parts = [["delay", delay, *([jitter] if jitter else [])], *([key, value] for key, value in shares.items())]
    parts += [["limit", str(limit)]] if limit else []
    parts += [["rate", f"{rate}kbit"]] if rate else []
    order.shuffle(parts)  # type: ignore[attr-defined]
    found = netem.netem([word for part in parts for word in part])
    assert found.untaken == []
    assert Duration.of(found.keys["delay"]) == Duration.of(quantities.time(delay))
    assert found.keys["limit"] == (limit or netem.NETEM_LIMIT)
    assert ("jitter" in found.keys) == bool(jitter)
    assert found.keys.get("rate") == (str(Rate(1000 * rate)) if rate else None)
    for key, value in shares.items():
        assert Percent.of(found.keys[key]) == Percent.of(value.replace("%", " %"))


@given(
    st.lists(
        st.sampled_from([*netem.NETEM_WORDS, "10ms", "5%", "x", "gemodel", "state", "", "1mbit", "normal"]), max_size=8
    )
)
def test_netem_reads_or_refuses(words: list[str]) -> None:
    with suppress(ValueError):
        assert netem.netem(words).keys["limit"] >= 0


@pytest.mark.parametrize(
    ("words", "keys", "untaken"),
    [
        ("delay 10ms 2ms distribution normal", {"jitter": {"deviation": "2 ms", "distribution": "normal"}}, ""),
        ("distribution pareto delay 10ms 2ms", {"jitter": {"deviation": "2 ms", "distribution": "pareto"}}, ""),
        ("delay 10ms 2ms distribution uniform", {"jitter": "2 ms"}, ""),
        ("delay 10ms 5ms distribution normal", {"jitter": "5 ms"}, "need a delay of at least 20.4 ms"),
        ("delay 10ms 2ms distribution experimental", {"jitter": "2 ms"}, "the lab has normal, pareto, paretonormal"),
        ("delay 9s 2s distribution normal", {"jitter": "2 s"}, "a jitter of 2 s is too long for netem"),
        ("delay 9s 1s 25% distribution normal", {"delay": "9 s"}, "jitter's correlation"),
        ("delay 3s 1500ms 25%", {"jitter_correlation": "25 %"}, ""),
        ("loss 1% 25%", {"loss": "1 %", "loss_correlation": "25 %"}, ""),
        ("loss 1% 100%", {"loss": "1 %"}, "netem would lose all frames or none"),
        ("loss random 1%", {"loss": "1 %"}, ""),
        ("drop 2", {"loss": "2 %"}, ""),
        ("loss gemodel 1% 10%", {"burst_loss": {"p": "1 %", "r": "10 %"}}, ""),
        ("loss gemodel 2%", {"burst_loss": {"p": "2 %", "r": "98 %"}}, ""),
        ("loss gemodel 1% 10% 70% 0.1%", {"burst_loss": {"p": "1 %", "r": "10 %", "bad": "70 %", "good": "0.1 %"}}, ""),
        ("loss state 1% 2% 3%", {}, "four states"),
        ("delay 10ms reorder 25% gap 5", {"reorder": "25 %", "reorder_gap": 5}, ""),
        ("delay 10ms reorder 25% 50%", {"reorder": "25 %"}, "reorder's correlation"),
        ("delay 10ms gap 5", {"reorder": "100 %", "reorder_gap": 5}, ""),
        ("dup 1%", {"duplicate": "1 %"}, ""),
        ("rate 1mbit 20", {"rate": "1 Mbit/s"}, "overhead"),
        ("slot 1ms 5ms packets 3", {"slot": {"min": "1 ms", "max": "5 ms", "packets": 3}}, ""),
        ("delay 1ms seed 7", {"delay": "1 ms"}, ""),
    ],
)
def test_netem(words: str, keys: dict[str, object], untaken: str) -> None:
    found = netem.netem(words.split())
    assert keys.items() <= found.keys.items()
    assert bool(found.untaken) == bool(untaken)
    assert untaken in "; ".join(found.untaken)


def test_tbf() -> None:
    """tc: the limit is the rate times the latency, plus the burst."""
    found = netem.tbf(["rate", "1mbit", "burst", "32kbit", "latency", "400ms"])
    assert found.keys == {"rate": "1 Mbit/s", "queue": {"kind": "bfifo", "limit": f"{50_000 + 4096} B"}}
    assert "4,096 B" in found.untaken[0]
    assert netem.tbf(["rate", "1mbit", "burst", "2kb", "limit", "3000"]).keys["queue"]["limit"] == "3000 B"


@pytest.mark.parametrize(
    ("kind", "words", "made"),
    [
        ("fq_codel", "limit 1000 target 5ms noecn", {"limit": 1000, "target": "5 ms", "ecn": False}),
        ("cake", "bandwidth 20mbit diffserv4 nat", {"bandwidth": "20 Mbit/s", "diffserv": "diffserv4", "nat": True}),
        (
            "red",
            "limit 400000 min 30000 max 90000 avpkt 1000 probability 0.02",
            {"probability": "2 %", "max": "90000 B"},
        ),
        ("sfq", "perturb 10", {"perturb": "10 s"}),
        ("pfifo", "", {"limit": 1000}),
        ("bfifo", "limit 3000", {"limit": "3000 B"}),
    ],
)
def test_queues(kind: str, words: str, made: dict[str, object]) -> None:
    assert made.items() <= netem.fifo(kind, words.split()).items()


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(netem.RefusedWords, match="'turbo' has no counterpart"):
        netem.fifo("fq_codel", ["turbo"])
