"""The one place that judges runs: which of several to trust, and how sure that is."""

from kindset.comparison._comparing import compare_runs
from kindset.comparison._comparison import Comparison
from kindset.comparison._correlation import correlation
from kindset.comparison._indices import STRATEGIES, can_sample, is_varied, usual_indices
from kindset.comparison._judges import JUDGES, Judge
from kindset.comparison._noise import DEFAULT_NOISE, LOW_COVERAGE
from kindset.comparison._reproducibility import Reproduced, reproduced
from kindset.comparison._verdict import LEVELS, Level, Verdict
from kindset.comparison._verdict_words import SHORTLIST_HITS
from kindset.evaluation import KNOWN_MEASURES, known_measures
from kindset.runs import group_runs

__all__ = [
    "DEFAULT_NOISE",
    "JUDGES",
    "KNOWN_MEASURES",
    "LEVELS",
    "LOW_COVERAGE",
    "SHORTLIST_HITS",
    "STRATEGIES",
    "Comparison",
    "Judge",
    "Level",
    "Reproduced",
    "Verdict",
    "can_sample",
    "compare_runs",
    "correlation",
    "group_runs",
    "is_varied",
    "known_measures",
    "reproduced",
    "usual_indices",
]
