"""Entries of config/searches.yaml that define several searches."""

import itertools
from typing import Any

from dmlbench.errors import UserError


def expanded(entries: Any) -> Any:
    """Searches as written in YAML, with one search for every run that an entry lists.

    If `run` has lists, such as `dataset: [cub200, sop]`, the entry defines a search for each of
    their combinations; in its name and title, keys of `run` in braces are replaced by their
    values. Its key `also` is for more runs: what differs from those that the lists say.

    >>> run = {"dataset": ["cub200", "sop"], "method": "margin"}
    >>> list(expanded({"{dataset}_{method}": {"run": run}}))
    ['cub200_margin', 'sop_margin']
    >>> run["also"] = {"dataset": "cars196", "method": "triplet"}
    >>> list(expanded({"{dataset}_{method}": {"run": run}}))
    ['cub200_margin', 'sop_margin', 'cars196_triplet']

    Raises:
        UserError: two searches have one name, braces contain a key that `run` lacks, or `also` is
            no mapping.
    """
    if not isinstance(entries, dict):
        return entries
    searches: dict[str, Any] = {}
    for name, entry in entries.items():
        run = entry.get("run") if isinstance(entry, dict) else None
        own = _of_each_run(name, entry, run) if isinstance(run, dict) else {name: entry}
        if again := next((each for each in own if each in searches), None):
            raise UserError(f"{name}: a second search {again}; allowed: names that differ")
        searches |= own
    return searches


def _combinations(lists: dict[str, Any]) -> list[dict[str, Any]]:
    values = [value if isinstance(value, list) else [value] for value in lists.values()]
    return [dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*values)]


def _of_each_run(name: str, entry: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """A search's entry for every combination of its run's lists, and of those that are also run."""
    listed = {key: value for key, value in run.items() if key != "also"}
    runs = _combinations(listed)
    if "also" in run:
        if not isinstance(run["also"], dict):
            raise UserError(f"{name}: run.also is {run['also']!r}; allowed: keys of run, changed")
        runs += _combinations(listed | run["also"])
    try:
        searches = {
            str(name).format(**single): entry
            | {"run": single}
            | ({"title": str(entry["title"]).format(**single)} if "title" in entry else {})
            for single in runs
        }
    except (AttributeError, KeyError, IndexError, ValueError) as error:
        raise UserError(f"{name}: braces around {error}; allowed: a key of run") from None
    if len(searches) < len(runs):
        raise UserError(f"{name}: one name for {len(runs)} searches; allowed: with {{dataset}} ...")
    return searches
