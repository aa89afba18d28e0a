"""Keep trials and their records: what went in and what came out, under the hash of what went in."""

from lab.record.record import FORMAT, Output, Record, RecordError
from lab.record.store import Stage, Store
from lab.record.trial import FABRIC, Trial, canonical

__all__ = ["FABRIC", "FORMAT", "Output", "Record", "RecordError", "Stage", "Store", "Trial", "canonical"]
