"""pyarrow without pandas, for jobs that are over in a second."""

import sys

import pyarrow as pa


def do_without_pandas() -> None:
    """Keep pyarrow from loading pandas, in a process whose arrays are NumPy's.

    Where pandas is installed, pyarrow loads it with its first array: a quarter of a second in each
    of thousands of small jobs. Here it makes one while pandas cannot be found, and then does
    without, until `to_pandas` asks for it.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.scalar(0)
        finally:
            sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """A finder of modules that knows of no pandas."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
