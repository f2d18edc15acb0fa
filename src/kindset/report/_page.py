"""From summaries to one HTML file."""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from kindset._arrays import as_label_array, check_space
from kindset._checked import printable
from kindset._files import write_text
from kindset.comparison import DEFAULT_NOISE, is_varied
from kindset.evaluation import INDICES, check_metric, check_noise, get_index
from kindset.exceptions import InputError
from kindset.report import _charts, _comparison_charts
from kindset.report._images import Sample
from kindset.report._part_charts import PART_CHARTS
from kindset.report._prose import how_ranked, tell
from kindset.report._sections import SECTIONS
from kindset.report._sprites import make_sheet
from kindset.report._summary import DataSummary, Ranking, rank_table, standing_of, summarise
from kindset.report._tree_chart import merge_tree
from kindset.report._verdict_chart import verdict_chart
from kindset.runs import Run

_LEAD_PICTURES = 600_000
_OTHER_PICTURES = 600_000
"""Characters that the pictures of the leading runs, and those of all others, may take together."""


def write_report(
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    indices: Sequence[str] | None = None,
    judge: str = "auto",
    raw: ArrayLike | None = None,
    metric: str = "euclidean",
    noise: str = DEFAULT_NOISE,
    truth: ArrayLike | None = None,
    n_bootstrap: int = 0,
    same_rows: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> None:
    """Write what runs found to one HTML file that needs no network.

    Runs on the same data are compared without known labels (`compare_runs`). The leader is shown
    in full, the others folded. The same runs give the same file, byte by byte.

    Parameters
    ----------
    runs : sequence of Run
        On one or several data sets.
    path : path-like
        The file; an earlier one is replaced in one step.
    title : str, optional
        Heading of the page; by default the names of the data.
    indices : sequence of str, optional
        What to show beside the verdict: names from `kindset.evaluation.INDICES`. By default those
        of `kindset.comparison.usual_indices`.
    judge : {"auto", "verdict", "ace", "likelihood"}, default="auto"
        What decides which run leads; see `compare_runs`.
    raw : array-like of shape (n_samples, n_features), optional
        The input data with that many samples, to judge in beside the spaces of the runs.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How the indices measure distance.
    noise : str, default=DEFAULT_NOISE
        What the indices do with samples labelled -1; see `compare_runs`.
    truth : array-like of shape (n_samples,), optional
        Known labels of the data with that many samples, shown beside the ranking and not used.
    n_bootstrap : int, default=0
        Bootstrap samples of the points for the range of ranks.
    same_rows : bool, default=False
        State that row i is the same sample in all runs of one length, whatever their records say.
    n_jobs : int, optional
        Threads for the scores.
    verbose : bool, default=False
        Show a progress bar.

    Raises
    ------
    InputError
        If there is no run, an index, metric or way with noise is unknown, or the file cannot be
        written. Parts of a run that are damaged are left out, and the page says so.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kindset.report import write_report
    >>> from kindset.runs import Run
    >>> run = Run([0, 0, 1], space=[[0.0], [0.1], [5.0]], name="by hand")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_report([run], path, title="Three points")
    ...     "<h1>Three points</h1>" in path.read_text()
    True
    """
    runs = list(runs)
    if not runs:
        raise InputError("a report needs at least one run.")
    if indices is not None:
        indices = _check_indices(indices, metric)
    if n_bootstrap < 0:
        raise InputError(f"n_bootstrap={n_bootstrap!r} must not be negative.")
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write {target.name} into.")
    known = None if truth is None else np.asarray(as_label_array(truth, "truth"))
    ranking = Ranking(
        indices=indices,
        judge=judge,
        raw=None if raw is None else check_space(raw, name="the raw data"),
        metric=check_metric(metric),
        noise=check_noise(noise),
        truth=known,
        n_bootstrap=n_bootstrap,
        same_rows=same_rows,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    write_text(target, render(summarise(runs, ranking), title))


def _check_indices(indices: str | Sequence[str], metric: str) -> list[str]:
    names = [indices] if isinstance(indices, str) else list(indices)
    if not names:
        raise InputError(f"indices must name one or more of {', '.join(INDICES)}.")
    for name in names:
        get_index(name, check_metric(metric))
    return names


def render(summaries: list[DataSummary], title: str | None = None) -> str:
    """Return the page for summaries."""
    environment = _environment()
    script = _source("script.js")
    html = environment.get_template("page.html").render(
        title=title or " · ".join(data.name for data in summaries[:4]),
        summaries=summaries,
        style=Markup(_source("style.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sheets=_sheets(summaries),
    )
    return printable(html)


def _sheets(summaries: list[DataSummary]) -> dict[str, Any]:
    """Return the pictures of each run that has some, as many as the page can hold."""
    leads = [data.lead for data in summaries if "images" in data.lead.parts]
    others = [run for data in summaries for run in data.runs[1:] if "images" in run.parts]
    sheets = {}
    for members, budget in ((leads, _LEAD_PICTURES), (others, _OTHER_PICTURES)):
        for run in members:
            limit = budget // len(members)
            sheets[run.run.name] = make_sheet(run.parts["images"], limit)
    return sheets


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kindset.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        facts=_facts, figure=_figure, moment=_moment, percent=_percent, seconds=_seconds
    )
    environment.globals.update(
        charts={
            **PART_CHARTS,
            "merge_tree": merge_tree,
            "known": _charts.known_chart,
            "verdict": verdict_chart,
            "interval": _comparison_charts.rank_interval,
            "graph": _comparison_charts.agreement_graph,
            "space_list": _comparison_charts.space_list,
            "status_legend": _comparison_charts.status_legend,
            "scores": _comparison_charts.score_map,
            "panels": _comparison_charts.space_panels,
            "group_legend": _comparison_charts.group_legend,
        },
        colour=_charts.colour_of,
        how_ranked=how_ranked,
        indices=INDICES,
        is_varied=is_varied,
        rank_table=rank_table,
        sections=SECTIONS,
        standing_of=standing_of,
        tell=tell,
        zip=zip,
    )
    return environment


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _facts(sample: Sample) -> dict[str, Any]:
    """Return what the page's script must know about an image, as short as it can be said."""
    distances = sample.distances and [float(f"{distance:.4g}") for distance in sample.distances]
    return {**asdict(sample), "distances": distances}


def _percent(value: float) -> str:
    """Write a share so that little is not nothing and much is not all."""
    if 0 < value < 0.005:
        return "<1%"
    if 0.995 < value < 1:
        return ">99%"
    return f"{value:.0%}"


def _seconds(value: float) -> str:
    if value < 10:
        return f"{value:.2g} s"
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def _figure(value: float) -> str:
    """Write a number with three digits that matter."""
    written = f"{value:#.3g}" if 1e-4 <= abs(value) < 1000 else f"{value:,.3g}"
    return written.rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"


def _moment(written: str) -> str:
    """Write a time in UTC as people do; anything else stays as it is."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::[\d.]+)?(?:\+00:00|Z)", written)
    return f"{found[1]} {found[2]} UTC" if found else written
