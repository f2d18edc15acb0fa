"""Many small pictures as one: a sheet that the page shows through windows."""

import base64
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset.report._images import ImageSummary

_STEPS = (
    (96, 12, True), (64, 12, True), (64, 8, True), (48, 8, True), (48, 4, True), (32, 4, True),
    (32, 2, True), (32, 8, False), (24, 4, False), (16, 2, False), (16, 0, False),
)  # fmt: skip
"""Longest side of a picture, samples for each cluster and role, and whether with alignments."""

_LOOKED_AT = 40
"""Pictures are shown at about this many pixels of the screen."""

_BLOCKY = 20
"""Pictures up to this side are enlarged by whole numbers, every pixel a sharp block."""


@dataclass(frozen=True)
class Sheet:
    """One PNG with all pictures of a run in rows.

    Pictures are numbered: the prototypes, then the samples, then the prototypes aligned to the
    first sample, to the second, and so on. `width` and `height` are those of one picture on the
    screen, and `rim` is how far it goes on around that, 0 where pixels are shown as blocks.
    """

    uri: str
    columns: int
    rows: int
    width: float
    height: float
    rim: float
    first_sample: int
    first_aligned: int | None

    def place(self, number: int) -> tuple[int, int]:
        """Return column and row of a picture."""
        return number % self.columns, number // self.columns


def make_sheet(images: ImageSummary, limit: int) -> tuple[ImageSummary, Sheet]:
    """Put as many pictures on a sheet as `limit` characters can hold.

    Parameters
    ----------
    images : ImageSummary
    limit : int
        Characters of the data URI; only the sheet with the fewest pictures may exceed it.

    Returns
    -------
    images : ImageSummary
        With the samples that found a place.
    sheet : Sheet
    """
    for side, n_each, keep_aligned in _STEPS:
        kept = images.thinned(n_each, keep_aligned=keep_aligned)
        tiles, first_sample, first_aligned = _numbered(kept)
        factor = min(1.0, side / max(tiles.shape[1:3]))
        last = (side, n_each, keep_aligned) == _STEPS[-1]
        # PNG seldom makes photographs or noise smaller than half: do not even try.
        if tiles.size * factor**2 > 4 * limit and not last:
            continue
        tiles = _reduced(tiles, factor)
        columns = int(np.ceil(np.sqrt(len(tiles))))
        blocky = max(tiles.shape[1:3]) <= _BLOCKY
        uri = _png(_mosaic(tiles if blocky else _rimmed(tiles), columns))
        if len(uri) <= limit or last:
            break
    height, width = (int(size) for size in tiles.shape[1:3])
    longest = max(height, width)
    shown = _LOOKED_AT // longest if blocky else 1.2 * _LOOKED_AT / longest
    return kept, Sheet(
        uri=uri,
        columns=columns,
        rows=-(-len(tiles) // columns),
        width=max(1.0, round(width * shown, 3)),
        height=max(1.0, round(height * shown, 3)),
        rim=0.0 if blocky else round(shown, 3),
        first_sample=first_sample,
        first_aligned=first_aligned,
    )


def _numbered(images: ImageSummary) -> tuple[NDArray[np.uint8], int, int | None]:
    """Return all pictures in the order of their numbers, and where samples and alignments begin."""
    stacks = [images.pictures]
    if images.prototypes is not None:
        stacks.insert(0, images.prototypes)
    first_sample = 0 if images.prototypes is None else len(images.prototypes)
    first_aligned = None
    if images.aligned is not None and len(images.aligned):
        first_aligned = first_sample + len(images.pictures)
        stacks.append(images.aligned.reshape(-1, *images.aligned.shape[2:]))
    return np.concatenate(stacks), first_sample, first_aligned


def _reduced(tiles: NDArray[np.uint8], factor: float) -> NDArray[np.uint8]:
    if factor == 1:
        return tiles
    from PIL import Image

    height, width = (max(1, round(size * factor)) for size in tiles.shape[1:3])
    return np.stack(
        [
            np.asarray(Image.fromarray(tile).resize((width, height), Image.Resampling.LANCZOS))
            for tile in tiles
        ]
    )


def _rimmed(tiles: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Repeat the outermost pixels, so that smoothing finds no neighbour to mix with."""
    around = ((0, 0), (1, 1), (1, 1), *[(0, 0)] * (tiles.ndim - 3))
    return np.pad(tiles, around, mode="edge")


def _mosaic(tiles: NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    """Lay pictures out in rows; what stays empty is black."""
    rows = -(-len(tiles) // columns)
    height, width = tiles.shape[1:3]
    sheet = np.zeros((rows * columns, *tiles.shape[1:]), dtype=np.uint8)
    sheet[: len(tiles)] = tiles
    grid = sheet.reshape(rows, columns, *tiles.shape[1:]).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, *tiles.shape[3:])


def _png(pixels: NDArray[Any]) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
