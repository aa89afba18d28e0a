"""Have connections over this host's routes use DCTCP: a receiver of DCTCP says which segments were marked."""

import subprocess

for route in subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout.splitlines():
    subprocess.run(["ip", "route", "change", *route.split(), "congctl", "dctcp"], check=True)
