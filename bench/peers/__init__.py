"""Run the same transfers in every tool that people use instead of the lab: `python -m bench.peers`."""
