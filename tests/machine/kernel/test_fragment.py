"""A fragment's options take the place of the lab's; what kconfig drops of them is named, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.machine.kernel.uml import fragment, recipe
from lab.spec.errors import SpecError

KCONFIG = """\
config VETH
\ttristate "Virtual ethernet pair device"

menuconfig NET_SCHED
\tbool "QoS"
\tdepends on NET && !EMBEDDED

config DEAR
\tint "How dear"
\tdepends on NET_SCHED
\tdepends on VETH
\thelp
\t  Not much.
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree" / "net").mkdir(parents=True)
    (tmp_path / "tree" / "net" / "Kconfig").write_text(KCONFIG)
    return tmp_path


def read(text: str) -> tuple[fragment.Fragment, ...]:
    Path("mine.config").write_text(text)
    return fragment.read([Path("mine.config")])


def test_options_replace_and_join_the_labs(place: Path) -> None:
    assert place.exists()
    found = read('# mine\n\nCONFIG_B=n\nCONFIG_D="text"\n# CONFIG_C is not set\nCONFIG_A=5\n')
    assert fragment.laid_over("CONFIG_A=y\nCONFIG_B=y\nCONFIG_E=y\n", found) == (
        'CONFIG_E=y\nCONFIG_A=5\n# CONFIG_B is not set\n# CONFIG_C is not set\nCONFIG_D="text"\n'
    )


def test_without_a_fragment_nothing_changes() -> None:
    config = recipe.config("7.2", 1000)
    assert fragment.laid_over(config, ()) == config


@given(st.permutations([("A", "y"), ("B", "n"), ("C", "12"), ("D", "m")]))
def test_the_order_of_lines_plays_no_part(given_in: list[tuple[str, str]]) -> None:
    options = tuple(fragment.Option(name, value, line) for line, (name, value) in enumerate(given_in, 1))
    made = fragment.laid_over("CONFIG_A=n\n", [fragment.Fragment(Path("x"), b"", options)])
    assert made == "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=12\nCONFIG_D=m\n"


def test_of_two_fragments_the_last_one_counts(place: Path) -> None:
    (place / "late.config").write_text("CONFIG_A=m\n")
    (place / "early.config").write_text("CONFIG_A=y\n")
    both = fragment.read([place / "early.config", place / "late.config"])
    assert fragment.laid_over("", both) == "CONFIG_A=m\n"
    fragment.check(both, "CONFIG_A=m\n", place / "tree")


def test_all_mistakes_are_named_with_their_lines(place: Path) -> None:
    assert place.exists()
    with pytest.raises(SpecError) as info:
        read("CONFIG_HZ=250\nVETH=y\n\nCONFIG_UML_TIME_TRAVEL_SUPPORT=n\n")
    assert str(info.value).splitlines() == [
        "mine.config:1: CONFIG_HZ: set ticks per second with --hz, or with hz= in a variant",
        "mine.config:2: 'VETH=y' is not an option; write CONFIG_NAME=y, or =n",
        "mine.config:4: CONFIG_UML_TIME_TRAVEL_SUPPORT: the lab's virtual clock needs it",
    ]


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read(place: Path, content: bytes | None) -> None:
    if content:
        (place / "odd.config").write_bytes(content)
    with pytest.raises(InputError, match=r"odd\.config: (cannot be read: no such file|it is not UTF-8 text)"):
        fragment.read([place / "odd.config"])


def test_what_kconfig_dropped_is_named_with_the_reason(place: Path) -> None:
    found = read("CONFIG_NO_SUCH=y\nCONFIG_DEAR=5\nCONFIG_VETH=m\nCONFIG_NET_SCHED=n\nCONFIG_NET=y\n")
    with pytest.raises(SpecError) as info:
        fragment.check(found, "CONFIG_NET=y\nCONFIG_VETH=y\nCONFIG_NET_SCHED=y\n", place / "tree")
    assert str(info.value).splitlines() == [
        "mine.config:1: CONFIG_NO_SUCH: this kernel has no such option",
        "mine.config:2: 'CONFIG_DEAR=5' is not kept, it is not set: it depends on NET_SCHED; VETH",
        "mine.config:3: 'CONFIG_VETH=m' is not kept, it is y",
        "mine.config:4: '# CONFIG_NET_SCHED is not set' is not kept, it is y: it depends on NET && !EMBEDDED",
    ]


def test_what_is_not_set_may_be_absent(place: Path) -> None:
    fragment.check(read("# CONFIG_VETH is not set\nCONFIG_DEAR=n\n"), "CONFIG_NET=y\n", place / "tree")
