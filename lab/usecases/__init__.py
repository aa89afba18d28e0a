"""Do what a user asks of the lab: `lab.api` has one call for each of these."""
