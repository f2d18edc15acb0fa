"""Adam for a model whose parameters are replaced on the way: copied, dropped, resized."""

from typing import Any

import torch
from torch import Tensor

from kindset.images._model import DTIModel, Renewal

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
Moments = dict[str, dict[str, Tensor]]
"""What Adam knows of each parameter, by its name."""


class ModelOptimizer:
    """Trains clusters and network of a model, each at a rate of its own.

    Parameters
    ----------
    model : DTIModel
    prototype_rate, network_rate : float
    weight_decay : float
        Of the network only.
    """

    def __init__(
        self, model: DTIModel, prototype_rate: float, network_rate: float, weight_decay: float
    ) -> None:
        self.model = model
        self.rates = (prototype_rate, network_rate)
        network = [*model.encoder.parameters(), *model.heads.parameters()]
        groups: list[dict[str, Any]] = [
            {"params": model.cluster_parameters(), "lr": prototype_rate},
            {"params": network, "lr": network_rate, "weight_decay": weight_decay},
        ]
        self.adam = torch.optim.Adam(groups, fused=True)

    def scale_rates(self, factor: float) -> None:
        """Multiply the rates that were given by a factor."""
        for group, rate in zip(self.adam.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor

    def minimise(self, loss: Tensor) -> None:
        """Make a step."""
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()

    def take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was, with all that belongs to it."""
        before = dict(self.adam.state)
        renewal = self.model.take(index)
        self._renew(renewal)
        for old, new in renewal.items():
            if state := before.get(old):
                kept = {name: state[name][index] for name in ("exp_avg", "exp_avg_sq")}
                self.adam.state[new] = {**state, **kept}

    def resize(self, height: int, width: int) -> None:
        """Go over to prototypes of another size."""
        if self.model.prototypes.shape[2:] != (height, width):
            self._renew(self.model.resize(height, width))

    def _renew(self, renewal: Renewal) -> None:
        """Go over to new parameters, of which nothing is known yet."""
        for group in self.adam.param_groups:
            group["params"] = [renewal.get(one, one) for one in group["params"]]
        for old in renewal:
            self.adam.state.pop(old, None)

    def state_dict(self) -> Moments:
        """Return what is known of the parameters that were met already."""
        known = self.adam.state
        return {
            name: dict(known[parameter])
            for name, parameter in self.model.named_parameters()
            if parameter in known
        }

    def load_state_dict(self, state: Moments) -> None:
        """Take over what was known of the parameters, which must be in place already."""
        for name, parameter in self.model.named_parameters():
            if moments := state.get(name):
                self.adam.state[parameter] = {
                    key: laid_out(moments[key], parameter.data) for key in _MOMENTS
                }


def load_model(model: DTIModel, state: dict[str, Tensor]) -> None:
    """Bring a model to a saved state; it may have more restarts than that."""
    for name, parameter in model.named_parameters():
        parameter.data = laid_out(state[name], parameter.data)
    for name, value in model.state_dict().items():
        value.copy_(state[name])


def laid_out(saved: Tensor, like: Tensor) -> Tensor:
    """Return a tensor in the memory format of another one, which decides the last bits.

    Restarts may have been dropped since the start, so shapes can differ.
    """
    if saved.shape != like.shape:
        return saved.to(like.device)
    return torch.empty_like(like, dtype=saved.dtype).copy_(saved)
