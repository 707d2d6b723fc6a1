"""Kinds of tables and figures, built from facts and options alike."""

from dataclasses import fields, replace

from dmlbench import registry
from dmlbench.presentation.kind import Kind

FACTS = {field.name for field in fields(Kind)} | {"arrays", "board", "queries"}


def build(package, kind, **given):
    """A function of scores and display names: the table or figure of a kind."""
    facts = {"id": "t", "title": "T"} | {key: given[key] for key in given.keys() & FACTS}
    options = {key: value for key, value in given.items() if key not in FACTS}
    view = registry.build(f"presentation/{package}", kind, context=facts, **options)
    return lambda scores, titles: replace(view, titles=titles)(scores)
