"""What the machine denies a guest is told as the machine's fault, in words that outlive the guest's folder."""

from __future__ import annotations

from pathlib import Path

from lab.machine.kernel import GuestCrash
from lab.machine.kernel.uml import start
from lab.units import Size


def test_a_folder_that_takes_no_file_is_not_for_memory(tmp_path: Path) -> None:
    small = Size.of("1 MiB")
    assert start.memory_blocker(tmp_path, small) is None
    assert start.memory_blocker(Path("/proc"), small) == "/proc accepts no file: No such file or directory"
    assert "MiB free" in str(start.memory_blocker(tmp_path, Size.of("1048576 GiB")))


def test_an_error_whose_log_is_about_to_go_quotes_it(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    console.write_text("first\nlast\n\n")
    assert str(GuestCrash("it died", console)) == f"it died; its console is in {console}"
    assert str(GuestCrash("it died", console).quote()) == "it died; its last line: last"
    assert str(GuestCrash("it died of last", console).quote()) == "it died of last"
    assert str(GuestCrash("it died", tmp_path / "none").quote()) == "it died"
