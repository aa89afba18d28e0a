"""Measure how fast the lab is: `make bench`."""
