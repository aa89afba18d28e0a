"""The tools of a trial are found as its guest finds them."""

import pytest

from lab.runner import tools


def test_an_ordinary_users_path_has_all_that_a_guest_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = tools.versions(["iptables", "nft"])
    assert all(found[tool][0].isdigit() or found[tool][0] == "v" for tool in ("iptables", "nft"))


def test_what_is_nowhere_is_missing() -> None:
    with pytest.raises(tools.ToolMissing, match="'no-such-tool'"):
        tools.versions(["no-such-tool"])
