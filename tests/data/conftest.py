"""Real photographs, decoded."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import functional as F


@pytest.fixture(scope="session")
def photographs(shared):
    """Forty photographs of many sizes, uint8 [3, H, W]."""
    with zipfile.ZipFile(shared / "datasets" / "grocery81" / "grocery81.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith(".jpg")]
        chosen = np.random.default_rng(0).choice(names, 40, replace=False)
        read = [Image.open(io.BytesIO(archive.read(name))).convert("RGB") for name in chosen]
    return [F.pil_to_tensor(image) for image in read]
