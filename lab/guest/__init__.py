"""Provide all code that runs inside a trial's guest: networks, traffic, probes and the trial itself.

The hash of this code is part of a trial's address.
"""
