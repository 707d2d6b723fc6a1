"""From run-level scores to a study's numbers: aggregation, tournament, audit of printed tables."""
