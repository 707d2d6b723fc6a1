"""Counters for the positives of consecutive queries, filled while negatives are counted."""

import torch

from dmlbench.evaluation.pairs import Pairs
from dmlbench.evaluation.retrieval import FAR

# Similarities lie in [-1.5, 1.01].
_STOPPER = -3.0

# Added to the count of a positive known to be beyond its limit.
_BEYOND = 1 << 40


class Slots:
    """One counter per positive, nearest first, and one more, the stopper, for each query.

    The stopper is farther than all images and collects the negatives that are farther than all of a
    query's positives. Rows are query numbers.

    Args:
        pairs: the queries' positives.
        begin: number of the first of these queries.
        limit: int64 [Q]; ranks beyond it do not matter.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        tie_order: int64 [M]; of the gallery's images (`dmlbench.evaluation.inputs.Side`).

    Attributes:
        similarity: float64 [S], exact; a stopper's is lower than any.
        tie_order: int64 [S]; of the positives.
        nearer: int64 [S]; negatives counted as nearer so far.
        allowed: int64 [S]; how many may be nearer if the rank is to matter.
        alive: int64 [Q]; how many of a query's positives may still be within their limits.
        farthest: float64 [Q]; the lowest similarity of these, infinite if there is none.
        listed: int64 [Q]; negatives counted as nearer than that one.
    """

    def __init__(self, pairs: Pairs, begin: int, limit, first_limit, tie_order: torch.Tensor):
        start, similarity, column, limit, first_limit = (
            torch.from_numpy(part).to(tie_order.device) for part in (*pairs, limit, first_limit)
        )
        self._begin = begin
        count = start.diff()
        self._start = start + torch.arange(len(start), device=tie_order.device)
        slots = int(self._start[-1])
        first, stopper = self._start[:-1], self._start[1:] - 1
        each = torch.arange(len(column), device=tie_order.device)
        self._positive = each + torch.repeat_interleave(count)
        each = torch.arange(slots, device=tie_order.device)
        self._order = each - torch.repeat_interleave(first, count + 1)
        self.similarity = similarity.new_full((slots,), _STOPPER)
        self.similarity[self._positive] = similarity
        self.tie_order = tie_order.new_zeros(slots)
        self.tie_order[self._positive] = tie_order[column]
        self.allowed = torch.repeat_interleave(limit, count + 1)
        self.allowed[first] = first_limit
        self.allowed -= self._order + 1
        self.allowed[stopper] = -1
        self.nearer = torch.zeros_like(self._order)
        # Negatives exactly as near as a slot's positive, those that precede it and the others.
        self._ties: dict[bool, torch.Tensor] = {}
        self.alive = torch.empty_like(count)
        self.farthest = similarity.new_empty(len(count))
        self.listed = torch.zeros_like(count)
        self.give_up(slice(begin, begin + len(count)))

    def local(self, rows: slice) -> slice:
        """The queries' positions, counted from the first one."""
        return slice(rows.start - self._begin, rows.stop - self._begin)

    def of(self, rows: slice) -> tuple[int, int]:
        """Begin and end of the queries' slots."""
        return int(self._start[rows.start - self._begin]), int(self._start[rows.stop - self._begin])

    def starts(self, rows: slice) -> torch.Tensor:
        """The first slot of each query, int64 [rows]."""
        return self._start[self.local(rows)]

    def row_of_slot(self, rows: slice) -> torch.Tensor:
        """For each slot of these queries, which of them it belongs to, counted from 0."""
        return torch.repeat_interleave(
            self._start[rows.start - self._begin : rows.stop - self._begin + 1].diff()
        )

    def surely_nearer(self, slot: torch.Tensor | slice) -> torch.Tensor:
        """Negatives found to be nearer than these positives, not counting exactly as near ones."""
        nearer = self.nearer[slot]
        return nearer - self._ties[True][slot] if True in self._ties else nearer

    def remember_ties(self, slot: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> None:
        """Count further negatives exactly as near as these positives, by lower and higher id."""
        for first, count in ((True, before), (False, after)):
            if bool(count.any()):
                if first not in self._ties:
                    self._ties[first] = torch.zeros_like(self.nearer)
                self._ties[first].index_add_(0, slot, count)

    def give_up_from(self, rows: slice, order: torch.Tensor) -> None:
        """Give up the positives of each query from the `order`-th on, int64 [rows]."""
        first, last = self.of(rows)
        out_of_reach = self._order[first:last] >= order[self.row_of_slot(rows)]
        self.nearer[first:last][out_of_reach] = _BEYOND
        self.give_up(rows)

    def give_up(self, rows: slice) -> None:
        """Find each query's farthest positive whose rank can still be within its limit."""
        first, last = self.of(rows)
        local, start = self.local(rows), self.starts(rows)
        alive = self.surely_nearer(slice(first, last)) <= self.allowed[first:last]
        # A stopper is never alive: the count up to it equals that of the positives before it.
        until = alive.cumsum(0)[self._start[1:][local] - 1 - first]
        count = torch.diff(until, prepend=until.new_zeros(1))
        slot = start + (count - 1).clamp(min=0)
        self.alive[local] = count
        self.farthest[local] = torch.where(count > 0, self.similarity[slot], torch.inf)
        self.listed[local] = torch.where(count > 0, self.nearer[slot], 0)

    def ranks(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ranks of all positives, int64 [P] each: as broken by id, at best, and at worst."""
        nearer = self.nearer[self._positive]
        rank = best = worst = self._ranks(nearer)
        if True in self._ties:
            best = self._ranks(nearer - self._ties[True][self._positive])
        if False in self._ties:
            worst = self._ranks(nearer + self._ties[False][self._positive])
        return rank, best, worst

    def _ranks(self, nearer: torch.Tensor) -> torch.Tensor:
        """Ranks of all positives, given their numbers of nearer negatives."""
        rank = self._order[self._positive] + 1 + nearer
        return torch.where(nearer <= self.allowed[self._positive], rank, FAR)
