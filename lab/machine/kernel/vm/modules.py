"""Find the loadable modules that trials need and their dependencies, in the order to load them.

Modules list their own dependencies (modinfo's `depends` and `softdep`), so depmod is not needed.
"""

from __future__ import annotations

import lzma
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.errors import InputError

# The modules of fabric, workloads, probes and middleboxes, and of the way to carry results to the host. Modules that
# are built into a kernel, or missing, are skipped. A user of a missing one reports it at run time.
WANTED = (
    "crc32c_generic",  # other modules name it by its alias, crc32c
    *("veth", "ifb", "bridge", "af_packet"),
    *("sch_netem", "sch_tbf", "sch_htb", "sch_ingress", "sch_fq", "sch_fq_codel"),
    *("cls_matchall", "cls_u32", "cls_bpf", "act_mirred", "act_bpf"),
    *("inet_diag", "tcp_diag", "tcp_bbr"),
    *("nf_tables", "nft_compat", "nfnetlink_queue", "nft_queue", "xt_TCPMSS", "xt_tcpudp"),
    *("virtio_pci", "9p", "9pnet_virtio"),
)
_SIGNATURE = b"~Module signature appended~\n"
_SIGNATURE_INFO = struct.Struct(">8xI")  # struct module_signature: its last field is the signature's length


def modules(tree: Path) -> dict[str, Path]:
    """Return the module files below `tree` (/lib/modules/RELEASE), by name."""
    return {_name(file.name.partition(".ko")[0]): file for file in sorted(tree.rglob("*.ko*"))}


def load_order(files: Mapping[str, Path], wanted: Iterable[str] = WANTED) -> list[tuple[str, bytes]]:
    """Return (name, content) of the existing `wanted` modules and all dependencies, each after its own dependencies.

    Raises InputError if a module cannot be read.
    """
    found: dict[str, bytes] = {}
    seen: set[str] = set()

    def add(name: str) -> None:
        if name in seen or name not in files:
            return
        seen.add(name)
        content = _content(files[name])
        for needed in _needs(content):
            add(needed)
        found[name] = content

    for name in wanted:
        add(_name(name))
    return list(found.items())


def _name(name: str) -> str:
    return name.replace("-", "_")


def _content(file: Path) -> bytes:
    """Return the module, unpacked and without its signature, because checking it takes an emulated kernel 0.05 s."""
    data = file.read_bytes()
    match file.suffix:
        case ".ko":
            pass
        case ".xz":
            data = lzma.decompress(data)
        case other:
            raise InputError(f"{file}: modules packed as {other} are not known here, only .ko and .ko.xz")
    if not data.endswith(_SIGNATURE):
        return data
    end = len(data) - len(_SIGNATURE) - _SIGNATURE_INFO.size
    (length,) = _SIGNATURE_INFO.unpack_from(data, end)
    return data[: end - length]


def _needs(content: bytes) -> list[str]:
    said = re.findall(rb"\0(depends|softdep)=([^\0]*)\0", b"\0" + content.replace(b"\0", b"\0\0"))
    names: list[str] = []
    for key, value in said:
        text = value.decode()
        if key == b"depends":
            names += [name for name in text.split(",") if name]
        elif text.startswith("pre:"):
            names += text.removeprefix("pre:").partition("post:")[0].split()
    return [_name(name) for name in names]
