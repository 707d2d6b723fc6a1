"""Data sets that are drawn instead of downloaded, one file each."""
