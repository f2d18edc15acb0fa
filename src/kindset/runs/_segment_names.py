"""Names that people give to the segments of a survey."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kindset._reading import read_toml
from kindset._shown import counted, shown
from kindset.exceptions import InputError
from kindset.runs._run import Run

SegmentNames = str | os.PathLike[str] | Mapping[int, str] | Sequence[str] | None
"""A TOML file, names by number from 1, or names in order."""


def read_segment_names(names: SegmentNames, n_segments: int) -> list[str]:
    """Return the name of each segment, empty where there is none.

    Parameters
    ----------
    names : path-like, dict or sequence of str
        A TOML file with lines such as ``1 = "Commuters"``, names by number from 1, or a list of
        names.
    n_segments : int
        How many segments there are.

    Returns
    -------
    names : list of str

    Raises
    ------
    InputError
        If a name is for no segment, or is not a text.

    Examples
    --------
    >>> from kindset.runs import read_segment_names
    >>> read_segment_names({2: "Commuters"}, 3)
    ['', 'Commuters', '']
    """
    where = "`names`"
    given: Mapping[object, object]
    if names is None:
        given = {}
    elif isinstance(names, (str, os.PathLike)):
        where = shown(names)
        given = {str(key): value for key, value in read_toml(Path(names)).items()}
    elif isinstance(names, Mapping):
        given = {str(key): value for key, value in names.items()}
    else:
        given = {str(number): name for number, name in enumerate(names, 1)}
    numbers = [str(number) for number in range(1, n_segments + 1)]
    for key, name in given.items():
        if key not in numbers:
            raise InputError(
                f"{where} names segment {shown(key)}, but there {_are(n_segments)}.",
                parameter="names",
            )
        if not isinstance(name, str) or not name.strip():
            raise InputError(
                f"{where}: the name of segment {key} must be a text.", parameter="names"
            )
    return [" ".join(str(given.get(number, "")).split()) for number in numbers]


def _are(n: int) -> str:
    return f"{'is' if n == 1 else 'are'} {counted(n, 'segment')}"


def name_segments(run: Run, names: SegmentNames) -> Run:
    """Return a survey run whose segments have names, for reports and predictions.

    Parameters
    ----------
    run : Run
        Of a survey.
    names : path-like, dict or sequence of str
        As in `read_segment_names`.

    Returns
    -------
    run : Run

    Raises
    ------
    InputError
        If the run has no segments, or a name is for none of them.
    """
    survey = run.about.survey
    if survey is None:
        raise InputError(f"`names`: the run {run.name!r} has no segments.", parameter="names")
    listed = read_segment_names(names, len(survey.segments))
    segments = [
        replace(segment, name=name or segment.name)
        for segment, name in zip(survey.segments, listed, strict=True)
    ]
    named = replace(survey, segments=segments)
    return replace(run, details={**run.details, "survey": named.to_dict()})


def name_only_survey(runs: Sequence[Run], names: SegmentNames) -> list[Run]:
    """Name the segments of the one survey run among several; see `name_segments`."""
    surveys = [run for run in runs if run.about.survey is not None]
    if len(surveys) != 1:
        raise InputError(
            f"`names` are for the segments of one survey run, but there are {len(surveys)}: give "
            "one.",
            parameter="names",
        )
    return [name_segments(run, names) if run is surveys[0] else run for run in runs]
