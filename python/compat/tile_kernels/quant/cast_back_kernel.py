"""Casts back: code * scale factor."""

from torch import Tensor

from .. import _native
from .types import QuantTensor


def cast_back(
    x: QuantTensor, fmt: str, x_block_size: tuple[int, int], x_special_fmt: str | None = None
) -> Tensor:
    """The values of x = (codes, factors) in fmt, 'bf16' or 'fp32'."""
    return _native.quant.cast_back(x, fmt, x_block_size, x_special_fmt)


def per_token_cast_back(
    x: QuantTensor, fmt: str, num_per_channels: int, x_special_fmt: str | None = None
) -> Tensor:
    """The same by factors of groups of columns of each row."""
    return _native.quant.per_token_cast_back(x, fmt, num_per_channels, x_special_fmt)
