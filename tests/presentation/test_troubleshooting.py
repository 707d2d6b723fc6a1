"""docs/troubleshooting.md quotes messages of the code: each situation is reproduced."""

import re
import warnings

import pytest
from dmlbench.errors import UserError
from project import REPOSITORY
from situations_of_images import situation as of_images
from situations_of_plans import situation as of_plans
from situations_of_trainings import situation as of_trainings

SITUATIONS = of_images | of_plans | of_trainings
PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
QUOTED = re.compile(r"^\| (?:``(.+?) ?``|`(.+?)`)(?: after .*?)? \|", re.MULTILINE)

REFUSED = "cluster/test_slurm_refusals.py"
ELSEWHERE = {
    "interrupted at epoch …; the next call continues there": "training/test_interruption.py",
    "profiles/slurm/site.yaml: …: unknown name …": REFUSED,
    "config/resources.yaml: …: … MB and … GPUs are more than a node has": REFUSED,
    "config/resources.yaml: …: runtime: … minutes are more than the … of partition …": REFUSED,
    "… was not submitted: …": REFUSED,
    "Slurm has … jobs of a call that was killed": "plan/test_sites.py",
    "Nothing to be done": "project.py",
    "the name '…' is read as … here; set PYTHONUTF8=1": "test_encodings.py",
    "warning: study left out: …": "workflow/test_first_hour.py",
    "warning: data set …: …; what was made of it can be used": "plan/test_own_folder.py",
    "cannot show the rows of `where`: … several values of network (…)": "plan/test_dry_render.py",
}
"""Quotes of situations that need a training or a cluster -> the file that tests them."""


def quotes() -> list[str]:
    return [double or single for double, single in QUOTED.findall(PAGE)]


def found_in(quote: str, said: str) -> bool:
    """Whether the parts between the dots of a quote occur in this order."""
    return re.search(".*".join(map(re.escape, quote.split("…"))), said, re.DOTALL) is not None


@pytest.mark.slow
@pytest.mark.parametrize("quote", [quote for quote in quotes() if quote not in ELSEWHERE])
def test_a_quote_is_what_the_code_says(quote, request, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(REPOSITORY)
    (bring_about,) = (each for start, each in SITUATIONS.items() if quote.startswith(start))
    context = {"folder": tmp_path, "patch": monkeypatch, "log": caplog, "request": request}
    names = bring_about.__code__.co_varnames[: bring_about.__code__.co_argcount]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            said = str(bring_about(**{name: context[name] for name in names}))
        except UserError as error:
            said = str(error)
            assert "\n" not in said
    said = "\n".join([said, *(str(each.message) for each in warned), *caplog.messages])
    assert found_in(quote, said), said


@pytest.mark.parametrize(("quote", "file"), ELSEWHERE.items())
def test_the_other_quotes_are_tested_elsewhere(quote, file):
    assert quote in quotes()
    tests = (REPOSITORY / "tests" / file).read_text()
    assert all(part.strip() in tests for part in quote.split("…"))


def test_a_wrong_quote_is_found():
    assert found_in("loss is …; ids", "loss is nan in epoch 1; ids of the batch")
    assert not found_in("loss is …; ids", "loss was nan; ids")
