"""Casts with scale factors of groups of tokens, of rows that an index picks (v1)."""

from torch import Tensor

from .. import _native
from .common import least_amax
from .types import QuantTensor


def per_channel_cast_fused(
    x: Tensor | QuantTensor,
    fmt: str,
    num_per_tokens: int,
    round_sf: bool = False,
    num_per_channels: int | None = None,
    pos_to_token: Tensor | None = None,
) -> QuantTensor:
    """Codes and scale factors of x[pos_to_token]; a negative entry stands for a row of zeros."""
    return _native.quant.per_channel_cast_fused(
        x,
        fmt,
        num_per_tokens,
        round_sf,
        num_per_channels,
        pos_to_token,
        least=least_amax("per_channel_cast_fused", fmt),
    )
