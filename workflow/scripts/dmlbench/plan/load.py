"""From files to a checked plan."""

import contextlib
import hashlib
import json
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.files import write_text
from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views.search_checks import check_searches
from dmlbench.plan.views.study_checks import check_studies
from dmlbench.shared_files import read_plain


def load(configuration: dict, folder: Path) -> Plan:
    """Read and check everything under a configuration folder.

    Args:
        configuration: Snakemake's `config`.
        folder: the folder that holds the catalogues and `studies/`.

    Raises:
        UserError: one line that names file, key and value, and what is allowed.
    """
    plan = reload(configuration, folder)
    check_studies(plan)
    plan.check_all_studies()
    check_searches(plan)
    return plan


def load_folder(folder: Path, **changes: object) -> Plan:
    """`load` with the folder's own config.yaml and other values of some keys, without Snakemake."""
    return load(read_mapping(folder / "config.yaml") | changes, folder)


def configuration_of(own: Path) -> dict:
    """The configuration of a call that only looks, with a user's entries in folders of `own`."""
    return {"pathvars": {"results": "results"}, "own": [f"{own}/*"]}


def load_unless_checked(configuration: dict, folder: Path, mark: Path) -> Plan:
    """`load` without broken studies, and without the checks if the same call has passed them.

    Args:
        mark: a file that records what has passed; it is written if its folder exists.
    """
    plan = reload(configuration, folder)
    now = _digest(configuration, folder, plan)
    # Without a mark, or in someone else's folder, there is only more to compute.
    with contextlib.suppress(OSError):
        if read_plain(mark) == now.encode():
            return plan
    check_studies(plan)
    check_searches(plan)
    with contextlib.suppress(OSError, UserError):
        if mark.parent.is_dir() and not plan.broken:
            write_text(mark, now)
    return plan


def _digest(configuration: dict, folder: Path, plan: Plan) -> str:
    """Digest of all that a check reads: configuration, files, this library, the user's images."""
    images = {
        entry.folder: Path(entry.folder).exists()
        for entry in plan.datasets.values()
        if entry.folder
    }
    values = json.dumps([configuration, images], sort_keys=True, default=str)
    digest = hashlib.sha256(values.encode())
    folders = [folder, *plan.own]
    for root, pattern in (*((each, "*") for each in folders), (Path(__file__).parents[1], "*.py")):
        for file in sorted(path for path in root.rglob(pattern) if path.is_file()):
            digest.update(f"\0{file.relative_to(root)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def reload(configuration: dict, folder: Path) -> Plan:
    """`load` in a job of a call whose plan was checked: rows and views are not checked again.

    A job is about one run; for 100,000 rows the check takes longer than many jobs. Studies whose
    files cannot be read are left out, as the call that checked left them out.
    """
    where = str(folder / "config.yaml")
    return Plan(checked(configuration, Configuration, where=where), folder)
