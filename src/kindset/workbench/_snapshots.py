"""Clusterings on the way of a training, as runs of their own."""

from dataclasses import replace

from kindset.exceptions import InputError
from kindset.runs import Run


def snapshot_runs(run: Run) -> list[Run]:
    """Return a run for each snapshot that the training of a run has kept.

    They can be compared like any others, so that the best moment of a training is found without
    labels. They hold no model: the network has learnt on since.

    Parameters
    ----------
    run : Run
        Of a method that keeps snapshots, made with the parameter `n_snapshots`.

    Returns
    -------
    runs : list of Run
        Named after their epochs, the first one first.

    Examples
    --------
    >>> import kindset
    >>> from kindset.workbench import snapshot_runs
    >>> from sklearn.datasets import load_digits
    >>> data = kindset.read_data(load_digits(n_class=2).images[:80], name="digits")
    >>> parameters = {"max_epochs": 4, "n_snapshots": 2}
    >>> run = kindset.cluster(data, "deepcluster", 2, parameters=parameters)
    >>> [one.name for one in snapshot_runs(run)]
    ['deepcluster K=2 s0 epoch 2', 'deepcluster K=2 s0 epoch 4']
    """
    snapshots = getattr(run.model, "snapshots_", [])
    if not snapshots:
        raise InputError(
            f"{run.name!r} holds no snapshots: cluster with a deep method and `n_snapshots`."
        )
    return [
        replace(
            run,
            labels=snapshot.labels,
            space=snapshot.embedding,
            name=f"{run.name} epoch {snapshot.epoch}",
            parameters={**run.parameters, "epoch": snapshot.epoch},
            metrics={},
            timings={},
            details={},
            exhibits={},
            model=None,
        )
        for snapshot in snapshots
    ]
