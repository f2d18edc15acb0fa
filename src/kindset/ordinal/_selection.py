"""How many components: fit a range of numbers with every law, and compare honestly."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from kindset._interrupt import check_interrupt, held_interrupts
from kindset._notebook import html_table
from kindset._validation import Choice, Whole, check_parameters, check_value
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._laws import LAWS
from kindset.ordinal._mixture import OrdinalMixture, row_weights
from kindset.ordinal._path import Survey
from kindset.ordinal._stability import (
    agreement_of_seeds,
    held_out,
    likelihood_ratio_test,
    reproducibility,
)
from kindset.ordinal._trait import TraitFit, fit_trait

CRITERIA = ("rule", "icl", "bic", "aic")

REPRODUCED = 0.7
"""The mean adjusted Rand index between bootstrap samples from which segments count as found."""

_LARGEST = 20
"""The number of components is not raised beyond this."""

_STARTS = 3
"""Starts for each number, besides those from the mixture with one component less."""

_TOL = 1e-5
"""Gain per row at which a fit stops: criteria differ by more."""


@dataclass(frozen=True)
class ComponentSelection:
    """The outcome of `select_components`.

    Attributes
    ----------
    criterion : str
        What decided: "rule", or the criterion that was minimised.
    path : DataFrame
        One row for each number of components, for the law that won: `log_likelihood`,
        `n_parameters`, `aic`, `bic`, `sabic`, `caic`, `icl`, `entropy_r2`, `smallest` (share of
        the smallest component), `converged`. With the rule also `reproducibility` (mean adjusted
        Rand index between bootstrap samples), `seeds` (the same between seeds), `held_out` (mean
        log-probability of rows that the mixture did not see, in five folds), `held_out_error`,
        and `behind` and `behind_error`, the difference to the best number, paired by row.
    models : dict of int to OrdinalMixture
        The fitted mixtures of that law.
    interrupted : bool
        Whether Ctrl-C ended the search early. What was finished is here; the last mixture may be
        the best of fewer starts (its `interrupted_` tells).
    law : str
        The law that won.
    laws : DataFrame
        BIC of every law (columns) and number (rows) that was fitted.
    trait : TraitFit or None
        How well one trait describes the answers instead of components.
    chosen : int or None
        The number that the rule chose.
    defensible : tuple of int
        The smallest and the largest number that can be defended.
    sentences : list of str
        What the rule says, in plain words.
    test : dict or None
        The bootstrap likelihood-ratio test: `n_components`, `statistic`, `p_value`.
    """

    criterion: str
    path: pd.DataFrame
    models: dict[int, OrdinalMixture]
    interrupted: bool = False
    law: str = ""
    laws: pd.DataFrame = field(default_factory=pd.DataFrame)
    trait: TraitFit | None = None
    chosen: int | None = None
    defensible: tuple[int, int] = (1, 1)
    sentences: list[str] = field(default_factory=list)
    test: dict[str, float] | None = None

    @property
    def n_components(self) -> int:
        """The number of components that was chosen; 1 means no structure was found."""
        if self.chosen is not None:
            return self.chosen
        return _lowest(self.path[self.criterion])

    @property
    def model(self) -> OrdinalMixture:
        """The winning mixture."""
        return self.models[self.n_components]

    @property
    def found_structure(self) -> bool:
        """Whether any number of components describes the data better than a single one."""
        return self.n_components > 1

    def to_frame(self) -> pd.DataFrame:
        """Return the path as a table of its own."""
        return self.path.copy()

    def __str__(self) -> str:
        if self.sentences:
            return " ".join(self.sentences)
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
    n_components: Iterable[int] = range(1, 7),
    *,
    criterion: str = "rule",
    sample_weight: Any = None,
    n_replicates: int = 0,
    **parameters: Any,
) -> ComponentSelection:
    """Choose the number of components of an `OrdinalMixture`, and the law of the answers.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Answers, as for `OrdinalMixture.fit`.
    n_components : iterable of int, default=range(1, 7)
        The numbers to try. One component is always fitted too, since "no structure" is an answer.
        The rule goes on beyond the largest as long as BIC asks for more.
    criterion : {"rule", "icl", "bic", "aic"}, default="rule"
        What decides. "rule" is explained below. ICL asks for components that are clearly apart,
        BIC for a good description of the joint distribution, which often takes more components.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    n_replicates : int, default=0
        With the rule: draw so many tables for a bootstrap likelihood-ratio test of the chosen
        number against one more.
    **parameters
        Any other parameters of `OrdinalMixture`. Without `distribution` all laws that the columns
        admit are fitted, and the one with the lowest BIC is taken.

    Returns
    -------
    selection : ComponentSelection
        The path, the fitted mixtures, the winner, and what it means in plain words.

    Notes
    -----
    The rule: fit every law with every number of components; the law with the lowest BIC wins. If
    a single trait has a still lower BIC, there are no segments. Otherwise start from the number
    with the lowest ICL (from BIC's, if ICL's is one), and go down to the largest number whose
    segments reproduce: fits to bootstrap samples agree with a mean adjusted Rand index of at least
    0.7 on all rows. Held-out likelihood is reported and does not choose.

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import select_components
    >>> survey = load_anes96()
    >>> selection = select_components(
    ...     survey.data, [2, 3], criterion="icl", distribution="god", n_init=8, random_state=0
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
    check_value("n_replicates", n_replicates, Whole(0))
    wanted = sorted({1, *_numbers(n_components)})
    if criterion != "rule":
        return _by_criterion(X, wanted, criterion, sample_weight, parameters)
    parameters = {"distribution": "auto", "n_init": _STARTS, "tol": _TOL, **parameters}
    check_parameters(OrdinalMixture(1, **parameters))
    survey = Survey.read(X, sample_weight, parameters)
    seed = _seed(parameters.get("random_state"))
    with held_interrupts():
        return _by_rule(survey, wanted, seed, n_replicates)


def _by_criterion(
    X: Any, wanted: list[int], criterion: str, sample_weight: Any, parameters: dict[str, Any]
) -> ComponentSelection:
    """Fit one law with every number, and take the one with the lowest criterion."""
    models: dict[int, OrdinalMixture] = {}
    rows = []
    interrupted = False
    with held_interrupts():
        for number in wanted:
            try:
                check_interrupt()
                model = OrdinalMixture(number, **parameters).fit(X, sample_weight=sample_weight)
                smaller = models.get(number - 1)
                if smaller is not None and model.log_likelihood_ < smaller.log_likelihood_:
                    model._climb_from(smaller, X, sample_weight)
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


@dataclass
class _Path:
    """The mixtures of one law, fitted one number after the other."""

    law: str
    models: dict[int, OrdinalMixture] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def bic(self) -> "pd.Series[float]":
        return pd.Series({number: row["bic"] for number, row in self.rows.items()}, name=self.law)

    @property
    def hopeless(self) -> bool:
        """Whether BIC has risen twice in a row: more components will not help."""
        return len(self.rows) > 2 and bool((np.diff(self.bic.to_numpy())[-2:] > 0).all())

    def extend(self, survey: Survey, number: int, seed: int) -> None:
        """Fit one more number of components, also from the largest one before."""
        smaller = self.models.get(number - 1)
        model = survey.fit(self.law, number, seed, smaller)
        self.models[number] = model
        self.rows[number] = _measures(survey, model)


def _by_rule(survey: Survey, wanted: list[int], seed: int, n_replicates: int) -> ComponentSelection:
    interrupted = False
    try:
        paths = survey.parallel([(_fit_path, (survey, law, wanted, seed)) for law in survey.laws])
    except KeyboardInterrupt:
        paths = [_fit_path(survey, next(iter(survey.laws)), [1], seed)]
        interrupted = True
    best = min(paths, key=lambda path: path.bic.min())
    while not interrupted and _lowest(best.bic) == max(best.rows) < _LARGEST:
        number = max(best.rows) + 1
        try:
            check_interrupt()
            for path in paths:
                if not path.hopeless and max(path.rows) == number - 1:
                    path.extend(survey, number, seed)
        except KeyboardInterrupt:
            interrupted = True
        best = min(paths, key=lambda path: path.bic.min())
    interrupted |= any(model.interrupted_ for model in best.models.values())
    path = pd.DataFrame.from_dict(best.rows, orient="index").rename_axis("n_components")
    laws = pd.concat([other.bic for other in paths], axis=1).rename_axis("n_components")
    names = tuple(options[0] for options in survey.laws[best.law])
    trait = None if interrupted else fit_trait(_merged(survey), names)
    if not interrupted:
        try:
            _judge(survey, best.law, path, seed)
        except KeyboardInterrupt:
            interrupted = True
    chosen, sentences = _rule(path, trait, best.law)
    test = None
    if n_replicates and not interrupted:
        statistic, p_value = likelihood_ratio_test(
            survey, best.law, chosen, n_replicates=n_replicates, seed=seed
        )
        test = {"n_components": chosen, "statistic": statistic, "p_value": p_value}
    defensible = (chosen, max(chosen, _lowest(path["bic"])))
    return ComponentSelection(
        "rule", path, best.models, interrupted, best.law, laws, trait, chosen, defensible,
        sentences, test,
    )  # fmt: skip


def _fit_path(survey: Survey, law: str, wanted: list[int], seed: int) -> _Path:
    path = _Path(law)
    for number in wanted:
        if path.hopeless:
            break
        path.extend(survey, number, seed)
        if path.models[number].interrupted_:
            break
    return path


def _merged(survey: Survey) -> Any:
    rows = survey.rows
    return rows.merge(rows.codes, survey.weights, rows.layout.n_levels, rows.numbers)


def _judge(survey: Survey, law: str, path: pd.DataFrame, seed: int) -> None:
    """Add to the path what other samples, other seeds and held-out rows say."""
    several = [int(number) for number in path.index if number > 1]
    path["reproducibility"] = pd.Series({1: 1.0, **reproducibility(survey, law, several, seed)})
    path["seeds"] = pd.Series({1: 1.0, **agreement_of_seeds(survey, law, several, seed)})
    density = held_out(survey, law, [int(number) for number in path.index], seed)
    weights = survey.weights / survey.weights.sum()
    path["held_out"], path["held_out_error"] = _mean_and_error(density, weights)
    best = int(np.argmax(path["held_out"]))
    path["behind"], path["behind_error"] = _mean_and_error(density[best] - density, weights)


def _mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted means over rows and their standard errors."""
    mean = values @ weights
    spread = np.sqrt(((values - mean[:, None]) ** 2) @ weights)
    return mean, spread * np.sqrt((weights**2).sum())


def _rule(path: pd.DataFrame, trait: TraitFit | None, law: str) -> tuple[int, list[str]]:
    """Choose the number of components, and say why."""
    by_bic, by_icl = _lowest(path["bic"]), _lowest(path["icl"])
    if trait is not None and trait.bic < path["bic"].min():
        return 1, ["The answers vary along one scale; segments would only cut it into levels."]
    chosen = by_icl if by_icl > 1 else by_bic
    if "reproducibility" in path:
        while chosen > 1 and not _reproduces(path, chosen):
            chosen = max(number for number in path.index if number < chosen)
    sentences = []
    if by_bic == 1:
        sentences.append("No cluster structure found: one segment describes the answers best.")
    elif chosen == 1:
        sentences.append("No division reproduces.")
    elif by_bic > chosen:
        sentences.append(
            f"{chosen} segments reproduce; up to {by_bic} describe the answers better, but other "
            "people would yield other segments."
        )
    else:
        sentences.append(f"{chosen} segments describe the answers best, and they reproduce.")
    if by_icl == 1 < by_bic:
        sentences.append("Segments overlap; many people cannot be assigned.")
    title = LAWS[law].title if law in LAWS else "a law for each question"
    return int(chosen), [*sentences, f"Law of the answers: {title}."]


def _reproduces(path: pd.DataFrame, number: int) -> bool:
    return bool(path["reproducibility"].loc[number] >= REPRODUCED)


def _lowest(values: "pd.Series[Any]") -> int:
    return int(values.index[int(np.argmin(values.to_numpy()))])


def _seed(random_state: Any) -> int:
    """Return one seed for everything that follows."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _numbers(n_components: Iterable[int]) -> list[int]:
    numbers: list[Any] = list(n_components) if isinstance(n_components, Iterable) else []
    if not numbers or not all(map(Whole(1).allows, numbers)):
        raise InputError(
            f"n_components must be a range or list of whole numbers from 1, got {n_components!r}.",
            parameter="n_components",
        )
    return [int(number) for number in numbers]


def _measures(survey: Survey, model: OrdinalMixture) -> dict[str, Any]:
    membership, log_density = model._posterior(survey.rows)
    return _row(model, membership, log_density, survey.weights)


def _describe(model: OrdinalMixture, X: Any, sample_weight: Any) -> dict[str, Any]:
    membership, log_density = model._posterior(model._read(X))
    return _row(model, membership, log_density, row_weights(sample_weight, len(log_density)))


def _row(
    model: OrdinalMixture, membership: FloatArray, log_density: FloatArray, weights: FloatArray
) -> dict[str, Any]:
    """Return what one number of components reached."""
    deviance, n = -2 * float(log_density @ weights), float(weights.sum())
    count, K = model.n_parameters_, len(model.weights_)
    bic = deviance + np.log(n) * count
    unclear = -2 * float(np.log(membership.max(axis=1)) @ weights)
    entropy = -float((membership * np.log(np.maximum(membership, 1e-300))).sum(axis=1) @ weights)
    return {
        "log_likelihood": model.log_likelihood_,
        "n_parameters": count,
        "aic": deviance + 2 * count,
        "bic": float(bic),
        "sabic": float(deviance + np.log((n + 2) / 24) * count),
        "caic": float(deviance + (np.log(n) + 1) * count),
        "icl": float(bic + unclear),
        "entropy_r2": 1 - entropy / (n * float(np.log(K))) if K > 1 else 1.0,
        "smallest": float(model.weights_.min()),
        "converged": model.converged_,
    }
