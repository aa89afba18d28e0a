"""A distribution's kernel under QEMU: what its guest is made of, how it is chosen, and one real boot."""

from __future__ import annotations

import importlib.util
import io
import lzma
import marshal
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import InputError, MachineError
from lab.machine.kernel import KernelMissing
from lab.machine.kernel.root import PACKAGE
from lab.machine.kernel.vm import image, initrd, preload, qemu, root, stock
from lab.machine.kernel.vm.cpio import Archive
from lab.machine.kernel.vm.modules import load_order, modules
from lab.spec.variant import ResolvedVariant
from lab.units import Size


def entries(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Name -> mode and content, read as the kernel reads them."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        field = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, length = field[1], field[6], field[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        start = at + 110 + length + (-(110 + length) % 4)
        at = start + size + (-size % 4)
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, data[start : start + size])


def module(depends: str, softdep: str = "", signed: bool = False) -> bytes:
    """As much of a module as says what it needs."""
    text = f"\0license=GPL\0depends={depends}\0" + (f"softdep=pre: {softdep}\0" if softdep else "")
    body = b"\x7fELF" + text.encode()
    if not signed:
        return body
    return body + b"S" * 40 + struct.pack(">8xI", 40) + b"~Module signature appended~\n"


def test_an_archive_holds_what_was_put_into_it_below_its_folders() -> None:
    buffer = io.BytesIO()
    archive = Archive(buffer)
    archive.file("/a/b/file", b"content")
    archive.file("/a/b/file", b"again")
    archive.link("/a/link", "b/file")
    archive.device("/dev/null", 1, 3)
    archive.file("/bin/tool", b"12345", 0o755)
    archive.close()
    found = entries(buffer.getvalue())
    assert list(found) == ["a", "a/b", "a/b/file", "a/link", "dev", "dev/null", "bin", "bin/tool"]
    assert found["a/b/file"] == (0o100644, b"content")
    assert found["a/link"] == (0o120777, b"b/file")
    assert found["bin/tool"] == (0o100755, b"12345")
    assert len(buffer.getvalue()) % 4 == 0


def test_a_copy_keeps_the_links_on_its_way(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "tool").write_bytes(b"tool")
    (tmp_path / "alias").symlink_to("real")
    buffer = io.BytesIO()
    archive = Archive(buffer)
    archive.copy(tmp_path / "alias" / "tool")
    archive.close()
    found = entries(buffer.getvalue())
    here = str(tmp_path).strip("/")
    assert found[f"{here}/alias"] == (0o120777, b"real")
    assert found[f"{here}/real/tool"][1] == b"tool"


def test_modules_come_after_what_they_need_without_their_signature(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "sch-a.ko").write_bytes(module("lib_b", "crc-c", signed=True))
    (tmp_path / "lib_b.ko.xz").write_bytes(lzma.compress(module("")))
    (tmp_path / "crc-c.ko").write_bytes(module("lib_b"))
    (tmp_path / "unused.ko").write_bytes(module(""))
    found = load_order(modules(tmp_path), ("sch_a", "built_in", "lib_b"))
    assert [name for name, _ in found] == ["lib_b", "crc_c", "sch_a"]
    assert dict(found)["sch_a"] == module("lib_b", "crc-c")
    assert dict(found)["lib_b"] == module("")


def test_modules_packed_in_another_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "veth.ko.zst").write_bytes(b"")
    with pytest.raises(InputError, match=r"veth\.ko\.zst"):
        load_order(modules(tmp_path), ("veth",))


def bzimage(payload: bytes) -> bytes:
    """As much of a bzImage as is read."""
    head = bytearray(1024)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x100)
    head[0x300:0x320] = b"6.1.0-56-amd64 (debian) #1 SMP".ljust(32)
    struct.pack_into("<II", head, 0x248, 64, len(payload))
    return bytes(head) + bytes(64) + payload + bytes(4096)


def test_an_image_says_its_release_and_holds_the_kernel_proper(tmp_path: Path) -> None:
    kernel = b"\x7fELF" + bytes(1000)
    file = tmp_path / "vmlinuz"
    file.write_bytes(bzimage(lzma.compress(kernel) + struct.pack("<I", len(kernel))))
    assert image.release(file) == "6.1.0-56-amd64"
    assert image.unpacked(file) == kernel


def test_an_image_packed_in_an_unknown_way_is_started_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(bzimage(b"\x89LZO whatever"))
    assert image.unpacked(file) is None


@pytest.mark.parametrize("content", [b"", b"MZ" + bytes(9000)])
def test_what_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not a kernel image"):
        image.release(file)


def test_a_kernel_that_was_not_fetched_is_missed_with_the_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(KernelMissing, match=r"lab kernel fetch 6\.1"):
        stock.find("6.1")
    with pytest.raises(KernelMissing, match=r"'7\.2-hz250' is not here; name a series, such as 7\.2"):
        stock.find("7.2-hz250")
    assert stock.installed() == []


def test_an_image_given_by_its_path_is_kept_under_its_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "vmlinuz-6.1.0-56-amd64"
    file.write_bytes(bzimage(lzma.compress(b"\x7fELF and more")))
    with pytest.raises(InputError, match=r"config-6\.1\.0-56-amd64"):
        stock.find(str(file))
    (tmp_path / "config-6.1.0-56-amd64").write_text("CONFIG_HZ=250\nCONFIG_WLAN=y\nCONFIG_NET_IPIP=m\n")
    first = stock.find(str(file))
    assert (first.name, first.hz, first.max_header) == ("6.1.0-56-amd64", 250, 144)
    assert stock.find(str(file)) == first == stock.find("6.1.0-56-amd64")
    assert (first.folder / "kernel").read_bytes() == b"\x7fELF and more"
    with pytest.raises(MachineError, match="no variant with HZ 100"):
        first.variant(ResolvedVariant(hz=100))


def test_a_trials_folder_comes_last_and_the_console_stays_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = tmp_path / "root.cpio"
    shared.write_bytes(b"ROOT")
    monkeypatch.setattr(root, "archive", lambda _: shared)
    (tmp_path / "modules.cpio").write_bytes(b"MODS")
    folder = tmp_path / "trial"
    (folder / "boot").mkdir(parents=True)
    for name in ("boot/cmdline", "trial.json", "console.log"):
        (folder / name).write_text(name)
    written = (folder / initrd.make(folder, tmp_path, tmp_path / "modules.cpio")).read_bytes()
    assert written[:8] == b"MODSROOT"
    found = entries(written[8:])
    assert found["trial/boot/cmdline"][1] == b"boot/cmdline"
    assert "trial/console.log" not in found
    assert "trial/out" in found
    for name in ("boot/cmdline", "trial.json"):
        os.utime(folder / name, (1, 1))
        (folder / name).chmod(0o600)
    initrd.make(folder, tmp_path, tmp_path / "modules.cpio")
    assert (folder / "boot/initrd").read_bytes() == written


@pytest.mark.long
def test_the_files_of_a_guest_are_those_of_the_lab_and_all_that_its_programs_load() -> None:
    found = root.files()
    assert str(Path(image.__file__)) in found
    rooms = {Path(path).relative_to(PACKAGE).parts[1] for path in found if path.startswith(f"{PACKAGE}/lab/")}
    assert {room for room in rooms if not room.endswith(".py")} == {"base", "guest", "machine", "spec"}
    assert any("/libc.so.6" in path for path in found)
    assert not [path for path in found if "/idlelib/" in path]


@pytest.mark.long
def test_a_guest_need_not_compile_the_lab(tmp_path: Path) -> None:
    archive = root.archive(tmp_path)
    found = entries(archive.read_bytes())
    module = str(Path(image.__file__).with_name("init.py"))
    _, bytecode = found[importlib.util.cache_from_source(module)[1:]]
    assert struct.unpack_from("<I", bytecode, 4) == (0b01,), "known by a hash that nobody looks at"
    assert marshal.loads(bytecode[16:]).co_filename == module
    assert found[module[1:]][1] == Path(module).read_bytes()


def test_bytecode_does_not_depend_on_what_the_lab_has_interned(tmp_path: Path) -> None:
    """Python marks interned strings in bytecode, so a guest would need more or fewer instructions to read it."""
    module = tmp_path / "module.py"
    module.write_text("VALUE = '\\x1e'\n")
    before = list(root._bytecode([str(module)]))
    sys.intern(chr(0x1E))
    assert list(root._bytecode([str(module)])) == before


def test_counted_time_has_one_cpu_a_fixed_date_and_no_random_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "program", lambda: "/usr/bin/qemu")
    line = " ".join(qemu.command(Path("/k"), "boot/initrd", 7, "virtual", Size.of("1 GiB")))
    for part in ("-icount shift=0,sleep=off", "rdrand=off", "clock=vm", "-m 1024M", "lab.seed=7", "-seed 7"):
        assert part in line
    assert "-smp" not in line
    assert "-icount" not in " ".join(qemu.command(Path("/k"), "boot/initrd", 7, "real", Size.of("1 GiB")))


@pytest.mark.needs("cc")
def test_threads_take_turns_by_a_library_that_is_compiled_once(tmp_path: Path) -> None:
    made = preload.library(tmp_path / "images")
    assert made.read_bytes().startswith(b"\x7fELF")
    assert {path.name for path in made.parent.iterdir()} == {made.name, "lock"}


@pytest.mark.needs("cc")
def test_qemu_sees_no_date_of_the_host(tmp_path: Path) -> None:
    """QEMU's emulated TLB shrinks after some time of the host, and a guest then executes other instructions."""
    made = preload.library(tmp_path / "images")
    asks = "import ctypes; t = (ctypes.c_long * 2)(7, 7); ctypes.CDLL(None).gettimeofday(t, None); print(list(t))"
    done = subprocess.run([sys.executable, "-c", asks], env={"LD_PRELOAD": str(made)}, capture_output=True, text=True)
    assert done.stdout == "[0, 0]\n", done.stderr


def test_without_a_compiler_or_where_nothing_is_loaded_from_the_cure_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MachineError, match="a space or a colon; set XDG_CACHE_HOME"):
        preload.library(tmp_path / "my kernels")
    (tmp_path / "cc").write_text("#!/bin/sh\necho no stdatomic.h >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match=r"steady\.c does not compile, no stdatomic\.h: sudo apt-get install gcc"):
        preload.library(tmp_path / "images")
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["lock"]
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match=r"file/images \(.*\); set XDG_CACHE_HOME"):
        preload.library(tmp_path / "file/images")
    monkeypatch.setenv("PATH", str(tmp_path / "images"))
    with pytest.raises(MachineError, match="needs a C compiler: sudo apt-get install gcc libc6-dev"):
        preload.library(tmp_path / "images")


@pytest.mark.needs(qemu.PROGRAM)
def test_qemu_counts_instructions_here() -> None:
    assert qemu.counted() == ""
