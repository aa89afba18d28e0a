"""Say, run, judge and grade: what a student enters in an exercise, and what becomes of it."""
