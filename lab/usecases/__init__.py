"""What a user asks the lab to do, and how it is done: `lab.api` says it in one call each."""
