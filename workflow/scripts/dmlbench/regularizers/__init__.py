"""Regularisers of deep metric learning, one file each."""
