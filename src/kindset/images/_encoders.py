"""Networks that turn images into features, from which the transformations are predicted."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from kindset._torch.image_set import ImageShape
from kindset.exceptions import InputError

_FEATURES = 128
_PLAIN = 600  # values of an image, up to which a perceptron does


def _mlp(shape: ImageShape) -> nn.Module:
    n_pixels = shape[0] * shape[1] * shape[2]
    return nn.Sequential(
        nn.Flatten(), nn.Linear(n_pixels, 256), nn.ReLU(), nn.Linear(256, _FEATURES), nn.ReLU()
    )


def _conv(shape: ImageShape) -> nn.Module:
    """Return convolutions of stride 2 down to 8 pixels at most, then one dense layer.

    Where something is must not be averaged away: it decides the shift that aligns it.
    """
    layers: list[nn.Module] = []
    n_channels, height, width = shape
    wider = 16
    while not layers or max(height, width) > 8:
        layers += [nn.Conv2d(n_channels, wider, 3, stride=2, padding=1), nn.ReLU()]
        n_channels, height, width = wider, (height + 1) // 2, (width + 1) // 2
        wider = min(2 * wider, 64)
    dense = nn.Linear(n_channels * height * width, _FEATURES)
    return nn.Sequential(*layers, nn.Flatten(), dense, nn.ReLU())


class _Block(nn.Module):
    """Two convolutions and a shortcut (He et al., 2016)."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or n_in != n_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def _resnet(stem: nn.Module, widths: tuple[int, ...], depth: int) -> nn.Module:
    layers: list[nn.Module] = [stem]
    n_in = widths[0]
    for position, n_out in enumerate(widths):
        for block in range(depth):
            layers.append(_Block(n_in, n_out, stride=2 if block == 0 and position > 0 else 1))
            n_in = n_out
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    # A quarter faster on a CPU.
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _resnet20(shape: ImageShape) -> nn.Module:
    stem = nn.Sequential(
        nn.Conv2d(shape[0], 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
    )
    return _resnet(stem, (16, 32, 64), 3)


def _resnet18(shape: ImageShape) -> nn.Module:
    stem = nn.Sequential(
        nn.Conv2d(shape[0], 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    )  # fmt: skip
    return _resnet(stem, (64, 128, 256, 512), 2)


ENCODERS: dict[str, Callable[[ImageShape], nn.Module]] = {
    "mlp": _mlp, "conv": _conv, "resnet20": _resnet20, "resnet18": _resnet18,
}  # fmt: skip


def build_encoder(encoder: Any, shape: ImageShape, seed: int) -> nn.Module:
    """Return a new network with weights drawn from a seed, or a copy of a given one."""
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    name = encoder
    if name == "auto":
        name = "mlp" if shape[0] * shape[1] * shape[2] <= _PLAIN else "conv"
    if not isinstance(name, str) or name not in ENCODERS:
        known = ", ".join(repr(one) for one in ("auto", *ENCODERS))
        raise InputError(f"encoder must be one of {known} or a torch Module, got {encoder!r}.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ENCODERS[name](shape)


def count_features(encoder: nn.Module, shape: ImageShape) -> int:
    """Return the number of features an encoder gives, from one pass over blank images."""
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.no_grad():
            features = encoder(torch.zeros(2, *shape))
    except Exception as error:  # whatever a network of one's own may raise
        reason = str(error).splitlines()[:1]
        raise InputError(
            f"the encoder cannot take images of the shape {(2, *shape)}: {''.join(reason)}."
        ) from error
    encoder.train(was_training)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != 2:
        raise InputError("the encoder must turn images (n, C, H, W) into features (n, D).")
    return features.shape[1]
