"""Tests that need the same slow preparation run in one process."""

from distribution import REPOSITORY, scope_of


def test_files_that_load_the_plan_of_all_studies_share_a_process():
    files = ("plan/test_every_study.py", "plan/test_can2019.py", "authors/test_authors.py")
    assert {scope_of(f"tests/{file}") for file in files} == {"the plan of all studies"}


def test_all_other_files_run_on_their_own():
    file = "tests/losses/test_loss_laws.py"
    assert (REPOSITORY / file).exists()
    assert scope_of(file) == file
