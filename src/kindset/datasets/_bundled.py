"""Surveys that ship inside statsmodels, with the words of their questions and answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

_LEFT_RIGHT = {
    1: "Extremely liberal",
    2: "Liberal",
    3: "Slightly liberal",
    4: "Moderate",
    5: "Slightly conservative",
    6: "Conservative",
    7: "Extremely conservative",
}

_ANES96_QUESTIONS = {
    "selfLR": "Where would you place yourself, from left to right?",
    "ClinLR": "Where would you place Bill Clinton?",
    "DoleLR": "Where would you place Bob Dole?",
    "PID": "With which party do you identify?",
    "educ": "Education",
    "TVnews": "On how many days a week do you watch TV news?",
}

_ANES96_LEVELS: dict[str, Mapping[int, Any]] = {
    "selfLR": _LEFT_RIGHT,
    "ClinLR": _LEFT_RIGHT,
    "DoleLR": _LEFT_RIGHT,
    "PID": {
        0: "Strong Democrat",
        1: "Weak Democrat",
        2: "Independent, leans Democrat",
        3: "Independent",
        4: "Independent, leans Republican",
        5: "Weak Republican",
        6: "Strong Republican",
    },
    "educ": {
        1: "Grades 1-8",
        2: "Some high school",
        3: "High school graduate",
        4: "Some college",
        5: "Junior college degree",
        6: "Bachelor's degree",
        7: "Advanced degree",
    },
    "TVnews": {days: days for days in range(8)},
}

_FAIR_QUESTIONS = {
    "rate_marriage": "How do you rate your marriage?",
    "religious": "How religious are you?",
    "educ": "Education",
    "age": "Age group (its middle, in years)",
    "yrs_married": "Years married (middle of the group)",
    "children": "Children (5.5 stands for more than four)",
}

_FAIR_LEVELS: dict[str, Mapping[Any, Any]] = {
    "rate_marriage": dict(enumerate(("Very poor", "Poor", "Fair", "Good", "Very good"), 1)),
    "religious": dict(enumerate(("Not", "Mildly", "Fairly", "Strongly"), 1)),
    "educ": {
        9: "Grade school",
        12: "High school",
        14: "Some college",
        16: "College graduate",
        17: "Some graduate school",
        20: "Advanced degree",
    },
    "age": {v: v for v in (17.5, 22, 27, 32, 37, 42)},
    "yrs_married": {v: v for v in (0.5, 2.5, 6, 9, 13, 16.5, 23)},
    "children": {v: v for v in (0, 1, 2, 3, 4, 5.5)},
}


def load_anes96() -> Bunch:
    """Load part of the American National Election Study of 1996.

    944 voters place themselves, Bill Clinton and Bob Dole on a scale from liberal to
    conservative, and tell their party, their education and how often they watch TV news. The
    data ships inside statsmodels and is in the public domain.

    The three highest levels of education are named as in the study's own codebook (degree of a
    junior college, bachelor's level, advanced degree); the description in statsmodels calls them
    college, master's and PhD, which their shares (10 %, 24 % and 14 %) rule out.

    Returns
    -------
    survey : Bunch
        `data`, a data frame of six ordered categoricals; `target`, the expected vote; `questions`,
        a dict from column names to the questions' words; `DESCR`, a description.

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> survey = load_anes96()
    >>> survey.data["PID"].value_counts(sort=False)
    PID
    Strong Democrat                  200
    Weak Democrat                    180
    Independent, leans Democrat      108
    Independent                       37
    Independent, leans Republican     94
    Weak Republican                  150
    Strong Republican                175
    Name: count, dtype: int64
    """
    from statsmodels.datasets import anes96

    raw = anes96.load_pandas().data
    return Bunch(
        data=_with_levels(raw, _ANES96_LEVELS),
        target=raw["vote"].map({0: "Clinton", 1: "Dole"}).rename("vote"),
        questions=dict(_ANES96_QUESTIONS),
        DESCR=anes96.DESCRLONG.strip(),
    )


def load_fair() -> Bunch:
    """Load the survey of married women by Redbook magazine, 1974 (Fair, 1978).

    6,366 answers on marriage, religion, education, age and children. The data ships inside
    statsmodels.

    Returns
    -------
    survey : Bunch
        `data`, a data frame of six ordered categoricals; `target`, whether any time was spent in
        affairs; `questions`, a dict from column names to the questions' words; `DESCR`.

    Examples
    --------
    >>> from kindset.datasets import load_fair
    >>> load_fair().data.shape
    (6366, 6)
    """
    from statsmodels.datasets import fair

    raw = fair.load_pandas().data
    return Bunch(
        data=_with_levels(raw, _FAIR_LEVELS),
        target=(raw["affairs"] > 0).rename("affairs"),
        questions=dict(_FAIR_QUESTIONS),
        DESCR=fair.DESCRLONG.strip(),
    )


def _with_levels(raw: pd.DataFrame, levels: Mapping[str, Mapping[Any, Any]]) -> pd.DataFrame:
    """Keep the columns that have levels, as ordered categoricals."""
    return pd.DataFrame(
        {
            name: _ordered(raw[name].map(names), list(names.values()))
            for name, names in levels.items()
        }
    )


def _ordered(values: Any, levels: Sequence[Any]) -> pd.Categorical:
    return pd.Categorical(values, categories=levels, ordered=True)
