"""Provide the machines that trials run in: kernels, and the userlands that they boot from."""
