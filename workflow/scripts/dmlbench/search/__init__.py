"""Searching the values of a run's parameters: many workers, one storage, nothing lost."""
