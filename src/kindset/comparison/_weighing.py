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
    adjusted_rand,
    agreement,
    neighbour_information,
    separate_parts,
    structure_test,
    verdict_scores,
)

SAMPLED_FROM = 20_000
"""With more samples than this, a sample of so many is judged."""

FEWEST_SAMPLES = 30
"""Of fewer samples, ten neighbours are no small part, and nothing can be told."""

_MOST_PARTED = 5_000
# Samples that are looked at for parts that do not touch.
_MATCH = 0.9
# Adjusted Rand index from which a partition has the parts of the data.

_STEP = 1e-6
# How far a partition without a cut ranks behind the others.

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
        scores = verdict_scores(self.neighbours.scores, self.alike)
        if self.is_cut.any():
            behind = float(scores[self.is_cut].min()) - _STEP
            scores[~self.is_cut] = np.minimum(scores[~self.is_cut], behind)
        return scores

    @property
    def is_cut(self) -> NDArray[np.bool_]:
        """Which partitions have two groups or more; the others rank behind them."""
        return np.asarray(self.neighbours.n_clusters >= 2)

    @cached_property
    def alike(self) -> NDArray[np.float64]:
        """The agreement of all pairs; a partition without a cut agrees with nothing."""
        both = self.is_cut[:, None] & self.is_cut[None, :]
        return np.where(both | np.eye(len(both), dtype=bool), self.agreement.adjusted_rand, 0.0)

    @cached_property
    def shortlist(self) -> NDArray[np.bool_]:
        """Which partitions are not clearly behind the leader."""
        return self.neighbours.shortlist(self.scores)

    @property
    def is_clear(self) -> bool:
        """Whether the groups are so clear that no test is needed."""
        return self.neighbours.strength >= CLEAR_STRENGTH

    @property
    def is_small(self) -> bool:
        """Whether there are too few samples to tell anything."""
        return len(self.partitions[0]) < FEWEST_SAMPLES

    @cached_property
    def parts(self) -> NDArray[np.int64]:
        """The parts of some samples that do not touch in the most telling space."""
        return separate_parts(self._telling_space[self._parted])

    @cached_property
    def has_parts(self) -> bool:
        """Whether the first partition consists of the parts that do not touch."""
        known = self.parts >= 0  # the others are outliers
        leader = self.partitions[int(self.scores.argmax())][self._parted][known]
        return adjusted_rand(self.parts[known], leader) >= _MATCH

    @property
    def _parted(self) -> NDArray[np.intp]:
        n = len(self.partitions[0])
        return np.sort(np.random.RandomState(0).permutation(n)[:_MOST_PARTED])

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
