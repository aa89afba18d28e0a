"""`lab show` shows single records: by address, and runs outside experiments by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.app import recorded, stored
from lab.cli.app import app
from lab.ext import alone
from lab.ext.mininet import running
from lab.guest.trial import Trial
from lab.record.record import Record
from lab.record.store import Store
from lab.units import to_plain
from tests.report.conftest import KERNEL, Keep, here, keep

__all__ = ["here", "keep"]  # fixtures


def ran(folder: Path, seed: int = 1, status: int | None = 0, said: str = "*** Ping\n3 of 3 arrived\n") -> Record:
    """The record of a Mininet script, as a guest would leave it."""
    files = {"inside.py": b"", running.COMMAND: json.dumps(["python3", "bufferbloat.py", "--bw", "10 Mbit"]).encode()}
    workload = alone.program("/tmp/own", ("{files}/inside.py", f"{{files}}/{running.COMMAND}"), files, 9.0)
    trial = Trial(
        claim="mininet/bufferbloat",
        arm="script",
        point="",
        source_sha256="0" * 64,
        network=to_plain(alone.NETWORK),
        workload=to_plain(workload),
        probes=[],
        middleboxes=[],
        kernel=KERNEL,
        on="uml",
        clock="virtual",
        seed=seed,
        repeat=0,
        tools={},
    )
    with Store(folder / "results").stage(trial) as stage:
        (stage.out / running.SAID).write_text(said)
        (stage.out / running.FILES).mkdir(parents=True)
        (stage.out / running.STATUS).write_text(json.dumps({"status": status}))
        (stage.out / running.FILES / "rtt.csv").write_text("1,2\n")
        return stage.commit({}, (), {"started": "2026-01-01T00:00:00+00:00"})


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["show", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_script_is_shown_with_its_command_output_and_files(here: Path) -> None:
    record = ran(here)
    for name in ("mininet/bufferbloat", record.address[:8], record.address):
        lines = [line.rstrip() for line in shown(name).splitlines()]
        assert lines[0] == "mininet/bufferbloat script  exit status 0"
        assert lines[1] == "lab mininet bufferbloat.py --bw '10 Mbit'"
        assert "3 of 3 arrived" in lines
        assert "rtt.csv  4 B" in lines
        assert f"results/{record.address[:2]}/{record.address}" in lines
        assert f"`lab verify --only {record.address[:12]}` runs it again, and compares every byte" in lines
        assert max(map(len, lines)) <= 80


def test_of_a_long_output_the_end_is_shown(here: Path) -> None:
    ran(here, status=None, said="".join(f"line {number}\n" for number in range(100)))
    lines = [line.rstrip() for line in shown("mininet/bufferbloat").splitlines()]
    assert lines[0].endswith("did not end in time")
    assert "Output (last 20 of 100 lines; all with --json)" in lines
    assert "line 79" not in lines
    assert {"line 80", "line 99"} <= {*lines}


def test_several_runs_of_a_script_are_a_list(here: Path) -> None:
    records = [ran(here, seed, status) for seed, status in ((1, 0), (2, 1))]
    for name in ("mininet/bufferbloat", "mininet"):
        said = shown(name)
        assert "2 records" in said
        assert all(record.address[:12] in said for record in records)
        assert "exit status 1" in said
        assert "--seed 2" in said


def test_as_json_a_run_has_its_whole_output(here: Path) -> None:
    record = ran(here)
    (plain,) = json.loads(shown("mininet/bufferbloat", "--json"))["trials"]
    assert plain["trial"] == record.address
    assert plain["output"] == "*** Ping\n3 of 3 arrived\n"
    assert plain["files"] == [{"file": "rtt.csv", "output": f"{running.FILES}rtt.csv", "bytes": 4}]


@pytest.mark.usefixtures("here")
def test_a_claims_trial_is_shown_by_its_address(keep: Keep) -> None:
    (record, *_) = keep("header")
    lines = shown(record.address[:10]).splitlines()
    assert lines[0].startswith("toy/header ")
    assert any(line.startswith("capture.sender.eth0.pcap") for line in lines)


@pytest.mark.usefixtures("here")
def test_the_name_of_a_claim_means_the_claim(keep: Keep) -> None:
    keep("header")
    assert stored.runs("toy/header", "results") == ()
    assert stored.runs("toy", "results") == ()


@pytest.mark.parametrize("name", ["toy", "toy/header"])
def test_records_are_found_by_claim_and_article(here: Path, keep: Keep, name: str) -> None:
    records = {record.address for record in keep("header")}
    ran(here)
    assert {record.address for record in recorded.named(name, Store(here / "results"))} == records


def test_an_address_of_few_digits_and_a_damaged_record_are_no_name(here: Path) -> None:
    record = ran(here)
    assert recorded.named(record.address[:5], [record]) == ()
    (record.folder / "trial.json").write_text("{")
    assert recorded.named("mininet/bufferbloat", Store(here / "results")) == ()
