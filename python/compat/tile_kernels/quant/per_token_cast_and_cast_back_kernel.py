"""Rounds values as a cast with scale factors and the way back would, in place (v2)."""

from torch import Tensor

from .. import _native
from .common import least_amax


def per_token_cast_and_cast_back(
    x: Tensor,
    fmt: str,
    num_per_channels: int,
    round_sf: bool = False,
    use_e4m3_sf: bool = False,
) -> None:
    """Makes of x what per_token_cast and per_token_cast_back would."""
    _native.quant.per_token_cast_and_cast_back(
        x,
        fmt,
        num_per_channels,
        round_sf,
        use_e4m3_sf,
        least=least_amax("per_token_cast_and_cast_back", fmt, use_e4m3_sf),
    )
