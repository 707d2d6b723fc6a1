"""SOP, In-Shop and Aircraft, by their lists; lists as archives of themselves."""

import pandas
import pytest
from dmlbench.data.archives import Archive
from dmlbench.errors import UserError
from layout_archives import protocol_list, rows_of, write_file, write_tar, write_zip

SOP = {
    "train": "1 1 1 bicycle_final/b_0.JPG\n2 1 1 bicycle_final/a_0.JPG\n3 3 2 chair_final/c_0.JPG",
    "test": "4 2 1 bicycle_final/d_0.JPG\n5 4 2 chair_final/e_0.JPG",
}


def sop(path, lists, top="Stanford_Online_Products/"):
    header = "image_id class_id super_class_id path\n"
    members = {f"{top}Ebay_{name}.txt": header + text for name, text in lists.items()}
    for text in lists.values():
        members |= {f"{top}{line.split()[-1]}": b"x" for line in text.splitlines()}
    return write_zip(path, members)


@pytest.mark.parametrize("top", ["Stanford_Online_Products/", "", "a/b/"])
def test_sop_is_its_two_lists(tmp_path, top):
    rows = rows_of("sop", sop(tmp_path / "a.zip", SOP, top))
    paths = [line.split()[-1] for text in SOP.values() for line in text.splitlines()]
    assert rows["member"].tolist() == [top + path for path in paths]
    assert rows["label"].tolist() == [0, 0, 2, 1, 3]
    assert rows["subset"].tolist() == ["train"] * 3 + ["test"] * 2
    assert rows["class_name"].tolist() == [
        "bicycle_final/1",
        "bicycle_final/1",
        "chair_final/3",
        "bicycle_final/2",
        "chair_final/4",
    ]


def test_sop_needs_both_lists_once(tmp_path):
    with pytest.raises(UserError, match=r"no Ebay_test\.txt, which the layout sop needs"):
        rows_of("sop", sop(tmp_path / "a.zip", {"train": SOP["train"]}))
    again = write_file(tmp_path / "Ebay_train.txt", "")
    with pytest.raises(UserError, match=r"Ebay_train\.txt is there more than once"):
        rows_of("sop", sop(tmp_path / "a.zip", SOP), again)


def inshop_list(rows):
    """The official list's text: a count, a header, and columns padded with spaces."""
    text = [str(len(rows)), "image_name item_id evaluation_status"]
    return "\n".join(text + [f"{path:<70}{item:<12}{status}" for path, item, status in rows])


def test_inshop_trains_first_and_counts_in_the_order_of_the_list(tmp_path):
    listed = [
        ("img/WOMEN/Dresses/id_00000002/02_1_front.jpg", "id_00000002", "query"),
        ("img/MEN/Denim/id_00000009/01_1_front.jpg", "id_00000009", "train"),
        ("img/WOMEN/Skirts/id_00000003/02_1_front.jpg", "id_00000003", "train"),
        ("img/WOMEN/Dresses/id_00000002/02_2_side.jpg", "id_00000002", "gallery"),
    ]
    images = write_zip(tmp_path / "img.zip", {path: b"x" for path, _, _ in listed})
    lists = write_file(tmp_path / "list_eval_partition.txt", inshop_list(listed))
    rows = rows_of("inshop", images, lists)
    assert rows["member"].tolist() == [listed[place][0] for place in (1, 2, 0, 3)]
    assert rows["label"].tolist() == [0, 1, 2, 2]
    assert rows["class_name"].tolist() == [listed[place][1] for place in (1, 2, 0, 3)]
    assert rows["subset"].tolist() == ["train", "train", "query", "gallery"]
    write_file(lists, inshop_list([(*listed[0][:2], "probe")]))
    with pytest.raises(UserError, match="status 'probe'; allowed: train, query, gallery"):
        rows_of("inshop", images, lists)


@pytest.mark.slow
def test_every_inshop_row_is_the_real_one(shared, tmp_path):
    folder = shared / "datasets" / "annotations" / "inshop"
    parts = [
        protocol_list(folder, f"inshop_{subset}").assign(subset=subset)
        for subset in ("train", "query", "gallery")
    ]
    listed = pandas.concat(parts).sort_values("image_id", ignore_index=True)
    items = listed["path"].str.split("/").str[3]
    assert listed["image_id"].tolist() == list(range(52_712))
    images = write_zip(tmp_path / "img.zip", dict.fromkeys(sorted(listed["path"]), b"x"))
    official = inshop_list(list(zip(listed["path"], items, listed["subset"], strict=True)))
    lists = write_file(tmp_path / "list_eval_partition.txt", official)
    rows = rows_of("inshop", images, lists)
    assert rows["member"].tolist() == listed["path"].tolist()
    assert rows["label"].tolist() == listed["class_id"].tolist()
    assert rows["class_name"].tolist() == items.tolist()
    assert rows["subset"].tolist() == listed["subset"].tolist()
    counts = rows.groupby("subset").agg(images=("label", "size"), classes=("label", "nunique"))
    assert counts.loc[["train", "query", "gallery"]].to_dict("list") == {
        "images": [25_882, 14_218, 12_612],
        "classes": [3_997, 3_985, 3_985],
    }
    assert rows["label"].nunique() == 7_982


def aircraft(path, lists):
    top = "fgvc-aircraft-2013b/data/"
    members = {f"{top}{name}.txt": text for name, text in lists.items()}
    members |= {f"{top}images/{number:07d}.jpg": b"x" for number in range(4)}
    return write_tar(path, members)


AIRCRAFT = {
    "variants": "F/A-18\n707-320\nCessna 172\n",
    "families": "F/A-18\nBoeing 707\nCessna 172\n",
    "images_variant_train": "0000003 Cessna 172\n0000001 F/A-18\n",
    "images_variant_val": "0000000 707-320\n",
    "images_variant_trainval": "0000003 Cessna 172\n0000001 F/A-18\n0000000 707-320\n",
    "images_variant_test": "0000002 Cessna 172\n",
}


def test_aircraft_variants_keep_their_order_and_their_spaces(tmp_path):
    rows = rows_of("fgvc_aircraft", aircraft(tmp_path / "a.tar.gz", AIRCRAFT))
    assert rows["member"].str[-11:-4].tolist() == ["0000003", "0000001", "0000000", "0000002"]
    assert rows["label"].tolist() == [2, 0, 1, 2]
    assert rows["class_name"].tolist() == ["Cessna 172", "F/A-18", "707-320", "Cessna 172"]
    assert rows["subset"].tolist() == ["train", "train", "validation", "test"]
    strange = AIRCRAFT | {"images_variant_val": "0000000 707\n"}
    with pytest.raises(UserError, match=r"variant '707' of an image is not in variants\.txt"):
        rows_of("fgvc_aircraft", aircraft(tmp_path / "a.tar.gz", strange))


def test_a_list_is_an_archive_of_itself(tmp_path):
    with Archive(write_file(tmp_path / "list.txt", "a b\n")) as archive:
        assert archive.members == ["list.txt"]
        assert archive.images() == []
        assert archive.read("list.txt") == b"a b\n"
        assert archive.digest()["bytes"] == 4
