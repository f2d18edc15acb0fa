"""What a run says about itself and its clusters: one type for those who write and who read it.

A run holds its details as plain values (`Run.details`) and arrays (`Run.exhibits`), so that they
can be saved. Whoever makes a run builds `RunDetails` and stores ``details.to_dict()`` and
``details.arrays()``. Whoever shows a run reads them through `Run.about`.

To add a kind of content, write a dataclass like `FeatureDetails`, and add a field to `RunDetails`
and an entry to `_READERS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from numpy.typing import NDArray

from kindset._checked import flag, listed, number, optional, record, text
from kindset.exceptions import InputError
from kindset.runs._details_arrays import Arrays
from kindset.runs._details_features import FeatureDetails
from kindset.runs._details_images import ImageDetails
from kindset.runs._details_merges import MergeDetails
from kindset.runs._details_survey import SurveyDetails

if TYPE_CHECKING:
    from kindset.runs._run import Run

T = TypeVar("T")

KINDS = ("survey", "images", "features")
"""What can be clustered: answers to questions, images, or rows of numbers."""


@dataclass(frozen=True)
class ScalingDetails:
    """What was subtracted from each column, and what the rest was divided by."""

    mean: list[float]
    spread: list[float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Any, what: str = "scaling") -> Self:
        """Check and read plain values."""
        found = record(value, what)
        mean = listed(found.get("mean"), f"{what} mean", number)
        spread = listed(found.get("spread"), f"{what} spread", number, length=len(mean))
        if any(value <= 0 for value in spread):
            raise InputError(f"{what} spread holds a number that is not positive.")
        return cls(mean, spread)


@dataclass(frozen=True)
class RunDetails:
    """What a run says about its data, its making and its clusters.

    Attributes
    ----------
    kind : {"survey", "images", "features"} or None
        What was clustered.
    data : str
        What to call the data.
    title : str
        The method in words.
    description : str
        A sentence or two about the data.
    id_column : str or None
        What tells the samples apart: the name of a column, or "file".
    source : dict of str to str, or None
        Hashes of what tells apart samples that look alike.
    columns : list of str or None
        Names of the columns that were clustered.
    scaling : ScalingDetails or None
        What was done to the columns, or to the pixels.
    crop : bool
        Whether images were cropped to a common size.
    notes : list of str
        Cautions about the result.
    interrupted : bool
        Whether the work was stopped early.
    resumed : bool
        Whether the work started from a checkpoint.
    survey : SurveyDetails or None
    images : ImageDetails or None
    features : FeatureDetails or None
    merges : MergeDetails or None
    damaged : dict of str to str
        Why a field could not be read and was left out, by its name in `Run.details`. Empty for
        details that were not read leniently.

    Examples
    --------
    >>> from kindset.runs import Run, RunDetails
    >>> details = RunDetails(kind="features", data="Penguins", title="k-means")
    >>> run = Run([0, 0, 1], details=details.to_dict())
    >>> run.about.title
    'k-means'
    """

    kind: str | None = None
    data: str = ""
    title: str = ""
    description: str = ""
    id_column: str | None = None
    source: dict[str, str] | None = None
    columns: list[str] | None = None
    scaling: ScalingDetails | None = None
    crop: bool = False
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    resumed: bool = False
    survey: SurveyDetails | None = None
    images: ImageDetails | None = None
    features: FeatureDetails | None = None
    merges: MergeDetails | None = None
    damaged: dict[str, str] = field(default_factory=dict, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what is not an array as plain values: the `Run.details` to store.

        Fields without a value are left out.
        """
        values = {_KEYS.get(name, name): getattr(self, name) for name in _READERS}
        return {
            key: value.to_dict() if hasattr(value, "to_dict") else value
            for key, value in values.items()
            if value is not None
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all parts: the `Run.exhibits` to store."""
        found: dict[str, NDArray[Any]] = {}
        for part in (self.images, self.merges):
            found |= {} if part is None else part.arrays()
        return found

    @classmethod
    def from_dict(cls, value: Any, arrays: Arrays, *, n_samples: int, strict: bool = True) -> Self:
        """Check and read what `to_dict` and `arrays` returned.

        Parameters
        ----------
        value : dict
        arrays : dict of str to ndarray
        n_samples : int
            Number of samples of the run.
        strict : bool, default=True
            Whether damage is an error. Otherwise damaged fields are left out, and `damaged` says
            why.

        Raises
        ------
        InputError
            If something is wrong and `strict`.
        """
        found: dict[str, Any] = {}
        damaged: dict[str, str] = {}
        for name, read in _READERS.items():
            try:
                stored = _Stored(record(value, "details"), record(arrays, "exhibits"), n_samples)
                field_value = read(stored)
            except InputError as error:
                if strict:
                    raise
                damaged[name] = str(error)
                continue
            if field_value is not None:
                found[name] = field_value
        return cls(**found, damaged=damaged)

    @classmethod
    def from_run(cls, run: "Run", *, strict: bool = True) -> Self:
        """Check and read the details and exhibits of a run; see `from_dict`."""
        return cls.from_dict(run.details, run.exhibits, n_samples=len(run), strict=strict)


class _Stored(NamedTuple):
    """What details are read from."""

    details: Mapping[str, Any]
    arrays: Mapping[str, Any]
    n_samples: int


def _plain(key: str, read: Callable[[Any, str], T]) -> Callable[[_Stored], T | None]:
    """Return what reads the value of one key; None if there is no such value."""
    return lambda stored: optional(stored.details.get(key), key, read)


def _kind(value: Any, what: str) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise InputError(f"{what} must be one of {', '.join(KINDS)}.")
    return value


def _texts(value: Any, what: str) -> list[str]:
    return listed(value, what, text)


def _hashes(value: Any, what: str) -> dict[str, str]:
    return {str(name): text(found, f"{what} {name}") for name, found in record(value, what).items()}


_READERS: dict[str, Callable[[_Stored], Any]] = {
    "kind": _plain("kind", _kind),
    "data": _plain("data", text),
    "title": _plain("title", text),
    "description": _plain("about", text),
    "id_column": _plain("id_column", text),
    "source": _plain("source", _hashes),
    "columns": _plain("columns", _texts),
    "scaling": _plain("scaling", ScalingDetails.from_dict),
    "crop": _plain("crop", flag),
    "notes": _plain("notes", _texts),
    "interrupted": _plain("interrupted", flag),
    "resumed": _plain("resumed", flag),
    "survey": _plain("survey", SurveyDetails.from_dict),
    "images": lambda stored: ImageDetails.from_stored(*stored),
    "features": _plain("features", FeatureDetails.from_dict),
    "merges": lambda stored: MergeDetails.from_stored(*stored),
}
"""What reads each field."""

_KEYS = {"description": "about", "merges": "unmasking"}
"""Keys of `Run.details` that differ from the field's name."""
