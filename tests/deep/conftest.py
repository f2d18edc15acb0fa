import numpy as np
import pytest
from sklearn.base import clone

from kindset.deep import DEPICT, IDEC, JULE, DeepCluster

QUICK = {
    "JULE": JULE(
        3, unfolding_rate=0.4, epochs_per_period=1, widths=(4,), n_features=8, batch_size=30,
        random_state=0,
    ),
    "DEPICT": DEPICT(
        3, pretrain_epochs=2, warmup_epochs=1, max_epochs=2, widths=(4, 4), batch_size=45,
        random_state=0,
    ),
    "IDEC": IDEC(
        3, hidden=(20,), pretrain_epochs=3, max_epochs=3, update_interval=1, tol=0, batch_size=32,
        random_state=0,
    ),
    "DeepCluster": DeepCluster(
        3, n_pseudo_clusters=6, widths=(4,), n_features=8, n_components=4, max_epochs=3,
        batch_size=32, learning_rate=0.02, random_state=0,
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def stripes():
    """Upright, lying and slanting stripes with some noise: bytes (90, 8, 8) and labels."""
    rng = np.random.default_rng(0)
    rows, columns = np.indices((8, 8))
    waves = np.stack([np.sin(columns * 1.6), np.sin(rows * 1.6), np.sin((rows + columns) * 1.1)])
    labels = np.repeat([0, 1, 2], [40, 30, 20])
    images = 127 + 90 * waves[labels] + rng.normal(0, 15, size=(90, 8, 8))
    return images.clip(0, 255).astype(np.uint8), labels


@pytest.fixture(params=QUICK)
def quick(request):
    """Each estimator in turn, set to train for a moment."""
    return clone(QUICK[request.param])


@pytest.fixture
def quick_model():
    """Return such an estimator by its name."""
    return lambda name: clone(QUICK[name])
