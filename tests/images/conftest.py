from contextlib import contextmanager

import numpy as np
import pytest
from scipy import ndimage


@pytest.fixture(scope="session")
def shapes():
    """Blocks, frames and pairs of bars, moved about a little: images (90, 10, 10) and labels."""
    rng = np.random.default_rng(0)
    stamps = np.zeros((3, 10, 10), dtype=np.float32)
    stamps[0, 3:7, 3:7] = 1
    stamps[1, 2:8, 2:8], stamps[1, 4:6, 4:6] = 1, 0
    stamps[2, 2:8, 2:8], stamps[2, 4:6] = 1, 0
    labels = np.repeat([0, 1, 2], [40, 30, 20])
    moved = [np.roll(stamps[k], rng.integers(-1, 2, size=2), (0, 1)) for k in labels]
    return ndimage.gaussian_filter(np.array(moved), (0, 0.7, 0.7)), labels


@pytest.fixture
def power_cut(monkeypatch):
    """Return a context in which a training dies once its state was saved so many times.

    Those times count in which the trainer is as told.
    """
    from kindset._torch.checkpoint import Checkpoint

    @contextmanager
    def cut(saves, when=lambda trainer: True):
        save, seen = Checkpoint.save, []

        def die(checkpoint, trainer):
            save(checkpoint, trainer)
            seen.append(when(trainer))
            if sum(seen) == saves:
                raise RuntimeError("power cut")

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", die)
            with pytest.raises(RuntimeError, match="power cut"):
                yield

    return cut
