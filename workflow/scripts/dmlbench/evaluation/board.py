"""Counts, for each positive of a run of queries, the negatives that are nearer."""

from typing import NamedTuple

import torch

from dmlbench.evaluation.pairs import Pairs
from dmlbench.evaluation.products import Products, Tile, above, count_above, sorted_rows
from dmlbench.evaluation.retrieval import FAR
from dmlbench.evaluation.rounding import rounded_down, rounded_up

# Sorting keys: 8 * row - similarity. Similarities lie in [-1.5, 1.01], a row's stopper at -3.
_ROW = 8.0
_STOPPER = -3.0

# Share of a tile beyond which listing candidates is more expensive than giving up positives first.
_WORTH_PRUNING = 1 / 8

# A tile is made in the next precision where more than one in so many of its pairs is left open.
_PATIENCE = 64

# Added to the count of a positive known to be beyond its limit.
_BEYOND = 1 << 40


class Candidates(NamedTuple):
    """Negatives that may be nearer than a positive: query, gallery column, similarity [C]."""

    row: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor

    def at(self, which: torch.Tensor) -> "Candidates":
        return Candidates(*(part[which] for part in self))


class Board:
    """Ranks of the positives of consecutive queries, filled in tile by tile.

    A positive with more nearer negatives than its limit allows, equally near ones not counted,
    is given up, so that a query never lists many more candidates than its limit.

    Args:
        products: tiles and exact similarities.
        pairs: the queries' positives.
        begin: number of the first query of the run.
        limit: int64 [Q]; ranks beyond it do not matter.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        mask: bool scratch of the size of a tile.
        memory: bytes to work in.
    """

    def __init__(
        self, products: Products, pairs: Pairs, begin: int, limit, first_limit, mask, memory: int
    ):
        self._products = products
        self._begin = begin
        self._mask = mask
        self._memory = memory
        # Share of a tile beyond which sorting it in float64 is cheaper than listing candidates.
        self.dense = 0.05 + products.space.gallery.vectors.shape[1] / 5000
        device = products.space.gallery.vectors.device
        start, similarity, column, limit, first_limit = (
            torch.from_numpy(part).to(device) for part in (*pairs, limit, first_limit)
        )
        count = start.diff()
        # One slot a positive and, behind each query's last, one stopper for farther negatives.
        self._start = start + torch.arange(len(start), device=device)
        slots = int(self._start[-1])
        first, stopper = self._start[:-1], self._start[1:] - 1
        self._positive = torch.arange(len(column), device=device) + torch.repeat_interleave(count)
        self._order = torch.arange(slots, device=device) - torch.repeat_interleave(first, count + 1)
        self._similarity = torch.full((slots,), _STOPPER, dtype=torch.float64, device=device)
        self._similarity[self._positive] = similarity
        self._age = torch.zeros(slots, dtype=torch.int64, device=device)
        self._age[self._positive] = products.space.gallery.age[column]
        # Negatives that may be nearer than a slot's positive for its rank to count.
        self._allowed = torch.repeat_interleave(limit, count + 1)
        self._allowed[first] = first_limit
        self._allowed -= self._order + 1
        self._allowed[stopper] = -1
        self._nearer = torch.zeros(slots, dtype=torch.int64, device=device)
        # Negatives exactly as near as a slot's positive, by whether they come before it.
        self._ties: dict[bool, torch.Tensor] = {}
        self._farthest = torch.empty(len(count), dtype=torch.float64, device=device)
        self._alive = torch.empty(len(count), dtype=torch.int64, device=device)
        self._listed = torch.zeros(len(count), dtype=torch.int64, device=device)
        self._seen = torch.zeros(len(count), dtype=torch.int64, device=device)
        self._give_up(slice(begin, begin + len(count)))

    def waits(self, rows: slice) -> bool:
        """Whether any positive of these queries still counts."""
        return bool((self._alive[self._local(rows)] > 0).any())

    def density(self, rows: slice) -> float:
        """Share of the columns seen so far that these queries would list."""
        local = self._local(rows)
        return float(self._listed[local].sum() / self._seen[local].sum().clamp(min=1))

    def take(
        self, tile: Tile, rows: slice, columns: slice, *, across: bool = False
    ) -> torch.dtype | None:
        """Count the tile's gallery columns for these queries.

        Args:
            across: the tile is given as [columns, rows], similarity being symmetric.

        Returns:
            None when done. Else nothing was counted, and a tile of this precision is cheaper
            than to look at all candidates or at all comparisons the error leaves open.
        """
        if tile.exact:
            self._sort(tile, rows, columns, across)
        else:
            needed = self._list(tile, rows, columns, across)
            if needed is not None:
                return needed
        self._seen[self._local(rows)] += columns.stop - columns.start
        self._give_up(rows)
        return None

    def ranks(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ranks of all positives, int64 [P] each: as broken by age, at best, and at worst."""
        nearer = self._nearer[self._positive]
        rank = best = worst = self._ranks(nearer)
        if True in self._ties:
            best = self._ranks(nearer - self._ties[True][self._positive])
        if False in self._ties:
            worst = self._ranks(nearer + self._ties[False][self._positive])
        return rank, best, worst

    def _ranks(self, nearer: torch.Tensor) -> torch.Tensor:
        """Ranks of all positives with so many nearer negatives."""
        rank = self._order[self._positive] + 1 + nearer
        return torch.where(nearer <= self._allowed[self._positive], rank, FAR)

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
        first, last = self._slots(rows)
        start = self._start[self._local(rows)]
        row_of_slot = self._row_of_slot(rows)
        keys = _ROW * row_of_slot - self._similarity[first:last]
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
                place[which] = self._settle(negatives.at(which), first, nearest, place[which])
            farther += torch.bincount(place, minlength=len(keys))
        counted = farther.cumsum(0)
        before_row = counted[start - first] - farther[start - first]
        self._nearer[first:last] += counted - before_row[row_of_slot]
        return None

    def _floor(self, tile: Tile, rows: slice, across: bool) -> torch.Tensor | None:
        """What a negative must exceed to be nearer than a positive that still counts."""
        floor = rounded_down(
            self._farthest[self._local(rows)] - tile.error, tile.values.dtype, tile.unit
        )
        return None if floor is None else _beside(floor, across)

    def _prune(self, tile: Tile, rows: slice, across: bool) -> None:
        """Give up positives that this tile alone puts beyond their limits: bisection by counts."""
        first, last = self._slots(rows)
        start = self._start[self._local(rows)]
        inside, beyond = torch.zeros_like(start), self._alive[self._local(rows)] + 1
        while bool((beyond - inside > 1).any()):
            middle = (inside + beyond) // 2
            slot = start + (middle - 1).clamp(min=0)
            ceiling = rounded_up(self._similarity[slot] + tile.error, tile.values.dtype, tile.unit)
            ceiling = _beside(ceiling, across)
            nearer = count_above(tile.values, ceiling, self._mask, by_row=not across)
            fits = (middle == 0) | (self._surely_nearer(slot) + nearer <= self._allowed[slot])
            inside, beyond = torch.where(fits, middle, inside), torch.where(fits, beyond, middle)
        hopeless = self._order[first:last] >= inside[self._row_of_slot(rows)]
        self._nearer[first:last][hopeless] = _BEYOND
        self._give_up(rows)

    def _settle(self, negatives: Candidates, first: int, nearest, place) -> torch.Tensor:
        """Places of negatives known to fall from `nearest` to `place`, by exact arithmetic."""
        value = self._products.exactly(negatives.row, negatives.column)
        age = self._products.space.gallery.age[negatives.column]
        span = place - nearest
        owner = torch.repeat_interleave(span)
        inside = torch.arange(len(owner), device=owner.device) - (span.cumsum(0) - span)[owner]
        slot = first + nearest[owner] + inside
        tied = value[owner] == self._similarity[slot]
        earlier = age[owner] < self._age[slot]
        self._remember_ties(slot[tied], earlier[tied].long(), (~earlier[tied]).long())
        nearer = (value[owner] > self._similarity[slot]) | (tied & earlier)
        return place - torch.zeros_like(span).index_add_(0, owner, nearer.long())

    def _sort(self, tile: Tile, rows: slice, columns: slice, across: bool) -> None:
        """Sort each query's exact similarities and look the positives up in them."""
        values = tile.values.T if across else tile.values
        ordered = sorted_rows(values)
        alive = self._alive[self._local(rows)]
        start = self._start[self._local(rows)]
        widest = int(alive.max())
        for some in torch.arange(len(alive)).split(max(1, self._memory // (64 * widest))):
            here = slice(int(some[0]), int(some[-1]) + 1)
            place = torch.arange(widest, device=alive.device)
            counts = place < alive[here, None]
            slot = torch.where(counts, start[here, None] + place, start[here, None])
            wanted = self._similarity[slot]
            upper = torch.searchsorted(ordered[here], wanted, right=True)
            below = ordered[here].gather(1, (upper - 1).clamp_(min=0))
            self._nearer.index_add_(0, slot[counts], (values.shape[1] - upper)[counts])
            tied = counts & (upper > 0) & (below == wanted)
            if bool(tied.any()):
                # Beyond its limit in any case by age, a positive may still be within it at best.
                late = tied & (self._nearer[slot] > self._allowed[slot])
                many = upper - torch.searchsorted(ordered[here], wanted)
                self._remember_ties(slot[late], many[late], torch.zeros_like(many[late]))
                self._nearer.index_add_(0, slot[late], many[late])
                row, which = (tied & ~late).nonzero(as_tuple=True)
                if len(row):
                    self._break_ties(values, here.start + row, slot[row, which], columns)

    def _break_ties(self, values: torch.Tensor, row, slot, columns: slice) -> None:
        """Among negatives exactly as near as a positive, the older ones count as nearer.

        Equally near positives of a query share one count of those negatives.
        """
        age, by_age = self._products.space.gallery.age[columns].sort()
        level = self._similarity[slot]
        leads = torch.ones_like(slot, dtype=torch.bool)
        leads[1:] = (row[1:] != row[:-1]) | (level[1:] != level[:-1])
        group = leads.cumsum(0) - 1
        lead = leads.nonzero().flatten()
        for some in torch.arange(len(lead), device=lead.device).split(
            max(1, self._memory // (128 * values.shape[1]))
        ):
            tied = values[row[lead[some]]] == level[lead[some], None]
            # Column n: how many of the n oldest images of the tile are tied.
            count = torch.nn.functional.pad(tied[:, by_age].cumsum(1, dtype=torch.int32), (1, 0))
            mine = (group >= some[0]) & (group <= some[-1])
            here, which = group[mine] - some[0], slot[mine]
            older = count[here, torch.searchsorted(age, self._age[which])].long()
            self._nearer.index_add_(0, which, older)
            self._remember_ties(which, older, count[here, -1] - older)

    def _remember_ties(self, slot: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> None:
        for first, count in ((True, before), (False, after)):
            if bool(count.any()):
                if first not in self._ties:
                    self._ties[first] = torch.zeros_like(self._nearer)
                self._ties[first].index_add_(0, slot, count)

    def _negatives(self, tile: Tile, flat, rows: slice, columns: slice, across: bool):
        upper = flat // tile.values.shape[1]
        lower = flat - upper * tile.values.shape[1]
        row, column = (lower, upper) if across else (upper, lower)
        value = tile.values.view(-1).index_select(0, flat).double() * tile.unit
        return Candidates(rows.start + row, columns.start + column, value)

    def _give_up(self, rows: slice) -> None:
        """Find each query's farthest positive whose rank can still be within its limit."""
        first, last = self._slots(rows)
        local = self._local(rows)
        start = self._start[local]
        alive = self._surely_nearer(slice(first, last)) <= self._allowed[first:last]
        # A stopper is never alive: what is counted up to it is what lies before it.
        until = alive.cumsum(0)[self._start[1:][local] - 1 - first]
        count = torch.diff(until, prepend=until.new_zeros(1))
        slot = start + (count - 1).clamp(min=0)
        self._alive[local] = count
        self._farthest[local] = torch.where(count > 0, self._similarity[slot], torch.inf)
        self._listed[local] = torch.where(count > 0, self._nearer[slot], 0)

    def _surely_nearer(self, slot: torch.Tensor | slice) -> torch.Tensor:
        """Negatives nearer than these positives so far, exactly as near ones not counted."""
        nearer = self._nearer[slot]
        return nearer - self._ties[True][slot] if True in self._ties else nearer

    def _slots(self, rows: slice) -> tuple[int, int]:
        return int(self._start[rows.start - self._begin]), int(self._start[rows.stop - self._begin])

    def _row_of_slot(self, rows: slice) -> torch.Tensor:
        return torch.repeat_interleave(
            self._start[rows.start - self._begin : rows.stop - self._begin + 1].diff()
        )

    def _local(self, rows: slice) -> slice:
        return slice(rows.start - self._begin, rows.stop - self._begin)


def _places(keys: torch.Tensor, key: torch.Tensor, error: float):
    """Where each key falls at the farthest, and the numbers of those that may fall nearer."""
    place = torch.searchsorted(keys, key + error, right=True)
    unsure = keys.index_select(0, (place - 1).clamp(min=0)) >= key - error
    return place, (unsure & (place > 0)).nonzero().flatten()


def _beside(threshold: torch.Tensor, across: bool) -> torch.Tensor:
    """A threshold for each query in the shape that compares it with a tile."""
    return threshold[None, :] if across else threshold[:, None]
