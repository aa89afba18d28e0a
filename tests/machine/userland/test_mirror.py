"""A mirror that fails for a moment is asked again; one that says no is not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from lab.machine.userland import mirror
from lab.machine.userland.mirror import Mirrors, NotFetched
from tests.machine.userland.archive import serving

CONTENT = b"a package"


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which the mirrors were left alone; nobody really waits."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    mirror._addresses.cache_clear()
    return found


@contextmanager
def served(answers: list[int]) -> Iterator[str]:
    """A server that gives these answers, one a question; 0 hangs up, 1 breaks off within the content."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code = answers.pop(0)
            if code == 0:
                return
            self.send_response(200 if code == 1 else code)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:4] if code == 1 else CONTENT)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(Answering) as url:
        yield url


@pytest.mark.parametrize("failure", [0, 1, 429, 500, 502, 503, 504])
def test_a_failure_that_passes_is_waited_for(failure: int, waits: list[float]) -> None:
    with served([failure, failure, 200]) as url:
        assert Mirrors((url,)).read("pool/a.deb") == CONTENT
    assert waits == list(mirror.WAITS[:2])


@pytest.mark.parametrize("refusal", [403, 404, 410])
def test_a_no_is_final(refusal: int, waits: list[float]) -> None:
    with served([refusal]) as url, pytest.raises(NotFetched, match=rf"cannot fetch pool/a.deb \({url}: {refusal} "):
        Mirrors((url,)).read("pool/a.deb")
    assert waits == []


def test_the_second_mirror_is_asked_before_anyone_waits(waits: list[float]) -> None:
    with served([503]) as first, served([200]) as second:
        assert Mirrors((first, second)).read("pool/a.deb") == CONTENT
    assert waits == []


def resolving(failures: list[int]) -> Callable[..., object]:
    """A look-up of names that fails so, one a question, and then goes on as ever."""
    real = socket.getaddrinfo

    def look_up(*asked: object, **options: object) -> object:
        if failures:
            raise socket.gaierror(failures.pop(0), "a name service failed")
        return real(*asked, **options)  # type: ignore[arg-type]

    return look_up


def test_a_name_service_that_is_out_for_a_moment(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    with served([200]) as url:
        monkeypatch.setattr(socket, "getaddrinfo", resolving([socket.EAI_AGAIN] * 3))
        assert Mirrors((url,)).read("pool/a.deb") == CONTENT
    assert waits == list(mirror.WAITS[:3])


@pytest.mark.parametrize(("error", "waited"), [(socket.EAI_AGAIN, mirror.WAITS), (socket.EAI_NONAME, ())])
def test_a_name_that_nobody_knows(
    error: int, waited: tuple[float, ...], monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving([error] * 9))
    with pytest.raises(NotFetched, match=r"cannot fetch pool/a.deb \(http://mirror.invalid: .*a name service failed"):
        Mirrors(("http://mirror.invalid",)).read("pool/a.deb")
    assert waits == list(waited)


def test_a_mirror_is_looked_for_once_and_again_when_it_is_no_longer_there(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    real, found = socket.getaddrinfo, []

    def look_up(host: str, *asked: object, **options: object) -> object:
        found.append(host)
        return real("127.0.0.1", *asked, **options)  # type: ignore[arg-type]

    with served([200, 200]) as url:
        mirrors = Mirrors((url.replace("127.0.0.1", "mirror.invalid"),))
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        assert mirrors.read("pool/a.deb") == mirrors.read("pool/b.deb") == CONTENT
    assert found.count("mirror.invalid") == 1
    for _ in range(2):
        with pytest.raises(NotFetched, match="refused"):
            mirrors.read("pool/c.deb")
    assert found.count("mirror.invalid") == 2
    assert waits == []


def test_each_try_has_its_limit(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    def silent(*_: object, timeout: float) -> object:
        raise TimeoutError(f"{timeout:.0f} s without a byte")

    monkeypatch.setattr(socket, "create_connection", silent)
    with pytest.raises(NotFetched, match="60 s without a byte"):
        Mirrors(("http://127.0.0.1:9",)).read("pool/a.deb")
    assert waits == list(mirror.WAITS)
