"""What one clustering gives: a run, and the files that people read beside it."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset._files import write_csv, write_text
from kindset._plotting import save_figure
from kindset.evaluation import KNOWN_MEASURES, known_measures
from kindset.runs import Run
from kindset.workbench._dataset import Dataset


@dataclass(frozen=True)
class Execution:
    """What does not decide a result.

    Attributes
    ----------
    n_jobs : int
        Number of threads.
    verbose : bool
        Whether to show progress.
    command : list of str or None
        The command that asked for it.
    n_resamples : int
        Refits on parts of the samples, to measure how far the result is stable; 0 for none.
    """

    n_jobs: int = 1
    verbose: bool = False
    command: list[str] | None = None
    n_resamples: int = 0


@dataclass(frozen=True)
class Outcome:
    """A run with its tables, its figures and its summary, to be written to one folder.

    Attributes
    ----------
    run : Run
    summary : str
        The result in words.
    tables : dict of str to DataFrame
        By file name without ending.
    figures : dict of str to callable
        What draws each figure, by file name without ending.
    """

    run: Run
    summary: str
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work early."""
        return self.run.about.interrupted

    def write(self, folder: Path) -> None:
        """Fill a folder with the run and everything beside it."""
        self.run.write(folder)
        for name, table in self.tables.items():
            write_csv(folder / f"{name}.csv", table, float_format="%.6f")
        write_text(folder / "summary.txt", self.summary + "\n")
        try:
            for name, draw in self.figures.items():
                save_figure(draw(), folder / name)
        except KeyboardInterrupt:
            warnings.warn("Interrupted while drawing: some figures are missing.", stacklevel=2)


def measures_of(data: Dataset, labels: Any) -> dict[str, float]:
    """Return the agreement with known labels, if there are any, as runs call the measures."""
    if data.labels is None:
        return {}
    found = known_measures(data.labels, labels)
    measures = {name.upper(): found[name] for name in KNOWN_MEASURES}
    if (labels == -1).any():
        measures |= {f"{name.upper()}_covered": found[f"{name}_covered"] for name in KNOWN_MEASURES}
    return {name: value for name, value in measures.items() if not np.isnan(value)}
