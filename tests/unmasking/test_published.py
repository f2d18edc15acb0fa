import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans

from kindset.datasets import data_folder
from kindset.evaluation import clustering_accuracy, normalized_mutual_info
from kindset.unmasking import UnmaskingClustering
from kindset.unmasking._cells import nearest


@pytest.mark.slow
@pytest.mark.realdata
def test_usps_beside_kmeans_and_ward():
    """The default finds the digits of new samples clearly better than its peers."""
    with np.load(data_folder() / "usps.npz") as file:
        X = file["images"].reshape(len(file["images"]), -1).astype(np.float32) / 255
        y, test = file["labels"].astype(int), file["split"] == 1
    model = UnmaskingClustering(10, random_state=0).fit(X[~test])
    centers = model.cell_centers_[: model.division_sizes_[0]]
    ward = AgglomerativeClustering(10).fit_predict(centers)[nearest(X[test], centers)]
    kmeans = KMeans(10, n_init=1, random_state=0).fit(X[~test]).predict(X[test])
    for score in (clustering_accuracy, normalized_mutual_info):
        ours = score(y[test], model.predict(X[test]))
        assert ours > score(y[test], ward) + 0.03
        assert ours > score(y[test], kmeans) + 0.1
