"""Deep clustering: accuracy and CPU seconds of DEPICT, JULE, DeepCluster and IDEC.

    python benchmarks/deep.py [METHOD:SET ...] [--seeds 5] [--first 0] [--json FILE]
    python benchmarks/deep.py summary --json FILE

A run is one method on one set with one seed, for example ``jule:usps``; without any, all are made.
``--json`` appends a line for each run, and runs that are there already are not made again. The data
come from KINDSET_DATA. Labels are used for the measures that are printed, and nowhere else.
Each run takes one thread; start several with ``--first`` for several cores.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _measure import note, table, title

from kindset.datasets import load_images
from kindset.deep import DEPICT, IDEC, JULE, DeepCluster, DivergedError
from kindset.evaluation import clustering_accuracy, normalized_mutual_info


def whole(name):
    data = load_images(name)
    return data.images, data.target


def test_part(name):
    data = load_images(name)
    return data.images[data.split == 1], data.target[data.split == 1]


def smaller(name, factor):
    """Return images whose sides are shorter by a factor: means of blocks."""
    images, labels = whole(name)
    n, height, width = images.shape
    height, width = height // factor, width // factor
    blocks = images[:, : height * factor, : width * factor]
    blocks = blocks.reshape(n, height, factor, width, factor)
    return blocks.mean(axis=(2, 4)).round().astype(np.uint8), labels


# On those of the second group no setting was chosen.
SETS = {
    "usps": lambda: whole("usps_roweis_11000"),
    "usps-9298": lambda: whole("usps"),
    "mnist-test": lambda: test_part("mnist"),
    "umist": lambda: whole("umist_28x23"),
    "coil-20": lambda: smaller("coil20", 4),
    "cmu-pie": lambda: whole("cmu_pie"),
    "orl": lambda: smaller("orl_faces", 4),
    "yale-b": lambda: whole("yaleb_subset"),
    "fashion-test": lambda: test_part("fashion_mnist"),
}
UNSEEN = ("orl", "yale-b", "fashion-test")
_SMALL = ("umist", "coil-20", "cmu-pie", "orl", "yale-b")

METHODS = {"depict": DEPICT, "jule": JULE, "deepcluster": DeepCluster, "idec": IDEC}

# What is asked of the mean over the seeds, in %, and the published figures as commonly quoted.
RUNS = {
    "jule:usps": ("ACC ≥ 97.5", "95.0 / 91.3"),
    "jule:mnist-test": ("ACC ≥ 96", "96.1 / 91.5"),
    "jule:coil-20": ("NMI ≥ 97", "NMI 100"),
    "jule:umist": ("NMI ≥ 88", "NMI 87.7"),
    "jule:cmu-pie": ("NMI near 100", "NMI 100"),
    "depict:usps": ("ACC ≥ 95, chosen", "96.4 / 92.7"),
    "depict:mnist-test": ("ACC ≥ 94.5, chosen", "96.3 / 91.5"),
    "idec:usps-9298": ("ACC ≥ 75", "76.1 / 78.5"),
    "idec:mnist-test": ("ACC ≥ 71", "71.5 / 69.4"),
    "deepcluster:mnist-test": ("ACC ≥ 90", "–"),
    "deepcluster:usps": ("ACC ≥ 85", "–"),
    "jule:orl": ("–", "–"),
    "jule:yale-b": ("–", "–"),
    "jule:fashion-test": ("–", "–"),
    "depict:fashion-test": ("–", "–"),
    "deepcluster:fashion-test": ("–", "–"),
    "idec:fashion-test": ("–", "–"),
}


def parameters(method, data):
    """Return what differs from the defaults: slow unfolding for small sets, fewer maps."""
    if method == "jule" and data in _SMALL:
        return {"unfolding_rate": 0.2}
    if method == "depict" and data in ("mnist-test", "fashion-test"):
        return {"widths": (16, 32)}
    return {}


def run(name, seed):
    """Make a run; return its line."""
    method, data = name.split(":")
    images, labels = SETS[data]()
    n_clusters = len(np.unique(labels))
    model = METHODS[method](n_clusters, random_state=seed, **parameters(method, data))
    wall, cpu = time.perf_counter(), time.process_time()
    line = {"name": name, "seed": seed}
    try:
        model.fit(images)
    except DivergedError as error:
        return {**line, "error": str(error)}
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        **line,
        "acc": 100 * clustering_accuracy(labels, model.labels_),
        "nmi": 100 * normalized_mutual_info(labels, model.labels_),
        "smallest": int(np.bincount(model.labels_, minlength=n_clusters).min()),
        "epochs": len(model.history_.epoch),
        "wall": wall,
        "cpu": cpu,
    }


def show(lines):
    """Print mean, deviation and range over the seeds."""
    title("Deep clustering: ACC and NMI in %, mean ± deviation over the seeds")
    rows = []
    for name in dict.fromkeys(line["name"] for line in lines):
        mine = [line for line in lines if line["name"] == name]
        good = [line for line in mine if "error" not in line]
        if not good:
            rows.append((name, len(mine), "failed", "", "", "", *RUNS.get(name, ("–", "–"))))
            continue
        acc, nmi, cpu = (np.array([line[key] for line in good]) for key in ("acc", "nmi", "cpu"))
        mark = " (unseen)" if name.split(":")[1] in UNSEEN else ""
        n_runs = f"{len(good)}" if len(good) == len(mine) else f"{len(good)} of {len(mine)}"
        spread = f"{acc.min():.1f} – {acc.max():.1f}", f"{nmi.mean():.1f} ± {nmi.std():.1f}"
        seconds = f"{cpu.mean():.0f} (≤ {cpu.max():.0f})"
        rows.append((name + mark, n_runs, f"{acc.mean():.1f} ± {acc.std():.1f}", *spread, seconds,
                     *RUNS.get(name, ("–", "–"))))  # fmt: skip
    table(("method:data", "runs", "ACC", "range", "NMI", "CPU s", "asked", "published"), rows)


def read_lines(path):
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", help="summary, or names such as jule:usps")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--json", type=Path, help="a file to append each run to")
    options = parser.parse_args()
    lines = read_lines(options.json)
    if options.runs == ["summary"]:
        show(lines)
        return
    for name in options.runs or RUNS:
        for seed in range(options.first, options.first + options.seeds):
            if any((line["name"], line["seed"]) == (name, seed) for line in lines):
                continue
            lines.append(run(name, seed))
            note(json.dumps(lines[-1]))
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    show(lines)


if __name__ == "__main__":
    main()
