"""Folders of four to eight images in the form that each layout reads."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from scipy.io import savemat

SUBSETS = ("train/rose/1.png", "train/iris/1.png", "test/rose/2.png", "Test/tulip/3.png")
CUB = {
    "images.txt": "1 001.A/a_1.jpg\n2 001.A/a_0.jpg\n3 002.B/b_0.jpg\n",
    "image_class_labels.txt": "1 1\n2 1\n3 2\n",
    "train_test_split.txt": "1 0\n2 1\n3 1\n",
}
SOP = {
    "Ebay_train.txt": "image_id class_id super_class_id path\n1 1 1 b/b_0.JPG\n2 2 2 c/c_0.JPG\n",
    "Ebay_test.txt": "image_id class_id super_class_id path\n3 4 2 c/e_0.JPG\n4 3 1 b/d_0.JPG\n",
}
INSHOP = [
    ("img/W/Dresses/id_2/02_1_front.jpg", "id_2", "query"),
    ("img/M/Denim/id_9/01_1_front.jpg", "id_9", "train"),
    ("img/W/Skirts/id_3/02_1_front.jpg", "id_3", "train"),
    ("img/W/Dresses/id_2/02_2_side.jpg", "id_2", "gallery"),
]
AIRCRAFT = {
    "variants.txt": "F/A-18\n707-320\nCessna 172\n",
    "images_variant_train.txt": "0000003 Cessna 172\n0000001 F/A-18\n",
    "images_variant_val.txt": "0000000 707-320\n",
    "images_variant_test.txt": "0000002 Cessna 172\n",
}
GROCERY = (
    "path,class_id,class_name,official_split\n"
    "images/3.jpg,1,Milk,train\nimages/1.jpg,0,Kiwi,val\nimages/2.jpg,1,Milk,test\n"
)
STORE = {
    "classes.csv": "Class Name (str),Class ID (int)\nKiwi,0\nMilk,1\n",
    "train.txt": "train/Milk/3.jpg, 1, 1\ntrain/Kiwi/1.jpg, 0, 0\n",
    "val.txt": "val/Kiwi/1.jpg, 0, 0\n",
    "test.txt": "test/Milk/2.jpg, 1, 1\n",
}

LABELS = (
    "path,label,split,role,species,file,box,scene\n3.png,rose,train,,a,1.png,0 0 1 1,x\n"
    "1.png,iris,test,query,b,2.png,0 0 2 1,x\n2.png,iris,test,gallery,,3.png,1 0 2 1,\n"
)
VECTORS = (
    "id,label,species,split,picture\nc,rose,2,train,3.png\na,iris,1,test,1.png\n"
    "b,iris,1,test,2.png\n"
)


def folder_of(place: Path, texts: Mapping[str, str], images: tuple[str, ...] | list[str]) -> Path:
    """A folder of lists and images."""
    for name, text in {**texts, **dict.fromkeys(images, "x")}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def _of(*images: str, texts: Mapping[str, str] | None = None) -> Callable[[Path], list[Path]]:
    return lambda folder: [folder_of(folder / "images", texts or {}, images)]


def _inshop(folder: Path) -> list[Path]:
    listed = "\n".join(f"{path:<50}{item:<12}{status}" for path, item, status in INSHOP)
    text = f"{len(INSHOP)}\nimage_name item_id evaluation_status\n{listed}"
    (folder / "list_eval_partition.txt").write_text(text)
    images = folder_of(folder / "images", {}, [path for path, _, _ in INSHOP])
    return [images, folder / "list_eval_partition.txt"]


def _cars196(folder: Path) -> list[Path]:
    names = ["relative_im_path", "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "test"]
    rows = [(1, 0, 5), (1, 1, 9), (2, 0, 7), (3, 1, 8), (2, 1, 6)]
    table = np.zeros((1, len(rows)), dtype=[(name, object) for name in names])
    for place, (label, test, left) in enumerate(rows):
        path = f"car_ims/{place + 1:06d}.jpg"
        table[0, place] = (path, left, left + 1, left + 2, left + 3, label, test)
    titles = np.array([["Zeta", "Ram C/V", "Alpha"]], dtype=object)
    savemat(folder / "cars_annos.mat", {"annotations": table, "class_names": titles})
    images = [f"car_ims/{place:06d}.jpg" for place in range(1, len(rows) + 1)]
    return [folder_of(folder / "images", {}, images), folder / "cars_annos.mat"]


def _vectors(folder: Path) -> list[Path]:
    for number, name in enumerate(("vectors.npy", "others.npy")):
        np.save(folder / name, np.arange(6.0).reshape(3, 2) + number)
    texts = {"vectors.csv": VECTORS}
    folder_of(folder, texts, [f"{number}.png" for number in (1, 2, 3)])
    return [folder / "vectors.csv"]


ARCHIVES: dict[str, Callable[[Path], list[Path]]] = {
    "cars196": _cars196,
    "class_folders": _of("rose/1.png", "iris/1.png", "iris/10.png", "iris/2.png"),
    "cub200": _of(
        "images/001.A/a_0.jpg", "images/001.A/a_1.jpg", "images/002.B/b_0.jpg", texts=CUB
    ),
    "drawings": _of("sun/one.png", "sun/two.v1.png", "moon/one.png"),
    "every_folder": _of("rose/new/1.png", "rose/old/2.png", "iris/2.png"),
    "fgvc_aircraft": _of(*(f"images/{number:07d}.jpg" for number in range(4)), texts=AIRCRAFT),
    "grocery": _of(
        *(f"grocery81/images/{number}.jpg" for number in (1, 2, 3)),
        texts={"grocery81/index.csv": GROCERY},
    ),
    "grocery_store": _of(
        "train/Milk/3.jpg", "train/Kiwi/1.jpg", "val/Kiwi/1.jpg", "test/Milk/2.jpg", texts=STORE
    ),
    "inshop": _inshop,
    "listed": _of(
        *(f"{number}.png" for number in range(4)),
        texts={"labels.csv": LABELS, "others.csv": LABELS.replace("rose", "tulip")},
    ),
    "omniglot": _of(
        "images_background/Greek/character02/1.png",
        "images_background/Greek/character01/2.png",
        "images_evaluation/Atlantean/character01/3.png",
    ),
    "sop": _of("b/b_0.JPG", "b/d_0.JPG", "c/c_0.JPG", "c/e_0.JPG", texts=SOP),
    "subset_folders": _of(*SUBSETS),
    "top_folders": _of("rose/new/1.png", "rose/old/2.png", "iris/old/2.png"),
    "vectors": _vectors,
}
