"""Validity indices, external measures and adaptive evaluation of clusterings."""

from kindset.evaluation._adaptive import AdaptiveEvaluation
from kindset.evaluation._agreement import Agreement, agreement, families
from kindset.evaluation._dip import dip_statistic, dip_test
from kindset.evaluation._display_assignment import AssignmentDisplay
from kindset.evaluation._display_graph import CorrelationGraphDisplay
from kindset.evaluation._display_scores import RankingDisplay, ScoreHeatmapDisplay
from kindset.evaluation._display_spaces import SpacesDisplay
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
from kindset.evaluation._neighbour_information import (
    NeighbourInformation,
    neighbour_information,
)
from kindset.evaluation._registry import INDICES, Index
from kindset.evaluation._score_matrix import score_matrix
from kindset.evaluation._structure_test import StructureTest, structure_test
from kindset.evaluation._trusted_agreement import trusted_agreement, verdict_scores
from kindset.evaluation._warnings import EvidenceWarning

__all__ = [
    "INDICES",
    "AdaptiveEvaluation",
    "Agreement",
    "AssignmentDisplay",
    "CorrelationGraphDisplay",
    "EvidenceWarning",
    "Index",
    "NeighbourInformation",
    "RankingDisplay",
    "ScoreHeatmapDisplay",
    "SpacesDisplay",
    "StructureTest",
    "adjusted_rand",
    "agreement",
    "c_index",
    "calinski_harabasz",
    "cd_bw",
    "clustering_accuracy",
    "cubic_clustering_criterion",
    "davies_bouldin",
    "dip_statistic",
    "dip_test",
    "dunn",
    "families",
    "label_wasserstein",
    "match_labels",
    "matched_f1",
    "neighbour_information",
    "normalized_mutual_info",
    "s_dbw",
    "score_matrix",
    "silhouette",
    "structure_test",
    "trusted_agreement",
    "verdict_scores",
]
