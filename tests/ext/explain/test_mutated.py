"""A damaged capture gives an explanation or one message, and never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.ext.explain import api, display, page
from lab.ext.explain.explaining import explain
from lab.spec import find
from tests.examples import examples
from tests.ext.explain.captures import pcap, pcapng, windows

DATA = Path(__file__).parents[2] / "data"
_PACKETS = windows(40, [10, 20, 40])
_ORIGINALS = [
    pcap(_PACKETS),
    pcapng(_PACKETS),
    pcapng(_PACKETS, order=">", lost=3),
    *((DATA / f"{name}.pcap").read_bytes() for name in ("hole", "lossy", "small_writes", "transfer")),
]
_CHANGES = st.tuples(
    st.sampled_from(["replace", "delete", "repeat", "cut"]),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([1, 4, 16, 100]),
    st.binary(min_size=1, max_size=8) | st.sampled_from([b"\xff" * 4, bytes(4), b"\x80\0\0\0", b"\x7f\xff\xff\xff"]),
)


def _changed(content: bytes, changes: list[tuple[str, float, int, bytes]]) -> bytes:
    for kind, where, length, value in changes:
        at = int(where * len(content))
        match kind:
            case "replace":
                content = content[:at] + value + content[at + len(value) :]
            case "delete":
                content = content[:at] + content[at + length :]
            case "repeat":
                content = content[:at] + content[at : at + length] + content[at:]
            case _:
                content = content[: max(at, 4)]
    return content


@examples(300)
@given(st.sampled_from(_ORIGINALS), st.lists(_CHANGES, min_size=1, max_size=20))
@pytest.mark.filterwarnings("error")
def test_a_mutated_capture_gives_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, original: bytes, changes: list[tuple[str, float, int, bytes]]
) -> None:
    file = tmp_path_factory.getbasetemp() / "mutated.pcap"
    file.write_bytes(_changed(original, changes))
    try:
        found = explain(file)
    except LabError:
        return
    for each in found.connections:
        if each.stretches:
            assert sum(each.shares.values()) == pytest.approx(1)
            assert each.stretches[0].start == each.start
        assert all(one.end == other.start for one, other in zip(each.stretches, each.stretches[1:], strict=False))
    assert display.plain(found)["packets"] == found.packets
    display.shown(found, True)
    assert "</html>" in page.render(found)


@examples(100)
@given(st.sampled_from(_ORIGINALS[3:]), st.lists(_CHANGES, min_size=1, max_size=10))
@pytest.mark.filterwarnings("error")
def test_a_mutated_capture_is_rebuilt_in_files_without_mistakes_or_refused(
    tmp_path_factory: pytest.TempPathFactory, original: bytes, changes: list[tuple[str, float, int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    file = folder / "mutated.pcap"
    file.write_bytes(_changed(original, changes))
    try:
        api.rebuild(file, folder / "again")
    except LabError:
        assert not (folder / "again").exists()
        return
    assert not find.check([*folder.glob("again/experiments/*/*.py"), *folder.glob("again/topologies/*.yaml")])
