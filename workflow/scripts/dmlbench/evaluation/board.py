"""Counts the nearer negatives of each positive, tile by tile."""

from typing import NamedTuple

import torch

from dmlbench.evaluation.pairs import Pairs
from dmlbench.evaluation.products import Products
from dmlbench.evaluation.slots import Slots
from dmlbench.evaluation.tile import Tile
from dmlbench.evaluation.tile_search import above, count_above, sorted_rows

# Sorting keys: 8 * row - similarity. Similarities lie in [-1.5, 1.01], a row's stopper at -3.
_ROW = 8.0

# Above this candidate density, pruning positives is cheaper than listing candidates.
_WORTH_PRUNING = 1 / 8

# If more than one in so many pairs of a tile is undecided, the next precision computes it.
_PATIENCE = 64


class Candidates(NamedTuple):
    """Negatives that may be nearer than a positive: query, gallery column, similarity [C]."""

    row: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor

    def at(self, which: torch.Tensor) -> "Candidates":
        return Candidates(*(part[which] for part in self))


class Board:
    """Ranks of the positives of consecutive queries, filled in tile by tile.

    A positive is given up once its nearer negatives, without equally near ones, put it beyond its
    limit. So a query never lists many more candidates than its limit.

    Args:
        products: tiles and exact similarities.
        pairs: the queries' positives.
        begin: number of the first of these queries.
        limit: int64 [Q]; ranks beyond it do not matter.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        mask: bool scratch space of the size of a tile.
        memory: bytes of working memory.
    """

    def __init__(
        self, products: Products, pairs: Pairs, begin: int, limit, first_limit, mask, memory: int
    ):
        self._products = products
        self._mask = mask
        self._memory = memory
        # Above this candidate density, sorting a tile in float64 is cheaper than listing
        # candidates.
        self.dense = 0.05 + products.space.gallery.vectors.shape[1] / 5000
        self._slots = Slots(pairs, begin, limit, first_limit, products.space.gallery.tie_order)
        self._seen = torch.zeros_like(self._slots.alive)

    def waits(self, rows: slice) -> bool:
        """Whether any positive of these queries is not given up."""
        return bool((self._slots.alive[self._slots.local(rows)] > 0).any())

    def density(self, rows: slice) -> float:
        """Share of the columns seen so far that these queries would list."""
        local = self._slots.local(rows)
        return float(self._slots.listed[local].sum() / self._seen[local].sum().clamp(min=1))

    def take(
        self, tile: Tile, rows: slice, columns: slice, *, across: bool = False
    ) -> torch.dtype | None:
        """Count the tile's gallery columns for these queries.

        Args:
            across: the tile is given as [columns, rows]; similarity is symmetric.

        Returns:
            None when done. Otherwise nothing was counted: there are so many candidates, or
            comparisons within the error, that a tile of the returned precision is cheaper.
        """
        if tile.exact:
            self._sort(tile, rows, columns, across)
        else:
            needed = self._list(tile, rows, columns, across)
            if needed is not None:
                return needed
        self._seen[self._slots.local(rows)] += columns.stop - columns.start
        self._slots.give_up(rows)
        return None

    def ranks(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ranks of all positives, int64 [P] each: as broken by id, at best, and at worst."""
        return self._slots.ranks()

    def _list(self, tile: Tile, rows: slice, columns: slice, across: bool):
        """List the negatives that may be nearer than a positive; find where each falls."""
        floor = self._floor(tile, rows, across)
        if floor is None:
            return torch.float32
        entries = tile.values.numel()
        flat = above(tile.values, floor, self._mask, entries * _WORTH_PRUNING)
        if flat is None:
            self._prune(tile, rows, across)
            floor = self._floor(tile, rows, across)
            flat = above(tile.values, floor, self._mask, entries * self.dense)
        if flat is None:
            return torch.float64
        slots = self._slots
        first, last = slots.of(rows)
        row_of_slot = slots.row_of_slot(rows)
        keys = _ROW * row_of_slot - slots.similarity[first:last]
        farther = torch.zeros(last - first, dtype=torch.int64, device=keys.device)
        for number, some in enumerate(flat.split(max(1024, self._memory // 1024))):
            negatives = self._negatives(tile, some, rows, columns, across)
            key = _ROW * (negatives.row - rows.start) - negatives.value
            error = tile.error
            place, which = _places(keys, key, error)
            patience = tile.values.numel() // _PATIENCE
            if number == 0 and len(which) * len(flat) > patience * len(some):
                return torch.float32 if tile.coarse else torch.float64
            if tile.coarse and len(which):
                value, error = self._products.closely(*negatives.at(which)[:2])
                key[which] = _ROW * (negatives.row[which] - rows.start) - value
                place[which], still = _places(keys, key[which], error)
                which = which[still]
            if len(which):
                nearest = torch.searchsorted(keys, key[which] - error)
                place[which] = self._resolve_exactly(
                    negatives.at(which), first, nearest, place[which]
                )
            farther += torch.bincount(place, minlength=len(keys))
        counted = farther.cumsum(0)
        start = slots.starts(rows) - first
        before_row = counted[start] - farther[start]
        slots.nearer[first:last] += counted - before_row[row_of_slot]
        return None

    def _floor(self, tile: Tile, rows: slice, across: bool) -> torch.Tensor | None:
        """What a negative must exceed to be nearer than a positive that is not given up."""
        floor = tile.floor(self._slots.farthest[self._slots.local(rows)])
        return None if floor is None else _broadcast(floor, across)

    def _prune(self, tile: Tile, rows: slice, across: bool) -> None:
        """Give up positives that this tile puts beyond their limits, found by bisection."""
        slots = self._slots
        start = slots.starts(rows)
        inside, beyond = torch.zeros_like(start), slots.alive[slots.local(rows)] + 1
        while bool((beyond - inside > 1).any()):
            middle = (inside + beyond) // 2
            slot = start + (middle - 1).clamp(min=0)
            ceiling = _broadcast(tile.ceiling(slots.similarity[slot]), across)
            nearer = count_above(tile.values, ceiling, self._mask, by_row=not across)
            fits = (middle == 0) | (slots.surely_nearer(slot) + nearer <= slots.allowed[slot])
            inside, beyond = torch.where(fits, middle, inside), torch.where(fits, beyond, middle)
        slots.give_up_from(rows, inside)

    def _resolve_exactly(self, negatives: Candidates, first: int, nearest, place) -> torch.Tensor:
        """Exact places of negatives that are known to fall between `nearest` and `place`."""
        value = self._products.exactly(negatives.row, negatives.column)
        tie_order = self._products.space.gallery.tie_order[negatives.column]
        span = place - nearest
        owner = torch.repeat_interleave(span)
        inside = torch.arange(len(owner), device=owner.device) - (span.cumsum(0) - span)[owner]
        slot = first + nearest[owner] + inside
        tied = value[owner] == self._slots.similarity[slot]
        earlier = tie_order[owner] < self._slots.tie_order[slot]
        self._slots.remember_ties(slot[tied], earlier[tied].long(), (~earlier[tied]).long())
        nearer = (value[owner] > self._slots.similarity[slot]) | (tied & earlier)
        return place - torch.zeros_like(span).index_add_(0, owner, nearer.long())

    def _sort(self, tile: Tile, rows: slice, columns: slice, across: bool) -> None:
        """Sort each query's exact similarities and look the positives up in them."""
        values = tile.values.T if across else tile.values
        ordered = sorted_rows(values)
        slots = self._slots
        alive, start = slots.alive[slots.local(rows)], slots.starts(rows)
        widest = int(alive.max())
        for some in torch.arange(len(alive)).split(max(1, self._memory // (64 * widest))):
            here = slice(int(some[0]), int(some[-1]) + 1)
            place = torch.arange(widest, device=alive.device)
            counts = place < alive[here, None]
            slot = torch.where(counts, start[here, None] + place, start[here, None])
            wanted = slots.similarity[slot]
            upper = torch.searchsorted(ordered[here], wanted, right=True)
            below = ordered[here].gather(1, (upper - 1).clamp_(min=0))
            slots.nearer.index_add_(0, slot[counts], (values.shape[1] - upper)[counts])
            tied = counts & (upper > 0) & (below == wanted)
            if bool(tied.any()):
                # Its rank is beyond the limit already. Only its best rank may be within, whichever
                # of the ties have lower ids.
                late = tied & (slots.nearer[slot] > slots.allowed[slot])
                many = upper - torch.searchsorted(ordered[here], wanted)
                slots.remember_ties(slot[late], many[late], torch.zeros_like(many[late]))
                slots.nearer.index_add_(0, slot[late], many[late])
                row, which = (tied & ~late).nonzero(as_tuple=True)
                if len(row):
                    self._break_ties(values, here.start + row, slot[row, which], columns)

    def _break_ties(self, values: torch.Tensor, row, slot, columns: slice) -> None:
        """Among negatives exactly as near as a positive, those with lower ids count as nearer.

        Equally near positives of a query share one count of those negatives.
        """
        tie_order, by_tie_order = self._products.space.gallery.tie_order[columns].sort()
        level = self._slots.similarity[slot]
        leads = torch.ones_like(slot, dtype=torch.bool)
        leads[1:] = (row[1:] != row[:-1]) | (level[1:] != level[:-1])
        group = leads.cumsum(0) - 1
        lead = leads.nonzero().flatten()
        for some in torch.arange(len(lead), device=lead.device).split(
            max(1, self._memory // (128 * values.shape[1]))
        ):
            tied = values[row[lead[some]]] == level[lead[some], None]
            # Column n: how many of the tile's n images with the lowest ids are tied.
            count = torch.nn.functional.pad(
                tied[:, by_tie_order].cumsum(1, dtype=torch.int32), (1, 0)
            )
            mine = (group >= some[0]) & (group <= some[-1])
            here, which = group[mine] - some[0], slot[mine]
            before = count[here, torch.searchsorted(tie_order, self._slots.tie_order[which])].long()
            self._slots.nearer.index_add_(0, which, before)
            self._slots.remember_ties(which, before, count[here, -1] - before)

    def _negatives(self, tile: Tile, flat, rows: slice, columns: slice, across: bool):
        upper = flat // tile.values.shape[1]
        lower = flat - upper * tile.values.shape[1]
        row, column = (lower, upper) if across else (upper, lower)
        value = tile.values.view(-1).index_select(0, flat).double() * tile.unit
        return Candidates(rows.start + row, columns.start + column, value)


def _places(keys: torch.Tensor, key: torch.Tensor, error: float):
    """The farthest place where each key may fall, and the indices of keys that may fall nearer."""
    place = torch.searchsorted(keys, key + error, right=True)
    unsure = keys.index_select(0, (place - 1).clamp(min=0)) >= key - error
    return place, (unsure & (place > 0)).nonzero().flatten()


def _broadcast(threshold: torch.Tensor, across: bool) -> torch.Tensor:
    """A threshold for each query in the shape that compares it with a tile."""
    return threshold[None, :] if across else threshold[:, None]
