"""Trials on a cluster leave the bytes that they leave here; whatever dies, nothing is lost and nothing comes twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel
from tests.ext.cluster.conftest import HASTY, LONG, ROOT, Site
from tests.waiting import PATIENCE, until

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("kernel")]

LISTENS = "0A"  # in /proc/net/tcp
APART = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]


def may_mount() -> bool:
    return subprocess.run([*APART, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


def listening(process: int) -> set[str]:
    """The addresses at which a process accepts connections, as the kernel writes them."""
    files = set()
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            files.add(str(file.readlink()))
    tables = [Path(f"/proc/{process}/net/{family}").read_text().splitlines()[1:] for family in ("tcp", "tcp6")]
    rows = [row.split() for table in tables for row in table]
    return {row[1].partition(":")[0] for row in rows if row[3] == LISTENS and f"socket:[{row[9]}]" in files}


def lines(said: str, words: str) -> list[str]:
    return [line for line in said.splitlines() if words in line]


def test_records_are_the_same_bytes_and_what_they_take_is_sent_once(site: Site, here: Path) -> None:
    site.scheduler()
    site.worker("a", bare=True)
    site.worker("b", bare=True)
    assert site.run().wait(PATIENCE) == 0, site.said()
    assert site.records() == site.records(here)
    assert len(lines(site.said(), "joins, and has got 1 kernel and 1 userland")) == 2
    assert site.run(results="again").wait(PATIENCE) == 0
    assert site.records("again") == site.records(here)
    assert len(lines(site.said("lab.again"), "joins")) == 2
    assert "sending" not in site.said("lab.again"), "they had it in their caches"
    for name in "ab":
        assert list(site.temporary(name).glob("replab~*")) == []
        assert list(site.cache(name).glob("sent/*~*")) == []
        assert len(list(site.cache(name).glob("sent/*/linux"))) == 1
        assert len(list(site.cache(name).glob("userlands/*/manifest"))) == 1
        assert list(site.cache(name).glob("kernels/*")) == [], "what was sent serves those alone who ask for its bytes"


def test_workers_of_this_process_leave_the_same_bytes_and_listen_to_none(site: Site, here: Path) -> None:
    running = site.run(where="local:2", here=among(site))
    until(lambda: len(lines(site.said(), "joins")) == 2)
    assert listening(running.pid) == set()
    assert running.wait(PATIENCE) == 0, site.said()
    assert site.records() == site.records(here)
    assert list(site.temporary("lab").iterdir()) == []


def among(site: Site) -> dict[str, str]:
    """A folder for temporary files, to see what stays there."""
    site.temporary("lab").mkdir()
    return {"TMPDIR": str(site.temporary("lab"))}


def test_ctrl_c_ends_the_guests_of_workers_of_this_process(site: Site) -> None:
    site.declare(LONG, arms=("one", "two"))
    running = site.run(where="local:2", here=among(site))
    until(lambda: len(list((site.folder / "results" / ".staging").glob("*/console.log"))) == 2)
    running.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert running.wait(PATIENCE) == 130
    assert time.monotonic() - begun < PATIENCE / 10, "it did not wait for a trial's end"
    assert "Traceback" not in site.said()
    assert "lab: interrupted: finished trials are kept" in site.said()
    assert list((site.folder / "results" / ".staging").iterdir()) == []
    assert list(site.temporary("lab").iterdir()) == []


@pytest.mark.nightly
def test_a_bundles_kernel_and_userland_are_sent(site: Site, here: Path) -> None:
    site.lab("bundle", "claims.tar.zst", "claim.py", "--results", str(here))
    site.scheduler()
    site.worker("a", bare=True)
    nothing = {"XDG_CACHE_HOME": str(site.folder / "nothing"), "LAB_MIRROR": "http://127.0.0.1:1"}
    assert site.run(here=nothing).wait(PATIENCE) == 3, "it has no kernel, and nothing to make a userland of"
    assert site.run("--from", "claims.tar.zst", here=nothing).wait(PATIENCE) == 0, site.said()
    assert len(lines(site.said(), "joins, and has got 1 kernel and 1 userland")) == 1
    assert site.records() == site.records(here)


@pytest.mark.nightly
def test_a_caller_killed_while_it_sends_leaves_nothing(site: Site, here: Path) -> None:
    site.scheduler()
    site.worker("a", bare=True)
    running = site.run()
    until(lambda: "sending userland" in site.said())
    running.kill()
    running.wait()
    assert site.run().wait(PATIENCE) == 0, site.said()
    assert list(site.cache("a").glob("sent/*~*")) == []
    assert site.records() == site.records(here)


@pytest.mark.nightly
def test_what_a_worker_killed_while_it_receives_left_the_next_one_removes(site: Site) -> None:
    site.scheduler()
    doomed = site.worker("a", bare=True)
    running = site.run()
    until(lambda: list(site.cache("a").glob("sent/*~*/whole/root")))
    doomed.kill()
    doomed.wait()
    assert list(site.cache("a").glob("userlands/*")) == []
    site.worker("a", bare=True)
    assert running.wait(PATIENCE) == 0, site.said()
    assert list(site.cache("a").glob("sent/*~*")) == []
    assert len(site.records()) > 0


def test_a_worker_killed_in_mid_trial_costs_nothing(site: Site, here: Path) -> None:
    site.scheduler()
    doomed = site.worker("doomed")
    running = site.run()
    until(lambda: site.busy("doomed"))
    doomed.kill()
    time.sleep(1)
    site.worker("other")
    assert running.wait(PATIENCE) == 0, site.said()
    assert site.records() == site.records(here)
    assert len(lines(site.said(), "is gone: others take over")) == 1
    assert len(lines(site.said(), "[4/4")) == 1, "each trial ended once"


@pytest.mark.nightly
def test_a_worker_that_comes_later_takes_what_waits_for_a_busy_one(site: Site) -> None:
    site.declare("4000 s", arms=("one", "two"))
    site.scheduler()
    site.worker("a")
    site.run()
    until(lambda: site.busy("a"))
    site.worker("b")
    until(lambda: site.busy("a") and site.busy("b"))


def test_a_worker_of_another_version_is_refused_by_name(site: Site) -> None:
    other = site.folder / "other"
    shutil.copytree(Path(ROOT) / "lab", other / "lab", ignore=shutil.ignore_patterns("__pycache__"))
    code = other / "lab" / "runner" / "guest.py"
    code.write_text(code.read_text() + "\nANOTHER = 1\n")
    site.scheduler()
    site.worker("other", python_path=str(other))
    running = site.run()
    assert running.wait(PATIENCE) == 3
    assert len(lines(site.said(), "replab has a different version")) == 2, "when it came, and at the end"
    assert site.records() == {}
    site.worker("same")
    running = site.run()
    assert running.wait(PATIENCE) == 0, site.said()
    (refused,) = lines(site.said(), "gets no trials: its replab has a different version")
    assert refused.startswith("worker tcp://127.0.0.1:")


@pytest.mark.nightly
def test_a_worker_without_the_lab_is_refused(site: Site) -> None:
    site.scheduler()
    site.worker("none", python_path=str(site.folder / "none"))
    assert site.run().wait(PATIENCE) == 3
    assert "it has no replab, or a different version" in site.said()
    assert "Traceback" not in site.said()


@pytest.mark.nightly
@pytest.mark.parametrize("part", ["sent/*/linux", "userlands/*/root/usr/bin/tcpdump"])
def test_a_worker_whose_kernel_or_userland_was_altered_is_refused(site: Site, part: str) -> None:
    site.scheduler()
    site.worker("a", bare=True)
    assert site.run().wait(PATIENCE) == 0, site.said()
    (altered,) = site.cache("a").glob(part)
    altered.chmod(0o755)
    altered.write_bytes(altered.read_bytes() + b"x")
    assert site.run(results="again").wait(PATIENCE) == 3
    place = site.cache("a") / altered.relative_to(site.cache("a")).parts[0]
    (refused,) = lines(site.said("lab.again"), "lab: no worker can perform these trials")
    assert f" in {place}/" in refused
    assert "has different bytes from the requested one" in refused
    assert site.records("again") == {}


@pytest.mark.nightly
def test_a_workers_own_kernel_of_that_id_does_not_serve_with_other_bytes(
    site: Site, here: Path, kernel: UmlKernel
) -> None:
    site.scheduler()
    own = site.cache("a") / "kernels" / kernel.id
    shutil.copytree(kernel.path.parent, own)
    with (own / "linux").open("ab") as file:
        file.write(b"x")
    site.worker("a")
    assert site.run().wait(PATIENCE) == 0, site.said()
    assert len(lines(site.said(), "joins, and has got 1 kernel")) == 1
    assert site.records() == site.records(here)


@pytest.mark.nightly
@pytest.mark.skipif(not may_mount(), reason="only who may mount can make a small disk")
@pytest.mark.parametrize("full", ["temporary", "cache"])
def test_a_worker_with_a_full_disk_gets_no_more_trials(site: Site, here: Path, full: str) -> None:
    site.scheduler()
    place = site.temporary("small") if full == "temporary" else site.cache("small")
    small = f'mount -t tmpfs -o size=100k none {place} && exec "$@"'
    site.worker("small", before=(*APART, "sh", "-c", small, "sh"))
    running = site.run()
    until(lambda: "gets no trials" in site.said())
    assert running.wait(PATIENCE) == 3, site.said()
    site.worker("large")
    assert site.run(results="again").wait(PATIENCE) == 0, site.said("lab.again")
    assert site.records("again") == site.records(here)
    (refused,) = lines(site.said("lab.again"), "gets no trials")
    assert "full" in refused or "No space left" in refused


@pytest.mark.nightly
def test_the_scheduler_gone_is_one_line_and_a_second_run_goes_on(site: Site) -> None:
    scheduler = site.scheduler()
    site.worker("a")
    running = site.run(lab=HASTY)
    until(lambda: "[1/4" in site.said())
    scheduler.kill()
    assert running.wait(PATIENCE) == 3
    assert len(lines(site.said(), "lab: the cluster's scheduler is gone: finished trials are kept")) == 1
    assert "Traceback" not in site.said()
    kept = len(list((site.folder / "results").glob("??/*")))
    assert kept >= 1
    site.scheduler()
    site.worker("b")
    assert site.run().wait(PATIENCE) == 0, site.said()
    assert len(lines(site.said(), "in the store")) == kept
    assert len(list((site.folder / "results").glob("??/*"))) == 4


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)])
def test_a_caller_that_ends_ends_its_guests_and_goes_on_later(site: Site, number: signal.Signals) -> None:
    site.scheduler()
    site.worker("a")
    assert site.run().wait(PATIENCE) == 0, site.said()
    done = site.records()
    site.declare(LONG, arms=("five",))
    running = site.run()
    until(lambda: site.busy("a"))
    running.send_signal(number)
    assert running.wait(PATIENCE) == (130 if number == signal.SIGINT else -number)
    until(lambda: not list(site.temporary("a").glob("replab~*")))
    assert "Traceback" not in site.said()
    if number == signal.SIGINT:
        assert "lab: interrupted: finished trials are kept" in site.said()
    site.declare()
    assert site.run().wait(PATIENCE) == 0, site.said()
    assert site.records() == done
    assert len(lines(site.said(), "in the store")) == 4


@pytest.mark.nightly
def test_a_trial_that_fails_fails_here_with_its_console(site: Site) -> None:
    site.declare(LONG, arms=("one",))
    site.scheduler()
    site.worker("a")
    assert site.run("--budget", "3").wait(PATIENCE) == 1
    (failed,) = lines(site.said(), "failed:")
    assert "did not end within 3 s" in failed
    console = Path(failed.partition("its console is in ")[2])
    assert console.parent == site.folder / "results" / "failed"
    assert "Linux" in console.read_text()
