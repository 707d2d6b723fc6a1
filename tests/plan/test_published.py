"""Published searches: packed with their study, and unpacked where a call continues after them."""

import os
import tarfile

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.records.published import finished_searches, pack, unpack
from dmlbench.plan.specs import searches
from project import load_studies

FILES = ("best.yaml", "trials.parquet", "provenance.jsonl", "workers/0.yaml")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tmp_path_factory.mktemp("here")


@pytest.fixture(scope="module")
def searched(here):
    """The plan of a study with one finished search, and one that has only begun."""
    plan = load_studies("psomas2020_birds", pathvars={"results": str(here)})
    for name, files in (("contrastive", FILES), ("triplet", FILES[2:])):
        row = next(row for row in plan.rows("psomas2020_birds") if row.method == name)
        for file in files:
            path = here / "searches" / _folder(plan, row) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {file}")
            os.utime(path, (1e9, 1e9))
    return plan


def _folder(plan, row) -> str:
    return searches.folder(plan, plan.search_of(row))


def test_finished_searches_return_as_they_were(searched, here, tmp_path):
    (folder,) = finished_searches(searched, "psomas2020_birds")
    assert pack(searched, "psomas2020_birds", tmp_path / "published" / "a.tar.xz") == 1
    assert unpack(tmp_path / "published" / "a.tar.xz", tmp_path / "there") == len(FILES)
    for file in FILES:
        packed, unpacked = here / folder / file, tmp_path / "there" / folder / file
        assert unpacked.read_bytes() == packed.read_bytes()
        assert unpacked.stat().st_mtime == packed.stat().st_mtime
    assert len(list((tmp_path / "there" / "searches").iterdir())) == 1


def test_what_is_there_stays(searched, tmp_path):
    (folder,) = finished_searches(searched, "psomas2020_birds")
    pack(searched, "psomas2020_birds", tmp_path / "a.tar.xz")
    own = tmp_path / "there" / folder / "best.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("own")
    assert unpack(tmp_path / "a.tar.xz", tmp_path / "there") == len(FILES) - 1
    assert own.read_text() == "own"


def _folders_of_multi_similarity(results) -> dict[str, str]:
    """Name of a search -> its folder, of one loss that has two names in three studies."""
    studies = ("musgrave2020_birds", "psomas2020_birds", "roth2020_birds")
    plan = load_studies(*studies, pathvars={"results": str(results)})
    return {
        plan.search_of(row): _folder(plan, row)
        for study in plan.studies
        for row in plan.rows(study)
        if row.method in ("multi_similarity", "multi_similarity_miner")
        and (row.variant, row.split) == ("tuned", "half")
    }


@pytest.mark.slow
def test_a_search_has_one_folder_whatever_a_study_calls_its_method(tmp_path):
    names = _folders_of_multi_similarity(tmp_path)
    own = "heads_cub200_160_multi_similarity_128_folds_half"
    assert set(names) == {own, own.replace("similarity", "similarity_miner")}
    assert {folder.rpartition("-")[0] for folder in names.values()} == {own}


@pytest.mark.slow
def test_a_search_that_ran_under_another_name_keeps_its_folder(tmp_path):
    (folder,) = set(_folders_of_multi_similarity(tmp_path).values())
    other = folder.replace("similarity", "similarity_miner")
    (tmp_path / "searches" / other).mkdir(parents=True)
    assert set(_folders_of_multi_similarity(tmp_path).values()) == {other}


def test_without_a_finished_search_nothing_is_written(tmp_path):
    plan = load_studies("psomas2020_birds", pathvars={"results": str(tmp_path)})
    assert pack(plan, "psomas2020_birds", tmp_path / "a.tar.xz") == 0
    assert not (tmp_path / "a.tar.xz").exists()


@pytest.mark.parametrize("name", ["../a", "searches/../../a", "/tmp/a", "runs/a"])
def test_only_searches_are_unpacked(tmp_path, name):
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(UserError, match="allowed: files below searches/"):
        unpack(tmp_path / "a.tar.xz", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_unknown_studies_and_missing_files_are_one_line(searched, tmp_path):
    with pytest.raises(UserError, match="study 'psomas2020_bird'"):
        pack(searched, "psomas2020_bird", tmp_path / "a.tar.xz")
    with pytest.raises(UserError, match=r"a\.tar\.xz: missing; allowed: a study whose"):
        unpack(tmp_path / "a.tar.xz", tmp_path)
