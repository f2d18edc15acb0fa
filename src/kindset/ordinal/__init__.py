"""Clustering of survey answers: laws of the answers, mixtures of them, and how many segments."""

from kindset.ordinal._coefficients import bos_coefficients, god_coefficients
from kindset.ordinal._displays import SegmentProfileDisplay, SelectionDisplay
from kindset.ordinal._distributions import bos_pmf, god_pmf
from kindset.ordinal._laws import LAWS
from kindset.ordinal._mixture import OrdinalMixture
from kindset.ordinal._profiles import (
    QuestionProfile,
    SegmentProfiles,
    answer_positions,
    answer_words,
    describe_segments,
    profile_segments,
)
from kindset.ordinal._selection import CRITERIA, ComponentSelection, select_components
from kindset.ordinal._storage import load_mixture, save_mixture
from kindset.ordinal._trait import TraitFit

__all__ = [
    "CRITERIA",
    "LAWS",
    "ComponentSelection",
    "OrdinalMixture",
    "QuestionProfile",
    "SegmentProfileDisplay",
    "SegmentProfiles",
    "SelectionDisplay",
    "TraitFit",
    "answer_positions",
    "answer_words",
    "bos_coefficients",
    "bos_pmf",
    "describe_segments",
    "god_coefficients",
    "god_pmf",
    "load_mixture",
    "profile_segments",
    "save_mixture",
    "select_components",
]
