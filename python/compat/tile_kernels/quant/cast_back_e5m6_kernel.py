"""Casts back from twelve bits (v1)."""

from torch import Tensor

from .. import _native
from .types import QuantTensor


def cast_back_e5m6(x: QuantTensor, fmt: str, x_block_size: tuple[int, int]) -> Tensor:
    """The values of x = (codes, factors) in fmt, 'bf16' or 'fp32'."""
    return _native.quant.cast_back_e5m6(x, fmt, x_block_size)
