"""scikit-learn's own checks on every estimator, in one place."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kindset import DTIGaussianMixture, DTIKMeans, OrdinalMixture, UnmaskingClustering

WHOLE = "the answers of this check are not whole numbers, which the estimator refuses clearly"

EXPECTED_FAILURES = {
    "OrdinalMixture": {
        "check_clustering": WHOLE,
        "check_positive_only_tag_during_fit": f"{WHOLE} before it comes to the negative ones",
        "check_sample_weight_equivalence_on_dense_data": f"{WHOLE}; tests/ordinal checks it",
    },
}


def _expected(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@pytest.mark.filterwarnings("ignore")  # thin data and few iterations are what the checks are about
@parametrize_with_checks(
    [
        OrdinalMixture(n_init=3, random_state=0),
        DTIKMeans(transforms=("affine",), n_init=1, max_epochs=40, random_state=0),
        DTIGaussianMixture(transforms=("affine",), n_init=1, max_epochs=40, random_state=0),
        UnmaskingClustering(n_iterations=3, random_state=0),
    ],
    expected_failed_checks=_expected,
)
def test_estimator(estimator, check):
    check(estimator)
