"""Forged records: any value of an honest trial is changed, and the hashes of the record fit it.

Commands take them as `lab store fsck`, `du`, `lab cluster merge`, `lab verify` and `lab report` do, up to the start of
a guest and of the compiler, which are stand-ins. Nothing may be written outside the folder of the case.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from lab.ext.cluster import sharing
from lab.ext.upkeep import upkeep
from lab.ext.verify.verification import verify
from lab.guest.middlebox import NftMaxseg
from lab.guest.probe import Capture, CpuTime, QueueState, TcpInfo
from lab.guest.workload import Bulk, Flow, Flows, Packetdrill, Ping, Program, SmallWrites
from lab.machine.kernel import Budget, GuestError
from lab.machine.userland import cache as userlands
from lab.machine.userland.cache import Userland
from lab.record.record import RecordError
from lab.record.store import Store
from lab.report import trials
from lab.runner import guest, programs
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import Size, to_plain
from tests.campaign.mutator import places
from tests.ext.cluster.test_campaign_parts import Stub
from tests.forged import forge
from tests.trials import trial

__all__ = ["forged"]

LONG = 100_000  # characters that the copies of a value take: more makes a record too large for us
SECONDS = 10.0  # of CPU, after which something hangs
MEMORY = 500  # MB, of the process
NAMES = [
    *("", ".", "..", "/", "../../../../x", "/etc/x", "~/x", "a/b", "-o", "@x", "-fplugin=x.c", "a\0b", "x" * 10**6),
    *("é\u202ex", "\ud7ff\U0010ffff", "\x1b]52;c;eA==\x07", "a\nb", "a\u2028b", "<script>", "$(id)", "%s", "{server}"),
    *("nan", "inf", "1e400", "-1 s", "1e99 s", "9" * 5000, "1" * 10**5 + " x y", "0 ns", "none", "host", "CON"),
]
NUMBERS = [0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, 10**300, -(10**300), 0.5, -0.0, 1e308, 5e-324, 1.5]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], {"": ""}, [None] * 1000, {"kind": "program"}, {"kind": ["ping"]}]
WRITES = {
    f"os.{call}" for call in ["mkdir", "remove", "rmdir", "rename", "link", "symlink", "chmod", "truncate", "chown"]
}


class Escaped(Exception):
    """Something was written, or started, outside."""


def forged(case: str, seed: int, folder: Path) -> str:
    """Do the case of this number; return what is wrong, or ""."""
    chance = random.Random(f"{seed}/{case}")
    sys.dont_write_bytecode = True
    try:
        with tempfile.TemporaryDirectory(dir=folder) as private, _hanging(), _watched(folder), _stand_ins():
            _take(Path(private), chance)
    except BaseException:  # noqa: BLE001  # whatever it is, it is what we look for
        return traceback.format_exc()[-3000:]
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return f"{used} MB of memory" if used > MEMORY else ""


def _take(folder: Path, chance: random.Random) -> None:
    """Do with a forged record what commands do, and hold that an honest one beside it is taken."""
    results = folder / "results"
    honest = _recorded(Store(results, durable=False), {"kind": "ping"}, 2)
    made = _recorded(Store(results, durable=False), chance.choice(_workloads()), 1)
    record = forge(made, lambda plain: _mutate(plain, chance))
    with contextlib.suppress(RecordError):
        record.load()
        trials._page(record, folder, "")  # a report does this in processes of its own
    upkeep.check(results)
    upkeep.usage(results)
    with contextlib.redirect_stderr(io.StringIO()):
        checked = verify(results, 1, Budget(), kernels=[Stub()])
    if "damaged" in [each.outcome for each in checked.checked if each.address == honest.address]:
        raise Escaped("the honest record counts as damaged")
    sharing.merge([results], folder / "other")
    if Store(folder / "other").get(honest.address) is None:
        raise Escaped("the honest record was not taken")


def _mutate(plain: dict[str, Any], chance: random.Random) -> None:
    """Change one to three values, or keys, wherever they are."""
    for _ in range(chance.randint(1, 3)):
        within, key = chance.choice(places([plain])[1:])
        match chance.randrange(12):
            case 0:
                del within[key]
            case 1 if isinstance(within, dict):
                within[chance.choice(NAMES)] = within.pop(key)
            case 2:
                times = min(1000, max(2, LONG // len(repr(within[key]))))
                within[key] = [copy.deepcopy(within[key]) for _ in range(times)]
            case 3:
                within[key] = copy.deepcopy(chance.choice(OTHERS))  # a later change must not reach other cases
            case 4:
                deep: Any = within[key]
                for _ in range(chance.choice([2, 60, 250])):
                    deep = chance.choice([[deep], {"x": deep}])
                within[key] = deep
            case 5 | 6:
                within[key] = chance.choice(NUMBERS)
            case _:
                within[key] = chance.choice(NAMES)


@cache
def _workloads() -> tuple[dict[str, Any], ...]:
    program = Program(argv=("a",), files=("f",), sources=("a.c",)).with_files(lambda name: name.encode())
    flows = Flows((Flow("one", program), Flow("two", Bulk())))
    packetdrill = Packetdrill("a.pkt").with_files(lambda _: b"")
    return tuple(map(to_plain, (Ping(), Bulk(size=Size(1)), SmallWrites(), program, flows, packetdrill)))


@cache
def _network() -> Any:
    network = find.topology("two-hosts").resolve(Changes(links={"path": {"rate": "100 Mbit/s", "delay": "10 ms"}}))
    return to_plain(network)


def _recorded(store: Store, workload: dict[str, Any], seed: int) -> Any:
    tools = {"lab": "1"} | ({"packetdrill": "0" * 16} if workload["kind"] == "packetdrill" else {})
    boxes = to_plain([NftMaxseg("sender", Size(1000))])
    probes = to_plain([Capture(), CpuTime(), QueueState("path"), TcpInfo()])
    more = {"probes": probes, "middleboxes": boxes, "network": _network(), "workload": workload, "tools": tools}
    with store.stage(trial(**more, seed=seed, kernel=Stub().describe(), userland="0" * 16)) as stage:
        (stage.out / "ping.txt").write_text("64 bytes\n")
        (stage.path / "console.log").write_text("booted\n")
        return stage.commit({"kernel": "Linux", "sysctls": {}})


# -- what stands in for the machine


class _Guest:
    """A guest that never starts."""

    def __init__(self, _kernel: object, folder: Path, *_: object, **__: object) -> None:
        (folder / "console").write_text("no guest starts here\n")
        raise GuestError("no guest starts here", folder / "console")


def _compiled(_tree: Path, folder: Path, *arguments: str, **_: object) -> subprocess.CompletedProcess[str]:
    """Leave a program where the compiler would."""
    _inside(folder / arguments[arguments.index("-o") + 1])
    Path(arguments[arguments.index("-o") + 1]).write_bytes(b"")
    return subprocess.CompletedProcess([], 0, "", "")


@contextlib.contextmanager
def _stand_ins() -> Iterator[None]:
    here = Userland("0" * 16, Path("/nowhere"))
    with contextlib.ExitStack() as stack:
        for where, name, new in (
            (guest, "Guest", _Guest),
            (guest, "sealed", lambda _: mock.Mock()),
            (programs, "gcc", _compiled),
            (userlands, "find", lambda _: here),
        ):
            stack.enter_context(mock.patch.object(where, name, new))
        stack.enter_context(mock.patch("lab.ext.verify.repeat.load", lambda ident: _here(ident)))
        stack.enter_context(mock.patch("lab.ext.verify.repeat.differing", return_value=[]))
        stack.enter_context(mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(_WATCH[-1] / "cache")}))
        yield


def _here(ident: str) -> Any:
    """Return a userland that is here, if its name is no path."""
    if "/" in ident or ident in ("", ".", ".."):
        raise Escaped(f"a userland is looked for at {ident}")
    return mock.Mock(altered=list)


_WATCH: list[Path] = []  # the folders outside of which nothing may be written: an audit hook stays for good


@cache
def _hooked() -> None:
    sys.addaudithook(_audit)


def _audit(event: str, arguments: Sequence[Any]) -> None:
    if not _WATCH:
        return
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, str | bytes) and (flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or "w" in (mode or "")):
            _inside(path)
    elif event in WRITES:
        folder = next((each for each in arguments[1:] if isinstance(each, int) and each >= 0), None)
        if folder is None or event == "os.mkdir":
            for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
                if event != "os.link" or path is not arguments[0]:
                    _inside(path)
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "socket.connect"):
        raise Escaped(f"{event} {arguments}")


def _inside(path: Any) -> None:
    if isinstance(path, int):
        return
    real = os.path.realpath(os.fsdecode(path).replace("\0", ""))
    if real != os.devnull and not real.startswith(f"{os.path.realpath(_WATCH[-1])}/"):
        raise Escaped(f"{path!r} is outside")


@contextlib.contextmanager
def _watched(folder: Path) -> Iterator[None]:
    _hooked()
    _WATCH.append(folder)
    try:
        yield
    finally:
        _WATCH.pop()


@contextlib.contextmanager
def _hanging() -> Iterator[None]:
    """Raise TimeoutError after so much CPU time."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS:g} s of CPU")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
