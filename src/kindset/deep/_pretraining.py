"""Methods that begin with an autoencoder: one stage that learns to reconstruct images."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kindset._torch.image_set import ImageSet
from kindset.deep._base import DeepClustering
from kindset.deep._networks import Noise, NoisyAutoencoder, draw_weights
from kindset.deep._outcome import Outcome
from kindset.deep._training import Stage, Training
from kindset.exceptions import InputError

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
        if settings.pretrained is not None:
            _take_over(network, settings.pretrained)
        device = next(network.parameters()).device
        model = nn.ModuleDict({"network": network, "head": head.to(device)})
        optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate, fused=True)
        super().__init__(settings, images, model, optimizer, generator)
        self.noise = Noise(settings.dropout, generator)
        self.pretrained: dict[str, Tensor] = {}

    def plan(self) -> Sequence[Stage]:
        """Return the stages."""
        epochs = 0 if self.settings.pretrained is not None else self.settings.pretrain_epochs
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

    def open_stage(self) -> None:
        """Keep the autoencoder as it is after pretraining."""
        if self.stage_name != PRETRAINING and not self.pretrained:
            state = self.network.state_dict()
            self.pretrained = {name: one.detach().cpu().clone() for name, one in state.items()}

    def clustering_loss(self, rows: Tensor, disturbed: Tensor, clean: Tensor) -> Tensor:
        """Return what the method adds, from the disturbed and the clean embedding of a batch."""
        raise NotImplementedError

    def combined(self, reconstruction: Tensor, clustering: Tensor) -> Tensor:
        """Return the total of both losses."""
        raise NotImplementedError

    def own_state(self) -> dict[str, Any]:
        """Return the autoencoder after pretraining."""
        return {"pretrained": self.pretrained}

    def load_own_state(self, state: dict[str, Any]) -> None:
        """Take over the autoencoder after pretraining."""
        self.pretrained = state["pretrained"]


class StartsFromAutoencoder(DeepClustering):
    """An estimator whose training begins with an autoencoder, which others can begin with too."""

    pretrained: Any

    def _store(self, training: Training, outcome: Outcome) -> None:
        super()._store(training, outcome)
        assert isinstance(training, AutoencoderTraining)
        self.autoencoder_ = {name: one.numpy() for name, one in training.pretrained.items()}

    def _parameter_tensors(self) -> list[Tensor]:
        known = self.pretrained or {}
        return [torch.from_numpy(np.asarray(known[name])) for name in sorted(known)]


def _take_over(network: nn.Module, pretrained: Any) -> None:
    """Give a network the weights of one that was pretrained, if it is of the same form."""
    wanted = {name: tuple(one.shape) for name, one in network.state_dict().items()}
    is_dict = isinstance(pretrained, Mapping)
    if not is_dict or {name: np.shape(one) for name, one in pretrained.items()} != wanted:
        raise InputError(
            "pretrained must be the autoencoder_ of a model for images of the same shape and with "
            "the same layers.",
            parameter="pretrained",
        )
    network.load_state_dict({name: torch.as_tensor(one) for name, one in pretrained.items()})
