"""The base of all other rooms: caches, locks, files, archives, text of others, versions of kernels."""
