"""Transformations of images: one small class each, registered by a name.

A transformation acts on K images with parameters for each of B samples. The parameters that leave
an image as it is are its `identity`; networks predict what is added to them.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import grid_sample, pad

from kindset._torch.image_set import ImageShape
from kindset.exceptions import InputError
from kindset.images._window import WINDOW, window_sums

TRANSFORMATIONS: dict[str, type["Transformation"]] = {}
"""Name -> class. `register_transformation` adds to it."""


class Transformation(nn.Module):
    """What a transformation has to offer.

    Parameters
    ----------
    image_shape : tuple of three int
        Channels, height and width of the images.

    Attributes
    ----------
    identity : Tensor of shape (n_parameters,)
        The parameters that leave an image as it is.
    moves_pixels : bool
        Whether it only moves pixels about, so that it acts on any channel alike. Such
        transformations also act on the variances of `DTIGaussianMixture`.
    is_solved : bool
        Whether a formula finds the best parameters, so that no network has to predict them. Such
        a transformation has the methods `solve`, `reduce` and `start`, and is applied after all
        others.
    """

    moves_pixels: ClassVar[bool] = False
    is_solved: ClassVar[bool] = False
    identity: Tensor

    def __init__(self, image_shape: ImageShape, identity: Tensor) -> None:
        super().__init__()
        self.image_shape = image_shape
        self.register_buffer("identity", identity)

    @property
    def n_parameters(self) -> int:
        """Number of parameters for one image and one sample."""
        return len(self.identity)

    def forward(self, images: Tensor, parameters: Tensor) -> Tensor:
        """Transform images.

        Parameters
        ----------
        images : Tensor of shape (K, C, H, W) or (B, K, C, H, W)
        parameters : Tensor of shape (B, K, n_parameters)

        Returns
        -------
        transformed : Tensor of shape (B, K, C, H, W)
        """
        raise NotImplementedError

    def effort(self, parameters: Tensor) -> Tensor:
        """Return how far from the identity parameters are, one number for each set of them.

        The loss grows with it, by `stiffness`, if the parameters are predicted. By default nothing
        is too far.
        """
        return parameters.new_zeros(parameters.shape[:-1])

    def solve(self, images: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """Return the parameters that bring images closest to others.

        Parameters
        ----------
        images : Tensor of shape (B, K, C, H, W)
        x : Tensor of shape (B, 1 or K, C, H, W)
            What they are to become.
        weight : Tensor that can be broadcast to the shape of images
            How much each pixel counts.

        Returns
        -------
        parameters : Tensor of shape (B, K, n_parameters)
        """
        raise NotImplementedError

    def reduce(self, x: Tensor) -> Tensor:
        """Return images (n, C, H, W) with less of what the transformation may have done to them.

        This is what the encoder sees, and what tells first prototypes apart.
        """
        return x

    def start(self, images: Tensor) -> Tensor:
        """Return images (n, C, H, W) as prototypes from which all others can be learnt."""
        return images


def register_transformation(name: str, kind: type[Transformation]) -> None:
    """Make a transformation known, so that it can be given as ``transforms=(..., name, ...)``.

    Parameters
    ----------
    name : str
        What to call it.
    kind : subclass of Transformation
        Its class. It is created with the shape (channels, height, width) of the images.
    """
    if not (isinstance(kind, type) and issubclass(kind, Transformation)):
        raise InputError(f"the transformation {name!r} must be a subclass of Transformation.")
    TRANSFORMATIONS[name] = kind


def transformation_classes(names: Sequence[str]) -> tuple[type[Transformation], ...]:
    """Return the classes of transformations by their names."""
    for name in names:
        if not isinstance(name, str) or name not in TRANSFORMATIONS:
            known = ", ".join(repr(one) for one in TRANSFORMATIONS)
            raise InputError(f"transforms must be 'auto' or names among {known}, got {name!r}.")
    if len(set(names)) < len(names):
        raise InputError("transforms names the same transformation twice.")
    return tuple(TRANSFORMATIONS[name] for name in names)


def reduced(transformations: Iterable[Transformation], x: Tensor) -> Tensor:
    """Return images with less of what the solved ones among transformations may have done."""
    for one in transformations:
        x = one.reduce(x) if one.is_solved else x
    return x


def first_prototypes(transformations: Iterable[Transformation], images: Tensor) -> Tensor:
    """Return images as prototypes from which the solved ones can come to all others."""
    for one in transformations:
        images = one.start(images) if one.is_solved else images
    return images


class Colour(Transformation):
    """A gain and an offset for every channel: those of the least squares.

    To change colours before or after pixels are moved is the same. A gain may be below 0, so that
    an image and its negative are alike.
    """

    is_solved = True

    def __init__(self, image_shape: ImageShape) -> None:
        n_channels = image_shape[0]
        super().__init__(image_shape, torch.tensor([1.0] * n_channels + [0.0] * n_channels))

    def forward(self, images: Tensor, parameters: Tensor) -> Tensor:
        """Transform images."""
        gain, offset = parameters[..., None, None].chunk(2, dim=2)
        return torch.addcmul(offset, images, gain)

    def solve(self, images: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """Return the gains and offsets of the least squares."""
        share = weight / weight.sum(dim=(-2, -1), keepdim=True)
        mean, target = _sums(images, share), _sums(x, share)
        centred = images - mean[..., None, None]
        gain = _sums(centred, share * x) / (_sums(centred.square(), share) + _FLAT)
        return torch.cat([gain, target - gain * mean], dim=-1)

    def reduce(self, x: Tensor) -> Tensor:
        """Return images of mean 0 in every channel and deviation 1 in all together.

        Hue and sign stay: a deviation of 1 in every channel would make noise of almost flat ones.
        """
        centred = x - x.mean(dim=(-2, -1), keepdim=True)
        return centred / (centred.square().mean(dim=(-3, -2, -1), keepdim=True) + _FLAT).sqrt()

    def start(self, images: Tensor) -> Tensor:
        """Return images with a tenth of their colour gone: a flat channel could never change."""
        return torch.lerp(images, images.mean(dim=-3, keepdim=True).expand_as(images), 0.1)


def _sums(images: Tensor, factors: Tensor) -> Tensor:
    """Return the sums over the pixels of images times factors."""
    axes = "hw" if factors.ndim == 2 else "...chw"
    return torch.einsum(f"...chw,{axes}->...c", images, factors)


_FLAT = 1e-6
"""A variance of almost nothing: what is below has no colours to speak of."""


class Warp(Transformation):
    """What all transformations have in common that read the image at other positions.

    Subclasses say where: `points` returns, for the parameters of n samples, the positions (x, y)
    from -1 to 1 at which to read each pixel.
    """

    moves_pixels = True
    pixels: Tensor

    def __init__(self, image_shape: ImageShape, identity: Tensor) -> None:
        super().__init__(image_shape, identity)
        self.register_buffer("pixels", pixel_positions(image_shape))

    def points(self, parameters: Tensor) -> Tensor:
        """Return positions of shape (n, 2, height * width) for parameters (n, n_parameters)."""
        raise NotImplementedError

    def effort(self, parameters: Tensor) -> Tensor:
        """Return the mean squared difference from the identity's parameters."""
        return (parameters - self.identity).square().mean(dim=-1)

    def forward(self, images: Tensor, parameters: Tensor) -> Tensor:
        """Transform images."""
        n_samples, n_images = parameters.shape[:2]
        *_, n_channels, height, width = images.shape
        if images.ndim == 5:
            found = read_at(images.flatten(0, 1), self.points(parameters.flatten(0, 1)))
            return found.view(n_samples, n_images, *images.shape[2:])
        # All samples of an image as one tall grid: the images need not be copied.
        points = self.points(parameters.transpose(0, 1).flatten(0, 1))
        grid = _grid(points, height, width).reshape(n_images, n_samples * height, width, 2)
        tall = _read(images, grid)
        return tall.view(n_images, n_channels, n_samples, height, width).permute(2, 0, 1, 3, 4)


def read_at(images: Tensor, points: Tensor) -> Tensor:
    """Return images (n, C, H, W) read at other positions (n, 2, H * W), from -1 to 1."""
    return _read(images, _grid(points, *images.shape[2:]))


def _grid(points: Tensor, height: int, width: int) -> Tensor:
    return points.view(-1, 2, height, width).permute(0, 2, 3, 1)


def _read(images: Tensor, grid: Tensor) -> Tensor:
    return grid_sample(images, grid, padding_mode="border", align_corners=False)


class Affine(Warp):
    """An affine map of the plane: two rows of three numbers."""

    def __init__(self, image_shape: ImageShape) -> None:
        super().__init__(image_shape, torch.eye(3)[:2].flatten())

    def points(self, parameters: Tensor) -> Tensor:
        """Return where to read each pixel."""
        return parameters.view(-1, 2, 3) @ self.pixels


class Projective(Warp):
    """A projective map of the plane: a matrix of three by three."""

    def __init__(self, image_shape: ImageShape) -> None:
        super().__init__(image_shape, torch.eye(3).flatten())

    def points(self, parameters: Tensor) -> Tensor:
        """Return where to read each pixel."""
        mapped = parameters.view(-1, 3, 3) @ self.pixels
        # The horizon, where the third coordinate vanishes, stays out of the picture.
        return mapped[:, :2] / mapped[:, 2:].clamp(min=0.1)


class ThinPlateSpline(Warp):
    """A smooth deformation that moves 4 × 4 control points and bends as little as it can.

    The parameters are the moves in x of the 16 points, then those in y.
    """

    basis: Tensor

    def __init__(self, image_shape: ImageShape) -> None:
        side = 4
        super().__init__(image_shape, torch.zeros(2 * side**2))
        line = torch.linspace(-1, 1, side, dtype=torch.float64)
        control = torch.cartesian_prod(line, line).flip(1)
        self.register_buffer("basis", _spline_basis(control, self.pixels[:2].T.double()).float())

    def points(self, parameters: Tensor) -> Tensor:
        """Return where to read each pixel."""
        moves = parameters.view(-1, 2, self.basis.shape[0])
        return moves @ self.basis + self.pixels[:2]


class Morphological(Transformation):
    """A soft dilation or erosion: an average over a 7 × 7 window, weighted by brightness.

    The first parameter is the strength, above 0 for dilation and below for erosion; the others say,
    through a sigmoid, which pixels of the window count. Small images have a smaller window.

    The identity is not quite one: 0.7 % of each neighbour gets through, with the full window a
    quarter in all of what comes out. Without it neither strength nor window has a slope to learn
    from.
    """

    def __init__(self, image_shape: ImageShape) -> None:
        self.sides = tuple(min(WINDOW, _odd(size // 4)) for size in image_shape[1:])
        inner = torch.full(self.sides, -_SHUT)
        inner[self.sides[0] // 2, self.sides[1] // 2] = _SHUT
        super().__init__(image_shape, torch.cat([torch.zeros(1), inner.flatten()]))

    def forward(self, images: Tensor, parameters: Tensor) -> Tensor:
        """Transform images."""
        n_channels, height, width = images.shape[-3:]
        leading = parameters.shape[:2]
        strength = parameters[..., :1, None, None].clamp(-_STRONGEST, _STRONGEST)
        # The largest exponent is 0 whatever the strength, so that nothing overflows.
        exponent = strength * images
        raised = torch.exp(exponent - exponent.detach().amax(dim=(-1, -2), keepdim=True))
        window = self._window(parameters[..., 1:]).repeat_interleave(n_channels, dim=0)
        below = window_sums(raised.reshape(-1, height, width), window)
        above = window_sums((raised * images).reshape(-1, height, width), window)
        return (above / below.clamp(min=1e-30)).view(*leading, n_channels, height, width)

    def _window(self, logits: Tensor) -> Tensor:
        open_ = torch.sigmoid(logits).reshape(-1, *self.sides)
        rows, columns = ((WINDOW - side) // 2 for side in self.sides)
        return pad(open_, (columns, columns, rows, rows))


_SHUT, _STRONGEST = 5.0, 50.0


def _odd(size: int) -> int:
    return size + 1 - size % 2


def pixel_positions(image_shape: ImageShape) -> Tensor:
    """Return the centres of the pixels as (x, y, 1), of shape (3, height * width), from -1 to 1."""
    _, height, width = image_shape
    x = (2 * torch.arange(width) + 1) / width - 1
    y = (2 * torch.arange(height) + 1) / height - 1
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    return torch.stack([columns.flatten(), rows.flatten(), torch.ones(height * width)])


def _spline_basis(control: Tensor, points: Tensor) -> Tensor:
    """Return the weight of each control point's move at each point (Bookstein, 1989)."""
    n = len(control)
    system = torch.zeros(n + 3, n + 3, dtype=control.dtype)
    plane = torch.cat([torch.ones_like(control[:, :1]), control], dim=1)
    system[:n, :n], system[:n, n:], system[n:, :n] = _bending(control, control), plane, plane.T
    at_points = torch.cat(
        [_bending(points, control), torch.ones_like(points[:, :1]), points], dim=1
    )
    return (at_points @ torch.linalg.inv(system)[:, :n]).T.contiguous()


def _bending(points: Tensor, control: Tensor) -> Tensor:
    squared = torch.cdist(points, control).square()
    return 0.5 * torch.xlogy(squared, squared)


for _name, _kind in (
    ("affine", Affine), ("projective", Projective), ("tps", ThinPlateSpline), ("colour", Colour),
    ("morphological", Morphological),
):  # fmt: skip
    register_transformation(_name, _kind)
