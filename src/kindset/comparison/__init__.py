"""The one place that judges runs."""

from kindset.comparison._comparison import Comparison, compare_runs

__all__ = ["Comparison", "compare_runs"]
