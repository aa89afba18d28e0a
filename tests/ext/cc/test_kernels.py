"""Which congestion controls a kernel has, and which cases and rivals a user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import InputError
from lab.ext.cc import cases, judging, kernels
from lab.machine.kernel import UmlKernel


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
