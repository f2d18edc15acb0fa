"""The model: prototypes, the network that predicts how to transform them, and their energies.

Several restarts live side by side: prototype ``r * K + k`` is cluster k of restart r. They share
the encoder, and everything else has one row for each prototype, so that restarts and clusters can
be copied and dropped by rows.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from kindset._torch.image_set import resize_images
from kindset.images._encoders import count_features
from kindset.images._objectives import Objective
from kindset.images._transforms import Transformation

Parameters = Sequence[Tensor]
"""Parameters of each active transformation, of shape (B, G, n_parameters)."""

Renewal = dict[nn.Parameter, nn.Parameter]
"""The parameters that have taken the place of others, by those."""

_HEAD_WIDTH = 32


class Heads(nn.Module):
    """A small network for each prototype, from the features to what one transformation takes."""

    def __init__(self, n_prototypes: int, n_features: int, n_out: int, generator: torch.Generator):
        super().__init__()
        bound = n_features**-0.5
        inner = torch.empty(n_prototypes, _HEAD_WIDTH, n_features)
        self.inner = nn.Parameter(inner.uniform_(-bound, bound, generator=generator))
        self.inner_bias = nn.Parameter(torch.zeros(n_prototypes, _HEAD_WIDTH))
        # Zeros: every transformation starts as the identity.
        self.outer = nn.Parameter(torch.zeros(n_prototypes, _HEAD_WIDTH, n_out))
        self.outer_bias = nn.Parameter(torch.zeros(n_prototypes, n_out))

    def forward(self, features: Tensor) -> Tensor:
        """Return predictions of shape (B, G, n_out)."""
        n_prototypes, width, _ = self.inner.shape
        inner = torch.addmm(self.inner_bias.flatten(), features, self.inner.flatten(0, 1).T)
        hidden = torch.relu(inner).view(-1, n_prototypes, width).transpose(0, 1)
        return torch.baddbmm(self.outer_bias[:, None], hidden, self.outer).transpose(0, 1)


class DTIModel(nn.Module):
    """Prototypes with their transformations.

    Parameters
    ----------
    prototypes : Tensor of shape (G, C, H, W)
    n_clusters : int
        Clusters of each restart.
    transformations : sequence of Transformation
    objective : Objective
    encoder : Module
    generator : torch.Generator
        For the first weights of the heads.
    """

    def __init__(
        self,
        prototypes: Tensor,
        n_clusters: int,
        transformations: Sequence[Transformation],
        objective: Objective,
        encoder: nn.Module,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.n_clusters = n_clusters
        self.objective = objective
        self.n_channels = prototypes.shape[1]
        self.prototypes = nn.Parameter(prototypes.clone())
        start = objective.start(prototypes)
        self.extra = nn.ParameterDict({name: nn.Parameter(start[name]) for name in start})
        self._is_solved = [one.is_solved for one in transformations]
        self.predicted = nn.ModuleList(one for one in transformations if not one.is_solved)
        self.solved = nn.ModuleList(one for one in transformations if one.is_solved)
        self.encoder = encoder
        n_features = count_features(encoder, tuple(prototypes.shape[1:]))  # type: ignore[arg-type]
        self.heads = nn.ModuleList(
            Heads(len(prototypes), n_features, one.n_parameters, generator)  # type: ignore[arg-type]
            for one in self.predicted
        )
        self.n_active = len(self.predicted)

    @property
    def n_restarts(self) -> int:
        """Number of restarts side by side."""
        return len(self.prototypes) // self.n_clusters

    def cluster_parameters(self) -> list[nn.Parameter]:
        """Return prototypes and what belongs to them."""
        return [self.prototypes, *self.extra.values()]

    def take(self, index: Tensor) -> "Renewal":
        """Let prototype i be what prototype ``index[i]`` was, with all that belongs to it."""
        return self._renew([self, self.extra, *self.heads], lambda values: values[index])

    def active(self) -> Iterator[tuple[Transformation, nn.Module]]:
        """Return the predicted ones that the curriculum has reached, with their heads."""
        pairs = list(zip(self.predicted, self.heads, strict=True))
        yield from pairs[: self.n_active]  # type: ignore[misc]

    def resize(self, height: int, width: int) -> "Renewal":
        """Go over to images of another size; what is learnt of the transformations stays."""
        shape = (self.n_channels, height, width)
        for kinds in (self.predicted, self.solved):
            for i, one in enumerate(kinds):
                kinds[i] = type(one)(shape).to(self.prototypes)
        self.objective.resize(height, width)
        return self._renew(
            [self, self.extra],
            lambda values: resize_images(values, height, width) if values.ndim == 4 else values,
        )

    @staticmethod
    def _renew(owners: Sequence[nn.Module], change: Callable[[Tensor], Tensor]) -> "Renewal":
        # New parameters: as long as anything holds a graph that an old one was part of, autograd
        # remembers the shape it had. (A compiler that fails and tries again holds frames.)
        renewal: Renewal = {}
        for owner in owners:
            for name, old in list(owner.named_parameters(recurse=False)):
                renewal[old] = nn.Parameter(change(old.detach()).clone())
                setattr(owner, name, renewal[old])
        return renewal

    def images(self) -> Tensor:
        """Return what is transformed, one row for each prototype."""
        return self.objective.images(self.prototypes, self.extra)

    def prior(self) -> Tensor:
        """Return the prior energy of each prototype."""
        return self.objective.prior(self.extra, self.n_clusters).expand(len(self.prototypes))

    def transform(self, images: Tensor, parameters: Parameters) -> Tensor:
        """Apply the active ones of the predicted transformations in turn."""
        if not parameters:
            return images
        for (one, _), values in zip(self.active(), parameters, strict=True):
            images = self._change(one, images, values)
        return images

    def _change(self, one: Transformation, images: Tensor, values: Tensor) -> Tensor:
        """Apply one transformation, to what moves along with the prototypes if it is a move."""
        if one.moves_pixels or images.shape[-3] == self.n_channels:
            return one(images, values)
        changed = one(images[..., : self.n_channels, :, :], values)
        rest = images[..., self.n_channels :, :, :]
        return torch.cat([changed, rest.expand(*changed.shape[:2], -1, -1, -1)], dim=2)

    def align(self, x: Tensor, images: Tensor, parameters: Parameters) -> tuple[Tensor, Parameters]:
        """Transform images and solve for what is left.

        Parameters
        ----------
        x : Tensor of shape (B, 1 or K, C, H, W)
        images : Tensor of shape (K, C, H, W) or (B, K, C, H, W)
        parameters : sequence of Tensor of shape (B, K, n_parameters)
            What is predicted.

        Returns
        -------
        aligned : Tensor of shape (B, K, C, H, W)
        solved : list of Tensor of shape (B, K, n_parameters)
        """
        moved = self.transform(images, parameters)
        moved = moved.expand(len(x), *moved.shape[-4:])
        solved = []
        for one in self.solved:
            # Where the loss is least it has no slope: constants to everything else.
            with torch.no_grad():
                plain = moved[..., : self.n_channels, :, :]
                solved.append(one.solve(plain, x, self.objective.precision(moved)))  # type: ignore[operator]
            moved = self._change(one, moved, solved[-1])  # type: ignore[arg-type]
        return moved, solved

    def in_order(self, predicted: Parameters, solved: Parameters) -> list[Tensor]:
        """Return the parameters of all transformations in the order in which they were given."""
        rest = {False: iter(predicted), True: iter(solved)}
        return [next(rest[one]) for one in self._is_solved]

    def compare(self, x: Tensor, images: Tensor, parameters: Parameters, prior: Tensor) -> Tensor:
        """Return the energies, of shape (B, K), of images once they are aligned to x."""
        energies = self.objective.energies(x, self.align(x, images, parameters)[0], prior)
        cost = self.objective.unit * self.objective.stiffness
        if cost:
            for (one, _), values in zip(self.active(), parameters, strict=True):
                energies = energies + cost * one.effort(values)
        return energies

    def energies(self, x: Tensor, parameters: Parameters) -> Tensor:
        """Return the energies of all pairs, of shape (B, G)."""
        images, prior = self.images(), self.prior()
        size = how_many_at_a_time(images)
        parts = []
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            own = [values[part] for values in parameters]
            parts.append(self.compare(x[part, None], images, own, prior))
        return torch.cat(parts)

    def pair_energies(self, x: Tensor, parameters: Parameters, b: Tensor, g: Tensor) -> Tensor:
        """Return the energies of some pairs: image ``b[i]`` with prototype ``g[i]``."""
        images, prior = self.images(), self.prior()
        size = how_many_at_a_time(images[0])
        parts = []
        for i, j in zip(b.split(size), g.split(size), strict=True):
            own = [values[i, j][None] for values in parameters]
            parts.append(self.compare(x[i][None], images[j], own, prior[j])[0])
        return torch.cat(parts)


def how_many_at_a_time(images: Tensor) -> int:
    """Return for how many samples to transform images in one go.

    On a CPU few: what is much larger than the cache is also handed back to the operating system
    each time, and everything takes twice as long.
    """
    most = 2**20 if images.device.type == "cpu" else 2**24
    return max(1, most // images.numel())
