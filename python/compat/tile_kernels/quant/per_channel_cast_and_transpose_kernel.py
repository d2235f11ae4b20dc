"""Casts with scale factors of groups of tokens, whose codes are transposed (v1)."""

from torch import Tensor

from .. import _native
from .common import least_amax
from .types import QuantTensor


def per_channel_cast_and_transpose(
    x: Tensor, fmt: str, num_per_tokens: int, round_sf: bool = False
) -> QuantTensor:
    """Codes [k, m] and scale factors [m / num_per_tokens, k] of x [m, k]."""
    return _native.quant.per_channel_cast_and_transpose(
        x,
        fmt,
        num_per_tokens,
        round_sf,
        least=least_amax("per_channel_cast_and_transpose", fmt),
    )
