"""The points of one partition laid out cluster by cluster, for indices that look into clusters."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space


@dataclass(frozen=True)
class Members:
    """Points sorted by cluster; cluster k is ``points[starts[k]:starts[k + 1]]``."""

    points: NDArray[np.float64]
    starts: NDArray[np.int64]
    centers: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Points in each cluster."""
        return np.diff(self.starts)


def each_partition(space: Space, partitions: Partitions) -> Iterator[Members]:
    """Lay out the points of one partition after the other."""
    for m, codes in enumerate(partitions.codes):
        order = np.argsort(codes, kind="stable")
        sizes = partitions.sizes[partitions.clusters(m)].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        points = space.X[order]
        centers = np.add.reduceat(points, starts[:-1], axis=0) / sizes[:, None]
        yield Members(points, starts, centers)
