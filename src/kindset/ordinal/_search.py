"""The search for the best fit: many starts, rival laws, and a part of a long table first."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kindset._interrupt import check_interrupt
from kindset._progress import progress_bar
from kindset._shown import counted
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Fit, Parameters, Problem, run_em
from kindset.ordinal._rows import IntArray, Rows
from kindset.ordinal._squarem import finish
from kindset.ordinal._starts import run_splits, run_start

_SUBSAMPLE_PER_COMPONENT = 1_000
_SUBSAMPLE_ABOVE = 30_000
_SCREENING = 4
_FINALISTS, _GLANCE = 4, 3
"""So many starts go on to all rows of a long table, and so many iterations decide among them."""


@dataclass(frozen=True)
class Search:
    """How to look for the best fit; the fields are parameters of `OrdinalMixture`."""

    init: str
    n_init: int
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: bool

    def run(
        self, problem: Problem, rng: np.random.RandomState, smaller: Parameters | None = None
    ) -> tuple[Fit, FloatArray]:
        """Return the best fit, and what each of its starts reached.

        With `smaller`, a mixture with one component less, fits also start from its components.
        """
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)
        part = None
        if len(problem.rows) > _SUBSAMPLE_ABOVE:
            each = _SUBSAMPLE_PER_COMPONENT * problem.n_components
            part = problem.rows.draw(int(np.clip(each, 5_000, 20_000)), rng)
        rivals = rival_problems(problem)
        if len(rivals) == 1:
            return self._search(problem, seeds, part, smaller)
        return self._compete(problem, rivals, seeds, part, smaller)

    def _compete(
        self,
        problem: Problem,
        rivals: list[Problem],
        seeds: IntArray,
        part: Rows | None,
        smaller: Parameters | None,
    ) -> tuple[Fit, FloatArray]:
        """Fit each law to all columns that may have it; then laws may differ by column.

        A quarter of the starts tells which law to begin with.
        """
        screening = seeds[: -(-len(seeds) // _SCREENING)]
        done: list[tuple[float, Problem, Fit, FloatArray]] = []
        for rival in rivals:
            fit, reached = self._search(rival, screening, part, smaller)
            done.append((fit.objective - problem.penalty(fit.parameters), rival, fit, reached))
            if fit.interrupted:
                break
        interrupted = done[-1][2].interrupted
        _, rival, fit, reached = max(done, key=lambda found: found[0])
        if not interrupted and len(screening) < len(seeds):
            fit, reached = self._search(rival, seeds, part, smaller)
            interrupted = fit.interrupted
        fit = run_em(
            problem,
            fit.parameters,
            max_iter=0 if interrupted else self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        fit.interrupted |= interrupted
        return fit, reached

    def _search(
        self, problem: Problem, seeds: IntArray, part: Rows | None, smaller: Parameters | None
    ) -> tuple[Fit, FloatArray]:
        """Return the best of all starts; on a long table they run on a part of it first."""
        here = problem if part is None else replace(problem, rows=part)
        fits, reached = self._run_starts(here, seeds)
        if smaller is not None and not any(fit.interrupted for fit in fits):
            fits.append(run_splits(here, smaller, max_iter=self.max_iter, tol=self.tol))
        fits.sort(key=lambda fit: -fit.objective)
        return (fits[0] if part is None else self._finish(problem, fits)), reached

    def _finish(self, problem: Problem, fits: list[Fit]) -> Fit:
        """Go on with the best few starts on all rows, and to the end with the best of them."""
        best = fits[0]
        fit = Fit(best.parameters, interrupted=best.interrupted)
        if not best.interrupted:
            try:
                fit = self._best_on_all_rows(problem, fits, fit)
            except KeyboardInterrupt:
                fit.interrupted = True
            if fit.interrupted:
                warnings.warn(
                    "Interrupted while the best start was finished on all rows: what it had "
                    "reached is kept.",
                    stacklevel=6,
                )
        fit.history = fit.history or [problem.expect(fit.parameters)[0]]
        return fit

    def _best_on_all_rows(self, problem: Problem, fits: list[Fit], fit: Fit) -> Fit:
        how: dict[str, Any] = {"tol": self.tol, "n_jobs": self.n_jobs}
        glance = min(_GLANCE, self.max_iter)
        for start in _distinct(fits)[:_FINALISTS]:
            trial = run_em(problem, start.parameters, max_iter=glance, **how)
            if trial.objective > fit.objective:
                fit = trial
            if trial.interrupted:
                fit.interrupted = True
                return fit
        # A glance may look converged by `tol` per row where rows are many.
        fit.converged = False
        finish(problem, fit, max_iter=self.max_iter, **how)
        return fit

    def _run_starts(self, problem: Problem, seeds: IntArray) -> tuple[list[Fit], FloatArray]:
        """Return the fits of all starts, and what they reached in the order of the starts."""
        done: list[Fit] = []
        reached: list[float] = []
        title = counted(problem.n_components, "component")
        with progress_bar(title, self.n_init, enabled=self.verbose) as advance:
            fits = self._starts_from(problem, seeds)
            try:
                for fit in fits:
                    done.append(fit)
                    if fit.interrupted:
                        raise KeyboardInterrupt
                    reached.append(fit.objective)
                    check_interrupt()
                    advance(f"best log-likelihood {max(reached):.2f}")
            except KeyboardInterrupt:
                if not done:
                    raise
                with warnings.catch_warnings(action="ignore"):  # joblib's, of unused results
                    fits.close()
                max(done, key=lambda fit: fit.objective).interrupted = True
                warnings.warn(
                    f"Interrupted after {len(reached)} of {self.n_init} starts: the best so far is "
                    "kept.",
                    stacklevel=6,
                )
        return done, np.array(reached)

    def _starts_from(self, problem: Problem, seeds: IntArray) -> Generator[Fit, None, None]:
        def run(seed: int) -> Fit:
            return run_start(problem, self.init, seed, max_iter=self.max_iter, tol=self.tol)

        # Threads: the kernels run without the interpreter's lock, and nothing is copied.
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        yield from parallel(delayed(run)(seed) for seed in seeds)


def rival_problems(problem: Problem) -> list[Problem]:
    """Return a problem for each law that columns have in question, the same for all of them."""
    rivals = dict.fromkeys(name for names in problem.candidates if len(names) > 1 for name in names)
    if not rivals:
        return [problem]
    return [
        replace(
            problem,
            candidates=tuple(
                (rival,) if rival in names else names[:1] for names in problem.candidates
            ),
        )
        for rival in rivals
    ]


def _distinct(fits: list[Fit]) -> list[Fit]:
    """Leave out fits that came to the same optimum as one before."""
    kept: list[Fit] = []
    for fit in fits:
        if not kept or kept[-1].objective - fit.objective > 1e-6 * abs(fit.objective):
            kept.append(fit)
    return kept
