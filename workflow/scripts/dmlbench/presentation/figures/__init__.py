"""Kinds of figures: one file per mark, one class per kind, called with scores."""
