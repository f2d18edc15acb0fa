"""Methods that begin with an autoencoder: one stage that learns to reconstruct images."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kindset._torch.image_set import ImageSet
from kindset.deep._networks import Noise, NoisyAutoencoder, draw_weights
from kindset.deep._training import Stage, Training

PRETRAINING = "pretraining"


class AutoencoderTraining(Training):
    """Pretrains an autoencoder; the stages after it are the method's own.

    Parameters
    ----------
    settings : estimator
        With the parameters `scaling`, `dropout` and `pretrain_epochs`.
    images : ImageSet
    network : NoisyAutoencoder
    head : Module
        What the method learns beside the autoencoder.
    generator : torch.Generator
    """

    def __init__(
        self,
        settings: Any,
        images: ImageSet,
        network: NoisyAutoencoder,
        head: nn.Module,
        generator: torch.Generator,
    ) -> None:
        draw_weights(network, generator, None)
        network.scaling.adapt(images, settings.scaling)
        device = next(network.parameters()).device
        model = nn.ModuleDict({"network": network, "head": head.to(device)})
        optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate, fused=True)
        super().__init__(settings, images, model, optimizer, generator)
        self.noise = Noise(settings.dropout, generator)

    def plan(self) -> Sequence[Stage]:
        """Return the stages."""
        epochs = self.settings.pretrain_epochs
        first = [Stage(PRETRAINING, epochs, has_clusters=False)] if epochs else []
        return (*first, *self.own_stages())

    def own_stages(self) -> Sequence[Stage]:
        """Return the stages after pretraining."""
        raise NotImplementedError

    @property
    def autoencoder(self) -> NoisyAutoencoder:
        """The network, as what it is."""
        network = self.network
        assert isinstance(network, NoisyAutoencoder)
        return network

    def train_step(self, rows: Tensor) -> dict[str, float]:
        """Learn to reconstruct images, and in later stages what the method is about."""
        reconstruction, disturbed, clean = self.autoencoder.reconstruct(self.pick(rows), self.noise)
        if self.stage_name == PRETRAINING:
            self.minimise(reconstruction)
            return {"loss": reconstruction.item(), "reconstruction": reconstruction.item()}
        clustering = self.clustering_loss(rows, disturbed, clean)
        loss = self.combined(reconstruction, clustering)
        self.minimise(loss)
        return {
            "loss": loss.item(),
            "reconstruction": reconstruction.item(),
            "clustering": clustering.item(),
        }

    def clustering_loss(self, rows: Tensor, disturbed: Tensor, clean: Tensor) -> Tensor:
        """Return what the method adds, from the disturbed and the clean embedding of a batch."""
        raise NotImplementedError

    def combined(self, reconstruction: Tensor, clustering: Tensor) -> Tensor:
        """Return the total of both losses."""
        raise NotImplementedError
