"""Scoring runs by several indices, and collecting what must be said about the scores."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kindset.evaluation import INDICES, AdaptiveEvaluation, Noise, get_index


@dataclass(frozen=True)
class Scoring:
    """How runs are scored: the parameters of `AdaptiveEvaluation` that a comparison passes on."""

    metric: str
    noise: Noise
    n_bootstrap: int
    sample_size: int | None
    n_jobs: int | None
    random_state: int | None
    verbose: bool

    def by(self, index: str) -> tuple[AdaptiveEvaluation, list[str]]:
        """Return the evaluation by one index, and a note if it cannot do all that is asked."""
        known = get_index(index, self.metric)
        notes = []
        n_bootstrap = self.n_bootstrap
        if n_bootstrap > 0 and known.contributions is None:
            n_bootstrap = 0
            notes.append(
                f"{known.title} is not a sum over points and cannot be bootstrapped: its ranges "
                "come from leaving out spaces only."
            )
        evaluation = AdaptiveEvaluation(
            index=index,
            metric=self.metric,
            noise=self.noise,
            sample_size=None if known.needs == "statistics" else self.sample_size,
            n_bootstrap=n_bootstrap,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        return evaluation, notes


def evaluate(
    indices: Sequence[str],
    scoring: Scoring,
    spaces: Sequence[NDArray[Any]],
    partitions: Sequence[NDArray[Any]],
    **names: Any,
) -> tuple[dict[str, AdaptiveEvaluation], list[str]]:
    """Return an evaluation by each index, and what they warn of.

    `names` are those of the partitions and spaces, and `raw`, as `AdaptiveEvaluation.fit` takes
    them. Warnings that only a developer must see are passed on.
    """
    evaluations, notes = {}, []
    caught: dict[str, list[warnings.WarningMessage]] = {}
    for index in indices:
        evaluations[index], own = scoring.by(index)
        notes.extend(own)
        with warnings.catch_warnings(record=True) as caught[index]:
            warnings.simplefilter("always")
            evaluations[index].fit(spaces, partitions, **names)
    return evaluations, [*notes, *_cautions(caught)]


def _cautions(caught: dict[str, list[warnings.WarningMessage]]) -> list[str]:
    """Return each warning once, with the names of its indices unless all indices give it."""
    titles: dict[str, dict[str, None]] = {}
    for index, own in caught.items():
        for warning in own:
            if issubclass(warning.category, UserWarning):
                titles.setdefault(str(warning.message), {})[INDICES[index].title] = None
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
    return [
        sentence if len(by) == len(caught) else f"{', '.join(by)}: {sentence}"
        for sentence, by in titles.items()
    ]
