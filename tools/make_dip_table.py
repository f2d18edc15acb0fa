"""Simulate the null distribution of the dip and write the table that the package ships.

Usage: ``python tools/make_dip_table.py`` (about five minutes on one core). Each row is a sample
size with the quantiles of √n·D over uniform samples. One seed per row, so that the file comes out
the same wherever it is made.
"""

import argparse
from pathlib import Path

import numpy as np

from kindset.evaluation._dip import simulate_null

SIZES = (
    *range(4, 11), 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 2000, 5000,
    10_000, 20_000, 50_000, 100_000,
)  # fmt: skip
_TAIL = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07)
PROBABILITIES = np.array(
    [0.0, *_TAIL, *np.arange(0.1, 0.91, 0.05), *(1 - p for p in reversed(_TAIL)), 0.9999, 1.0]
)
TARGET = Path(__file__).parent.parent / "src/kindset/evaluation/_dip_table.csv"


def n_draws(n: int, scale: float) -> int:
    """Draws for samples of size n: more where they are cheap."""
    return max(1, int(scale * (100_000 if n <= 1000 else 50_000 if n <= 5000 else 20_000)))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the draws, to try it out"
    )
    args = parser.parse_args()
    lines = [",".join(["n", "draws", *(f"{p:g}" for p in PROBABILITIES)])]
    for n in SIZES:
        draws = n_draws(n, args.scale)
        dips = simulate_null(np.random.default_rng(n), n, draws)
        quantiles = np.quantile(np.sqrt(n) * dips, PROBABILITIES)
        lines.append(",".join([str(n), str(draws), *(f"{q:.6f}" for q in quantiles)]))
        print(lines[-1][:60], flush=True)
    args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
