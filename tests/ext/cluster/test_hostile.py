"""What a shared store's server takes of this machine is bounded, whatever it answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.ext.cluster.server import Patience
from lab.ext.cluster.shared import SharedFolder, SharedServer, named
from lab.ext.cluster.sharing import fetch
from lab.record.store import Store
from tests.campaign.servers import OK, Piece, served
from tests.record.test_store import files, record
from tests.trials import trial

SHORT, SILENT = Patience(seconds=0.6, bytes=1 << 20), Patience(silence=0.2)


def test_a_pipe_in_a_shared_folder_is_no_archive(tmp_path: Path) -> None:
    pipe = tmp_path / named(trial().address)
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    with pytest.raises(MachineError, match="it is not a file"), SharedFolder(tmp_path).open(named(trial().address)):
        pass


def slowly(first: bytes, then: bytes) -> Iterator[Piece]:
    yield first
    for _ in range(99):
        yield 0.05
        yield then


def endless(*first: bytes, then: bytes) -> Iterator[Piece]:
    return chain(first, repeat(then))


ANSWERS: dict[str, tuple[Callable[[], Iterable[Piece]], str]] = {
    "a body without end": (lambda: endless(OK + b"\r\n", then=bytes(1 << 16)), "more than 1,048,576 bytes"),
    "a byte now and then": (lambda: slowly(OK + b"\r\n", b"x"), "more than 0.6 s"),
    "a header now and then": (lambda: slowly(OK, b"X: y\r\n"), "more than 0.6 s"),
    "no byte": (lambda: [OK, 5.0], "it sends nothing"),
    "answers before the answer": (lambda: endless(then=b"HTTP/1.1 100 Continue\r\n\r\n" * 99), "more than 1,048,576"),
    "last lines without end": (
        lambda: endless(OK, b"Transfer-Encoding: chunked\r\n\r\n0\r\n", then=b"X: y\r\n" * 99),
        "more than 1,048,576",
    ),
    "another scheme": (
        lambda: [b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n"],
        "redirects to 'ftp://127.0.0.1/x', which does not begin with http://",
    ),
    "no address": (lambda: [b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n"], "Invalid IPv6 URL"),
}


@pytest.mark.parametrize(("answer", "said"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_server_that_takes_too_much_is_given_up(
    answer: Callable[[], Iterable[Piece]], said: str, tmp_path: Path
) -> None:
    patience = SILENT if "nothing" in said else SHORT
    with served(answer) as url, pytest.raises(MachineError, match=said):
        fetch([trial()], SharedServer(url, patience), Store(tmp_path), lambda _: None)
    assert files(tmp_path) == []


def test_a_server_may_send_an_honest_record_elsewhere(tmp_path: Path) -> None:
    theirs = Store(tmp_path / "theirs")
    sent = record(theirs)
    SharedFolder(tmp_path / "shared").add(sent)
    body = (tmp_path / "shared" / named(sent.address)).read_bytes()
    answers = iter(
        ([b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n"], [OK, b"\r\n", body], [b"HTTP/1.1 404 No\r\n\r\n"])
    )
    with served(lambda: next(answers)) as url:
        fetch([sent.trial], SharedServer(url), Store(tmp_path / "ours"), lambda _: None)
    found = Store(tmp_path / "ours").get(sent.address)
    assert found is not None
    assert found.outputs == sent.outputs
