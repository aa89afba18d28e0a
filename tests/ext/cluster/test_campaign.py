"""What was run in parts or taken from a shared store is what one run leaves, and the scheduler keeps up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ext.cluster.conftest import Site
from tests.ext.cluster.test_sharing import served


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_sixteen_shards_merged_equal_one_run(site: Site, here: Path) -> None:
    for number in range(1, 17):
        site.lab("run", "claim.py", "--shard", f"{number}/16", "--results", f"shards/{number}")
    shards = sorted(path.name for path in (site.folder / "shards").iterdir() if list(path.glob("??/*")))
    assert len(shards) == 4, "each of the four trials is in a shard of its own"
    assert "4 records added, 0 there already" in site.lab("merge", *(f"shards/{name}" for name in shards))
    assert site.records() == site.records(here)
    assert site.lab("run", "claim.py").count("in the store") == 4


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_one_flipped_byte_in_a_store_over_http_is_refused_and_its_trial_runs_here(site: Site, here: Path) -> None:
    site.lab("push", "shared", "--results", str(here))
    damaged, *_ = sorted((site.folder / "shared").glob("??/*.tar.zst"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0x10
    damaged.write_bytes(content)
    with served(site.folder / "shared") as url:
        said = site.lab("run", "claim.py", "--store", url)
    (refused,) = [line for line in said.splitlines() if "is refused" in line]
    assert refused.startswith(f"{url}/{damaged.parent.name}/{damaged.name} is refused: ")
    assert said.count("in the store") == 3
    assert site.records() == site.records(here)


@pytest.mark.calm
def test_20_000_empty_tasks_go_through_the_scheduler_200_a_second_in_bounded_memory() -> None:
    from bench import scheduling

    found = scheduling.measure(20_000, workers=2, threads=100)
    assert found["tasks_a_second"] >= 200, found
    _, *at_tenths = found["megabytes"]
    assert at_tenths[-1] <= 1.1 * at_tenths[5], found
