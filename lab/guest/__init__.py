"""Provide networks, traffic, probes and the trial itself: all code that runs inside a trial's guest.

This code is part of a trial's address.
"""
