"""Plan the trials of claims, run each in its own guest, and keep their records. Guests import this package too."""
