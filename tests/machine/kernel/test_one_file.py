"""On a real kernel: a changed file of the network code, and a congestion control of one's own, in seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.base.building import Silent, alone
from lab.machine.kernel import UmlKernel, boot, build, folder
from lab.machine.kernel.uml import cache, compiling
from lab.machine.kernel.uml.relinking import Parts
from lab.machine.userland.builder import build as userland
from lab.spec.errors import SpecError

pytestmark = [pytest.mark.guest, pytest.mark.long]

MINE = """\
#include <linux/module.h>
#include <net/tcp.h>

static struct tcp_congestion_ops tcp_mine = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "mine",
};

static int __init tcp_mine_register(void)
{
	return tcp_register_congestion_control(&tcp_mine);
}
module_init(tcp_mine_register);
MODULE_LICENSE("GPL");
"""
CUBIC = "net/ipv4/tcp_cubic.c"


@pytest.fixture(scope="module")
def parts(kernel: UmlKernel) -> Parts:
    """The parts of the plain kernel. If an older version of the lab built the kernel, they are missing."""
    with alone(folder(), Silent()):
        found = Parts.of(kernel.path.parent, userland("compiler", Silent()))
    if found is None:
        pytest.skip("the kernel has no parts to link again; `lab kernel build --file FILE.c` adds them once")
    return found


@pytest.fixture
def here(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the plain kernel alone, whose whole build fails."""
    kernels, userlands, ident = folder(), userland("compiler", Silent()).tree.parents[1], parts.folder.parent.name
    cache = tmp_path / "cache" / "replab"
    (cache / "kernels").mkdir(parents=True)
    (cache / "userlands").symlink_to(userlands)
    for name in (ident, "sources"):
        (cache / "kernels" / name).symlink_to(kernels / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a whole build")

    monkeypatch.setattr(compiling, "configure", refuse)
    return tmp_path


def written(here: Path, name: str, text: str | bytes) -> Path:
    file = here / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def original(parts: Parts) -> bytes:
    return (parts.folder / CUBIC).read_bytes()


def available(kernel: UmlKernel, here: Path) -> list[str]:
    """The congestion controls that a guest of this kernel offers."""
    name = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    (here / "trial").mkdir()
    return boot(kernel, here / "trial", ["cat", name]).console.read_text().split()


def test_the_same_file_gives_the_same_bytes(kernel: UmlKernel, parts: Parts, here: Path) -> None:
    assert build(files=[written(here, "tcp_cubic.c", original(parts))]).id == kernel.id
    changed = build(files=[written(here, "tcp_cubic.c", original(parts) + b"/* the end */\n")])
    assert (changed.base, changed.patches) == (kernel.id, ("tcp_cubic",))
    assert changed.path.read_bytes() == kernel.path.read_bytes()


def test_a_congestion_control_of_ones_own(here: Path) -> None:
    kernel = build(files=[written(here, "tcp_mine.c", MINE)])
    assert "mine" in available(kernel, here)
    assert build(kernel.name, cache.changes_of(folder(), kernel.id)) == kernel  # if it is removed, its patches suffice


@pytest.mark.kernels
def test_a_whole_build_gives_the_same_kernel(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(here, "tcp_mine.c", MINE)]
    kernel = build(files=files)
    kept = kernel.path.parent.rename(here / "kept")
    monkeypatch.undo()
    monkeypatch.setattr(Parts, "sources", lambda *_: ())
    again = build("7.2-whole", files=files)
    try:
        assert again.id == kernel.id
        assert again.path.read_bytes() == (kept / "linux").read_bytes()
    finally:
        shutil.rmtree(again.path.parent)


def test_a_compile_error_has_its_line(parts: Parts, here: Path) -> None:
    file = written(here, "tcp_cubic.c", original(parts).replace(b"ca->cnt = max(", b"ca->count = max(", 1))
    with pytest.raises(SpecError, match=r"tcp_cubic\.c:\d+: .struct bictcp. has no member named .count."):
        build(files=[file])
