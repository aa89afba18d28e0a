"""Search the git history of a kernel tree for the first commit that changed a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.errors import InputError
from lab.machine.kernel.uml.git import GitFailed, git

Outcome = Literal["good", "bad", "skip"]


@dataclass(frozen=True, slots=True)
class Commit:
    """Identifies and describes a commit."""

    id: str
    author: str
    date: str  # the author's, "2026-11-21"
    subject: str

    def __str__(self) -> str:
        return f"{self.id[:12]} {self.subject}"


@dataclass(frozen=True, slots=True)
class History:
    """Searches the commits of the repository that contains `tree`.

    git works in a separate repository, `folder`, and only reads from the user's repository.
    """

    tree: Path
    folder: Path

    @classmethod
    def of(cls, tree: Path, folder: Path) -> History:
        """Open the history of a tree; `folder` must not exist. Raises InputError if the tree has no history."""
        try:
            objects, shallow = (
                git("rev-parse", "--path-format=absolute", "--git-path", name, where=tree)
                for name in ("objects", "shallow")
            )
        except (GitFailed, OSError):
            raise InputError(
                f"{tree}: not in a git repository, so it has no history to search; name a clone of Linux"
            ) from None
        folder = folder.absolute()  # git runs in another folder
        git("init", "--quiet", "--bare", str(folder), where=folder.parent)
        (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
        with suppress(FileNotFoundError):  # a complete clone has no such file
            (folder / "shallow").write_text(Path(shallow).read_text(encoding="utf-8"), encoding="utf-8")
        return cls(tree, folder)

    def commit(self, name: str) -> Commit:
        """Return the commit that the user calls `name`. Raises InputError if the name is unknown."""
        try:
            id_ = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", where=self.tree)
        except GitFailed:
            raise InputError(f"{self.tree} has no revision '{name}'") from None
        return Commit(*self._git("show", "--no-patch", "--format=%H%x00%an%x00%as%x00%s", id_).split("\0"))

    def bisect(self, good: Commit, bad: Commit, judge: Callable[[Commit], Outcome]) -> tuple[Commit, ...]:
        """Return the first bad commit. If `judge` skips commits, return all candidates, the newest first.

        `judge` judges as few commits between `good` and `bad` as possible. Raises InputError unless `good` is an
        ancestor of `bad`.
        """
        ancestors = self._git("rev-list", "--max-count=1", f"{good.id}..{bad.id}")
        if not ancestors or self._git("merge-base", good.id, bad.id) != good.id:
            raise InputError(f"{good.id[:12]} is not an ancestor of {bad.id[:12]}: nothing is between them")
        self._git("update-ref", "--no-deref", "HEAD", bad.id)
        self._git("bisect", "start", "--no-checkout", bad.id, good.id)
        tested = {bad.id}
        while not tested.issuperset(left := tuple(self._left())):
            commit = self.commit(self._git("rev-parse", "BISECT_HEAD"))
            outcome = judge(commit)
            tested.add(commit.id)
            with suppress(GitFailed):  # it fails when only skipped commits are left; the loop below notices that
                self._git("bisect", outcome)
        return tuple(self.commit(each) for each in left)

    def _left(self) -> Iterator[str]:
        """Yield the candidates for the first bad commit: bad commits, and commits that are not known to be good."""
        good = self._git("for-each-ref", "--format=%(objectname)", "refs/bisect/good-*").split()
        yield from self._git("rev-list", "refs/bisect/bad", "--not", *good).split()

    def _git(self, *arguments: str) -> str:
        return git(*arguments, where=self.folder)
