"""Deep transformation-invariant clustering: accuracy, ablations, speed, scaling.

    python benchmarks/images.py SECTION ... [--seeds 10] [--json FILE] [--figures FOLDER]

Every section can be run alone; ``--json`` appends what it measured to a file, a line for each run,
and ``summary --json FILE`` prints the tables again. The data come from KINDSET_DATA; labels are
used for the accuracies that are printed, and nowhere else: runs are selected by their loss.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _measure import note, table, title
from scipy import ndimage
from sklearn.base import clone
from sklearn.cluster import KMeans

from kindset.datasets import load_images
from kindset.evaluation import clustering_accuracy, normalized_mutual_info
from kindset.images import (
    AlignmentDisplay,
    ClusterDisplay,
    DTIGaussianMixture,
    DTIKMeans,
    PrototypeDisplay,
)
from kindset.images._schedule import usual_steps

AMT = ("affine", "morphological", "tps")
CAT = ("colour", "affine", "tps")


def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images, data.target


def mnist_test(name="mnist"):
    data = load_images(name)
    return data.images[data.split == 1], data.target[data.split == 1]


def mnist_1k():
    images, labels = mnist_test()
    rows = np.random.RandomState(46).choice(len(images), 1000, replace=False)
    return images[rows], labels[rows]


def usps():
    data = load_images("usps")
    return data.images, data.target


def fashion():
    return mnist_test("fashion_mnist")


def mnist_colour():
    """MNIST-test with a random colour for the digit and another for the ground."""
    images, labels = mnist_test()
    rng = np.random.default_rng(0)
    ink = images[..., None] / 255
    colours = rng.random((2, len(images), 1, 1, 3))
    return (ink * colours[0] + (1 - ink) * colours[1]).astype(np.float32), labels


def affnist():
    """MNIST-test on 40 × 40, turned, sheared, scaled and moved at random like affNIST."""
    images, labels = mnist_test()
    rng = np.random.default_rng(0)
    out = np.zeros((len(images), 40, 40), dtype=np.float32)
    for target, image in zip(out, np.pad(images, ((0, 0), (6, 6), (6, 6))) / 255, strict=True):
        angle = np.deg2rad(rng.uniform(-20, 20))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        shear = np.array([[1, rng.uniform(-0.2, 0.2)], [0, 1]])
        inverse = np.linalg.inv(turn @ shear @ np.diag(rng.uniform(0.8, 1.2, size=2)))
        shift = 19.5 - inverse @ (19.5 + rng.uniform(-5, 5, size=2))
        ndimage.affine_transform(image, inverse, shift, output=target, order=1)
    return out, labels


# name: loader, clusters, parameters, what the paper reports (average, minimal loss)
SETS = {
    "digits": (digits, 10, {"transforms": AMT, "n_init": 8}, "–"),
    "mnist-1k": (mnist_1k, 10, {"transforms": AMT}, "79.8 / 90.5"),
    "usps": (usps, 10, {"transforms": CAT}, "86.4 / 89.8"),
    "mnist-test": (mnist_test, 10, {"transforms": AMT}, "96.6 / 98.0"),
    "fashion": (fashion, 10, {"transforms": CAT, "stiffness": 0.01}, "61.2 / 57.4"),
    "mnist-colour": (mnist_colour, 10, {"transforms": CAT}, "96.7 / 96.8"),
    "affnist": (affnist, 10, {"transforms": AMT}, "95.5 / 97.0"),
}


class WithoutReassignment(DTIKMeans):
    """Leaves tiny clusters as they are."""

    _tiny = 0.0


class WithoutCurriculum(DTIKMeans):
    """Trains all transformations from the first step."""

    _curriculum = False


ABLATIONS = {
    "affine-morphological-tps": (DTIKMeans, {"transforms": AMT}),
    "affine-tps-morphological": (DTIKMeans, {"transforms": ("affine", "tps", "morphological")}),
    "morphological-affine-tps": (DTIKMeans, {"transforms": ("morphological", "affine", "tps")}),
    "without morphological": (DTIKMeans, {"transforms": ("affine", "tps")}),
    "without tps": (DTIKMeans, {"transforms": ("affine", "morphological")}),
    "without affine": (DTIKMeans, {"transforms": ("morphological", "tps")}),
    "affine only": (DTIKMeans, {"transforms": ("affine",)}),
    "without reassignment": (WithoutReassignment, {"transforms": AMT}),
    "without curriculum": (WithoutCurriculum, {"transforms": AMT}),
    "TI, affine-morphological-tps": (
        DTIKMeans, {"transforms": AMT, "alignment": "optimized", "n_init": 1}
    ),
    "TI, affine only": (
        DTIKMeans, {"transforms": ("affine",), "alignment": "optimized", "n_init": 1}
    ),
}  # fmt: skip


class Record:
    """Runs as lines of JSON."""

    def __init__(self, path):
        self.path = Path(path) if path else None

    def add(self, section, name, model, labels, seconds, cpu, seed):
        """Note a run, and return it."""
        line = {
            "section": section, "name": name, "seed": seed, "loss": model.inertia_,
            "acc": 100 * clustering_accuracy(labels, model.labels_),
            "nmi": 100 * normalized_mutual_info(labels, model.labels_),
            "steps": model.n_iter_, "wall": seconds, "cpu": cpu,
        }  # fmt: skip
        note(json.dumps(line))
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        return line


def timed(model, images):
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(images)
    return time.perf_counter() - wall, time.process_time() - cpu


def show(lines, paper):
    """Print mean, deviation, range, and the accuracy of the run with the lowest loss."""
    rows = []
    for name in dict.fromkeys(line["name"] for line in lines):
        mine = [line for line in lines if line["name"] == name]
        acc = np.array([line["acc"] for line in mine])
        best = min(mine, key=lambda line: line["loss"])
        rows.append((name, len(mine), f"{acc.mean():.1f} ± {acc.std():.1f}",
                     f"{acc.min():.1f} – {acc.max():.1f}", f"{best['acc']:.1f}",
                     f"{np.mean([line['nmi'] for line in mine]):.1f}", paper.get(name, "–"),
                     float(np.mean([line["wall"] for line in mine])),
                     float(np.mean([line["cpu"] for line in mine]))))  # fmt: skip
    table(("data", "runs", "accuracy", "range", "lowest loss", "NMI", "paper avg / minLoss",
           "wall s", "CPU s"), rows)  # fmt: skip


def quality(names, options, record):
    title("Accuracy in %, each run with its own seed")
    lines = []
    for name in names:
        load, k, parameters, _ = SETS[name]
        images, labels = load()
        for seed in options.numbers:
            model = options.estimator(
                k, **parameters, encoder=options.encoder, n_reviews=options.reviews,
                random_state=seed, n_jobs=options.jobs, time_budget=options.budget,
                max_epochs=options.epochs,
            )  # fmt: skip
            kind = "" if options.estimator is DTIKMeans else " (GMM)"
            kind += f", {options.reviews} reviews" if options.reviews else ""
            lines.append(record.add("quality", name + kind, model, labels,
                                    *timed(model, images), seed))  # fmt: skip
    show(lines, {name: entry[3] for name, entry in SETS.items()})


def ablations(options, record):
    title("Ablations on MNIST-test, accuracy in %")
    images, labels = mnist_test()
    lines = []
    for name in options.only or ABLATIONS:
        kind, parameters = ABLATIONS[name]
        for seed in options.numbers:
            model = kind(10, **parameters, random_state=seed, n_jobs=options.jobs,
                         time_budget=options.budget, max_epochs=options.epochs)  # fmt: skip
            lines.append(record.add("ablation", name, model, labels, *timed(model, images), seed))
    show(lines, PAPER_ABLATIONS)


PAPER_ABLATIONS = {
    "affine-morphological-tps": "97.3 / 97.2", "affine-tps-morphological": "95.5 / 96.9",
    "morphological-affine-tps": "27.5 / 97.0", "without morphological": "94.8 / 95.8",
    "without tps": "90.0 / 82.5", "without affine": "85.1 / 96.8", "affine only": "90.1 / 90.5",
    "without reassignment": "80.9 / 78.6", "without curriculum": "83.9 / 78.9",
    "TI, affine-morphological-tps": "26.3 / 26.3", "TI, affine only": "73.0 / 73.1",
}  # fmt: skip


def baseline():
    title("k-means on pixels, 10 starts")
    rows = []
    for name, (load, k, *_) in SETS.items():
        images, labels = load()
        found = KMeans(k, n_init=10, random_state=0).fit_predict(images.reshape(len(images), -1))
        rows.append((name, 100 * clustering_accuracy(labels, found)))
    table(("data", "accuracy"), rows)


def speed(options):
    """Milliseconds of a step in each stage, and what whole runs come to, by encoder."""
    import torch

    title("Milliseconds of CPU for a step of 100 images, and a run on MNIST-1k, one thread")
    images, labels = mnist_1k()
    torch.set_num_threads(1)
    rows = []
    for encoder in ("mlp", "conv", "resnet20", "resnet18"):
        for n_init in (1, 4):
            model = DTIKMeans(10, transforms=AMT, encoder=encoder, n_init=n_init, random_state=10,
                              time_budget=options.budget or 300)  # fmt: skip
            steps = _step_times(clone(model).set_params(batch_size=100), images)
            _, cpu = timed(model, images)
            accuracy = 100 * clustering_accuracy(labels, model.labels_)
            n_steps = f"{model.n_iter_} of {usual_steps(len(images))}"
            rows.append((encoder, n_init, *steps, accuracy, n_steps, cpu))
            note(f"{rows[-1]}")
    table(("encoder", "restarts", "identity", "affine", "+ morphological", "+ tps", "accuracy",
           "steps", "CPU s"), rows)  # fmt: skip


def _step_times(model, images):
    """Return the milliseconds of a step with no transformation, with one, with two and so on."""
    import torch

    from kindset.images._restarts import _start
    from kindset.images._setup import make_groups, make_problem

    model.transforms_ = AMT
    problem = make_problem(model, model._read_training(images))
    trainer = _start(problem, make_groups(model, problem)[0])
    found = []
    n_steps = 10 if model.encoder in ("mlp", "conv") else 3
    for n_active in range(len(AMT) + 1):
        trainer.model.n_active = n_active
        # In a training a pass that searches all pairs is followed by three that do not.
        parts = []
        for passes, share in ((1, 0.25), (2, 0.75)):
            trainer.batches.passes = passes
            trainer.batches.queue = torch.arange(len(images))
            trainer._step()
            begin = time.process_time()
            for _ in range(n_steps - 1):
                trainer._step()
            parts.append(share * (time.process_time() - begin) / (n_steps - 1))
        found.append(1000 * sum(parts))
    return found


def scaling(options):
    title("Seconds of CPU for 300 steps and for predicting, aff-morpho-tps, one restart")
    images, _ = mnist_test()
    rows = []
    cases = [(n, 10, 28) for n in (1_000, 10_000)] + [(1_000, k, 28) for k in (5, 20, 40)]
    cases += [(1_000, 10, side) for side in (14, 56)]
    for n, k, side in cases:
        part = ndimage.zoom(images[:n] / 255, (1, side / 28, side / 28), order=1).clip(0, 1)
        model = DTIKMeans(k, transforms=AMT, n_init=1, max_epochs=300 * 128 / n, random_state=0)
        _, cpu = timed(model, part)
        begin = time.process_time()
        model.predict(part[:1000])
        rows.append((n, k, f"{side} × {side}", model.n_iter_, cpu, time.process_time() - begin))
    table(("N", "K", "size", "steps", "fit, CPU s", "predict 1,000, CPU s"), rows)


def photographs(options):
    """Write pages of prototypes and examples for sets where accuracy is not the point."""
    folder = Path(options.figures or "photographs")
    folder.mkdir(parents=True, exist_ok=True)
    title(f"Photographs, pages in {folder}")
    rows = []
    for name, k, size in (("flowers17_64", 17, None), ("coil20", 20, 32), ("orl_faces", 10, None)):
        data = load_images(name)
        images = data.images
        if size:
            step = images.shape[1] // size
            images = images.reshape(len(images), size, step, size, step).mean(axis=(2, 4)) / 255
        model = DTIGaussianMixture(k, transforms=("colour", "projective"), random_state=0,
                                   time_budget=options.budget or 120)  # fmt: skip
        wall, _ = timed(model, images)
        PrototypeDisplay.from_estimator(model).figure_.savefig(folder / f"{name}-prototypes.png")
        for which in ("nearest", "farthest"):
            page = ClusterDisplay.from_estimator(model, images, which=which)
            page.figure_.savefig(folder / f"{name}-{which}.png")
        AlignmentDisplay.from_estimator(model, images).figure_.savefig(folder / f"{name}.png")
        rows.append((name, len(images), k, 100 * clustering_accuracy(data.target, model.labels_),
                     wall))  # fmt: skip
    table(("data", "images", "K", "accuracy", "wall s"), rows)


def summary(options):
    lines = [json.loads(line) for line in Path(options.json).read_text().splitlines()]
    paper = {name: entry[3] for name, entry in SETS.items()} | PAPER_ABLATIONS
    for section in dict.fromkeys(line["section"] for line in lines):
        title(section)
        show([line for line in lines if line["section"] == section], paper)


def main():
    extras = ("baseline", "ablations", "speed", "scaling", "photographs", "summary")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SETS, *extras])
    parser.add_argument("--seeds", type=int, default=10, help="runs of each")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="groups of restarts side by side")
    parser.add_argument("--budget", type=float, help="seconds for each run")
    parser.add_argument("--epochs", type=float, help="passes over the images, at most")
    parser.add_argument("--only", nargs="+", choices=list(ABLATIONS), help="ablations to run")
    parser.add_argument("--encoder", default="auto", help="the network")
    parser.add_argument("--reviews", type=int, default=0, help="reviews of the assignments")
    parser.add_argument("--gmm", action="store_true", help="DTIGaussianMixture")
    parser.add_argument("--json", help="append the runs to this file")
    parser.add_argument("--figures", help="folder for the pages of photographs")
    options = parser.parse_args()
    options.sections = options.sections or ["digits"]
    options.numbers = range(options.first, options.first + options.seeds)
    options.estimator = DTIGaussianMixture if options.gmm else DTIKMeans
    record = Record(options.json)
    names = [name for name in options.sections if name in SETS]
    if names:
        quality(names, options, record)
    if "baseline" in options.sections:
        baseline()
    if "ablations" in options.sections:
        ablations(options, record)
    for function in (speed, scaling, photographs, summary):
        if function.__name__ in options.sections:
            function(options)


if __name__ == "__main__":
    main()
