"""The estimators: K-means and Gaussian mixture that align their prototypes to every image."""

from typing import Any

import numpy as np
import torch

from kindset._torch.image_set import as_pictures
from kindset.images._applying import FloatArray
from kindset.images._base import DTIClustering
from kindset.images._objectives import MIN_DEVIATION, GaussianObjective, KMeansObjective


class DTIKMeans(DTIClustering):
    """K-means whose prototypes are aligned to every image before they are compared.

    Each cluster is a prototype, itself an image. A network predicts, for every image and prototype,
    the transformation that brings the prototype closest to the image, and the image belongs to the
    prototype that then differs least. Prototypes and network are learnt together.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    transforms : list of str or "auto", default="auto"
        What the clusters are to be invariant to, in the order in which it is applied and learnt:
        "affine", "projective", "tps" (thin plate spline), "colour" (which is computed, not learnt,
        and applied last), "morphological" (thicker and thinner strokes), or a name that
        `register_transformation` made known. "auto" takes affine,
        morphological, tps for small grey images, colour, affine, tps for small ones in colour, and
        colour, projective for images of more than 40 pixels.
    alignment : {"predicted", "optimized"}, default="predicted"
        Whether a network predicts the transformations, or gradient descent finds them for each
        image (slow, and worse: a baseline).
    encoder : {"auto", "mlp", "conv", "resnet20", "resnet18"} or torch Module, default="auto"
        The network that looks at the image. A module must turn images (n, C, H, W) into features
        (n, D).
    n_init : int, default=4
        Number of restarts. Up to four share one encoder and are reduced to the best one on the way;
        more form further groups, and the lowest loss wins.
    n_reviews : int, default=0
        How many times another network reviews the assignments once all transformations are learnt.
        It learns to recognise the clusters in images that warps distort at random, and where it
        disagrees, which is more often right than wrong, the image changes its cluster while the
        transformations are learnt on. Steps of learning them come in addition, unless there is a
        limit to them or to the time; the other network's are not counted.
    max_epochs : float, default=None
        Passes over the images after which every group ends; by default what is usually enough.
        Stages that have converged end earlier.
    time_budget : float, default=None
        Seconds after which the training ends, in parts for each stage. The result then depends on
        the machine.
    batch_size : int, default=128
        Images in a step.
    learning_rate, prototype_learning_rate : float, default=0.001 and 0.01
        Of the network, and of prototypes (Adam).
    pixel_weight : None, "gaussian" or array-like of shape (height, width), default=None
        How much each pixel counts; "gaussian" looks at the middle.
    stiffness : float, default=0
        What it costs to move pixels about: this times the mean squared difference between the
        parameters of a warp and those of the identity is added to an image's difference from a
        prototype. Something like 0.01 keeps prototypes upright and in the middle, and a handbag
        from becoming a dress.
    image_shape : tuple of int, default=None
        (height, width) or (height, width, channels), if X holds rows of pixels. Without it, rows
        whose length is a square are square images, and others are images of a single line.
    device : str, default="auto"
        A device of torch; "auto" takes a GPU if there is one.
    checkpoint_dir : path-like, default=None
        A folder that keeps the state of the training. A fit that finds one there goes on with it,
        and comes to the same result as one in a single piece (on a CPU to the last bit, unless
        there is a `time_budget`; with `n_reviews`, if torch has as many threads).
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int, default=None
        Groups of restarts that run at the same time. The result does not depend on it.
    verbose : int, default=0
        Whether to show a progress bar over the stages.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_clusters, height, width[, channels])
        The images that the clusters stand for, the largest cluster first. Black is 0 and white is
        1, but nothing keeps a prototype from going beyond.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training image.
    inertia_ : float
        Mean squared difference, per pixel, between images and their aligned prototypes, with what
        `stiffness` adds.
    history_ : Bunch
        One entry for every 50 steps: `step`, `stage`, `loss` (of the restart that was kept, the
        mean of these steps), `shares` of the clusters, `n_restarts`, `n_reassigned` clusters;
        `prototypes` at the steps `snapshot_step`; and `n_changed`, how many images each review gave
        another cluster.
    n_reassigned_ : int
        How often a tiny cluster started again beside the largest.
    n_iter_ : int
        Steps of the best group.
    transforms_ : tuple of str
        The transformations in use.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early; the best clustering so far was then kept.
    n_features_in_ : int
        Number of pixels times channels.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X was a data frame of pixels.

    See Also
    --------
    DTIGaussianMixture : The same with soft memberships and a variance for each pixel.
    select_n_clusters : Choose the number of clusters.

    References
    ----------
    T. Monnier, T. Groueix and M. Aubry, "Deep Transformation-Invariant Clustering", NeurIPS (2020).

    Examples
    --------
    >>> from kindset import DTIKMeans
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=3).images[:120]
    >>> model = DTIKMeans(3, transforms=["affine"], n_init=1, max_epochs=100, random_state=0)
    >>> model.fit(images).prototypes_.shape
    (3, 8, 8)
    >>> model.align(images[:5]).shape
    (5, 3, 8, 8)
    """

    _objective = KMeansObjective

    def score(self, X: Any, y: Any = None) -> float:
        """Return the negative loss on images: the higher, the better.

        Parameters
        ----------
        X : array-like or Tensor
        y : None
            Ignored.
        """
        return -float(self._values(X).mean())


class DTIGaussianMixture(DTIClustering):
    r"""A Gaussian mixture whose means and variances are aligned to every image.

    Like `DTIKMeans`, but every cluster also has a weight and a variance for each pixel, and images
    belong to clusters with probabilities.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    transforms, alignment, encoder, n_init, n_reviews, max_epochs, time_budget, batch_size, \
    learning_rate, prototype_learning_rate, pixel_weight, stiffness, image_shape, device, \
    checkpoint_dir, random_state, n_jobs, verbose
        As for `DTIKMeans`.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_clusters, height, width[, channels])
        Means of the clusters, the largest cluster first. Black is 0 and white is 1, but nothing
        keeps a mean from going beyond.
    inertia_ : float
        Negative log-likelihood per image, divided by the number of pixels, with what `stiffness`
        adds.
    labels_, history_, n_reassigned_, n_iter_, transforms_, interrupted_, n_features_in_
        As for `DTIKMeans`.
    variances_ : ndarray of the shape of the prototypes
        Variances of the pixels.
    weights_ : ndarray of shape (n_clusters,)
        Weights of the clusters.

    See Also
    --------
    DTIKMeans : The same with hard assignments, which trains a little faster.

    References
    ----------
    T. Monnier, T. Groueix and M. Aubry, "Deep Transformation-Invariant Clustering", NeurIPS (2020).

    Examples
    --------
    >>> from kindset import DTIGaussianMixture
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=2).images[:80]
    >>> model = DTIGaussianMixture(2, transforms=["affine"], n_init=1, max_epochs=50,
    ...                            random_state=0).fit(images)
    >>> model.predict_proba(images).shape
    (80, 2)
    """

    _objective = GaussianObjective

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the clusters, of shape (n_samples, n_clusters)."""
        joint = -self._energies(X) * self._format.n_values
        joint -= joint.max(axis=1, keepdims=True)
        odds = np.exp(joint)
        return odds / odds.sum(axis=1, keepdims=True)

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-density of each image, less what `stiffness` takes for its alignment.

        With `pixel_weight` the density is a weighted one.
        """
        return -self._values(X) * self._format.n_values

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of images.

        Parameters
        ----------
        X : array-like or Tensor
        y : None
            Ignored.
        """
        return float(self.score_samples(X).mean())

    def _store_clusters(self) -> None:
        super()._store_clusters()
        deviations = self._model.extra["deviations"].detach().cpu()
        self.variances_ = as_pictures(deviations.square() + MIN_DEVIATION**2)
        self.weights_ = torch.softmax(self._model.extra["logits"].detach().cpu(), dim=0).numpy()
