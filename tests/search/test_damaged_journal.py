"""A damaged journal of trials is an error that names it, and never fewer trials."""

import optuna
import pytest
from dmlbench.errors import UserError
from dmlbench.search.storage import open_study

TRIALS = 5


@pytest.fixture
def journal(tmp_path):
    study = open_study(tmp_path, "toy")
    for value in range(TRIALS):
        study.add_trial(optuna.trial.create_trial(value=value / 10, user_attrs={"ä": value}))
    return tmp_path / "journal.log"


def values(journal):
    return [trial.value for trial in open_study(journal.parent, "toy").get_trials()]


def test_no_flipped_bit_changes_a_trial(journal):
    before = values(journal)
    assert before == [value / 10 for value in range(TRIALS)]
    good, length = journal.read_bytes(), journal.with_suffix(".length").read_text()
    unnoticed, said = [], set()
    for place in {*range(0, len(good), 29), len(good) - 1}:
        flipped = bytearray(good)
        flipped[place] ^= 1 << place % 8
        journal.write_bytes(flipped)
        journal.with_suffix(".length").write_text(length)
        try:
            read = values(journal)
        except UserError as error:
            said.add(str(error).partition(" (")[0])
        else:
            assert read == before
            unnoticed.append(good[: place + 8].splitlines()[-1][-16:])
    assert said == {f"{journal}: damaged or incomplete"}
    assert not unnoticed


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_lost_lines_are_noticed(journal, lines):
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
    with pytest.raises(UserError, match=r"journal.log: damaged or incomplete \(\d+ bytes were"):
        values(journal)


@pytest.mark.parametrize("change", ["exchanged", "doubled", "left out", "first again"])
def test_lines_in_another_order_are_noticed(journal, change):
    lines = journal.read_bytes().splitlines(keepends=True)
    for place in range(1, len(lines) - 1):
        before, after = lines[:place], lines[place:]
        changed = {
            "exchanged": [*before, after[1], after[0], *after[2:]],
            "doubled": [*before, after[0], *after],
            "left out": [*before, *after[1:], lines[-1]],
            "first again": [*before, lines[0], *after],
        }[change]
        journal.write_bytes(b"".join(changed))
        with pytest.raises(UserError, match=r"journal.log: damaged or incomplete"):
            values(journal)


def test_the_trials_of_another_search_are_not_this_one_s(journal):
    assert open_study(journal.parent, "another").get_trials() == []
    assert len(values(journal)) == TRIALS


def test_a_line_that_a_killed_worker_began_is_no_damage(journal):
    before = values(journal)
    with open(journal, "ab") as file:
        file.write(b'{"op_code":4,"wor')
    assert values(journal) == before


def test_a_journal_without_checksums_stays_usable(journal):
    before = values(journal)
    journal.with_suffix(".length").unlink()
    lines = journal.read_text().splitlines()
    journal.write_text("".join(line.rpartition(',"crc32"')[0] + "}\n" for line in lines))
    assert values(journal) == before
    study = open_study(journal.parent, "toy")
    study.add_trial(optuna.trial.create_trial(value=0.9))
    assert values(journal) == [*before, 0.9]
