"""pyarrow without pandas: nothing else changes."""

import subprocess
import sys

from project import REPOSITORY

LIBRARY = REPOSITORY / "workflow" / "scripts"


def run(code: str) -> None:
    """Run code in a Python that has loaded nothing but the library's reader of Parquet."""
    start = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r})\n"
        "import numpy as np, pyarrow as pa, pyarrow.parquet as pq\n"
        "from dmlbench.parquet import read_table\n"
        "from dmlbench.without_pandas import do_without_pandas\n"
    )
    subprocess.run([sys.executable, "-c", start + code], check=True)


def test_arrays_are_made_and_read_without_pandas(tmp_path):
    run(
        "do_without_pandas()\n"
        f"file = {str(tmp_path / 'file.parquet')!r}\n"
        "pq.write_table(pa.table({'a': np.arange(3), 'b': ['x', 'y', 'z']}), file)\n"
        "table = read_table(file)\n"
        "assert table['a'].to_numpy().tolist() == [0, 1, 2]\n"
        "assert table['b'].to_pylist() == ['x', 'y', 'z']\n"
        "assert 'pandas' not in sys.modules"
    )


def test_pandas_is_there_when_it_is_asked_for():
    run(
        "do_without_pandas()\n"
        "frame = pa.table({'a': [1.0, 2.0]}).to_pandas()\n"
        "import pandas as pd\n"
        "assert frame.equals(pd.DataFrame({'a': [1.0, 2.0]}))\n"
        "assert pa.array(pd.Series([1.0, float('nan')])).null_count == 1"
    )


def test_loaded_pandas_stays():
    run(
        "import pandas as pd\n"
        "do_without_pandas()\n"
        "assert pa.array(pd.Series([1.0, float('nan')])).null_count == 1"
    )
