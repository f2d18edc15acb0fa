"""Signals that a space gives about partitions of its points, each one small function.

A function takes a `View`, which is a space with some partitions, and returns one value for each
partition. Larger is better. The same function looks at clouds without groups, so that what chance
gives can be subtracted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from kindset._compiling import njit
from kindset.evaluation._label_pairs import information_bias, label_entropy, label_information
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._null_clouds import _cuts, spectrum

_WIDEST = 30


@dataclass
class View:
    """A centred space and partitions of its points; noise is -1."""

    X: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, codes: np.ndarray) -> "View":
        """Centre a space."""
        return cls(X - X.mean(axis=0), codes)

    @cached_property
    def near(self) -> np.ndarray:
        """Neighbours of each point, the nearest first."""
        return nearest_neighbours(self.X, min(_WIDEST, len(self.X) - 1))

    @cached_property
    def n_clusters(self) -> np.ndarray:
        """Clusters of each partition."""
        return self.codes.max(axis=1) + 1

    @cached_property
    def entropies(self) -> np.ndarray:
        """Entropy of the labels, noise as one of them."""
        return np.array([label_entropy(codes) for codes in self.codes])

    @cached_property
    def graph(self) -> sparse.csr_matrix:
        """Symmetric graph of ten neighbours, with total weight 1."""
        return symmetric_graph(self.near[:, :10])

    @cached_property
    def indicators(self) -> tuple[sparse.csc_matrix, np.ndarray]:
        """Columns of 0 and 1 for all clusters of all partitions, and where each partition begins.

        A cluster that is empty or noise has no column.
        """
        offsets = np.concatenate([[0], np.cumsum(self.n_clusters)])
        n = self.codes.shape[1]
        rows = np.tile(np.arange(n), len(self.codes))
        columns = (self.codes + offsets[:-1, None]).ravel()
        kept = (self.codes >= 0).ravel()
        table = sparse.csc_matrix(
            (np.ones(kept.sum()), (rows[kept], columns[kept])), shape=(n, offsets[-1])
        )
        return table, offsets

    def pair_tables(self, pairs: sparse.csr_matrix) -> Iterator[np.ndarray]:
        """Yield, for each partition, the weight of the pairs of its clusters."""
        for codes, count in zip(self.codes, self.n_clusters, strict=True):
            yield _pair_table(pairs.indptr, pairs.indices, pairs.data, codes, max(int(count), 1))

    @cached_property
    def tables(self) -> list[np.ndarray]:
        """Weight of the pairs of clusters in the graph, for each partition."""
        return list(self.pair_tables(self.graph))


@njit(cache=True)
def _pair_table(starts, ends, weights, codes, count):  # type: ignore[no-untyped-def]
    table = np.zeros((count, count))
    for i in range(len(starts) - 1):
        own = codes[i]
        if own >= 0:
            for e in range(starts[i], starts[i + 1]):
                other = codes[ends[e]]
                if other >= 0:
                    table[own, other] += weights[e]
    return table


def symmetric_graph(near: np.ndarray) -> sparse.csr_matrix:
    """Join points with their neighbours, both ways."""
    n, k = near.shape
    graph = sparse.csr_matrix((np.ones(n * k), (np.repeat(np.arange(n), k), near.ravel())), (n, n))
    return (graph + graph.T) / (2.0 * n * k)


@njit(cache=True)
def mutual_information(table):  # type: ignore[no-untyped-def]
    """Mutual information of a table of joint weights, times its total weight."""
    mass = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    total = 0.0
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            if table[a, b] > 0:
                total += table[a, b] * np.log(table[a, b] * mass / (rows[a] * columns[b]))
    return total


def _information(k: int) -> Callable[[View], np.ndarray]:
    """Information of the labels of `k` neighbours."""

    def signal(view: View) -> np.ndarray:
        near = np.ascontiguousarray(view.near[:, :k])
        found = np.zeros(len(view.codes))
        for p, (codes, count) in enumerate(zip(view.codes, view.n_clusters, strict=True)):
            if count >= 2:
                value, _ = label_information(near, codes, int(count))
                n_labels = int(count) + bool((codes < 0).any())
                found[p] = max(0.0, value - information_bias(n_labels, *near.shape))
        return found

    return signal


def _walk(n_steps: int) -> Callable[[View], np.ndarray]:
    """Information of the labels at both ends of a walk, returns to the start left out.

    The bias is that of so many independent pairs as the weights of the pairs are worth.
    """

    def signal(view: View) -> np.ndarray:
        degrees = np.asarray(view.graph.sum(axis=1)).ravel()
        step = sparse.diags(1.0 / degrees) @ view.graph
        walk = step
        for _ in range(int(np.log2(n_steps))):
            walk = walk @ walk
        pairs = sparse.csr_matrix(sparse.diags(degrees) @ walk)
        pairs.setdiag(0.0)
        pairs = pairs / pairs.sum()
        worth = 1.0 / pairs.multiply(pairs).sum() / 2.0
        tables = view.pair_tables(sparse.csr_matrix(pairs))
        found = [mutual_information((table + table.T) / 2.0) for table in tables]
        return np.maximum(np.array(found) - (view.n_clusters - 1) ** 2 / (2.0 * worth), 0.0)

    return signal


def description_length(view: View) -> np.ndarray:
    """Nats per point that a degree-corrected block model saves over a single block."""
    n, n_edges = len(view.X), view.graph.nnz / 2
    found = []
    for table, codes, entropy in zip(view.tables, view.codes, view.entropies, strict=True):
        count = len(np.unique(codes))
        cost = n * entropy + 0.5 * count * (count + 1) * np.log(n_edges + 1)
        found.append((n_edges * mutual_information(table) - cost) / n)
    return np.array(found)


def modularity(view: View) -> np.ndarray:
    """Weight of pairs in one cluster, beyond what the degrees give."""
    return np.array([np.trace(t) - (t.sum(axis=1) ** 2).sum() for t in view.tables])


def map_equation(view: View) -> np.ndarray:
    """Nats per step that a two-level code of a walk saves over a code of one level."""

    def weigh(shares: np.ndarray) -> float:
        shares = shares[shares > 0]
        return float((shares * np.log(shares)).sum())

    visits = np.asarray(view.graph.sum(axis=1)).ravel()
    found = []
    for table, codes in zip(view.tables, view.codes, strict=True):
        weight = np.bincount(codes[codes >= 0], visits[codes >= 0], minlength=len(table))
        # A noise point is a module of its own: all its steps leave.
        alone = visits[codes < 0]
        exits = np.concatenate([weight - np.diag(table), alone])
        weight = np.concatenate([weight, alone])
        total = exits.sum()
        length = (weigh(np.array([total])) - 2 * weigh(exits) + weigh(exits + weight)) - weigh(
            visits
        )
        found.append(-weigh(visits) - length)
    return np.array(found)


def conductance(view: View) -> np.ndarray:
    """Mean share of a cluster's steps that stay in it."""
    found = []
    for table in view.tables:
        sums = table.sum(axis=1)
        stays = np.diag(table)[sums > 0] / sums[sums > 0]
        found.append(stays.mean() if len(stays) else 0.0)
    return np.array(found)


@njit(cache=True)
def _label_table(guess, codes, count):  # type: ignore[no-untyped-def]
    table = np.zeros((count, count))
    for i in range(len(codes)):
        if codes[i] >= 0:
            table[guess[i], codes[i]] += 1.0 / len(codes)
    return table


def _guess_information(view: View, heights: np.ndarray) -> np.ndarray:
    """Information of the guessed about the true labels; `heights` is large for likely clusters."""
    offsets, n = view.indicators[1], len(view.X)
    found = np.zeros(len(view.codes))
    for p, codes in enumerate(view.codes):
        count = int(view.n_clusters[p])
        if count >= 2:
            guess = heights[:, offsets[p] : offsets[p + 1]].argmax(axis=1)
            table = _label_table(guess, codes, count)
            found[p] = max(mutual_information(table) - (count - 1) ** 2 / (2.0 * n), 0.0)
    return found


def neighbour_vote(view: View) -> np.ndarray:
    """Information of what ten neighbours vote for."""
    n, k = len(view.X), min(10, view.near.shape[1])
    near = view.near[:, :k]
    graph = sparse.csr_matrix((np.ones(n * k), (np.repeat(np.arange(n), k), near.ravel())), (n, n))
    return _guess_information(view, (graph @ view.indicators[0]).toarray())


def linear_vote(view: View) -> np.ndarray:
    """Information of what a ridge regression on the other points predicts."""
    left, values, _ = np.linalg.svd(view.X, full_matrices=False)
    kept = values > 1e-6 * values[0]
    left, values = left[:, kept][:, :50], values[kept][:50]
    shrunk = left * (values**2 / (values**2 + 0.01 * (values**2).mean()))
    leverage = np.einsum("ij,ij->i", shrunk, left)[:, None]
    targets = view.indicators[0].toarray()
    targets = targets - targets.mean(axis=0)
    fitted = shrunk @ (left.T @ targets)
    return _guess_information(view, (fitted - leverage * targets) / (1.0 - leverage))


def centroid_vote(view: View) -> np.ndarray:
    """Information of the nearest centroid, without the point itself."""
    table = view.indicators[0]
    sizes = np.maximum(np.asarray(table.sum(axis=0)).ravel(), 1.0)
    centres = np.asarray(table.T @ view.X) / sizes[:, None]
    squares = (
        (view.X**2).sum(axis=1)[:, None] - 2 * view.X @ centres.T + (centres**2).sum(axis=1)[None]
    )
    own = table.toarray() > 0
    factor = np.where(sizes > 1, (sizes / np.maximum(sizes - 1, 1)) ** 2, np.inf)
    factor = np.broadcast_to(factor, squares.shape)
    squares = np.maximum(squares, 1e-12)
    squares[own] *= factor[own]
    return _guess_information(view, -squares)


def valley(view: View) -> np.ndarray:
    """How much sparser the space is at the borders of clusters than elsewhere."""
    near = view.near[:, : min(10, view.near.shape[1])]
    far = np.sqrt(((view.X - view.X[near[:, -1]]) ** 2).sum(axis=1))
    logs = np.log(np.maximum(far, 1e-12 + 1e-9 * far.max()))
    logs = (logs - logs.mean()) / (logs.std() + 1e-12)
    found = []
    for codes in view.codes:
        border = (codes[near] != codes[:, None]).mean(axis=1)
        total = border.sum()
        found.append((border * logs).sum() / total if total > 0 else 0.0)
    return np.array(found)


def density_validity(view: View) -> np.ndarray:
    """Measure what DBCV does, on the spanning tree of reachability among 30 neighbours."""
    n, k = view.near.shape
    rows = np.repeat(np.arange(n), k)
    columns = view.near.ravel()
    lengths = np.sqrt(((view.X[rows] - view.X[columns]) ** 2).sum(axis=1))
    core = lengths.reshape(n, k)[:, min(k, 10) - 1]
    reach = np.maximum(np.maximum(lengths, core[rows]), core[columns]) + 1e-12
    graph = sparse.csr_matrix((reach, (rows, columns)), (n, n)).maximum(
        sparse.csr_matrix((reach, (columns, rows)), (n, n))
    )
    tree = minimum_spanning_tree(graph).tocoo()
    found = []
    for codes, count in zip(view.codes, view.n_clusters, strict=True):
        one, other = codes[tree.row], codes[tree.col]
        inside = (one == other) & (one >= 0)
        sparseness, separation = np.zeros(count), np.full(count, np.inf)
        np.maximum.at(sparseness, one[inside], tree.data[inside])
        for side in (one, other):
            outside = ~inside & (side >= 0)
            np.minimum.at(separation, side[outside], tree.data[outside])
        separation[np.isinf(separation)] = tree.data.max()
        value = (separation - sparseness) / np.maximum(separation, sparseness)
        sizes = np.bincount(codes[codes >= 0], minlength=count) / n
        found.append(float(sizes @ value))
    return np.array(found)


SIGNALS: dict[str, Callable[[View], np.ndarray]] = {
    "information, 5 neighbours": _information(5),
    "information, 10 neighbours": _information(10),
    "information, 20 neighbours": _information(20),
    "information, 30 neighbours": _information(30),
    "walk of 2 steps": _walk(2),
    "walk of 4 steps": _walk(4),
    "description length": description_length,
    "modularity": modularity,
    "map equation": map_equation,
    "conductance": conductance,
    "neighbour vote": neighbour_vote,
    "linear vote": linear_vote,
    "centroid vote": centroid_vote,
    "valley": valley,
    "density validity": density_validity,
}


# -------------------------------------------------------------------------------------- the clouds


def gaussian_cloud(X: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Draw a Gaussian cloud with the principal variances of a space."""
    widths = np.array(spectrum(X))
    return rng.randn(len(X), len(widths)) * widths


def margin_cloud(X: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Permute each principal coordinate of a space by itself."""
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    coordinates = (left * values)[:, : min(len(values), 120)]
    return np.stack([rng.permutation(column) for column in coordinates.T], axis=1)


ALSO_MARGINS = ("information, 10 neighbours", "modularity", "valley")
CLOUDS = {"gauss": gaussian_cloud, "margin": margin_cloud}


def cloud_view(X: np.ndarray, kind: str, max_entropy: float, seed: int) -> View:
    """Draw a cloud and cut it by k-means."""
    cloud = CLOUDS[kind](X, np.random.RandomState(seed))
    cuts = _cuts(np.ascontiguousarray(cloud), max_entropy)
    return View.of(cloud, np.stack([labels for _, labels, _ in cuts]))


def measure_space(X: np.ndarray, codes: np.ndarray, n_draws: int) -> dict[str, np.ndarray]:
    """All signals of all partitions in a space, as they are and in clouds at their entropy."""
    view = View.of(X, codes)
    found = {name: signal(view) for name, signal in SIGNALS.items()}
    for kind in CLOUDS:
        # The second kind costs as much as the first, so few signals are compared with it.
        names = [name for name in SIGNALS if kind == "gauss" or name in ALSO_MARGINS]
        null = {name: np.zeros(len(codes)) for name in names}
        for seed in range(n_draws):
            cloud = cloud_view(view.X, kind, float(view.entropies.max()), seed)
            for name in names:
                values = SIGNALS[name](cloud)
                order = np.argsort(cloud.entropies, kind="stable")
                knots = np.concatenate([[0.0], cloud.entropies[order]])
                # One cluster tells nothing by all signals but those that are at their best there.
                first = 1.0 if name == "conductance" else 0.0
                heights = np.concatenate([[first], values[order]])
                null[name] += np.interp(view.entropies, knots, heights) / n_draws
        found |= {f"{name} ({kind})": values for name, values in null.items()}
    return found
