"""Plan the trials of claims, run each trial in its own guest, and store the records. Guests import this package too."""
