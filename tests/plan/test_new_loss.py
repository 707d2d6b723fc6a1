"""A loss of the user's own: written from the template, found, named in runs, and forgotten."""

import dmlbench.losses
import pytest
from dmlbench import own_parts
from dmlbench.errors import UserError
from dmlbench.plan.load import reload
from dmlbench.plan.new_studies.forgotten import forget
from dmlbench.plan.new_studies.new_loss import add_loss
from dmlbench.plan.records.stale import _code_of
from dmlbench.plan.specs.versions import sources, versions


@pytest.fixture
def written(configured, monkeypatch):
    """A configuration next to a folder of the user's with the loss `pushed`."""
    monkeypatch.setattr(own_parts, "_in_use", {})
    monkeypatch.setattr(dmlbench.losses, "__path__", list(dmlbench.losses.__path__))
    own = configured.folder.parent / "own"
    assert [file.name for file in add_loss(configured.folder, own, "pushed")] == [
        "pushed.py",
        "methods.yaml",
    ]
    configured.grid(method=["contrastive", "pushed"], embedding_dim=8, seed=0)
    configured.own = own
    return configured


def run_of(configured):
    loaded = configured.load(own=[f"{configured.own}/*"])
    (row,) = (row for row in loaded.rows("mine") if row.method == "pushed")
    return loaded.run(row)


def test_it_is_a_row_whose_run_says_version_and_code(written):
    run = run_of(written)
    assert "/pushed/" in run.folder
    assert versions(run.spec)["losses/pushed"] == 1
    assert "losses/pushed" in sources(run.spec)
    assert _code_of("losses/pushed") not in ("", _code_of("losses/contrastive"))


def test_options_of_it_are_checked_by_its_file(written):
    written.change("recipes", ["glyphs", "methods"], {"pushed": {"loss": {"magrin": 1.0}}})
    with pytest.raises(UserError, match=r"hyper-parameter of losses/pushed.*did you mean 'margin'"):
        run_of(written)


def test_a_second_one_has_another_name(written):
    for name in ("pushed", "triplet", "My loss"):
        with pytest.raises(UserError, match=f"name '{name}'"):
            add_loss(written.folder, written.own, name)
    assert sorted(each.name for each in written.own.iterdir()) == ["pushed"]


def test_a_taken_name_stops_what_is_in_its_folder_alone(written):
    folder = written.own / "other" / "losses"
    folder.mkdir(parents=True)
    (folder / "triplet.py").write_text("class Triplet:\n    pass\n")
    given = {"pathvars": {"results": "results"}, "studies": ["mine"], "own": [f"{written.own}/*"]}
    loaded = reload(given, written.folder)
    assert {row.method for row in loaded.rows("mine")} == {"contrastive", "pushed"}
    assert list(loaded.broken) == ["other"]
    assert "triplet.py: losses has triplet already" in loaded.broken["other"]


def test_what_is_forgotten_is_no_loss_any_more(written):
    removed = forget(written.folder, written.own, "pushed")
    assert {file.name for file in removed} == {"pushed.py", "methods.yaml"}
    with pytest.raises(UserError, match="unknown method 'pushed'"):
        run_of(written)
