"""The one place that judges runs: which of several to trust, and how sure that is."""

from kindset.comparison._comparing import compare_runs
from kindset.comparison._comparison import Comparison
from kindset.comparison._correlation import correlation
from kindset.comparison._indices import STRATEGIES, can_sample, is_varied, usual_indices
from kindset.comparison._judges import Judge
from kindset.comparison._noise import DEFAULT_NOISE, LOW_COVERAGE
from kindset.evaluation import KNOWN_MEASURES, known_measures
from kindset.runs import group_runs

__all__ = [
    "DEFAULT_NOISE",
    "KNOWN_MEASURES",
    "LOW_COVERAGE",
    "STRATEGIES",
    "Comparison",
    "Judge",
    "can_sample",
    "compare_runs",
    "correlation",
    "group_runs",
    "is_varied",
    "known_measures",
    "usual_indices",
]
