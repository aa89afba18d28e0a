"""Have connections over this host's routes use DCTCP, and acknowledge every segment at once."""

import subprocess

for route in subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout.splitlines():
    subprocess.run(["ip", "route", "change", *route.split(), "congctl", "dctcp", "quickack", "1"], check=True)
