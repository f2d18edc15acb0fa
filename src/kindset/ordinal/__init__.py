"""Clustering of ordinal data: BOS and GOD distributions and mixtures of them."""

from kindset.ordinal._coefficients import bos_coefficients, god_coefficients
from kindset.ordinal._distributions import bos_pmf, god_pmf
from kindset.ordinal._mixture import OrdinalMixture

__all__ = ["OrdinalMixture", "bos_coefficients", "bos_pmf", "god_coefficients", "god_pmf"]
