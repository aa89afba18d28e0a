"""Extensions of the lab. Each is a folder here, with its own core, functions (`api`), commands and display.

To remove one, delete its folder, its folder of tests, and its line here.
"""

EXTENSIONS = (
    "atlas",
    "bisect",
    "bundle",
    "ci",
    "cluster",
    "course",
    "doctor",
    "hands_on",
    "mixed",
    "mptcp",
    "new",
    "pagecheck",
    "suites.packetdrill",
    "suites.selftest",
    "upkeep",
    "watch",
)
