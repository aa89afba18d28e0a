"""What a kernel's configuration says: its ticks, and the room that it leaves for headers."""

import pytest

from lab.machine.kernel import configuration

WIRED = "CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n# CONFIG_WLAN is not set\n# CONFIG_NET_IPIP is not set\n"


def test_ticks() -> None:
    assert configuration.hz(WIRED) == 1000
    assert configuration.hz("CONFIG_HZ_1000=y\n") is None


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ("", 32),
        ("CONFIG_WLAN=y\n", 96),
        ("CONFIG_WLAN=y\nCONFIG_MAC80211_MESH=y\n", 128),
        ("CONFIG_AX25=m\n", 96),
        ("CONFIG_HYPERV_NET=m\n", 32),  # the C code asks for one that is built in
        ("CONFIG_HYPERV_NET=y\n", 128),
        ("CONFIG_IPV6_SIT=m\n", 80),
        ("CONFIG_WLAN=y\nCONFIG_MAC80211_MESH=y\nCONFIG_NET_IPIP=m\nCONFIG_HYPERV_NET=m\n", 176),  # Debian's
    ],
)
def test_room_for_headers(more: str, size: int) -> None:
    assert configuration.max_header(WIRED + more) == size
