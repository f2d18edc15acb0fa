"""Tables that a user keeps in the folder that the variable `KINDSET_DATA` names."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from kindset.exceptions import InputError


def data_folder() -> Path:
    """Return the folder that the environment variable `KINDSET_DATA` names."""
    name = os.environ.get("KINDSET_DATA")
    if not name:
        raise InputError(
            "this dataset is not part of Kindset: set the environment variable KINDSET_DATA to a "
            "folder that holds it."
        )
    return Path(name)


def _load(
    name: str,
    *,
    columns: Sequence[str] | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
) -> Bunch:
    """Read ``name.csv``; a column `label`, if there is one, becomes the target."""
    path = data_folder() / f"{name}.csv"
    if not path.exists():
        raise InputError(f"KINDSET_DATA holds no file {path.name}.")
    frame = pd.read_csv(path)
    target = frame.pop("label") if "label" in frame else None
    if columns is not None:
        frame = frame[list(columns)]
    for column, order in (levels or {}).items():
        kind = pd.CategoricalDtype(list(order), ordered=True)
        frame[column] = frame[column].astype(str).astype(kind)
    return Bunch(data=frame, target=target)


def load_zoo() -> Bunch:
    """Load 101 animals: 15 yes/no properties, the number of legs, and their kind (UCI)."""
    return _load("zoo")


def load_car() -> Bunch:
    """Load the car evaluation table (UCI): a full factorial design, so nothing to cluster."""
    prices = ["low", "med", "high", "vhigh"]
    return _load(
        "car",
        levels={
            "buying": prices,
            "maint": prices,
            "doors": ["2", "3", "4", "5more"],
            "persons": ["2", "4", "more"],
            "lug_boot": ["small", "med", "big"],
            "safety": ["low", "med", "high"],
        },
    )


def load_hayes_roth() -> Bunch:
    """Load 132 persons described by four ordinal properties, in three classes (UCI)."""
    return _load("hayes_roth")


def load_caesarian() -> Bunch:
    """Load 80 deliveries (UCI); age in four groups of equal size, as in the literature."""
    table = _load("caesarian")
    table.data["age"] = pd.qcut(table.data["age"], 4, labels=False) + 1
    return table


def load_nursery() -> Bunch:
    """Load 12,960 nursery applications (UCI): a full factorial design, so nothing to cluster."""
    return _load(
        "nursery",
        levels={
            "parents": ["usual", "pretentious", "great_pret"],
            "has_nurs": ["proper", "less_proper", "improper", "critical", "very_crit"],
            "form": ["complete", "completed", "incomplete", "foster"],
            "children": ["1", "2", "3", "more"],
            "housing": ["convenient", "less_conv", "critical"],
            "finance": ["convenient", "inconv"],
            "social": ["nonprob", "slightly_prob", "problematic"],
            "health": ["recommended", "priority", "not_recom"],
        },
    )


def load_bfi() -> Bunch:
    """Load 2,800 answers to 25 personality items on a six-point scale, with gaps."""
    table = _load("bfi")
    table.data = table.data.drop(columns=["gender", "education", "age"])
    return table


def load_dataqol() -> Bunch:
    """Load 117 patients' quality of life: 28 items on four points, with gaps."""
    return _load("dataqol", columns=[f"q{i}" for i in range(1, 29)])


def load_beps() -> Bunch:
    """Load 1,525 answers of the British Election Panel Study, with the vote as target."""
    table = _load("beps")
    keep = [name for name in table.data.columns if name not in ("age", "gender")]
    table.data = table.data[keep]
    return table


def load_breast_cancer_wisconsin() -> Bunch:
    """Load 699 biopsies: nine scores from 1 to 10, with gaps, and the diagnosis (UCI)."""
    return _load("breast_cancer_wisconsin_ordinal")


def load_movielens() -> Bunch:
    """Load ratings of 100 films by 338 viewers, in half stars (1 to 10), 58 % missing."""
    return _load("movielens_top100")
