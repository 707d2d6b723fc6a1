"""Options at which an experiment takes a second."""

import pytest

SMALL = {
    "distance_sensitive_toy": {"samples": 8, "iterations": 2, "m1": [-2.25]},
    "gaussian_classes": {"classes": 8, "training_classes": 3, "samples": 20},
    "random_embeddings": {"points": 60, "embedding_dim": 4, "classes": [3, 12]},
    "projection_toy": {"classes": 4, "samples": 4, "batch_size": 4, "projections": 2},
    "triplet_forces": {"triplets": 3, "grid": 3},
    "rho_lines": {"iterations": 5},
    "toy_spaces": {"samples": 40},
}


@pytest.fixture
def small():
    """Experiment -> options."""
    return SMALL
