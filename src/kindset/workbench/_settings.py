"""One clustering to be made: the method, the number of clusters, the seed, and the rest."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from numbers import Integral
from typing import Any

from kindset._shown import counted
from kindset.exceptions import InputError
from kindset.ordinal import CRITERIA
from kindset.workbench._dataset import Dataset
from kindset.workbench._embeddings import read_embedding
from kindset.workbench._methods import METHODS, Method, get_method
from kindset.workbench._tables import TABLES

RULE = CRITERIA[0]
"""Law and number chosen together; see `select_components`."""

AUTO = "auto"
"""The number of clusters where the method finds it."""


@dataclass(frozen=True)
class Setting:
    """A clustering to be made.

    Parameters
    ----------
    method : str
        A name from `METHODS`.
    k : int, sequence of int, or None
        The number of clusters. None or "auto" lets the method find it. A survey method chooses
        among several numbers.
    seed : int, default=0
    embedding : str, optional
        Cluster in fewer dimensions: "pca:20", "autoencoder:10".
    parameters : dict, optional
        Parameters of the estimator.
    scale : {"none", "standard"}, default="none"
        Whether all columns get the same spread.
    criterion : {"icl", "bic", "aic", "rule"}, default="icl"
        What chooses among several numbers. The method "survey" always has the rule.

    Examples
    --------
    >>> from kindset.workbench import Setting
    >>> Setting("kmeans", 4, embedding="pca:20").name
    'pca20 kmeans K=4 s0'
    """

    method: str
    k: Any = None
    seed: int = 0
    embedding: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scale: str = "none"
    criterion: str = "icl"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check_number(self.k))

    @property
    def described(self) -> Method:
        """The method."""
        return get_method(self.method)

    @property
    def chosen_by(self) -> str:
        """What chooses among several numbers: the rule, where the method finds the number."""
        return RULE if self.described.finds_number else self.criterion

    @property
    def number(self) -> int | str:
        """The number of clusters as a user gives it."""
        if self.k is None:
            return AUTO
        return "-".join(map(str, _ends(self.k))) if isinstance(self.k, tuple) else int(self.k)

    @property
    def name(self) -> str:
        """What to call the run, s being the seed: short, as tables have many columns."""
        return f"{self._space(' ')}{self.method} K={self.number} s{self.seed}"

    @property
    def folder(self) -> str:
        """What to call the run's folder, among others."""
        marked = dict(self.parameters)
        if self.criterion != "icl":
            marked["criterion"] = self.criterion
        text = json.dumps(marked, sort_keys=True, default=str)
        mark = f"-{hashlib.sha256(text.encode()).hexdigest()[:6]}" if marked else ""
        return f"{self._space('-')}{self.method}-k{self.number}-seed{self.seed}{mark}"

    def _space(self, end: str) -> str:
        """Say what was done to the samples first, each word with that end."""
        words = [] if self.scale == "none" else [self.scale]
        words += [] if self.embedding is None else [self.embedding.replace(":", "")]
        return "".join(f"{word}{end}" for word in words)

    def as_parameters(self) -> dict[str, Any]:
        """Return all that decides the result, as a run writes it down."""
        if self.described.takes == "answers":
            chosen = not isinstance(self.k, int)
            by_rule = chosen and self.chosen_by == RULE
            starts = {} if by_rule else {"n_init": self.described.defaults["n_init"]}
            return {
                "tried": list(self.k) if isinstance(self.k, tuple) else [self.number],
                "criterion": self.chosen_by if chosen else None,
                **starts,
                **self.parameters,
            }
        scaled = {} if self.scale == "none" else {"scale": self.scale}
        chosen_space = {"n_clusters": self.number, "embedding": self.embedding}
        return {**chosen_space, **scaled, **self.parameters}

    def check_choice(self) -> None:
        """Refuse what cannot be done with any data."""
        _check_choice(self, self.described)

    def check(self, data: Dataset) -> None:
        """Refuse, before any work, what cannot be done with these data."""
        method = self.described
        self.check_choice()
        _check_kind(self, method, data)
        self.check_size(data, len(data))
        result = ("segment", "p1") if method.takes == "answers" else ("cluster",)
        if str(data.ids.name) in result:
            raise InputError(
                f"an id column cannot be called {data.ids.name!r}, like a column of the result: "
                "rename it."
            )
        method.build(self, verbose=False)

    def check_size(self, data: Dataset, n_samples: int, place: str = "") -> None:
        """Refuse what cannot be done with so many samples of the data; `place` says where."""
        method = self.described
        if self.embedding is not None and method.takes == "rows":
            read_embedding(self.embedding, (n_samples, data.rows(self.scale).X.shape[1]))
        largest = max(self.k) if isinstance(self.k, tuple) else self.k or 0
        if largest > n_samples:
            what = counted(n_samples, "row" if method.takes == "answers" else "sample")
            are = "is" if n_samples == 1 else "are"
            raise InputError(f"`k` {largest}: there {are} only {what}{place}.", parameter="k")


def _check_number(k: Any) -> int | tuple[int, ...] | None:
    if k is None or k == AUTO:
        return None
    numbers = [k] if isinstance(k, Integral) else list(k) if isinstance(k, Iterable) else []
    if (
        not numbers
        or isinstance(k, str)
        or not all(isinstance(number, Integral) and int(number) >= 1 for number in numbers)
    ):
        raise InputError(
            f"`k` takes a number of clusters such as 4, or a range such as 2:8, not {k!r}.",
            parameter="k",
        )
    distinct = tuple(dict.fromkeys(int(number) for number in numbers))
    return distinct if len(distinct) > 1 else distinct[0]


def _ends(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first and the last of consecutive numbers; all of others."""
    whole = numbers == tuple(range(numbers[0], numbers[-1] + 1))
    return (numbers[0], numbers[-1]) if whole else numbers


def _check_kind(setting: Setting, method: Method, data: Dataset) -> None:
    """Refuse data of another kind than the method takes."""
    if method.takes == "answers":
        if data.kind != "table":
            raise InputError(
                f"`method` {setting.method} clusters tables of answers ({TABLES}), not "
                f"{data.name}.",
                parameter="method",
            )
        _ = data.answers
    elif method.takes == "images" and data.kind != "images":
        raise InputError(
            f"`method` {setting.method} clusters images; {data.name} holds rows of numbers, of "
            f"shape {data.content.shape}.",
            parameter="method",
        )
    else:
        _ = data.rows(setting.scale) if method.takes == "rows" else data.numbers
    if setting.embedding is not None and method.takes != "rows":
        raise InputError(
            f"`embedding`: {setting.method} works on the {method.takes} themselves.",
            parameter="embedding",
        )
    if setting.scale != "none" and method.takes != "rows":
        raise InputError(
            f"`scale` {setting.scale} is for rows of numbers, not for {setting.method}.",
            parameter="scale",
        )


def _check_choice(setting: Setting, method: Method) -> None:
    """Refuse a number, or a choice of one, that the method cannot make."""
    if setting.criterion not in CRITERIA:
        raise InputError(
            f"`criterion` must be one of {', '.join(CRITERIA)}, not {setting.criterion!r}.",
            parameter="criterion",
        )
    if setting.k is None and method.chooses_number and not method.finds_number:
        raise InputError(
            f"`k` {AUTO}: {setting.method} chooses among the numbers you give, such as 2:8.",
            parameter="k",
        )
    if setting.k is None and not method.finds_number:
        able = ", ".join(name for name, other in METHODS.items() if other.finds_number)
        raise InputError(
            f"`k` {AUTO}: {setting.method} must be told the number of clusters; give one, or a "
            f"range such as 2:8 to have them ranked ({able} finds the number itself).",
            parameter="k",
        )
    if isinstance(setting.k, tuple) and not method.chooses_number:
        raise InputError(
            f"`k`: {setting.method} takes one number; make a setting for each (see `grid`).",
            parameter="k",
        )


def as_setting(setting: Setting | Mapping[str, Any], parameter: str) -> Setting:
    """Return a setting that was given as one, or as a dict of its fields."""
    if isinstance(setting, Setting):
        return setting
    try:
        return Setting(**setting)
    except TypeError as error:
        known = ", ".join(field.name for field in fields(Setting))
        raise InputError(
            f"`{parameter}` takes settings, or dicts with a method and other fields of a setting "
            f"({known}), not {setting!r}.",
            parameter=parameter,
        ) from error


def grid(
    methods: str | Sequence[str],
    k: Any = None,
    *,
    seeds: int | Sequence[int] = 0,
    embeddings: str | Sequence[str | None] | None = None,
    scale: str = "none",
    criterion: str = "icl",
    parameters: Mapping[str, Any] | None = None,
) -> list[Setting]:
    """Return the settings of a sweep: all combinations of what is given.

    Parameters
    ----------
    methods : str or sequence of str
        Names from `METHODS`.
    k : int or iterable of int, optional
        Numbers of clusters. A survey method chooses among them within one run.
    seeds : int or sequence of int, default=0
    embeddings : str or sequence of str, optional
        Spaces to cluster in; None is the data themselves.
    scale, criterion : str
        As in `Setting`.
    parameters : dict, optional
        Parameters of the estimators. A list of values for one parameter is tried value by value.

    Returns
    -------
    settings : list of Setting

    Examples
    --------
    >>> from kindset.workbench import grid
    >>> [setting.name for setting in grid("kmeans", range(2, 4), seeds=(0, 1))]
    ['kmeans K=2 s0', 'kmeans K=2 s1', 'kmeans K=3 s0', 'kmeans K=3 s1']
    """
    names = [methods] if isinstance(methods, str) else list(methods)
    spaces = [embeddings] if embeddings is None or isinstance(embeddings, str) else embeddings
    drawn = [seeds] if isinstance(seeds, Integral) else list(seeds)  # type: ignore[arg-type]
    return [
        Setting(name, number, int(seed), space, chosen, scale, criterion)
        for name in names
        for number in _numbers_for(name, k)
        for space in spaces
        for chosen in _combinations(parameters or {})
        for seed in drawn
    ]


def _numbers_for(method: str, k: Any) -> list[Any]:
    several = isinstance(k, Iterable) and not isinstance(k, str)
    if not several or get_method(method).chooses_number:
        return [k]
    return list(dict.fromkeys(k))


def _combinations(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values of parameters that were given as lists."""
    values = [value if isinstance(value, list) else [value] for value in parameters.values()]
    return [dict(zip(parameters, chosen, strict=True)) for chosen in product(*values)]
