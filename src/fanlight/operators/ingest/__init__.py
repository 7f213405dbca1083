"""From a bundle to accepted records: read times, judge lateness, make dead letters."""
