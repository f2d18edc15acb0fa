"""Networks that embed images, and what they have in common."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, mse_loss, normalize, pad

from kindset._torch.image_set import ImageSet, ImageShape, part_size

_LEAST = 8  # pixels of a side; smaller images get a border
_SLOPE = 0.01
_INNER = 0.1  # how much the layers inside count in DEPICT's reconstruction


class Moments:
    """The mean image, the deviation of pixels from it, and the root of their mean square."""

    def __init__(self, images: ImageSet) -> None:
        total = torch.zeros(images.shape[1:], dtype=torch.float64)
        squares = torch.zeros_like(total)
        for part in images.split(part_size(images.shape)):
            total += part.double().sum(dim=0)
            squares += part.double().square().sum(dim=0)
        mean = total / len(images)
        variance = (squares / len(images) - mean.square()).clamp(min=0).mean()
        self.mean = mean.float()
        self.deviation = float(variance.sqrt().clamp(min=1e-6))
        self.power = float((squares / len(images)).mean().sqrt().clamp(min=1e-6))


SCALINGS: dict[str, Callable[[Moments], tuple[Tensor, float]]] = {
    "centred": lambda moments: (moments.mean, moments.deviation),
    "power": lambda moments: (torch.zeros_like(moments.mean), moments.power),
    "symmetric": lambda moments: (torch.full_like(moments.mean, 0.5), 0.5),
    "unit": lambda moments: (torch.zeros_like(moments.mean), 1.0),
}
"""Name -> from the moments of the pixels to what is subtracted, and then divided by."""


class Scaling(nn.Module):
    """Scales pixels, and puts a border of zeros around images that are too small.

    Parameters
    ----------
    shape : tuple of three int
        Channels, height and width.
    """

    shift: Tensor
    width: Tensor

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(shape))
        self.register_buffer("width", torch.ones(()))
        channels, *sides = shape
        self.border: list[int] = []
        for side in reversed(sides):
            missing = max(0, _LEAST - side)
            self.border += [missing // 2, missing - missing // 2]
        height, width = (max(_LEAST, side) for side in sides)
        self.shape: ImageShape = (channels, height, width)

    def adapt(self, images: ImageSet, scaling: str) -> None:
        """Take over how the pixels of some images are scaled."""
        shift, width = SCALINGS[scaling](Moments(images))
        self.shift.copy_(shift)
        self.width.fill_(width)

    def forward(self, images: Tensor) -> Tensor:
        """Return scaled images."""
        return pad((images - self.shift) / self.width, self.border)


class Embedding(nn.Module):
    """A network that scales images and embeds them."""

    def __init__(self, scaling: Scaling, body: nn.Module) -> None:
        super().__init__()
        self.scaling = scaling
        self.body = body

    def forward(self, images: Tensor) -> Tensor:
        """Return the embedding of images."""
        return self.body(self.scaling(images))


class UnitRows(nn.Module):
    """Brings rows to unit length."""

    def forward(self, rows: Tensor) -> Tensor:
        """Return unit rows."""
        return normalize(rows)


def convolutions(
    shape: ImageShape, widths: Sequence[int], n_features: int, *, kernel: int, padding: int
) -> nn.Sequential:
    """Return blocks of convolution, batch normalisation, ReLU and pooling, then a dense layer."""
    layers: list[nn.Module] = []
    n_channels, height, width = shape
    for n_maps in widths:
        size = min(kernel, height + 2 * padding, width + 2 * padding)
        layers += [
            nn.Conv2d(n_channels, n_maps, size, padding=padding), nn.BatchNorm2d(n_maps), nn.ReLU(),
            nn.MaxPool2d(2, ceil_mode=True),
        ]  # fmt: skip
        sides = (side + 2 * padding - size + 1 for side in (height, width))
        height, width = (-(-side // 2) for side in sides)
        n_channels = n_maps
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(n_channels * height * width, n_features))


class NoisyAutoencoder(nn.Module):
    """What pretraining needs: an encoder whose input can be disturbed, and a decoder."""

    scaling: Scaling

    def forward(self, images: Tensor) -> Tensor:
        """Return the clean embedding of images."""
        raise NotImplementedError

    def reconstruct(self, images: Tensor, noise: "Noise") -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of reconstruction, and the disturbed and the clean embedding."""
        raise NotImplementedError


class Noise:
    """Sets values to zero at random, and scales the others up.

    Parameters
    ----------
    rate : float
        Share of the values.
    generator : torch.Generator
        On the CPU.
    """

    def __init__(self, rate: float, generator: torch.Generator) -> None:
        self.rate = rate
        self.generator = generator

    def __call__(self, values: Tensor) -> Tensor:
        """Return disturbed values."""
        if self.rate == 0:
            return values
        kept = torch.empty(values.shape).bernoulli_(1 - self.rate, generator=self.generator)
        return values * kept.to(values.device).div_(1 - self.rate)


class ConvolutionalAutoencoder(NoisyAutoencoder):
    """DEPICT's: two convolutions of stride 2 and a dense layer with tanh, and their mirror image.

    Every layer of the decoder is held against the clean one of the encoder.
    """

    def __init__(self, shape: ImageShape, n_features: int, widths: tuple[int, int]) -> None:
        super().__init__()
        self.scaling = Scaling(shape)
        n_channels, height, width = self.scaling.shape
        first, second = widths
        self.sizes = [[height, width]]
        self.sizes.append([(side - 4) // 2 + 1 for side in self.sizes[-1]])
        self.sizes.append([(side - 1) // 2 + 1 for side in self.sizes[-1]])
        self.inner = (second, *self.sizes[2])
        n_inner = second * self.sizes[2][0] * self.sizes[2][1]
        self.down1 = nn.Conv2d(n_channels, first, 4, stride=2)
        self.down2 = nn.Conv2d(first, second, 5, stride=2, padding=2)
        self.dense = nn.Linear(n_inner, n_features)
        self.undense = nn.Linear(n_features, n_inner)
        self.up2 = nn.ConvTranspose2d(second, first, 5, stride=2, padding=2)
        self.up1 = nn.ConvTranspose2d(first, n_channels, 4, stride=2)

    def forward(self, images: Tensor) -> Tensor:
        """Return the clean embedding of images."""
        return self._encode(self.scaling(images), _unchanged)[0]

    def reconstruct(self, images: Tensor, noise: Noise) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of reconstruction, and the disturbed and the clean embedding."""
        scaled = self.scaling(images)
        clean, first, second = self._encode(scaled, _unchanged)
        disturbed = self._encode(scaled, noise)[0]
        back2 = leaky_relu(self.undense(disturbed), _SLOPE).view(-1, *self.inner)
        back1 = leaky_relu(self.up2(back2, output_size=self.sizes[1]), _SLOPE)
        back = self.up1(back1, output_size=self.sizes[0])
        inside = mse_loss(back1, first.detach()) + mse_loss(back2, second.detach())
        return mse_loss(back, scaled) + _INNER * inside, disturbed, clean

    def _encode(
        self, scaled: Tensor, noise: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        first = leaky_relu(self.down1(noise(scaled)), _SLOPE)
        second = leaky_relu(self.down2(noise(first)), _SLOPE)
        return torch.tanh(self.dense(second.flatten(1))), first, second


class DenseAutoencoder(NoisyAutoencoder):
    """IDEC's: dense layers with ReLU inside, linear at both ends, and their mirror image."""

    def __init__(self, shape: ImageShape, n_features: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.scaling = Scaling(shape)
        channels, height, width = self.scaling.shape
        sizes = [channels * height * width, *hidden, n_features]
        self.encoder = _dense(sizes)
        self.decoder = _dense(sizes[::-1])

    def forward(self, images: Tensor) -> Tensor:
        """Return the embedding of images."""
        return self.encoder(self.scaling(images).flatten(1))

    def reconstruct(self, images: Tensor, noise: Noise) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of reconstruction, and the embedding twice: one serves as both."""
        scaled = self.scaling(images).flatten(1)
        embedding = self.encoder(noise(scaled))
        return mse_loss(self.decoder(embedding), scaled), embedding, embedding


def _dense(sizes: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _unchanged(values: Tensor) -> Tensor:
    return values


def draw_weights(model: nn.Module, generator: torch.Generator, deviation: float | None) -> None:
    """Draw the weights of all layers: of this deviation, else so that variances are kept (Glorot).

    Only the given generator is used, so that trainings side by side do not disturb one another.
    """
    for layer in model.modules():
        if not isinstance(layer, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            continue
        if deviation is None:
            nn.init.xavier_uniform_(layer.weight, generator=generator)
        else:
            nn.init.normal_(layer.weight, std=deviation, generator=generator)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def built(make: Callable[[], Any]) -> Any:
    """Call what makes layers, whose first weights torch draws, and leave its global state alone."""
    with torch.random.fork_rng(devices=[]):
        return make()
