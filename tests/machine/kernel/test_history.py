"""A commit is found among many, by a judge that says good, bad or skip; the repository is not touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.machine.kernel.uml.history import Commit, History, Outcome
from tests.examples import examples

pytestmark = pytest.mark.needs("git")

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}
LENGTH = 12


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, env=NAMES, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commits 0 to 12, each in a file of its own, tagged c0 to c12."""
    where = tmp_path_factory.mktemp("repository")
    git(where, "init", "--quiet")
    for number in range(LENGTH + 1):
        git(where, "commit", "--quiet", "--allow-empty", "-m", f"number {number}")
        git(where, "tag", f"c{number}")
    return where


def number(commit: Commit) -> int:
    return int(commit.subject.split()[1])


def content(where: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in where.rglob("*") if path.is_file()}


@examples(15)  # each runs git some forty times
@given(first=st.integers(1, LENGTH), broken=st.sets(st.integers(1, LENGTH - 1)))
def test_the_first_bad_commit_is_among_those_named(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, first: int, broken: set[int]
) -> None:
    asked = []

    def judge(commit: Commit) -> Outcome:
        asked.append(number(commit))
        return "skip" if number(commit) in broken else "bad" if number(commit) >= first else "good"

    history = History.of(repository, tmp_path_factory.mktemp("ours") / "git")
    found = [number(each) for each in history.bisect(history.commit("c0"), history.commit(f"c{LENGTH}"), judge)]
    assert first in found
    assert set(found) - {found[0]} <= broken  # nothing is left open that could have been asked
    assert len(asked) == len(set(asked))
    assert len(asked) <= 4 + len(broken)


def test_nothing_is_written_to_the_repository(repository: Path, tmp_path: Path) -> None:
    before = content(repository)
    history = History.of(repository, tmp_path / "git")
    (found,) = history.bisect(
        history.commit("c0"), history.commit("c12"), lambda each: "bad" if number(each) > 4 else "good"
    )
    assert (found.subject, found.author) == ("number 5", "A")
    assert content(repository) == before


def test_a_clone_without_all_of_its_past(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "6", f"file://{repository}", "clone")
    history = History.of(tmp_path / "clone", tmp_path / "git")
    (found,) = history.bisect(
        history.commit("HEAD~4"), history.commit("HEAD"), lambda each: "bad" if number(each) > 9 else "good"
    )
    assert found.subject == "number 10"


@pytest.mark.parametrize(("good", "bad"), [("c5", "c2"), ("c5", "c5")])
def test_the_good_one_must_come_first(repository: Path, tmp_path: Path, good: str, bad: str) -> None:
    history = History.of(repository, tmp_path / "git")
    with pytest.raises(InputError, match="not an ancestor of"):
        history.bisect(history.commit(good), history.commit(bad), lambda _: "good")


def test_what_is_not_there_is_named(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no revision 'c99'"):
        History.of(repository, tmp_path / "git").commit("c99")
    with pytest.raises(InputError, match="not in a git repository"):
        History.of(tmp_path, tmp_path / "other")
