"""Nothing acts on a record before its trial is one that an experiment could declare, and its files are files."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.ext.verify.verification import verify
from lab.guest.workload import Flow, Flows, Program
from lab.machine.kernel import Budget
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.units import to_plain
from tests.forged import forge
from tests.record.test_store import record

Change = Callable[[dict[str, Any]], object]
SOURCE = base64.b64encode(zlib.compress(b"int main(void) { return 0; }")).decode()
PROGRAM = to_plain(Program(argv=("a",), sources=("a.c",), contents={"a.c": SOURCE}))
FLOWS = to_plain(Flows((Flow("one", Program(argv=("a",), sources=("a.c",), contents={"a.c": SOURCE})),)))


def source_named(name: str) -> Change:
    return lambda plain: plain.update(workload=PROGRAM | {"sources": [name], "contents": {name: SOURCE}})


def flow_named(name: str) -> Change:
    return lambda plain: plain.update(workload=FLOWS | {"flows": [FLOWS["flows"][0] | {"name": name}]})


def field(name: str, value: object) -> Change:
    return lambda plain: plain.update({name: value})


def kernel(name: str, value: object) -> Change:
    return lambda plain: plain["kernel"].update({name: value})


FORGED: dict[str, Change] = {
    "a source that is a path": source_named("/tmp/evil.c"),
    "a source that leads out": source_named("../evil.c"),
    "a source that is an option": source_named("-fplugin=evil.c"),
    "a source that is a file of options": source_named("@evil.c"),
    "a source with a NUL": source_named("a\0.c"),
    "a flow that is a path": flow_named("/tmp/evil"),
    "a flow that leads out": flow_named(".."),
    "an endless flow": flow_named("a" * 10**6),
    "an arm that leads out": field("arm", "x/../../../../evil"),
    "an arm with a NUL": field("arm", "a\0b"),
    "an endless arm": field("arm", "a" * 10**6),
    "a claim with a NUL": field("claim", "a/b\0"),
    "a userland that leads out": field("userland", "../evil"),
    "a fabric that is a path": field("fabric", "/evil"),
    "a kernel whose id is a list": kernel("id", ["k1"]),
    "a kernel without an id": lambda plain: plain["kernel"].pop("id"),
    "a kernel of another HZ": kernel("hz", 0),
    "a kernel whose name colours the terminal": kernel("name", "\x1b[31m"),
    "a workload of no kind": field("workload", {}),
    "a workload of an unknown kind": field("workload", {"kind": "evil"}),
    "a workload whose kind is a list": field("workload", {"kind": []}),
    "a workload that takes no such field": field("workload", {"kind": "ping", "evil": 1}),
    "a packetdrill without its program": field("workload", {"kind": "packetdrill", "script": "a.pkt"}),
    "a network without nodes": field("network", {"name": "n", "nodes": [], "links": []}),
    "a network that is none": field("network", {"x": 1}),
    "a probe that is none": field("probes", [{"kind": "evil"}]),
    "a middlebox that is none": field("middleboxes", [None]),
    "a seed of 65 bits": field("seed", 1 << 64),
    "a negative seed": field("seed", -1),
    "a repeat that is true": field("repeat", True),
    "a source that is not there": field("workload", PROGRAM | {"contents": {}}),
    "a source that is damaged": field("workload", PROGRAM | {"contents": {"a.c": "!"}}),
    "a tool that nothing runs": field("tools", {"/bin/sh": "1"}),
    "a clock that is none": field("clock", "x"),
    "a field that is none": field("extra", 1),
    "a duration of a million digits": field("workload", {"kind": "ping", "interval": "1" * 10**6 + " x y"}),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_trial_that_nobody_could_declare_is_damage(tmp_path: Path, change: Change) -> None:
    whole = record(Store(tmp_path / "results"))
    forged = forge(record(Store(tmp_path / "results"), seed=2), change)
    with pytest.raises(RecordError, match=r"is damaged: trial\.json: "):
        _ = forged.trial
    outcomes = {each.address: each.outcome for each in verify(tmp_path / "results", 1, Budget()).checked}
    assert outcomes == {whole.address: "not repeated", forged.address: "damaged"}, "the others go on"
    assert {path.name for path in tmp_path.iterdir()} == {"results"}


def link(found: Record) -> None:
    (found.folder / "console.log").unlink()
    (found.folder / "console.log").symlink_to("/etc/hostname")


def folder(found: Record) -> None:
    (found.folder / "out").rename(found.folder.parents[2] / "elsewhere")
    (found.folder / "out").symlink_to(found.folder.parents[2] / "elsewhere")


def output(found: Record) -> None:
    (found.folder / "out/ping.txt").rename(found.folder.parents[2] / "elsewhere")
    (found.folder / "out/ping.txt").symlink_to(found.folder.parents[2] / "elsewhere")


def fifo(name: str) -> Callable[[Record], None]:
    def put(found: Record) -> None:
        (found.folder / name).unlink(missing_ok=True)
        os.mkfifo(found.folder / name)

    return put


def endless(found: Record) -> None:
    (found.folder / "record.json").unlink()
    (found.folder / "record.json").symlink_to("/dev/zero")


def large(found: Record) -> None:
    with (found.folder / "trial.json").open("r+b") as file:
        file.truncate(1 << 40)


def deep(found: Record) -> None:
    place = found.folder / "out"
    for _ in range(100):
        place /= "d"
    place.mkdir(parents=True)
    (place / "file").touch()


def beside(found: Record) -> None:
    (found.folder / "beside").write_text("what a guest left")


LAID: dict[str, tuple[Callable[[Record], None], str]] = {
    "a link": (link, "console.log"),
    "a link to a folder": (folder, "out"),
    "an output that is a link": (output, "out/ping.txt is not a regular file"),
    "a pipe as the trial": (fifo("trial.json"), "trial.json cannot be read: is not a regular file"),
    "a pipe as the record": (fifo("record.json"), "record.json cannot be read: is not a regular file"),
    "a pipe as an output": (fifo("out/ping.txt"), "out/ping.txt is not a regular file"),
    "a pipe beside": (fifo("pipe"), "pipe does not belong"),
    "an endless file": (endless, "record.json cannot be read"),
    "a file that is too large": (large, r"trial\.json cannot be read: is larger than"),
    "folders without end": (deep, "d/d/d does not belong"),
    "a file beside": (beside, "beside does not belong"),
}


@pytest.mark.parametrize(("lay", "named"), LAID.values(), ids=LAID)
def test_what_is_no_file_of_a_record_is_named_and_nothing_takes_it(
    tmp_path: Path, lay: Callable[[Record], None], named: str
) -> None:
    kept = record(Store(tmp_path / "results"))
    lay(kept)
    with pytest.raises(RecordError, match=named):
        Record(kept.folder).verify()


def test_an_output_that_is_a_pipe_is_not_opened(tmp_path: Path) -> None:
    kept = record(Store(tmp_path))
    fifo("out/ping.txt")(kept)
    with pytest.raises(RecordError, match=r"out/ping\.txt is missing, or is not a regular file"):
        kept.text("ping.txt")


def test_a_small_source_that_unpacks_to_much_is_damage() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(64 << 20), 9)).decode()
    with pytest.raises(ValueError, match="has more than"):
        Program(argv=("a",), sources=("a.c",), contents={"a.c": bomb}).content("a.c")
