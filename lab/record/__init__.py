"""Keep trials and their records: what went in and what came out, under the hash of what went in."""
