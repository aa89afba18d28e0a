"""Write a profile for Wireshark and tshark, with columns and colours for the lab's captures."""

from __future__ import annotations

from pathlib import Path

from lab.base import writing

NAME = "replab"

# Title and format of each column, as Wireshark's preferences have them (gui.column.format). A custom column is
# "%Cus:FIELD:OCCURRENCE:R". The words are those of the lab's pages and comparisons.
_COLUMNS = (
    ("No.", "%m"),
    ("Time", "%t"),
    ("Flow", "%Cus:tcp.stream:0:R"),
    ("Source", "%s"),
    ("Destination", "%d"),
    ("Protocol", "%p"),
    ("Flags", "%Cus:tcp.flags.str:0:R"),
    ("Seq", "%Cus:tcp.seq:0:R"),
    ("Ack", "%Cus:tcp.ack:0:R"),
    ("Win", "%Cus:tcp.window_size:0:R"),
    ("Len", "%Cus:tcp.len:0:R"),
    ("Header", "%Cus:tcp.hdr_len:0:R"),
    ("In flight", "%Cus:tcp.analysis.bytes_in_flight:0:R"),
    ("RTT", "%Cus:tcp.analysis.ack_rtt:0:R"),
    ("SACK left", "%Cus:tcp.options.sack_le:0:R"),
    ("SACK right", "%Cus:tcp.options.sack_re:0:R"),
    ("Info", "%i"),
)

_PREFERENCES = {
    "tcp.relative_sequence_numbers": "TRUE",
    "tcp.analyze_sequence_numbers": "TRUE",
    "tcp.calculate_timestamps": "TRUE",
    "tcp.track_bytes_in_flight": "TRUE",
    "ip.check_checksum": "FALSE",  # of a sender whose card computes it
    "tcp.check_checksum": "FALSE",
}

# Name, filter, background and text, each colour as [red, green, blue] of 16 bits. The first match colours a packet.
_COLOURS = (
    ("RST", "tcp.flags.reset == 1", (63000, 51000, 51000), (30000, 0, 0)),
    ("Retransmission", "tcp.analysis.retransmission", (65000, 57000, 45000), (20000, 8000, 0)),
    ("SACK", "tcp.options.sack_le", (65000, 63000, 51000), (20000, 16000, 0)),
    ("Zero window", "tcp.window_size == 0 && tcp.flags.reset == 0", (60000, 54000, 65000), (16000, 0, 24000)),
    ("SYN or FIN", "tcp.flags.syn == 1 || tcp.flags.fin == 1", (57000, 57000, 57000), (0, 0, 0)),
    ("CE mark", "ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3", (54000, 62000, 65000), (0, 8000, 20000)),
    ("Data", "tcp.len > 0", (57000, 62000, 65535), (0, 0, 16000)),
    ("ACK", "tcp.len == 0", (60000, 65535, 60000), (0, 12000, 0)),
)


def write(folder: Path) -> Path:
    """Write the profile into a Wireshark configuration folder, such as ~/.config/wireshark, and return its path.

    An older version of the profile is replaced. Other profiles stay. Raises MachineError if the files cannot be
    written.
    """
    profile = folder / "profiles" / NAME
    writing.write(_preferences(), profile / "preferences")
    writing.write(_colours(), profile / "colorfilters")
    return profile


def _preferences() -> str:
    columns = ",\n".join(f'\t"{title}", "{shown}"' for title, shown in _COLUMNS)
    others = "".join(f"{name}: {value}\n" for name, value in _PREFERENCES.items())
    return f"# The profile of replab.\ngui.column.format:\n{columns}\n{others}"


def _colours() -> str:
    def colour(parts: tuple[int, int, int]) -> str:
        return f"[{','.join(map(str, parts))}]"

    lines = (f"@{name}@{chosen}@{colour(back)}{colour(text)}\n" for name, chosen, back, text in _COLOURS)
    return "# The colours of replab, for TCP.\n" + "".join(lines)
