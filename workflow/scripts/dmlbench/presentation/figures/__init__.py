"""Kinds of figures: one file each, called with scores and display names."""
