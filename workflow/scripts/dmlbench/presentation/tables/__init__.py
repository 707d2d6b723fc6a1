"""Kinds of tables: one file each, called with scores and display names; queries.yaml: marks."""
