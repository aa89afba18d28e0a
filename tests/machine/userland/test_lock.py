"""A lock file says exactly which packages a userland is of, or which of its lines do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.machine.userland import recipe
from lab.machine.userland.lock import NAMES, Lock, Name, Package, locked, parse, render

HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
NAME = st.from_regex(r"[a-z0-9][a-z0-9+.-]{0,20}", fullmatch=True)
PACKAGES = st.builds(
    Package,
    name=NAME,
    version=st.from_regex(r"[0-9][0-9A-Za-z.+~:-]{0,20}", fullmatch=True),
    sha256=HEX,
    size=st.integers(1, 10**11),
    path=st.from_regex(r"pool/main/[a-z]/[a-z0-9]{1,9}/[a-z0-9+_.]{1,9}\.deb", fullmatch=True).filter(
        lambda path: not any(part.startswith(".") for part in path.split("/"))
    ),
)
LOCKS = st.builds(
    Lock,
    suite=st.sampled_from(["trixie", "forky"]),
    date=st.datetimes().map(lambda day: f"{day:%Y-%m-%dT%H:%M:%SZ}".zfill(20)),
    snapshot=st.just("20261122T072532Z"),
    tree=HEX,
    packages=st.lists(PACKAGES, max_size=5, unique_by=lambda each: each.name).map(
        lambda found: tuple(sorted(found, key=lambda each: each.name))
    ),
)


@given(LOCKS)
def test_what_is_written_is_read_again(lock: Lock) -> None:
    assert parse(render(lock), "x.lock") == lock


@given(LOCKS, st.randoms())
def test_the_order_of_packages_does_not_matter(lock: Lock, chance: object) -> None:
    lines = render(lock).splitlines()
    chance.shuffle(lines)  # type: ignore[attr-defined]
    assert parse("\n".join(lines), "x.lock") == lock


@given(st.text())
def test_any_other_text_is_refused_line_by_line(text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(text, "x.lock")
    assert all(line.startswith("x.lock:") for line in str(refused.value).splitlines())


GOOD = f"bash 5.2 {'a' * 64} 1 pool/main/b/bash/bash_5.2_amd64.deb"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD.replace("a" * 64, "a" * 63), "x.lock:8: neither a field nor a package"),
        (GOOD.replace("pool/main", "pool/../main"), "x.lock:8: neither"),
        (GOOD.replace("pool/", "/pool/"), "x.lock:8: neither"),
        (GOOD.replace("pool/", "http://other.test/pool/"), "x.lock:8: neither"),
        (GOOD.replace(" 1 ", " 0 "), "x.lock:8: neither"),
        (f"{GOOD}\n{GOOD}", "x.lock:9: package bash is here a second time"),
        ("suite: trixie", "x.lock:8: 'suite' is here a second time"),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str) -> None:
    whole = render(Lock("trixie", "2026-09-12T07:55:41Z", "20261122T072532Z", "0" * 64, ()))
    assert len(whole.splitlines()) == 7
    with pytest.raises(InputError, match=message):
        parse(f"{whole}{line}\n", "x.lock")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"x.lock:1: no suite is given\n.*no date"):
        parse(GOOD, "x.lock")


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_locks_hold_what_the_recipes_ask_for(name: Name) -> None:
    lock, wanted = locked(name), recipe.read(name)
    names = {package.name for package in lock.packages}
    assert set(wanted.packages) <= names
    assert not wanted.without & names
    assert lock.suite == wanted.suite


def test_the_userland_of_applications_has_all_of_the_guests() -> None:
    """So that what ran in the one runs in the other: both locks are renewed together."""
    assert set(locked("guest").packages) < set(locked("programs").packages)
