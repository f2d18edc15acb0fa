"""Which indices rank runs, and from how many of the samples."""

from collections.abc import Sequence

from kindset.evaluation import INDICES, AdaptiveEvaluation, check_metric, get_index
from kindset.exceptions import InputError

STRATEGIES = ("ace", "rank_average", "pooled", "paired")
"""How the scores in several spaces become one number, as columns of a ranking call it."""

_USUAL = ("silhouette", "calinski_harabasz", "davies_bouldin")
# Those of the main text of the ACE paper. None is right everywhere, so several decide.

_SAMPLED_FROM = 20_000
_SAMPLE = 4_000


def usual_indices(metric: str = "euclidean") -> list[str]:
    """Return the indices that rank runs if a user names none.

    Examples
    --------
    >>> from kindset.comparison import usual_indices
    >>> usual_indices("cosine")
    ['silhouette']
    """
    known = check_metric(metric)
    return [name for name in _USUAL if known in INDICES[name].metrics]


def can_sample(indices: Sequence[str]) -> bool:
    """Return whether a sample of the points saves work, and every index can be estimated from it.

    Indices that need only sums over points take all of them.

    Examples
    --------
    >>> from kindset.comparison import can_sample
    >>> can_sample(["silhouette", "davies_bouldin"]), can_sample(["silhouette", "dunn"])
    (True, False)
    """
    costly = [index for index in map(get_index, indices) if index.needs != "statistics"]
    return bool(costly) and all(index.sampled is not None for index in costly)


def is_varied(evaluation: AdaptiveEvaluation) -> bool:
    """Return whether ranks have ranges: several spaces to leave one out of, or resampled points."""
    return bool(evaluation.kept_.sum() > 1 or evaluation.n_bootstrap)


def choose_sample(
    indices: Sequence[str], n_samples: int, sample_size: int | None, n_bootstrap: int
) -> tuple[int | None, list[str]]:
    """Return how many points to estimate silhouettes from, None for all, and a note about it.

    A user's number counts. Otherwise a sample is taken where all pairs would take minutes.
    """
    if sample_size is not None:
        if not can_sample(indices):
            raise InputError(
                f"{', '.join(indices)} cannot be estimated from a sample of the points; leave out "
                "sample_size, which is for the silhouette.",
                parameter="sample_size",
            )
        return sample_size, []
    if n_samples <= _SAMPLED_FROM or n_bootstrap or not can_sample(indices):
        return None, []
    return _SAMPLE, [f"Silhouettes are estimated from {_SAMPLE:,} of the {n_samples:,} samples."]
