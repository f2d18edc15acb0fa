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
from kindset._reading import open_regular, reason
from kindset._shown import shown
from kindset.exceptions import InputError

# By the ending of a name. The formats are Pillow's names, and only these are tried whatever a
# file is called: other readers of Pillow may start programs.
TYPES = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".gif": "GIF",
}
SUFFIXES = tuple(TYPES)
FORMATS = tuple(dict.fromkeys(TYPES.values()))
Mode = Literal["auto", "grey", "colour"]
MODES = ("auto", "grey", "colour")
# A picture of more pixels than this is an attack or a mistake, not one of a collection.
_MAX_PIXELS = 2**26
_MAX_BYTES = 2**32
_SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N", "I")


@dataclass(frozen=True)
class _Reader:
    """How each picture is brought into shape."""

    size: tuple[int, int] | None
    crop: bool
    grey: bool

    def read(self, path: Path) -> NDArray[np.uint8]:
        """Return the picture as it is meant to be seen, or raise OSError.

        The shape is (height, width, 3), or (height, width) if grey is asked for or nothing is
        lost by it. Of an animation or a document of pages it is the first picture.
        """
        from PIL import Image, ImageOps

        with (
            warnings.catch_warnings(action="ignore"),  # of metadata; what cannot be decoded raises
            open_regular(path) as file,
            Image.open(file, formats=FORMATS) as picture,
        ):
            if picture.width * picture.height > _MAX_PIXELS:
                raise OSError(f"{picture.width} x {picture.height} pixels are too many")
            if self.size is not None:
                # JPEG files can be decoded at a fraction of their size, at a fraction of the cost.
                side = 2 * max(self.size)
                picture.draft(None, (side, side))
            upright = ImageOps.exif_transpose(picture)
            opaque = _on_white(upright)
            return self._packed(np.asarray(self._resize(opaque)))

    def _packed(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Keep one channel where three would say the same, or where one is asked for."""
        if (picture == picture[..., :1]).all():
            return picture[..., 0].copy()
        return _luminance(picture) if self.grey else picture

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

    if picture.mode == "F":
        raise OSError("its pixels are fractions; save it with 8 or 16 bits")
    if picture.mode in _SIXTEEN_BITS:
        # Sixteen bits a pixel, which a plain conversion would clip.
        values = np.asarray(picture)
        if values.min() < 0 or values.max() >= 2**16:
            raise OSError("its pixels have more than 16 bits; save it with 8 or 16 bits")
        return Image.fromarray((values // 257).astype(np.uint8)).convert("RGB")
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
    """Read the PNG, JPEG, WebP, TIFF, BMP and GIF files of a folder and the folders below it.

    Pictures are turned as their camera says and laid on white where they are transparent. Of a
    file with several pictures, the first is read. Every file that is not used is listed with its
    reason. Files and folders whose name begins with a dot are ignored. Links to folders are not
    followed.

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
        in one; and `skipped`, pairs of a name and why it was left out. Names are as they are on
        the disk: one that is printed may have to be escaped.

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
        raise InputError(f"there is no folder {shown(folder)}.")
    if mode not in MODES:
        raise InputError(
            f"mode={mode!r} is unknown; choose one of {', '.join(MODES)}.", parameter="mode"
        )
    reader = _Reader(_check_size(size), crop, grey=mode == "grey")
    files = sorted(_files_below(folder))
    if not any(map(_is_picture, files)):
        raise InputError(f"{shown(folder)} holds no {', '.join(SUFFIXES)} files.")
    pile = _Pile(folder)
    with progress_bar("Reading images", len(files), enabled=verbose) as advance:
        for file in files:
            pile.add(file, reader)
            advance("")
    images = pile.stack(grey=mode == "grey" or (mode == "auto" and not pile.coloured))
    folders = [str(Path(name).parent) for name in pile.names]
    target = np.array(folders) if len(set(folders)) > 1 else None
    return Bunch(images=images, names=pile.names, target=target, skipped=pile.skipped)


def _files_below(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield Path(place, name)


def _is_picture(file: Path) -> bool:
    return file.name.lower().endswith(SUFFIXES)


def _check_size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = (size, size) if np.isscalar(size) else tuple(size)
    if len(pair) != 2 or any(int(side) != side or not 1 <= side <= 4096 for side in pair):
        raise InputError(
            f"size={size!r} must be a number of pixels from 1 to 4096, or two.", parameter="size"
        )
    return int(pair[0]), int(pair[1])


@dataclass
class _Pile:
    """The pictures read so far, and the files left out."""

    folder: Path
    pictures: list[NDArray[np.uint8]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    coloured: bool = False
    bytes: int = 0

    def add(self, file: Path, reader: _Reader) -> None:
        """Read one more file, or list it with the reason why not."""
        # A name that is not valid text could not be written down later.
        name = file.relative_to(self.folder).as_posix().encode("utf-8", "replace").decode()
        if not _is_picture(file):
            self.skipped.append((name, "not an image file"))
            return
        try:
            picture = reader.read(file)
        except Exception as error:  # damaged files make Pillow raise almost anything
            self.skipped.append((name, _why(error)))
            return
        self._count(picture.nbytes)
        self.coloured = self.coloured or _has_colour(picture)
        self.pictures.append(picture)
        self.names.append(name)

    def _count(self, size: int) -> None:
        self.bytes += size
        if self.bytes > _MAX_BYTES:
            raise InputError(
                f"the images of {shown(self.folder)} fill over {_MAX_BYTES / 2**30:.3g} GB; choose "
                "a smaller size.",
                parameter="size",
            )

    def stack(self, *, grey: bool) -> NDArray[np.uint8]:
        """Return all pictures as one array and forget them; they must be of one size."""
        height, width = self._common_size()
        shape = (len(self.pictures), height, width) + (() if grey else (3,))
        self.bytes = 0
        self._count(int(np.prod(shape, dtype=np.int64)))
        images = np.empty(shape, dtype=np.uint8)
        # From the end, so that each picture is freed as soon as it is copied.
        for i in reversed(range(len(images))):
            picture = self.pictures.pop()
            if grey:
                images[i] = picture if picture.ndim == 2 else _luminance(picture)
            else:
                images[i] = picture[..., np.newaxis] if picture.ndim == 2 else picture
        return images

    def _common_size(self) -> tuple[int, int]:
        if not self.pictures:
            name, why = next(pair for pair in self.skipped if _is_picture(Path(pair[0])))
            raise InputError(
                f"no image in {shown(self.folder)} can be read; the first, {shown(name)}: {why}."
            )
        shapes = Counter((picture.shape[0], picture.shape[1]) for picture in self.pictures)
        if len(shapes) > 1:
            listed = ", ".join(f"{w} x {h} ({n})" for (h, w), n in shapes.most_common(3))
            more = ", …" if len(shapes) > 3 else ""
            raise InputError(
                f"the images of {shown(self.folder)} have {len(shapes)} different sizes "
                f"({listed}{more}); give a size to bring them to, say "
                f"{min(shapes.most_common(1)[0][0])}.",
                parameter="size",
            )
        return next(iter(shapes))


def _why(error: Exception) -> str:
    """Say why a picture was left out."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, InputError):
        return "not a regular file"
    if isinstance(error, Image.DecompressionBombError):
        return "it has too many pixels"
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, UnidentifiedImageError) or not isinstance(error, OSError):
        return "it is not an image, or damaged"
    return reason(error)


def _has_colour(picture: NDArray[np.uint8]) -> bool:
    """Whether any pixel is clearly not grey; JPEG leaves traces of colour in grey pictures."""
    if picture.ndim == 2:
        return False
    low, high = picture.min(axis=2).astype(np.int16), picture.max(axis=2)
    return bool((high - low > 24).mean() > 0.001)


def _luminance(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn colours into how bright they look (ITU-R 601)."""
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return np.rint(picture @ weights).astype(np.uint8)
