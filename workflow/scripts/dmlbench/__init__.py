"""Five studies of deep metric learning, reproduced in full and next to their printed numbers."""

__all__ = ["load"]


def __getattr__(name: str):
    # By name and not by import, so that what runs a study does not depend on what uses its runs.
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.inference.model").load
