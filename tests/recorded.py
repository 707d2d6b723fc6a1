"""Files with records, as jobs write them."""

import json

from dmlbench import provenance
from dmlbench.provenance import Record

RULE = "evaluate"


def recorded(path, rule=RULE, inputs=(), code="now", results="", place=""):
    """Record a file as its job would."""
    found = provenance.digests_of_inputs([str(each) for each in inputs], str(results))
    digests = {path.name: provenance.digest(path)}
    params = provenance.digest_of_params({"metrics": ["recall_at_1"]})
    provenance.write(Record(rule, digests, found, params, code, place), path.parent)


def as_earlier(folder):
    """Rewrite a folder's records as earlier versions wrote them: without checksum and place."""
    lines = [json.loads(line) for line in (folder / provenance.FILE).read_text().splitlines()]
    for line in lines:
        del line["sha256"], line["place"]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / provenance.FILE).write_text(text)
