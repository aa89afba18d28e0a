"""Which tests a kernel's source has, and how long each may take: by the Makefile and the settings beside them."""

from __future__ import annotations

from pathlib import Path

from lab.ext.suites.selftest.tree import SECONDS, SELFTESTS, SelftestCollection, SelftestTree

MAKEFILE = """\
CFLAGS += -Wall
TEST_PROGS := \\
\tone.sh \\
\ttwo.py \\
# end of TEST_PROGS

TEST_PROGS_EXTENDED := slow.sh
TEST_GEN_PROGS = prog
TEST_GEN_FILES := helper
TEST_GEN_FILES += $(patsubst %.c,%.o,$(wildcard *.bpf.c)) other
include ../lib.mk
"""


def collection(folder: Path, settings: str | None) -> SelftestCollection:
    place = folder / SELFTESTS / "net"
    place.mkdir(parents=True)
    (place / "Makefile").write_text(MAKEFILE)
    if settings is not None:
        (place / "settings").write_text(settings)
    return SelftestCollection.read(SelftestTree(folder, "7.2.13"), "net")


def test_the_makefile_says_which_tests_there_are(tmp_path: Path) -> None:
    found = collection(tmp_path, "timeout=3600\n")
    assert found.scripts == ("one.sh", "two.py")
    assert found.programs == ("prog",)
    assert found.helpers == ("helper", "other")
    assert found.seconds == 3600


def test_without_settings_a_test_has_the_usual_time(tmp_path: Path) -> None:
    assert collection(tmp_path, None).seconds == SECONDS
