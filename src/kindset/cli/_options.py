"""Options that several commands share, and how their values are read."""

from pathlib import Path
from typing import Annotated

import typer

from kindset.evaluation import INDICES
from kindset.exceptions import InputError

_MAX_NUMBERS = 1000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier output.")]


def _check_seed(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed takes a whole number from 0 to {2**32 - 1}, not {seed}.")
    return seed


Seed = Annotated[
    int, typer.Option("--seed", help="Seed of the random numbers.", callback=_check_seed)
]


def _check_jobs(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        raise InputError("--jobs must be a number of threads from 1, or -1 for all cores.")
    return jobs


Jobs = Annotated[
    int,
    typer.Option("--jobs", help="Number of threads; -1 for all cores.", callback=_check_jobs),
]
IdColumn = Annotated[
    str | None, typer.Option("--id-column", help="Column that identifies the rows.")
]
Missing = Annotated[
    str | None,
    typer.Option("--missing", help="Further marks of a missing answer, such as -9,DK."),
]
Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Run folders, folders of them, .npz files (labels, embedding), or .csv files of "
        "labels with the embedding in an .npy file of the same name."
    ),
]
Indices = Annotated[
    str | None,
    typer.Option(
        "--index",
        help=f"What ranks the runs: one or more of {', '.join(INDICES)}, comma-separated.",
        show_default="silhouette, calinski_harabasz, davies_bouldin; cosine: silhouette",
    ),
]
Metric = Annotated[str, typer.Option("--metric", help="euclidean or cosine.")]
Noise = Annotated[
    str, typer.Option("--noise", help="What to do with the label -1: error, drop, singletons.")
]
Truth = Annotated[
    Path | None,
    typer.Option("--truth", help="CSV or .npy file of known labels, to show beside."),
]
Bootstrap = Annotated[
    int,
    typer.Option("--bootstrap", min=0, help="Resamples of the points for the plausible ranks."),
]

AUTO = "auto"
"""What -k takes where the method finds the number of clusters."""


def read_range(text: str) -> list[int]:
    """Read a number of clusters, "4", or an inclusive range of them, "2:8"."""
    low, colon, high = text.partition(":")
    try:
        numbers = range(int(low), int(high if colon else low) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers or numbers[0] < 1:
        raise InputError(
            f"-k takes a number of clusters such as 4, or a range such as 2:8, not {text!r}."
        )
    if len(numbers) > _MAX_NUMBERS:
        raise InputError(f"-k {text} names {len(numbers)} numbers; at most {_MAX_NUMBERS} will do.")
    return list(numbers)


def read_names(text: str | None) -> list[str] | None:
    """Read a comma-separated list of column names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def read_indices(text: str | None) -> list[str] | None:
    """Read a comma-separated list of indices; None stays as it is."""
    if text is None:
        return None
    names = read_names(text)
    if not names:
        raise InputError(f"--index must name one or more of {', '.join(INDICES)}.")
    return names
