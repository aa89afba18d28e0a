"""The trials of claims: planned, performed in guests of their own, and kept. Guests import this package too."""
