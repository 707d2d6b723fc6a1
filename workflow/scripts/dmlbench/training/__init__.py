"""Training: one spec in, weights and a history out."""
