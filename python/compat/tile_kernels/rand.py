"""Standard normal tensors. Without an Ascend NPU they are those of torch, bit for bit."""

from typing import Any

import torch

from . import config


def randn(*size: Any, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """`torch.randn` on the current backend's device, unless another is named."""
    if len(size) == 1 and isinstance(size[0], list):
        raise TypeError("randn: the size is a list; give integers, or one tuple")
    shape = size[0] if len(size) == 1 and isinstance(size[0], tuple) else size
    where = torch.device(config.get_device() if device is None else device)
    if where.type != "cuda":
        return torch.randn(shape, dtype=dtype, device=where)
    from tilewright.torch import randn as faster

    return faster(shape, dtype=dtype, device=where)


def randn_like(input: torch.Tensor) -> torch.Tensor:
    """Of the shape, dtype and device of `input`, contiguous."""
    return randn(tuple(input.shape), dtype=input.dtype, device=input.device)


def set_seed(seed: int) -> None:
    """Starts the generators of torch anew."""
    torch.manual_seed(seed)
