"""Generate pages: notebooks of prose and figures, executed on the records of earlier runs and rendered to HTML."""
