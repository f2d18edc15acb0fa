"""Runs: a partition, the space it was made in, the model, and where it all came from."""

from kindset._reading import read_archive, read_array
from kindset.runs._details import KINDS, RunDetails, ScalingDetails
from kindset.runs._details_features import FeatureCluster, FeatureDetails, FeatureMean
from kindset.runs._details_images import BORDERLINE, TYPICAL, ImageDetails
from kindset.runs._details_merges import MergeDetails
from kindset.runs._details_survey import (
    QuestionDetails,
    SegmentDetails,
    SelectionDetails,
    SelectionStep,
    SurveyDetails,
    TypicalRespondent,
    UncertainRespondent,
)
from kindset.runs._fingerprint import Fingerprint, fingerprint
from kindset.runs._foreign import load_runs
from kindset.runs._label_files import read_labels
from kindset.runs._matching import (
    align_labels,
    assumed_same,
    check_same_data,
    group_runs,
)
from kindset.runs._models import can_store
from kindset.runs._names import distinct_names
from kindset.runs._run import RUN_FILE, STABILITY, Run
from kindset.runs._sharing import SharedSpaces
from kindset.runs._source import Source, data_source, file_source, hash_ids

__all__ = [
    "BORDERLINE",
    "KINDS",
    "RUN_FILE",
    "STABILITY",
    "TYPICAL",
    "FeatureCluster",
    "FeatureDetails",
    "FeatureMean",
    "Fingerprint",
    "ImageDetails",
    "MergeDetails",
    "QuestionDetails",
    "Run",
    "RunDetails",
    "ScalingDetails",
    "SegmentDetails",
    "SelectionDetails",
    "SelectionStep",
    "SharedSpaces",
    "Source",
    "SurveyDetails",
    "TypicalRespondent",
    "UncertainRespondent",
    "align_labels",
    "assumed_same",
    "can_store",
    "check_same_data",
    "data_source",
    "distinct_names",
    "file_source",
    "fingerprint",
    "group_runs",
    "hash_ids",
    "load_runs",
    "read_archive",
    "read_array",
    "read_labels",
]
