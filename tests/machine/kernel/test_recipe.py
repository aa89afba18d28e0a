"""A kernel's identity is its recipe: whatever changes the result changes the id, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.machine.kernel.uml.recipe import Patch, Recipe, config, lost_options, own_patches, read_patches

RECIPE = Recipe("7.2", "0" * 64, "CONFIG_A=y\n", (Patch("one", b"1"), Patch("two", b"2")), "gcc 1")


@pytest.mark.parametrize(
    "change",
    [
        {"source_sha256": "1" * 64},
        {"config": "CONFIG_A=n\n"},
        {"patches": RECIPE.patches[::-1]},
        {"patches": RECIPE.patches[:1]},
        {"patches": (Patch("one", b"1"), Patch("two", b"3"))},
        {"compiler": "gcc 2"},
    ],
)
def test_every_ingredient_counts(change: dict[str, object]) -> None:
    assert replace(RECIPE, **change).id != RECIPE.id  # type: ignore[arg-type]


def test_equal_recipes_have_equal_ids() -> None:
    assert replace(RECIPE).id == RECIPE.id


def test_hz_is_in_the_configuration_once() -> None:
    lines = config("7.2", 250).splitlines()
    assert [line for line in lines if line.startswith("CONFIG_HZ=")] == ["CONFIG_HZ=250"]


@pytest.mark.parametrize("hz", [0, 99, 1001, -1])
def test_impossible_hz_is_refused(hz: int) -> None:
    with pytest.raises(InputError, match="from 100 to 1000"):
        config("7.2", hz)


def test_options_are_for_the_kernels_that_their_comments_name() -> None:
    assert "CONFIG_KERNEL_STACK_ORDER" in config("6.12", 1000)
    assert "CONFIG_KERNEL_STACK_ORDER" not in config("7.2", 1000)
    assert "CONFIG_NETFILTER_XTABLES_LEGACY=y" in config("7.2", 1000)
    assert "CONFIG_NETFILTER_XTABLES_LEGACY=y" not in config("6.12", 1000)
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in config("6.12", 1000)


def test_an_option_that_kconfig_drops_is_noticed() -> None:
    assert lost_options("CONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\n# CONFIG_B is not set\n") == ["CONFIG_B=y"]


def test_own_patches_fit_the_series() -> None:
    new, old = ([patch.name for patch in own_patches(series)] for series in ("7.2", "6.12"))
    assert set(old) - set(new) == {"0003-um-large-floating-point-state", "0007-um-virtual-timers-interrupt-no-process"}
    assert set(new) - set(old) == {
        "0013-um-inline-interrupt-flags",
        "0015-um-interrupted-process-start",
        "0016-um-fixed-floating-point-room",
        "0019-um-yield-before-futex",
    }
    assert new == sorted(new)


def test_what_is_no_patch_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello\n")
    with pytest.raises(InputError, match="not a patch"):
        read_patches([file])
    with pytest.raises(InputError, match="no such file"):
        read_patches([tmp_path / "absent.patch"])
