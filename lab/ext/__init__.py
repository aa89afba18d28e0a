"""Hold the lab's extensions.

Each extension is a folder here, with its own core, functions (`api`), commands and display. To remove an extension,
delete its folder, its test folder, and its line in this file.
"""

EXTENSIONS = (
    "atlas",
    "bisect",
    "bundle",
    "cc",
    "ci",
    "cluster",
    "comparison",
    "cost",
    "course",
    "doctor",
    "explain",
    "export",
    "hands_on",
    "importing",
    "mininet",
    "mixed",
    "mptcp",
    "new",
    "pagecheck",
    "show",
    "suites.packetdrill",
    "suites.selftest",
    "upkeep",
    "verify",
    "watch",
)
