"""Provide the base of all other packages: caches, locks, files, archives, foreign text, kernel versions."""
