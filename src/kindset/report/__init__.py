"""Reports: what was found, what it is, and what to trust, on one page."""

from kindset.report._comparison import Comparison, compare_runs

__all__ = ["Comparison", "compare_runs"]
