"""A folder of pictures as one array."""

import os
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from kindset._progress import progress_bar
from kindset.exceptions import InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
# Whatever a file is called: other readers of Pillow may start programs.
FORMATS = ("PNG", "JPEG", "WEBP")
Mode = Literal["auto", "grey", "colour"]
MODES = ("auto", "grey", "colour")
# A picture of more pixels than this is an attack or a mistake, not one of a collection.
_MAX_PIXELS = 2**26
_MAX_BYTES = 2**32


@dataclass(frozen=True)
class _Reader:
    """How each picture is brought into shape."""

    size: tuple[int, int] | None
    crop: bool

    def read(self, path: Path) -> NDArray[np.uint8]:
        """Return the picture as it is meant to be seen, (height, width, 3), or raise OSError."""
        from PIL import Image, ImageOps

        with warnings.catch_warnings(), Image.open(path, formats=FORMATS) as picture:
            warnings.simplefilter("ignore")  # of metadata; what cannot be decoded raises
            if picture.width * picture.height > _MAX_PIXELS:
                raise OSError(f"{picture.width} x {picture.height} pixels are too many")
            if self.size is not None:
                # JPEG files can be decoded at a fraction of their size, at a fraction of the cost.
                side = 2 * max(self.size)
                picture.draft(None, (side, side))
            upright = ImageOps.exif_transpose(picture)
            opaque = _on_white(upright)
            return np.asarray(self._resize(opaque))

    def _resize(self, picture: Any) -> Any:
        from PIL import Image, ImageOps

        if self.size is None:
            return picture
        wanted = (self.size[1], self.size[0])
        if self.crop:
            return ImageOps.fit(picture, wanted, Image.Resampling.LANCZOS)
        return picture.resize(wanted, Image.Resampling.LANCZOS)


def _on_white(picture: Any) -> Any:
    """Lay a picture with transparent parts on white; without, only make it RGB."""
    from PIL import Image

    if picture.mode in ("I;16", "I;16B", "I;16L", "I"):
        # Sixteen bits a pixel, which a plain conversion would clip.
        return Image.fromarray((np.asarray(picture) // 257).astype(np.uint8)).convert("RGB")
    if "A" not in picture.getbands() and "transparency" not in picture.info:
        return picture.convert("RGB")
    layered = picture.convert("RGBA")
    ground = Image.new("RGBA", layered.size, "white")
    ground.alpha_composite(layered)
    return ground.convert("RGB")


def load_image_folder(
    path: str | os.PathLike[str],
    *,
    size: int | tuple[int, int] | None = None,
    crop: bool = False,
    mode: Mode = "auto",
    verbose: bool = False,
) -> Bunch:
    """Read the PNG, JPEG and WebP files of a folder and the folders below it.

    Pictures are turned as their camera says and laid on white where they are transparent. What
    cannot be read is left out and listed. Links to folders are not followed.

    Parameters
    ----------
    path : path-like
        The folder.
    size : int or (height, width), default=None
        Bring all pictures to this size; needed if theirs differ.
    crop : bool, default=False
        Cut from the middle what does not fit the new shape, instead of squeezing.
    mode : {"auto", "grey", "colour"}, default="auto"
        "auto" keeps colour if any picture has some.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    data : Bunch
        `images`, of type uint8 and shape (N, height, width) or (N, height, width, 3); `names`, the
        files below the folder, sorted; `target`, the folder that each lies in, or None if all lie
        in one; and `skipped`, pairs of a name and why it was left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from kindset.datasets import load_image_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.png", "b.jpg"):
    ...         Image.new("L", (40, 30), 128).save(Path(folder, name))
    ...     data = load_image_folder(folder, size=16)
    >>> data.images.shape, data.names
    ((2, 16, 16), ['a.png', 'b.jpg'])
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}.")
    if mode not in MODES:
        raise InputError(f"mode={mode!r} is unknown; choose one of {', '.join(MODES)}.")
    reader = _Reader(_check_size(size), crop)
    files = sorted(_files_below(folder))
    if not files:
        raise InputError(f"{folder} holds no {', '.join(SUFFIXES)} files.")
    pile = _Pile(folder)
    with progress_bar("Reading images", len(files), enabled=verbose) as advance:
        for file in files:
            pile.add(file, reader)
            advance("")
    images = pile.stack()
    grey = mode == "grey" or (mode == "auto" and not pile.coloured)
    if grey:
        images = _luminance(images)
    folders = [str(Path(name).parent) for name in pile.names]
    target = np.array(folders) if len(set(folders)) > 1 else None
    return Bunch(images=images, names=pile.names, target=target, skipped=pile.skipped)


def _files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield Path(place, name)


def _check_size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = (size, size) if np.isscalar(size) else tuple(size)
    if len(pair) != 2 or any(int(side) != side or not 1 <= side <= 4096 for side in pair):
        raise InputError(f"size={size!r} must be a number of pixels from 1 to 4096, or two.")
    return int(pair[0]), int(pair[1])


@dataclass
class _Pile:
    """The pictures read so far, and those left out."""

    folder: Path
    pictures: list[NDArray[np.uint8]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    coloured: bool = False
    bytes: int = 0

    def add(self, file: Path, reader: _Reader) -> None:
        """Read one more file, or list it with the reason why not."""
        from PIL import Image

        # A name that is not valid text could not be written down later.
        name = file.relative_to(self.folder).as_posix().encode("utf-8", "replace").decode()
        try:
            picture = reader.read(file)
        except Image.DecompressionBombError:
            self.skipped.append((name, "it has too many pixels"))
            return
        except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as error:
            self.skipped.append((name, _reason(error)))
            return
        self.bytes += picture.nbytes
        if self.bytes > _MAX_BYTES:
            raise InputError(f"the images of {self.folder} fill over 4 GB; choose a smaller size.")
        self.coloured = self.coloured or _has_colour(picture)
        self.pictures.append(picture)
        self.names.append(name)

    def stack(self) -> NDArray[np.uint8]:
        """Return all pictures as one array; they must be of one size."""
        if not self.pictures:
            name, reason = self.skipped[0]
            raise InputError(f"no image in {self.folder} can be read; the first, {name}: {reason}.")
        shapes = Counter(picture.shape[:2] for picture in self.pictures)
        if len(shapes) > 1:
            listed = ", ".join(f"{w} x {h} ({n})" for (h, w), n in shapes.most_common(3))
            more = ", …" if len(shapes) > 3 else ""
            raise InputError(
                f"the images of {self.folder} have {len(shapes)} different sizes ({listed}{more}); "
                f"give a size to bring them to (--size), say {min(shapes.most_common(1)[0][0])}."
            )
        return np.stack(self.pictures)


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()
    if not text or "cannot identify image file" in text[0]:
        return "it is not an image, or damaged"
    return text[0].rstrip(".")


def _has_colour(picture: NDArray[np.uint8]) -> bool:
    """Whether any pixel is clearly not grey; JPEG leaves traces of colour in grey pictures."""
    low, high = picture.min(axis=2).astype(np.int16), picture.max(axis=2)
    return bool((high - low > 24).mean() > 0.001)


def _luminance(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn colours into how bright they look (ITU-R 601)."""
    grey = np.empty(images.shape[:3], dtype=np.uint8)
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32)
    for start in range(0, len(images), 256):
        grey[start : start + 256] = np.rint(images[start : start + 256] @ weights)
    return grey
