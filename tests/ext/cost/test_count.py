"""The plugin's counts, with a stand-in for QEMU: which function has an instruction, wherever its module lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.ext.cost import plugin, symbols
from lab.ext.cost.counts import FunctionCount, parse

pytestmark = pytest.mark.needs("cc")

STAND_IN = Path(__file__).with_name("qemu.c")
LISTED = """\
ffffffff81000000 t do_one
ffffffff81000040 t stat_open
ffffffffc0100000 t veth_xmit\t[veth]
ffffffffc0100040 t veth_poll\t[veth]
ffffffffc0200000 t hook\t[nf_tables]
nf_tables 16384 1 nft_compat, Live 0xffffffffc0200000
veth 4096 0 - Live 0xffffffffc0100000
"""
# this guest has loaded the modules in each other's places, and one that the list does not have
LOADED = """\
mine 4096 0 - Live 0xffffffffc0300000 (O)
veth 4096 0 - Live 0xffffffffc0200000
nf_tables 16384 1 nft_compat, Live 0xffffffffc0100000 (E)
"""
MARK = "ffffffff81000040 1"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin and the stand-in as one program."""
    made = tmp_path_factory.mktemp("count") / "count"
    options = ["-Wall", "-Wextra", "-Werror", f'-DCOUNT="{plugin.SOURCE}"']
    subprocess.run(["cc", *options, "-o", str(made), str(STAND_IN)], check=True)
    return made


def counted(
    program: Path, folder: Path, executed: list[str], loaded: str = LOADED
) -> tuple[int, dict[str, FunctionCount]]:
    """The programs' instructions, and each function's count."""
    lines = [f"{address:x} {name}\n" for address, name in (*symbols.functions(LISTED), *symbols.modules(LISTED))]
    (folder / "functions.txt").write_text("".join(lines))
    (folder / "modules").write_text(loaded)
    arguments = ["symbols=functions.txt", "modules=modules", "mark=stat_open", "from=2", "out=counts"]
    subprocess.run([str(program), *arguments], cwd=folder, input="\n".join(executed), text=True, check=True)
    return parse((folder / "counts").read_text(), str(folder))


def test_each_instruction_has_its_function_wherever_its_module_lies(program: Path, tmp_path: Path) -> None:
    executed = [
        *("ffffffff81000000 9", MARK, "ffffffff81000000 8", MARK),  # up to the second mark, nothing counts
        *("7f0000001000 7", "ffffffff81000000 2", "ffffffff81000004 3"),
        *("ffffffffc0200000 2", "ffffffffc0200004 2", "ffffffffc020007f 5"),  # veth
        *("ffffffffc0100000 4", "ffffffffc0100010 6"),  # nf_tables
        *("ffffffffc0300000 1", "ffffffffc0090000 1", "ffffffffc0201000 1"),  # not listed, before and behind modules
        *(MARK, "ffffffff81000000 50", "ffffffffc0200000 50", MARK),  # nor does anything after the last mark but one
    ]
    user, functions = counted(program, tmp_path, executed)
    assert user == 7
    assert functions == {
        "do_one": FunctionCount(5, 2),
        "stat_open": FunctionCount(1, 1),
        "veth:veth_xmit": FunctionCount(4, 2),
        "veth:veth_poll": FunctionCount(5, 0),
        "nf_tables:hook": FunctionCount(10, 4),
        symbols.UNNAMED: FunctionCount(3, 0),
    }


def test_a_guest_without_modules_has_code_without_a_name(program: Path, tmp_path: Path) -> None:
    executed = [MARK, MARK, "ffffffffc0100000 2", MARK, MARK]
    _, functions = counted(program, tmp_path, executed, loaded="")
    assert functions[symbols.UNNAMED] == FunctionCount(2, 0)


def test_without_a_last_mark_there_are_no_counts(program: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        counted(program, tmp_path, [MARK, MARK, MARK])
