"""A file that tests download, and how they ask for it."""

import hashlib
from types import SimpleNamespace

import numpy as np
import requests
from dmlbench.data.download import download

DATA = np.random.default_rng(0).bytes(3_000_000)
SHA256 = hashlib.sha256(DATA).hexdigest()


def passes(monkeypatch, *addresses):
    """Let answers be those of addresses, each of which leads to the next one."""
    get, (*before, last) = requests.get, addresses

    def answered(*args, **options):
        response = get(*args, **options)
        response.history, response.url = [SimpleNamespace(url=each) for each in before], last
        return response

    monkeypatch.setattr(requests, "get", answered)


def fetch(output, **changes):
    given = {
        "name": "file.zip",
        "urls": [],
        "sha256": SHA256,
        "mirrors": [],
        "mirror_sha256": [],
        "output": output,
        "bytes": len(DATA),
        "dataset": "set",
    }
    download(**given | changes)
