"""Rules for giving up trials early: one file each, Optuna's under our names."""
