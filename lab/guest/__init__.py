"""Networks, traffic, probes and the trial itself: all code that runs in a trial's machine.

This code is part of a trial's address.
"""
