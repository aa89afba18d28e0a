"""How fast the lab is: `make bench`."""
