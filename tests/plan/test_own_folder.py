"""A user's folder is identified by its images: a changed image counts, a touched one does not."""

import os
import shutil

import pytest
from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.plan import contents
from dmlbench.plan.contents import contents_digest


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """Where digests are kept between calls."""
    folder = tmp_path / "memory"
    monkeypatch.setattr(contents, "MEMORY", folder)
    monkeypatch.setattr(contents_digest, "__defaults__", (folder,))
    return folder


@pytest.fixture
def photos(tmp_path, memory):
    """Two classes of three images."""
    folder = tmp_path / "photos"
    for name in ("rose", "tulip"):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            (folder / name / f"{number}.png").write_bytes(f"{name} {number}".encode())
    return folder


@pytest.fixture
def reads(monkeypatch):
    """The names of the files whose content is read."""
    found = []

    def counted(path):
        found.append(path.name)
        return digest(path)

    monkeypatch.setattr(contents, "digest", counted)
    return found


def change(photos):
    # As many bytes as before.
    (photos / "rose" / "0.png").write_bytes(b"ROSE 0")


def add(photos):
    (photos / "rose" / "3.png").write_bytes(b"rose 3")


def remove(photos):
    (photos / "tulip" / "2.png").unlink()


def rename(photos):
    (photos / "tulip" / "2.png").rename(photos / "tulip" / "two.png")


def move(photos):
    (photos / "tulip" / "2.png").rename(photos / "rose" / "3.png")


def touch(photos):
    os.utime(photos / "rose" / "0.png", (1, 1))


def hide(photos):
    (photos / "rose" / ".thumbnails").write_bytes(b"of no interest")


@pytest.mark.parametrize("edit", [change, add, remove, rename, move, touch, hide])
def test_another_content_is_another_data_set_and_another_run(configured, photos, tmp_path, edit):
    entry = {
        "title": "Flowers",
        "folder": str(photos),
        "splits": {"half": "half"},
        "metrics": ["recall_at_1"],
    }
    configured.change("datasets", ["flowers"], entry)
    configured.grid(dataset="flowers")

    def folders():
        return configured.load().data("flowers").folder, configured.folders()

    kept = shutil.copytree(photos, tmp_path / "kept")
    (data, runs), another = folders(), edit not in (touch, hide)
    edit(photos)
    (new_data, new_runs) = folders()
    assert (new_data != data) == another
    assert [new_runs[label] != run for label, run in runs.items()] == [another] * len(runs)
    shutil.rmtree(photos)
    shutil.copytree(kept, photos)
    assert folders() == (data, runs)


def test_only_new_files_are_read_again(photos, memory, reads):
    first = contents_digest(str(photos), memory)
    assert len(reads) == 6
    assert contents_digest(str(photos), memory) == first
    assert len(reads) == 6
    change(photos)
    add(photos)
    contents_digest(str(photos), memory)
    assert sorted(reads[6:]) == ["0.png", "3.png"]


def test_it_is_the_same_wherever_it_is_and_whatever_is_remembered(photos, memory, tmp_path):
    copy = shutil.copytree(photos, tmp_path / "another place")
    first = contents_digest(str(photos), memory)
    assert contents_digest(str(copy), memory) == first
    for file in memory.iterdir():
        file.write_text("{")
    assert contents_digest(str(photos), memory) == first


def test_where_nothing_can_be_kept_it_is_read_each_time(photos, tmp_path, reads, capsys):
    (tmp_path / "file").touch()
    first = contents_digest(str(photos), tmp_path / "file" / "memory")
    assert contents_digest(str(photos), tmp_path / "file" / "memory") == first
    assert len(reads) == 12
    assert "images are read again" in capsys.readouterr().err


def test_an_archive_is_known_by_its_content(photos, memory, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "photos"), "zip", photos)
    first = contents_digest(archive, memory)
    add(photos)
    assert contents_digest(archive, memory) == first
    shutil.make_archive(str(tmp_path / "photos"), "zip", photos)
    assert contents_digest(archive, memory) != first


def test_what_is_not_there_is_one_line(memory, tmp_path):
    with pytest.raises(UserError, match=r"nowhere: No such file.*allowed: a folder or an archive"):
        contents_digest(str(tmp_path / "nowhere"), memory)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty: has no files; allowed"):
        contents_digest(str(tmp_path / "empty"), memory)
