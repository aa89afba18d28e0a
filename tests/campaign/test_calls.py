"""What the host fails is in no record: a run says so, and the next one is as always."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.campaign.calls import Call, Listener, disturbed
from tests.campaign.isolated import Broken
from tests.campaign.runs import Reference, reference

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("kernel")]
WRITE, OPEN = 18, 257  # numbers of pwrite64 and openat


@dataclass(frozen=True)
class Fails:
    """The guest's kernel, when it writes a piece of a file of this name, or opens it."""

    call: int
    name: str
    error: int

    @property
    def names(self) -> dict[int, str]:
        return {OPEN: "openat", WRITE: "pwrite64"}

    def counts(self, call: Call) -> bool:
        if call.name != self.names[self.call]:
            return False
        if self.call == OPEN:
            return call.text(1).decode().endswith(self.name)
        return str(Path(f"/proc/{call.pid}/fd/{call.arguments[0]}").readlink()).endswith(self.name)

    def answer(self, call: Call) -> tuple[str, int]:
        return call.name, self.error


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize(
    ("fails", "code", "said"),
    [
        (Fails(WRITE, ".pcap", errno.EINTR), 0, ""),
        (Fails(WRITE, ".pcap", errno.ENOSPC), 3, "No space left on device"),
        (Fails(WRITE, ".pcap", errno.EIO), 3, "the host failed the guest: Input/output error"),
        (Fails(OPEN, "/libstdbuf.so", errno.EMFILE), 3, "the host failed the guest: Too many open files"),
    ],
    ids=lambda value: f"{value.name}-{errno.errorcode[value.error]}" if isinstance(value, Fails) else "",
)
def test_a_host_that_fails_once(undisturbed: Reference, tmp_path: Path, fails: Fails, code: int, said: str) -> None:
    listener = Listener(fails, 0)
    ran = disturbed(listener, undisturbed, tmp_path / "results")
    assert listener.failed
    assert (ran.code, said in ran.said) == (code or undisturbed.code, True), ran.said
    undisturbed.holds(tmp_path / "results")


def test_a_host_that_lies_is_noticed(undisturbed: Reference, tmp_path: Path) -> None:
    """What the other test looks for, it sees: other bytes in a record."""
    listener = Listener(Fails(OPEN, "/libstdbuf.so", errno.ENOENT), 0)
    disturbed(listener, undisturbed, tmp_path / "results")
    with pytest.raises(Broken, match="other bytes"):
        undisturbed.holds(tmp_path / "results")
