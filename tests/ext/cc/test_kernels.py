"""Which congestion controls a kernel has, and which one a C file registers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.cc import api, judging, kernels
from lab.machine.kernel import UmlKernel
from lab.spec.errors import SpecError
from tests.ext.cc.cards import shipped_pack

PLAIN = UmlKernel("7.2", "7.2.13-1", "k1", 1000, (), Path("nowhere/linux"), 0, True)


def kernel(folder: Path, config: str) -> UmlKernel:
    (folder / "config").write_text(config)
    return replace(PLAIN, path=folder / "linux")


def operations(*names: str) -> str:
    return "".join(
        f'static struct tcp_congestion_ops ops __read_mostly = {{\n\t.name\t= "{name}",\n}};\n' for name in names
    )


def test_the_configuration_lists_the_controls(tmp_path: Path) -> None:
    config = "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\n# CONFIG_TCP_CONG_BIC is not set\n"
    assert kernels.controls(kernel(tmp_path, config + "CONFIG_TCP_CONG_HSTCP=y\n")) == ("cubic", "highspeed", "reno")


def test_a_changed_kernel_may_have_controls_that_no_option_names(tmp_path: Path) -> None:
    plain = kernel(tmp_path, "CONFIG_TCP_CONG_CUBIC=y\n")
    plain.path.write_bytes(b"...mine" + bytes(12) + b"...mines")
    for changed in (replace(plain, patches=("tcp_mine",)), replace(plain, tree="linux")):
        assert kernels.controls(changed, ["mine", "mines", "min", "", "x" * 16]) == ("cubic", "mine", "reno")
    assert kernels.controls(plain, ["mine"]) == ("cubic", "reno")


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
    pack = shipped_pack()
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
        ("tcp_cubic.c", operations("cubic"), "cubic"),
        ("tcp_dctcp.c", operations("dctcp_reno", "dctcp"), "dctcp"),
        ("mine.c", 'struct tcp_congestion_ops a={.owner=0,.name="bbr-v3"};', "bbr-v3"),
        ("mine.c", '// "\n/* .name = "a" */' + operations("one").replace(".name", '/* .name = "b", */ .name'), "one"),
        ("mine.c", 'struct other x = {.name = "a"};\nchar *text = "/*";' + operations("one"), "one"),
    ],
)
def test_the_name_is_read_from_the_file(tmp_path: Path, name: str, source: str, control: str) -> None:
    (tmp_path / name).write_text(source)
    assert kernels.control_in(tmp_path / name, PLAIN) == control


def test_files_that_register_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;")
    with pytest.raises(SpecError, match=r"a\.c:1: it registers no congestion control"):
        kernels.control_in(tmp_path / "a.c", PLAIN)
    (tmp_path / "a.c").write_text(operations("a name"))
    with pytest.raises(SpecError, match=r"a\.c:2: 'a name' is no name for a congestion control"):
        kernels.control_in(tmp_path / "a.c", PLAIN)
    with pytest.raises(InputError, match="no such file"):
        kernels.control_in(tmp_path / "b.c", PLAIN)
    with pytest.raises(InputError):
        kernels.control_in(tmp_path, PLAIN)


def test_a_copy_of_a_kernels_file_under_another_name_is_refused(tmp_path: Path) -> None:
    plain = kernel(tmp_path, "CONFIG_TCP_CONG_CUBIC=y\n")
    for name in ("my_cubic.c", "tcp_cubic.c"):
        (tmp_path / name).write_text("/* two\nlines */\n" + operations("cubic"))
    with pytest.raises(SpecError, match=r"my_cubic\.c:4: the kernel's tcp_cubic\.c already registers 'cubic'; give"):
        kernels.control_in(tmp_path / "my_cubic.c", plain)
    assert kernels.control_in(tmp_path / "tcp_cubic.c", plain) == "cubic"


@pytest.mark.long
def test_a_c_file_changes_a_plain_kernel_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(name: str, **_: object) -> None:
        raise LookupError(name)

    plain = kernel(tmp_path, "")
    found = {"7.2": plain, "7.2.13-1": plain, "7.2-mine": replace(plain, name="7.2-mine", patches=("mine",))}
    monkeypatch.setattr("lab.machine.kernel.find", found.__getitem__)
    monkeypatch.setattr("lab.machine.kernel.build", build)
    (tmp_path / "mine.c").write_text(operations("mine"))
    for name in ("7.2", "7.2.13-1"):
        with pytest.raises(LookupError, match=r"^7\.2$"):
            api.cc(tmp_path / "mine.c", kernel=name)
    with pytest.raises(InputError, match=r"--kernel 7\.2-mine: a C file needs a plain kernel such as 7\.2"):
        api.cc(tmp_path / "mine.c", kernel="7.2-mine")
    with pytest.raises(InputError, match="contradict each other"):
        api.cc(tmp_path / "mine.c", tree=tmp_path)


@pytest.mark.parametrize("part", ["struct tcp_congestion_ops x = {", "/*", '\\"', "'", "};"])
def test_a_hostile_file_takes_no_time(tmp_path: Path, part: str) -> None:
    (tmp_path / "x.c").write_text(part * ((1 << 20) // len(part)))
    with pytest.raises(SpecError):
        kernels.control_in(tmp_path / "x.c", PLAIN)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_name_or_a_message(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "x.c"
    file.write_bytes(content)
    try:
        found = kernels.control_in(file, PLAIN)
    except (InputError, SpecError) as refused:
        found = str(refused)
    assert found
