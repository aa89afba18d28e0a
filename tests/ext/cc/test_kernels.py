"""Which congestion controls a kernel has, and which one a C file registers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.cc import cases, judging, kernels
from lab.machine.kernel import UmlKernel
from lab.spec.errors import SpecError


def kernel(folder: Path, config: str) -> UmlKernel:
    (folder / "config").write_text(config)
    return UmlKernel("7.2", "7.2.13-1", "k1", 1000, (), folder / "linux", 0, True)


def test_the_configuration_lists_the_controls(tmp_path: Path) -> None:
    config = "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\n# CONFIG_TCP_CONG_BIC is not set\n"
    assert kernels.controls(kernel(tmp_path, config + "CONFIG_TCP_CONG_HSTCP=y\n")) == ("cubic", "highspeed", "reno")


def test_a_missing_control_is_refused_with_what_there_is() -> None:
    with pytest.raises(InputError, match="cubik: the kernel has no such congestion control; did you mean 'cubic'"):
        judging.need("cubik", ("cubic", "reno"))
    with pytest.raises(InputError, match="--against bic: "):
        judging.rivals("cubic,bic", ("cubic", "reno"))
    with pytest.raises(InputError, match="--against names no"):
        judging.rivals(" ,", ("cubic", "reno"))
    assert judging.rivals("reno, cubic,reno", ("cubic", "reno")) == ("reno", "cubic")
    assert judging.rivals(None, ("cubic",)) == ()


def test_cases_are_chosen_by_name() -> None:
    pack = cases.load()
    assert [each.name for each in judging.chosen(pack, "shallow-buffer, rfc9743/one-flow,one-flow", True)] == [
        "rfc9743/one-flow",
        "rfc9743/shallow-buffer",
    ]
    assert len(judging.chosen(pack, None, True)) == 20
    assert judging.chosen(pack, None, False) == list(pack.cases)
    with pytest.raises(InputError, match="--case one-flw: unknown case; did you mean 'rfc9743/one-flow'"):
        judging.chosen(pack, "one-flw", False)


@pytest.mark.parametrize(
    ("name", "source", "control"),
    [
        ("tcp_cubic.c", '\t.name\t\t= "cubic",', "cubic"),
        ("tcp_dctcp.c", '.name = "dctcp_reno", .name = "dctcp"', "dctcp"),
        ("mine.c", '.name="quick_one"', "quick_one"),
    ],
)
def test_the_name_is_read_from_the_file(tmp_path: Path, name: str, source: str, control: str) -> None:
    (tmp_path / name).write_text(source)
    assert kernels.control_in(tmp_path / name) == control


def test_files_that_register_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;")
    with pytest.raises(SpecError, match=r"a\.c:1: it registers no congestion control"):
        kernels.control_in(tmp_path / "a.c")
    with pytest.raises(InputError, match="no such file"):
        kernels.control_in(tmp_path / "b.c")
    with pytest.raises(InputError):
        kernels.control_in(tmp_path)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_name_or_a_message(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "x.c"
    file.write_bytes(content)
    try:
        found = kernels.control_in(file)
    except SpecError as refused:
        found = str(refused)
    assert found
