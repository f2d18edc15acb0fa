"""Reports: what was found, what it is, and what to trust, on one page."""

from kindset.comparison import Comparison, compare_runs
from kindset.report._page import write_report

__all__ = ["Comparison", "compare_runs", "write_report"]
