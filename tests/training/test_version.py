"""Training's code and its version change together."""

import json

from dmlbench.training.version import VERSION
from record_sources import RECORD, sources


def test_changed_training_code_is_declared():
    record = json.loads(RECORD.read_text())
    now = sources()
    changed = sorted(name for name, digest in record["sources"].items() if now.get(name) != digest)
    assert record["version"] == VERSION, (
        f"VERSION is {VERSION}; record its code: make record-training"
    )
    assert not changed, (
        f"{', '.join(changed)} changed: if the same spec can now give other weights, raise VERSION "
        f"in dmlbench/training/version.py; then: make record-training"
    )


def test_all_training_code_is_recorded():
    new = sorted(set(sources()) - set(json.loads(RECORD.read_text())["sources"]))
    assert not new, f"{', '.join(new)}: record them: make record-training"
