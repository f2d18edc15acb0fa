"""Scores of pairs of groups: how hard they are to tell apart as the best features go."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kindset._interrupt import plain_interrupts
from kindset._progress import progress_bar
from kindset.unmasking import _kernels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Halves = tuple[IntArray, IntArray]
"""The samples of a group for training and for testing."""

CLASSIFIERS = {"svm": _kernels.SVM, "ridge": _kernels.RIDGE, "logistic": _kernels.LOGISTIC}
"""Linear classifiers by name; a new one is two branches in `_kernels`."""

_CHUNK = 256


@dataclass(frozen=True)
class Tests:
    """What the classifiers of some pairs told apart.

    Attributes
    ----------
    hits, margins : ndarray of shape (n_pairs, n_iterations, 2)
        Test samples on the right side, counted plainly and softly.
    sizes : ndarray of shape (n_pairs, 1, 2)
        Number of test samples of each group.
    """

    hits: FloatArray
    margins: FloatArray
    sizes: FloatArray


def accuracy(tests: Tests) -> FloatArray:
    """Return the share of test samples on the right side."""
    return tests.hits.sum(axis=2) / tests.sizes.sum(axis=2)


def balanced(tests: Tests) -> FloatArray:
    """Return the mean of the two groups' shares of samples on the right side."""
    return (tests.hits / tests.sizes).mean(axis=2)


def shrunk(tests: Tests) -> FloatArray:
    """Return the balanced accuracy as if each group had one sample more, half on either side."""
    return ((tests.hits + 0.5) / (tests.sizes + 1)).mean(axis=2)


def margin(tests: Tests) -> FloatArray:
    """Return the balanced accuracy with samples inside the margin counted in part."""
    return ((tests.margins + 0.5) / (tests.sizes + 1)).mean(axis=2)


SCORINGS: dict[str, Callable[[Tests], FloatArray]] = {
    "accuracy": accuracy,
    "balanced": balanced,
    "shrunk": shrunk,
    "margin": margin,
}
"""From counts to accuracies by iteration; the score of a pair is one minus their mean."""


@dataclass(frozen=True)
class Unmasking:
    """How pairs are unmasked; see the parameters of `UnmaskingClustering`."""

    n_iterations: int = 8
    n_removed: int | None = None
    C: float = 1.0
    classifier: str = "svm"
    scoring: str = "shrunk"
    cross_fit: bool = True
    n_jobs: int | None = None
    verbose: bool = False

    def curves(
        self, X: NDArray[Any], groups: Sequence[Halves], pairs: IntArray, title: str = "Pairs"
    ) -> FloatArray:
        """Return the accuracies of pairs of groups, of shape (n_pairs, n_iterations)."""
        chunks = list(self._chunks(X, groups, pairs, title))
        return np.concatenate(chunks) if chunks else np.empty((0, self.n_iterations))

    def scores(
        self, X: NDArray[Any], groups: Sequence[Halves], pairs: IntArray, title: str = "Pairs"
    ) -> FloatArray:
        """Return the scores of pairs of groups: one minus the mean accuracy, high if alike."""
        chunks = [1 - chunk.mean(axis=1) for chunk in self._chunks(X, groups, pairs, title)]
        return np.concatenate(chunks) if chunks else np.empty(0)

    def _chunks(
        self, X: NDArray[Any], groups: Sequence[Halves], pairs: IntArray, title: str
    ) -> Iterator[FloatArray]:
        """Yield the accuracies of some pairs at a time, in their order."""
        if len(pairs) == 0:
            return
        # Only the groups that a pair names are copied.
        named, pairs = np.unique(pairs, return_inverse=True)
        pairs = pairs.reshape(-1, 2)
        halves = [groups[g] for g in named]
        sizes = np.array([[len(half) for half in pair] for pair in halves])
        starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        middles = starts[:-1] + sizes[:, 0]
        members = np.concatenate([half for pair in halves for half in pair])
        tested = (sizes.sum(axis=1) if self.cross_fit else sizes[:, 1]).astype(np.float64)
        blocks = _kernels.build_blocks(X, members, starts, middles)
        score = SCORINGS[self.scoring]

        def run(part: IntArray) -> FloatArray:
            with plain_interrupts():
                hits, margins = _kernels.unmask_pairs(
                    blocks, starts, middles, part, self.n_iterations, self.n_removed or 0,
                    float(self.C), CLASSIFIERS[self.classifier], self.cross_fit,
                )  # fmt: skip
            return score(Tests(hits, margins, tested[part][:, None]))

        parts = np.array_split(pairs, range(_CHUNK, len(pairs), _CHUNK))
        # Threads: the kernels run without the interpreter's lock, and nothing is copied. The
        # small matrix products inside them must not start threads of their own.
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        with (
            threadpool_limits(1, user_api="blas"),
            progress_bar(title, len(parts), enabled=self.verbose) as advance,
        ):
            for done in parallel(delayed(run)(part) for part in parts):
                advance("")
                yield done


def split(members: IntArray, rng: np.random.RandomState, max_size: int | None = None) -> Halves:
    """Split the samples of a group at random into halves, the first not the smaller one."""
    drawn = rng.permutation(members)[:max_size]
    middle = (len(drawn) + 1) // 2
    return drawn[:middle], drawn[middle:]
