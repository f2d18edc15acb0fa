"""Where torch computes."""

from typing import Any

import torch

from kindset.exceptions import InputError


def choose_device(device: Any) -> torch.device:
    """Return the device of a name; of "auto" a GPU if there is one, else the CPU.

    Examples
    --------
    >>> from kindset._torch.device import choose_device
    >>> choose_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=torch.device(device)).device
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InputError(
            f"device must be 'auto' or one of torch's that is here, got {device!r}."
        ) from error
