"""Casts of rows to twelve bits: a sign, five bits of exponent, six of mantissa (v1)."""

from torch import Tensor

from .. import _native
from .common import check_hidden
from .types import QuantTensor


def per_token_cast_to_e5m6(
    x: Tensor,
    num_per_channels: int,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
) -> QuantTensor:
    """Codes, eight in twelve bytes, and a scale factor for each row, which is num_per_channels."""
    name = "per_token_cast_to_e5m6"
    if not isinstance(x, Tensor):
        raise AssertionError(f"{name}: x must be a tensor, it is {type(x).__name__}")
    check_hidden(name, x, 8)
    return _native.quant.per_token_cast_to_e5m6(
        x, num_per_channels, use_tma_aligned_col_major_sf, round_sf, use_packed_ue8m0
    )
