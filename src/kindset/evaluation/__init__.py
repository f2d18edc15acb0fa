"""Validity indices, external measures and adaptive evaluation of clusterings."""

from kindset.evaluation._adaptive import AdaptiveEvaluation
from kindset.evaluation._agreement import Agreement, agreement, families, families_of
from kindset.evaluation._bootstrap import rank_intervals, ranks_of
from kindset.evaluation._dip import dip_statistic, dip_test
from kindset.evaluation._display_assignment import AssignmentDisplay
from kindset.evaluation._display_graph import CorrelationGraphDisplay
from kindset.evaluation._display_scores import RankingDisplay, ScoreHeatmapDisplay
from kindset.evaluation._display_spaces import SpacesDisplay, choose_spaces, project
from kindset.evaluation._display_style import group_order
from kindset.evaluation._external import (
    adjusted_rand,
    clustering_accuracy,
    label_wasserstein,
    match_labels,
    matched_f1,
    normalized_mutual_info,
)
from kindset.evaluation._indices import (
    c_index,
    calinski_harabasz,
    cd_bw,
    cubic_clustering_criterion,
    davies_bouldin,
    dunn,
    s_dbw,
    silhouette,
)
from kindset.evaluation._known import COVERED, KNOWN_MEASURES, known_measures
from kindset.evaluation._labels import NOISE_CHOICES, Noise, check_noise, encode_labels
from kindset.evaluation._neighbour_information import (
    NeighbourInformation,
    neighbour_information,
)
from kindset.evaluation._registry import INDICES, Index, get_index
from kindset.evaluation._score_matrix import score_matrix
from kindset.evaluation._separation import separate_parts
from kindset.evaluation._spaces import METRICS, Metric, check_metric
from kindset.evaluation._structure_test import StructureTest, structure_test
from kindset.evaluation._trusted_agreement import trusted_agreement, verdict_scores
from kindset.evaluation._warnings import EvidenceWarning

__all__ = [
    "COVERED",
    "INDICES",
    "KNOWN_MEASURES",
    "METRICS",
    "NOISE_CHOICES",
    "AdaptiveEvaluation",
    "Agreement",
    "AssignmentDisplay",
    "CorrelationGraphDisplay",
    "EvidenceWarning",
    "Index",
    "Metric",
    "NeighbourInformation",
    "Noise",
    "RankingDisplay",
    "ScoreHeatmapDisplay",
    "SpacesDisplay",
    "StructureTest",
    "adjusted_rand",
    "agreement",
    "c_index",
    "calinski_harabasz",
    "cd_bw",
    "check_metric",
    "check_noise",
    "choose_spaces",
    "clustering_accuracy",
    "cubic_clustering_criterion",
    "davies_bouldin",
    "dip_statistic",
    "dip_test",
    "dunn",
    "encode_labels",
    "families",
    "families_of",
    "get_index",
    "group_order",
    "known_measures",
    "label_wasserstein",
    "match_labels",
    "matched_f1",
    "neighbour_information",
    "normalized_mutual_info",
    "project",
    "rank_intervals",
    "ranks_of",
    "s_dbw",
    "score_matrix",
    "separate_parts",
    "silhouette",
    "structure_test",
    "trusted_agreement",
    "verdict_scores",
]
