"""What the verdict rests on: neighbours, agreement, and a test against clouds without groups."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from kindset.evaluation import (
    Agreement,
    Metric,
    NeighbourInformation,
    StructureTest,
    agreement,
    neighbour_information,
    structure_test,
    verdict_scores,
)

SAMPLED_FROM = 20_000
"""With more samples than this, a sample of so many is judged."""

CLEAR_STRENGTH = 0.5
"""Groups as clear as this are no accident, so they are not tested against clouds without groups."""


@dataclass(frozen=True)
class Weighing:
    """How to weigh runs: what `compare_runs` passes on."""

    raw: NDArray[np.floating] | None = None
    metric: Metric = "euclidean"
    n_jobs: int | None = None
    random_state: int | None = 0
    verbose: bool = False

    def weigh(
        self,
        spaces: Sequence[NDArray[np.floating]],
        owner: Sequence[int],
        partitions: Sequence[NDArray[np.int64]],
    ) -> "Evidence":
        """Collect the evidence about partitions of the same samples."""
        spaces = list(spaces) if self.raw is None else [*spaces, self.raw]
        chosen = self._sample(len(partitions[0]))
        spaces = [space[chosen] for space in spaces]
        if self.metric == "cosine":
            spaces = [_unit_lengths(space) for space in spaces]
        partitions = [labels[chosen] for labels in partitions]
        neighbours = neighbour_information(
            spaces[:-1] if self.raw is not None else spaces,
            partitions,
            owners=owner,
            raw=spaces[-1] if self.raw is not None else None,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return Evidence(neighbours, agreement(partitions), spaces, partitions, self.n_jobs)

    def notes(self, n: int) -> list[str]:
        """Say if not all samples are judged."""
        if n <= SAMPLED_FROM:
            return []
        return [f"The verdict rests on {SAMPLED_FROM:,} of the {n:,} samples, drawn at random."]

    def _sample(self, n: int) -> slice | NDArray[np.intp]:
        if n <= SAMPLED_FROM:
            return slice(None)
        drawn = np.random.default_rng(self.random_state).permutation(n)[:SAMPLED_FROM]
        return np.sort(drawn)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was found about partitions; the parts that cost much are found when asked for."""

    neighbours: NeighbourInformation
    agreement: Agreement
    spaces: list[NDArray[np.floating]]
    partitions: list[NDArray[np.int64]]
    n_jobs: int | None = None

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """The score of each partition that decides; larger is better."""
        return verdict_scores(self.neighbours.scores, self.agreement.adjusted_rand)

    @cached_property
    def shortlist(self) -> NDArray[np.bool_]:
        """Which partitions are not clearly behind the leader."""
        return self.neighbours.shortlist(self.scores)

    @property
    def is_clear(self) -> bool:
        """Whether the groups are so clear that no test is needed."""
        return self.neighbours.strength >= CLEAR_STRENGTH

    @cached_property
    def structure(self) -> StructureTest:
        """Compare the partitions with cuts of clouds without groups."""
        return structure_test(self._telling_space, self.partitions, n_jobs=self.n_jobs)

    @property
    def _telling_space(self) -> NDArray[np.floating]:
        """The space that weighs most; of equals the same one in any order."""
        found = self.neighbours
        ranked = sorted(
            (-round(float(weight), 12), hashlib.sha256(self.spaces[s].tobytes()).digest(), int(s))
            for s, weight in zip(found.spaces, found.weights, strict=True)
        )
        return self.spaces[ranked[0][2]]


def _unit_lengths(X: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale points to length one: their distances then grow with the angle between them."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    safe = X / np.where(largest > 0, largest, 1.0)
    return np.asarray(normalize(safe))
