"""Packed pixels: every image decoded and resized once, in one file that all trainings map."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from pathlib import Path

import numpy as np
import pandas
import PIL
import pyarrow as pa
from PIL import Image

from dmlbench.data import _images, _tables
from dmlbench.data._writing import writing
from dmlbench.data.archives import DAMAGED, Archive, open_all
from dmlbench.data.index import read_index, refuse_damaged
from dmlbench.errors import UserError, unknown

SCHEMA = pa.schema(
    {
        "image_id": pa.int64(),
        "offset": pa.int64(),
        "height": pa.int32(),
        "width": pa.int32(),
        "channels": pa.int32(),
    }
)

_MODES = {"gray": "L", "rgb": "RGB"}
_DECODED_AT_ONCE = 256
