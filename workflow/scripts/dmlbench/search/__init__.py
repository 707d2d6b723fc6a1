"""Searching the values of a run's parameters: many workers, one journal, nothing lost."""
