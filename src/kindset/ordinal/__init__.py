"""Clustering of survey answers: laws of the answers, mixtures of them, and how many segments."""

from kindset.ordinal._classification import ClassificationQuality, classification_quality
from kindset.ordinal._coclustering import (
    CoclusterSelection,
    OrdinalCoclustering,
    select_coclusters,
)
from kindset.ordinal._coclustering_storage import load_coclustering, save_coclustering
from kindset.ordinal._coefficients import bos_coefficients, god_coefficients
from kindset.ordinal._displays import SegmentProfileDisplay, SelectionDisplay
from kindset.ordinal._distributions import bos_pmf, god_pmf
from kindset.ordinal._laws import LAWS
from kindset.ordinal._membership import MembershipRegression, membership_regression
from kindset.ordinal._mixture import OrdinalMixture
from kindset.ordinal._outside import OutsideProfile, outside_profile, outside_profiles
from kindset.ordinal._profiles import (
    QuestionProfile,
    SegmentProfiles,
    answer_positions,
    answer_words,
    describe_segments,
    profile_segments,
)
from kindset.ordinal._residuals import BivariateResiduals, bivariate_residuals
from kindset.ordinal._selection import CRITERIA, ComponentSelection, select_components
from kindset.ordinal._storage import load_mixture, save_mixture
from kindset.ordinal._three_step import WaldTest
from kindset.ordinal._trait import TraitFit

__all__ = [
    "CRITERIA",
    "LAWS",
    "BivariateResiduals",
    "ClassificationQuality",
    "CoclusterSelection",
    "ComponentSelection",
    "MembershipRegression",
    "OrdinalCoclustering",
    "OrdinalMixture",
    "OutsideProfile",
    "QuestionProfile",
    "SegmentProfileDisplay",
    "SegmentProfiles",
    "SelectionDisplay",
    "TraitFit",
    "WaldTest",
    "answer_positions",
    "answer_words",
    "bivariate_residuals",
    "bos_coefficients",
    "bos_pmf",
    "classification_quality",
    "describe_segments",
    "god_coefficients",
    "god_pmf",
    "load_coclustering",
    "load_mixture",
    "membership_regression",
    "outside_profile",
    "outside_profiles",
    "profile_segments",
    "save_coclustering",
    "save_mixture",
    "select_coclusters",
    "select_components",
]
