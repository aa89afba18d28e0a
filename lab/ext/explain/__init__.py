"""Explain what limited each TCP transfer in a capture, and when: `lab explain`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("explain",),
    section="Networks",
    examples={
        "explain": (
            "lab explain capture.pcap",
            "lab explain capture.pcapng.zst --flow 3",
            "lab explain capture.pcap -o transfer.html",
            "lab explain capture.pcap --rebuild again",
            "lab explain capture.pcap --gains again -o transfer.html",
        )
    },
    functions=("explain", "rebuild", "gains"),
)
