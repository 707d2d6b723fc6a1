"""No call runs code from data, or a shell: `ruff check` refuses them, and so do the readers."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from dmlbench.data.pixels import Pixels
from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.networks.weights import load_weights
from dmlbench.plan.catalogs.catalogues import SpecWeights
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.training.checkpoint import Checkpoint

REPOSITORY = Path(__file__).resolve().parents[2]
RULES = [REPOSITORY / "Snakefile", *(REPOSITORY / "rules").glob("*.smk")]

IMPORTS = """\
import datetime
import os
import os.path
import pickle
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
import numpy as np
import pandas as pd
import torch
import yaml
"""
_CODES = ("S1", "S2", "S3", "S5", "S6", "DTZ", "TID", "PLW1514")
REFUSED = [
    "eval(text)",
    "exec(text)",
    "os.system(command)",
    "os.popen(command)",
    "pickle.load(file)",
    "pickle.loads(text)",
    "pickle.Unpickler(file)",
    "pd.read_pickle(file)",
    "shutil.unpack_archive(file)",
    "subprocess.getoutput(command)",
    "subprocess.run(command, shell=True)",
    "tarfile.open(path).extractall(folder)",
    "yaml.load(text)",
    "yaml.load(text, Loader=yaml.Loader)",
    "yaml.load(text, Loader=_Loader)",
    "yaml.full_load(text)",
    "yaml.unsafe_load(text)",
    "import dill",
    "import joblib",
    "import marshal",
    "import shelve",
    "datetime.datetime.now()",
    "datetime.datetime.now(datetime.timezone.utc)",
    "datetime.datetime.utcnow()",
    "datetime.datetime.today()",
    "datetime.date.today()",
    "os.path.getmtime(path)",
    "os.path.getctime(path)",
    "os.path.getatime(path)",
    "time.time()",
    "time.time_ns()",
    "time.localtime()",
    "time.gmtime()",
    "time.strftime(text)",
    "time.ctime()",
    "from time import time",
    "open(path)",
    "Path(text).read_text()",
]


def test_ruff_refuses_each_kind():
    """As `make lint` does, in a file of the library."""
    source = IMPORTS + "\n".join(REFUSED) + "\n"
    place = "workflow/scripts/dmlbench/any.py"
    command = [sys.executable, "-m", "ruff", "check", "--output-format=json"]
    command += [f"--stdin-filename={place}", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=REPOSITORY)
    complaints = json.loads(done.stdout)
    found = {
        each["location"]["row"]
        for each in complaints
        if each["code"] and each["code"].startswith(_CODES)
    }
    first = IMPORTS.count("\n") + 1
    assert [line for row, line in enumerate(REFUSED, first) if row not in found] == []
    assert not found & set(range(1, first))


class _Opens:
    """Its pickle, when read, makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def _pixels(file, code):
    rows = {name: [1] for name in ("image_id", "offset", "width", "height", "channels")}
    pd.DataFrame(rows).to_parquet(file.with_suffix(".parquet"))
    np.save(file, np.array([code], dtype=object), allow_pickle=True)
    Pixels(file, file.with_suffix(".parquet"))


def _weights(file, code):
    torch.save({"layer.weight": code}, file)
    backbone = torch.nn.Module()
    backbone.body, backbone.classifier = torch.nn.Linear(1, 1), ()
    load_weights(backbone, SpecWeights(file=file.name, sha256=digest(file)), file)


def _yaml(file, code):
    file.write_text(f"key: !!python/object/apply:builtins.open ['{code.path}', 'w']\n")
    read_mapping(file)


def _checkpoint(file, code):
    Checkpoint(file.parent, "training").save(network=code)
    Checkpoint(file.parent, "training").load()


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (_pixels, UserError),
        (_weights, UserError),
        (_yaml, UserError),
        (_checkpoint, pickle.UnpicklingError),
    ],
)
def test_a_file_with_code_is_refused_and_the_code_is_not_run(tmp_path, read, error):
    made = tmp_path / "made"
    code = _Opens(made)
    with pytest.raises(error):
        read(tmp_path / "file.npy", code)
    assert not made.exists()
    pickle.loads(pickle.dumps(code)).close()
    assert made.exists()


def test_no_source_asks_for_what_ruff_does_not_know():
    for path in (REPOSITORY / "workflow").rglob("*.py"):
        text = path.read_text()
        for word in ("shell=", "allow_pickle", ".extractall(", ".extract(", "weights_only=False"):
            assert word not in text.replace(".str.extract(", ""), path


def test_no_rule_builds_a_shell_command():
    for path in RULES:
        text = path.read_text()
        words = {line.strip().partition(":")[0] for line in text.splitlines()}
        assert not words & {"shell", "run", "shadow", "notebook", "wrapper", "cwl"}, path
        for forbidden in ("shell(", "os.system", "os.popen", "subprocess", "eval(", "exec("):
            assert forbidden not in text, path


def test_every_rule_that_does_something_has_a_script():
    scripts = [
        line.strip().strip('"')
        for path in RULES
        for line in path.read_text().splitlines()
        if line.strip().endswith('.py"')
    ]
    assert len(scripts) > 10
    assert all((REPOSITORY / "rules" / script).is_file() for script in scripts)
