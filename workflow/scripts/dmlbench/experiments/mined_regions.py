"""What miners keep: figure 2.5, panel D of figure B.1 and table 3.4 of karaman2021."""

from typing import Annotated

import numpy as np
import pandas as pd
import torch
from torch import nn

from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.experiments._regions import kept_region
from dmlbench.losses import build_loss
from dmlbench.values import Interval, Part, Positive

_APART = 0.5
"""Distance of anchor and positive in figure 2.5 and table 3.4."""
_RANKING = 0.1
"""Margin of the ranking loss whose region the settings are to contain (appendix B)."""
_SETTINGS = tuple((m_1, m_2) for m_1 in (-2.0, -2.25, -2.5, -3.0) for m_2 in (5.0, 10.0))
"""Table 3.4, where s = 1, r = 2, rho = 1."""
_UNCLAMPED = 1e9

METHODS = ("ranking", "distance_sensitive")
METRICS = (
    "ranking_acts_in_1",
    "ranking_acts_in_2",
    "ranking_acts_in_3",
    "ranking_acts_in_4",
    "facenet_mined_acts_in_1",
    "facenet_mined_acts_in_2",
    "facenet_mined_acts_in_3",
    "facenet_mined_acts_in_4",
    "kept_by_all_three",
    "row_1_kept",
    "row_2_kept",
    "row_3_kept",
    "row_4_kept",
    "row_5_kept",
    "row_6_kept",
    "row_7_kept",
    "row_8_kept",
    "row_1_kept_without_m_2",
    "row_2_kept_without_m_2",
    "row_3_kept_without_m_2",
    "row_4_kept_without_m_2",
    "row_5_kept_without_m_2",
    "row_6_kept_without_m_2",
    "row_7_kept_without_m_2",
    "row_8_kept_without_m_2",
    "least_m_1",
)


class MinedRegions(Part):
    """Easy, semi-hard and hard places of a negative and of a positive, and what losses keep.

    With d_an - d_ap above `margin` a place is easy (#1), above 0 semi-hard (#2), above -`margin`
    and below hard (#3 and #4; where these two meet is not printed).

    Table: `<loss>_acts_in_<region>`, the share of a region of negatives in which the loss has a
    force, for the ranking loss and for equation 2.25, both with `margin`; `kept_by_all_three`, the
    share of the places kept by any panel of figure B.1 that all of them keep; `row_<k>_kept`, the
    share of the ranking loss's region (margin 0.1, d_ap = 0.5) that the setting in a row of table
    3.4 keeps, and `row_<k>_kept_without_m_2`, what it would keep without its upper clamp;
    `least_m_1`, from which m_1 loses nothing.

    Arrays:
        region_2_5_a_negatives, region_2_5_b_positives: the region of each place, 0 for #1 to 3 for
            #4, uint8 [grid, grid], rows from low to high y.
        region_b_1_d_overlap: how many of panels A, B and C keep a negative there.
        extent_<figure>, points_<figure>: as in `triplet_forces`; a missing point is NaN.

    Args:
        margin: of figure 2.5, which prints none.
        grid: places along a side of a region.

    Source: karaman2021, section 2.1.2, figure 2.5, table 3.4, appendix B.
    """

    margin: Positive = 0.2
    grid: Annotated[int, Interval(ge=2)] = 100

    def run(self, seed: int) -> Outcome:
        shares, arrays = self._types()
        overlap, more = self._overlap()
        parts = [shares, overlap, self._settings()]
        return joined(parts, arrays | more, dataset="triplets", role="train")

    def _types(self) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Figure 2.5: the four regions, and the share of each in which a loss has forces."""
        extent = np.array([-1.0, 1.0, -1.0, 1.0])
        pair, missing = np.array([(0, 0), (_APART, 0)]), np.full((1, 2), np.nan)
        from_anchor = self._distances(extent, pair[0])
        negatives = self._region(from_anchor - _APART)
        positives = self._region(_APART - from_anchor)
        scores = {}
        for name in ("ranking", "facenet_mined"):
            acts = self._kept(_loss(name, margin=self.margin), pair, extent)
            for region in range(4):
                scores[f"{name}_acts_in_{region + 1}"] = acts[negatives == region].mean()
        return rows(scores, method="ranking"), {
            "extent_2_5_a": extent,
            "points_2_5_a": pair,
            "region_2_5_a_negatives": negatives,
            "extent_2_5_b": extent,
            "points_2_5_b": np.concatenate([pair[:1], missing, pair[1:]]),
            "region_2_5_b_positives": positives,
        }

    def _overlap(self) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Figure B.1: how many of its first three panels keep a negative."""
        extent, pair = np.array([-1.5, 2.5, -2.0, 2.0]), np.array([(0.0, 0.0), (1.0, 0.0)])
        ranking = _loss("ranking", margin=_RANKING)
        ellipse = _loss("distance_sensitive", s=0, r=0, rho=12 / 7, m1=4.6381, m2=_UNCLAMPED)
        kept = (
            self._kept(ranking, pair, extent),
            self._kept(ranking, pair[::-1], extent),
            self._kept(ellipse, pair, extent),
        )
        overlap = sum(region.astype(np.uint8) for region in kept)
        share = (overlap == 3).sum() / (overlap > 0).sum()
        return rows({"kept_by_all_three": share}, method="distance_sensitive", variant="b_1"), {
            "extent_b_1_d": extent,
            "points_b_1_d": pair,
            "region_b_1_d_overlap": overlap,
        }

    def _settings(self) -> pd.DataFrame:
        """Table 3.4: what each setting keeps of the ranking loss's region."""
        extent = np.array([-0.7, 0.7, -0.7, 0.7])
        pair = np.array([(0.0, 0.0), (_APART, 0.0)])
        wanted = self._kept(_loss("ranking", margin=_RANKING), pair, extent)
        scores = {}
        for row, (m_1, m_2) in enumerate(_SETTINGS, start=1):
            for metric, upper in (("kept", m_2), ("kept_without_m_2", _UNCLAMPED)):
                setting = _loss("distance_sensitive", s=1, r=2, rho=1, m1=m_1, m2=upper)
                scores[f"row_{row}_{metric}"] = self._kept(setting, pair, extent)[wanted].mean()
        # The push is least where the circle is farthest from the positive.
        radius = _APART + _RANKING
        scores["least_m_1"] = -(_APART**2) / 2 - 1 / radius - 1 / (radius + _APART)
        return rows(scores, method="distance_sensitive", variant="s=1,r=2,rho=1")

    def _distances(self, extent: np.ndarray, point: np.ndarray) -> np.ndarray:
        x, y = np.linspace(*extent[:2], self.grid), np.linspace(*extent[2:], self.grid)
        return np.hypot(x - point[0], y[:, None] - point[1])

    def _region(self, further: np.ndarray) -> np.ndarray:
        """The region, 0 to 3, of places with this d_an - d_ap."""
        return sum((further <= bound).astype(np.uint8) for bound in (self.margin, 0, -self.margin))

    def _kept(self, loss: nn.Module, pair: np.ndarray, extent: np.ndarray) -> np.ndarray:
        return kept_region(loss, torch.from_numpy(pair.copy()), extent, self.grid)


def _loss(name: str, **options) -> nn.Module:
    return build_loss(name, num_classes=2, embedding_dim=2, **options)
