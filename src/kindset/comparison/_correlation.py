"""Whether two columns put runs in the same order."""

from typing import Any

import pandas as pd
from scipy.stats import spearmanr


def correlation(a: "pd.Series[Any]", b: "pd.Series[Any]") -> float:
    """Return the rank correlation of two columns; NaN if one of them is constant.

    Examples
    --------
    >>> import pandas as pd
    >>> from kindset.comparison import correlation
    >>> correlation(pd.Series([1, 2, 3]), pd.Series([0.3, 0.2, 0.1]))
    -1.0
    """
    both = a.notna() & b.notna()
    a, b = a[both], b[both]
    if a.nunique() < 2 or b.nunique() < 2:
        return float("nan")
    return float(spearmanr(a, b).statistic)
