"""Predict Multipath TCP transfers over several paths."""

from lab.ext.mptcp.model.multipath import (
    Path,
    goodput_of_paths,
    transfer_time_by_paths,
    transfer_time_over_paths,
    transfer_times,
)

__all__ = ["Path", "goodput_of_paths", "transfer_time_by_paths", "transfer_time_over_paths", "transfer_times"]
