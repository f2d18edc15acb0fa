"""How many components: fit a range of numbers and compare."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kindset._interrupt import check_interrupt, held_interrupts
from kindset._notebook import html_table
from kindset._validation import Choice, Whole, check_value
from kindset.exceptions import InputError
from kindset.ordinal._mixture import OrdinalMixture

CRITERIA = ("icl", "bic", "aic")


@dataclass(frozen=True)
class ComponentSelection:
    """The outcome of `select_components`.

    Attributes
    ----------
    criterion : str
        What was minimised.
    path : DataFrame
        One row for each number of components: `log_likelihood`, `n_parameters`, `aic`, `bic`,
        `icl`, `smallest` (share of the smallest component), `converged`.
    models : dict of int to OrdinalMixture
        The fitted mixtures.
    interrupted : bool
        Whether Ctrl-C ended the search early. What was finished is here; the last mixture may be
        the best of fewer starts (its `interrupted_` tells).
    """

    criterion: str
    path: pd.DataFrame
    models: dict[int, OrdinalMixture]
    interrupted: bool = False

    @property
    def n_components(self) -> int:
        """The number of components with the lowest criterion; 1 means no structure was found."""
        return min(self.models, key=lambda number: self.path[self.criterion].loc[number])

    @property
    def model(self) -> OrdinalMixture:
        """The winning mixture."""
        return self.models[self.n_components]

    @property
    def found_structure(self) -> bool:
        """Whether any number of components describes the data better than a single one."""
        return self.n_components > 1

    def __str__(self) -> str:
        if not self.found_structure:
            return f"No cluster structure found: one component has the lowest {self._name}."
        return f"{self.n_components} components have the lowest {self._name}."

    def _repr_html_(self) -> str:
        """Show the path in a notebook, the chosen number in bold."""
        return html_table(str(self), self.path, chosen=self.n_components)

    @property
    def _name(self) -> str:
        return self.criterion.upper()


def select_components(
    X: Any,
    n_components: Iterable[int] = range(1, 11),
    *,
    criterion: str = "icl",
    sample_weight: Any = None,
    **parameters: Any,
) -> ComponentSelection:
    """Choose the number of components of an `OrdinalMixture`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Answers, as for `OrdinalMixture.fit`.
    n_components : iterable of int, default=range(1, 11)
        The numbers to try. One component is always fitted too, since "no structure" is an answer.
    criterion : {"icl", "bic", "aic"}, default="icl"
        What to minimise. ICL asks for components that are clearly apart, BIC for a good
        description of the joint distribution, which often takes more components.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    **parameters
        Any other parameters of `OrdinalMixture`.

    Returns
    -------
    selection : ComponentSelection
        The path, the fitted mixtures, the winner, and whether there is any structure.

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import select_components
    >>> survey = load_anes96()
    >>> selection = select_components(
    ...     survey.data, [2, 3], distribution="god", n_init=8, random_state=0
    ... )
    >>> print(selection)
    3 components have the lowest ICL.
    >>> selection.path[["bic", "icl"]].round(0)
                      bic      icl
    n_components
    1             20693.0  20693.0
    2             19977.0  20148.0
    3             19648.0  19982.0
    """
    check_value("criterion", criterion, Choice(*CRITERIA))
    wanted = sorted({1, *_numbers(n_components)})
    models: dict[int, OrdinalMixture] = {}
    rows = []
    interrupted = False
    with held_interrupts():
        for number in wanted:
            try:
                check_interrupt()
                model = OrdinalMixture(number, **parameters).fit(X, sample_weight=sample_weight)
            except KeyboardInterrupt:
                if not models:
                    raise
                interrupted = True
                break
            models[number] = model
            rows.append(_describe(model, X, sample_weight))
            if model.interrupted_:
                interrupted = True
                break
    path = pd.DataFrame(rows, index=pd.Index(list(models), name="n_components"))
    return ComponentSelection(criterion, path, models, interrupted)


def _numbers(n_components: Iterable[int]) -> list[int]:
    numbers: list[Any] = list(n_components) if isinstance(n_components, Iterable) else []
    if not numbers or not all(map(Whole(1).allows, numbers)):
        raise InputError(
            f"n_components must be a range or list of whole numbers from 1, got {n_components!r}.",
            parameter="n_components",
        )
    return [int(number) for number in numbers]


def _describe(model: OrdinalMixture, X: Any, sample_weight: Any) -> dict[str, Any]:
    return {
        "log_likelihood": model.log_likelihood_,
        "n_parameters": model.n_parameters_,
        **model.criteria(X, sample_weight),
        "smallest": float(model.weights_.min()),
        "converged": model.converged_,
    }
