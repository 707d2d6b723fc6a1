"""Data sets, from the download to batches of augmented pixels."""
