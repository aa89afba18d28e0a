"""Perform trials on other machines, by Dask: a pilot on each, which takes one trial after another."""
