"""Counts, for each positive of a run of queries, the negatives that are nearer."""

from typing import NamedTuple

import torch

from dmlbench.evaluation.pairs import Pairs
from dmlbench.evaluation.products import Products, Tile, above
from dmlbench.evaluation.retrieval import FAR

# Sorting keys: 8 * row - similarity. Similarities lie in [-1.5, 1.01], a row's stopper at -3.
_ROW = 8.0
_STOPPER = -3.0


class Candidates(NamedTuple):
    """Negatives that may be nearer than a positive: query, gallery column, similarity [C]."""

    row: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor

    def at(self, which: torch.Tensor) -> "Candidates":
        return Candidates(*(part[which] for part in self))


class Board:
    """Ranks of the positives of consecutive queries, filled in tile by tile.

    A tile adds, for each negative in it, one to the count of the nearest positive that is
    farther than this negative; a running sum over a query's positives gives the negatives nearer
    than each. A positive whose count has passed the limit is given up, so that a query never
    lists many more candidates than its limit.

    Args:
        products: tiles and exact similarities.
        pairs: the queries' positives.
        begin: number of the first query of the run.
        limit: int64 [Q]; ranks beyond it do not matter.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        mask: bool scratch of the size of a tile.
        chunk: candidates looked at in one go.
    """

    def __init__(
        self, products: Products, pairs: Pairs, begin: int, limit, first_limit, mask, chunk: int
    ):
        self._products = products
        self._begin = begin
        self._mask = mask
        self._chunk = chunk
        device = pairs.start.device
        count = pairs.start.diff()
        # One slot a positive and, behind each query's last, one stopper for farther negatives.
        self._start = pairs.start + torch.arange(len(pairs.start), device=device)
        slots = int(self._start[-1])
        row = torch.repeat_interleave(count + 1)
        self._order = torch.arange(slots, device=device) - self._start[row]
        self._stopper = self._order == count[row]
        self._similarity = torch.full((slots,), _STOPPER, dtype=torch.float64, device=device)
        self._similarity[~self._stopper] = pairs.similarity
        self._age = torch.zeros(slots, dtype=torch.int64, device=device)
        self._age[~self._stopper] = products.space.gallery.age[pairs.column]
        self._limit = torch.where(self._order == 0, first_limit[row], limit[row])
        self._limit[self._stopper] = -1
        self._added = torch.zeros(slots, dtype=torch.int64, device=device)
        self._ties: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._farthest = torch.empty(len(count), dtype=torch.float64, device=device)
        self._give_up(slice(begin, begin + len(count)))

    def waits(self, rows: slice) -> bool:
        """Whether any positive of these queries still counts."""
        return bool((self._farthest[self._local(rows)] < torch.inf).any())

    def take(self, tile: Tile, rows: slice, columns: slice, *, across: bool = False) -> bool:
        """Count the tile's gallery columns for these queries.

        Args:
            across: the tile is given as [columns, rows], similarity being symmetric.

        Returns:
            False, with nothing counted, where the tile's error leaves so many comparisons open
            that a tile of higher precision is cheaper.
        """
        farthest = self._farthest[self._local(rows)]
        floor = _below(farthest - tile.error, tile.values.dtype)
        if floor is None:
            return False
        floor = floor[None, :] if across else floor[:, None]
        flat = above(tile.values, floor, self._mask)
        patience = tile.values.numel() // 24
        first, keys = self._keys(rows)
        for some in flat.split(self._chunk):
            candidates = self._negatives(tile, some, rows, columns, across)
            key = _ROW * (candidates.row - rows.start) - candidates.value
            place = torch.searchsorted(keys, key + tile.error, right=True)
            open_ = (place > 0) & (keys[(place - 1).clamp(min=0)] >= key - tile.error)
            which = open_.nonzero().flatten()
            too_many = len(which) * len(flat) > patience * len(some)
            if too_many and some[0] == flat[0] and not tile.exact:
                return False
            if len(which):
                nearest = torch.searchsorted(keys, key[which] - tile.error)
                place[which] = (
                    self._settle(
                        tile.exact, candidates.at(which), first + nearest, first + place[which]
                    )
                    - first
                )
            self._added[first : first + len(keys)] += torch.bincount(place, minlength=len(keys))
        self._give_up(rows)
        return True

    def ranks(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ranks of all positives, int64 [P] each: as broken by age, at best, and at worst."""
        rank = self._order + 1 + self._nearer(0, len(self._order))
        best, worst = rank.clone(), rank.clone()
        for slot, first in self._ties:
            one = torch.ones_like(slot)
            best.index_add_(0, slot[first], one[first], alpha=-1)
            worst.index_add_(0, slot[~first], one[~first])
        kept = ~self._stopper
        return tuple(
            torch.where(some <= self._limit, some, FAR)[kept] for some in (rank, best, worst)
        )

    def _negatives(self, tile: Tile, flat, rows: slice, columns: slice, across: bool):
        upper = flat // tile.values.shape[1]
        lower = flat - upper * tile.values.shape[1]
        row, column = (lower, upper) if across else (upper, lower)
        found = Candidates(
            rows.start + row, columns.start + column, tile.values.view(-1)[flat].double()
        )
        space = self._products.space
        wanted, searched = space.queries.classes[rows], space.gallery.classes[columns]
        if wanted[0] > searched[-1] or wanted[-1] < searched[0]:
            return found
        return found.at(
            (space.queries.classes[found.row] != space.gallery.classes[found.column]).nonzero()[
                :, 0
            ]
        )

    def _settle(self, exact: bool, negatives: Candidates, nearest, farther) -> torch.Tensor:
        """Slots of negatives known to lie somewhere from slot `nearest` to slot `farther`."""
        value = negatives.value
        if not exact:
            value = self._products.exactly(negatives.row, negatives.column)
        age = self._products.space.gallery.age[negatives.column]
        span = farther - nearest
        owner = torch.repeat_interleave(span)
        inside = torch.arange(len(owner), device=owner.device) - (span.cumsum(0) - span)[owner]
        slot = nearest[owner] + inside
        tied = value[owner] == self._similarity[slot]
        first = age[owner] < self._age[slot]
        if tied.any():
            self._ties.append((slot[tied], first[tied]))
        nearer = (value[owner] > self._similarity[slot]) | (tied & first)
        return farther - torch.zeros_like(span).index_add_(0, owner, nearer.long())

    def _keys(self, rows: slice) -> tuple[int, torch.Tensor]:
        """First slot of these queries, and their slots' sorting keys, ascending."""
        start = self._start[rows.start - self._begin : rows.stop - self._begin + 1]
        row = torch.repeat_interleave(start.diff())
        first = int(start[0])
        return first, _ROW * row - self._similarity[first : int(start[-1])]

    def _nearer(self, first: int, last: int) -> torch.Tensor:
        """Negatives known to be nearer than each slot's positive."""
        counted = self._added[first:last].cumsum(0)
        begin = torch.arange(last - first, device=counted.device) - self._order[first:last]
        return counted - (counted - self._added[first:last])[begin]

    def _give_up(self, rows: slice) -> None:
        """Find each query's farthest positive whose rank can still be within its limit."""
        local = self._local(rows)
        start = self._start[rows.start - self._begin : rows.stop - self._begin + 1]
        first, last = int(start[0]), int(start[-1])
        rank = self._order[first:last] + 1 + self._nearer(first, last)
        alive = (rank <= self._limit[first:last]).long()
        count = torch.zeros(len(start) - 1, dtype=torch.int64, device=rank.device)
        count.index_add_(0, torch.repeat_interleave(start.diff()), alive)
        farthest = self._similarity[start[:-1] + (count - 1).clamp(min=0)]
        self._farthest[local] = torch.where(count > 0, farthest, torch.inf)

    def _local(self, rows: slice) -> slice:
        return slice(rows.start - self._begin, rows.stop - self._begin)


def _below(floor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """The floor in this precision, not rounded up; None where bfloat16 cannot be used.

    Rounding to float32 is part of a tile's error. The bits of a positive float32, cut in half,
    are the bfloat16 below it.
    """
    if dtype != torch.bfloat16:
        return floor.to(dtype)
    if bool((floor < 0).any()):
        return None
    bits = (floor - 2.0**-24).clamp(min=0).float().view(torch.int32)
    return (bits >> 16).to(torch.int16).view(torch.bfloat16)
