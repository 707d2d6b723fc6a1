"""Options at which an experiment takes a second."""

SMALL = {
    "distance_sensitive_toy": {"samples": 8, "iterations": 2, "m1": [-2.25]},
    "loss_forces": {"losses": ["ranking", "distance_sensitive"], "grid": 3},
    "gaussian_classes": {"classes": 8, "training_classes": 3, "samples": 20},
    "random_embeddings": {"points": 60, "embedding_dim": 4, "classes": [3, 12]},
    "projection_toy": {"classes": 4, "samples": 4, "batch_size": 4, "projections": 2},
    "triplet_forces": {"triplets": 3, "grid": 3},
    "rho_lines": {"iterations": 5},
    "similarity_types": {"steps": 12},
    "mined_regions": {"grid": 12},
    "toy_spaces": {"samples": 40},
}
