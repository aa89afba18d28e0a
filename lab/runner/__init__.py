"""Plan the trials of claims, perform them in guests of their own, and keep them. Guests import this package too."""
