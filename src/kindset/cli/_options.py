"""Options that several commands share, and how their values are read."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kindset.evaluation import INDICES
from kindset.exceptions import InputError

_MAX_NUMBERS = 1000
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")

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
Decimal = Annotated[str, typer.Option("--decimal", help="What precedes fractions: auto . or ,")]
HeaderRows = Annotated[
    int | None,
    typer.Option("--header-rows", help="Rows before the answers: 1 to 3.", show_default="found"),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", help="Sheet of an Excel file: name or number.", show_default="first"),
]
Names = Annotated[
    Path | None,
    typer.Option("--names", help='TOML file that names segments: 1 = "Commuters".'),
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
        help=f"Indices to show beside the verdict: one or more of {', '.join(INDICES)}, "
        "comma-separated.",
        show_default="silhouette, calinski_harabasz, davies_bouldin; cosine: silhouette",
    ),
]
Judge = Annotated[
    str,
    typer.Option(
        "--judge",
        help="What decides: verdict, ace (mean rank by the indices), likelihood (surveys), or "
        "auto: the likelihood where there is one, else the verdict.",
    ),
]
Raw = Annotated[
    Path | None,
    typer.Option("--raw", help="Input data (.npy, .npz, .csv), to judge in beside the spaces."),
]
Metric = Annotated[str, typer.Option("--metric", help="euclidean or cosine.")]
Noise = Annotated[
    str | None,
    typer.Option(
        "--noise",
        help="What to do with the label -1: penalise, drop, singletons, error.",
        show_default="penalise",
    ),
]
SameRows = Annotated[
    bool,
    typer.Option(
        "--same-rows",
        help="State that row i is the same sample in all runs, where nothing else says so.",
    ),
]
Truth = Annotated[
    Path | None,
    typer.Option("--truth", help="File of known labels (CSV, .npy, .npz), to show beside."),
]
Bootstrap = Annotated[
    int,
    typer.Option("--bootstrap", min=0, help="Resamples of the points for the range of ranks."),
]


def read_range(text: str) -> list[int]:
    """Read a number of clusters, "4", or a range of them, "2:8" or "4:16:2", ends included."""
    parts = text.split(":")
    numbers = range(0)
    if 1 <= len(parts) <= 3 and all(_WHOLE.fullmatch(part) for part in parts):
        low, high, step = int(parts[0]), int(parts[min(1, len(parts) - 1)]), 1
        step = int(parts[2]) if len(parts) == 3 else step
        numbers = range(low, high + 1, step) if step else range(0)
    if not numbers or numbers[0] < 1:
        raise InputError(
            f"-k takes a number of clusters such as 4, or a range such as 2:8, not {text!r}."
        )
    if len(numbers) > _MAX_NUMBERS:
        raise InputError(f"-k {text} names {len(numbers)} numbers; at most {_MAX_NUMBERS} will do.")
    return list(numbers)


def read_seeds(text: str | None, seed: int) -> list[int]:
    """Read a list of seeds, "0,3,7"; without one, the one seed."""
    if text is None:
        return [seed]
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0 or max(seeds) >= 2**32:
        raise InputError(f"--seeds takes whole numbers such as 0,1,2, not {text!r}.")
    return list(dict.fromkeys(seeds))


def read_parameters(texts: Sequence[str], transforms: str | None = None) -> dict[str, Any]:
    """Read ``name=value`` pairs; the values are written as in TOML, bare words are text.

    What `transforms` lists has an option of its own and comes first.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise InputError(f"--param takes name=value, such as n_init=20, not {text!r}.")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits
            found[name.strip()] = {"None": None, "True": True, "False": False}.get(value, value)
    if transforms is not None:
        found["transforms"] = "auto" if transforms == "auto" else read_names(transforms)
    return found


def read_size(text: str | None) -> int | tuple[int, int] | None:
    """Read the size of images: "64", or height x width, "48x64"."""
    if text is None:
        return None
    try:
        sides = tuple(int(side) for side in text.lower().split("x"))
    except ValueError:
        sides = ()
    if len(sides) == 1:
        return sides[0]
    if len(sides) == 2:
        return sides[0], sides[1]
    raise InputError(f"--size takes pixels such as 64, or height x width such as 48x64: {text!r}?")


def read_names(text: str | None) -> list[str] | None:
    """Read a comma-separated list of column names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def read_levels(text: str | None) -> Path | list[str] | None:
    """Read the name of a TOML file, or the levels of all columns, "never,often,always"."""
    is_list = text is not None and "," in text and not Path(text).exists()
    return read_names(text) if is_list else None if text is None else Path(text)


def read_indices(text: str | None) -> list[str] | None:
    """Read a comma-separated list of indices; None stays as it is."""
    if text is None:
        return None
    names = read_names(text)
    if not names:
        raise InputError(f"--index must name one or more of {', '.join(INDICES)}.")
    return names
