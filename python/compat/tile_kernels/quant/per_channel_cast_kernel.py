"""Casts with scale factors of groups of tokens of each column."""

from torch import Tensor

from .. import _native
from .common import least_amax
from .types import QuantTensor


def per_channel_cast(
    x: Tensor | QuantTensor,
    fmt: str,
    num_per_tokens: int,
    round_sf: bool = False,
    num_per_channels: int | None = None,
    use_packed_ue8m0: bool = False,
) -> QuantTensor:
    """Codes and scale factors of x, which may be such a pair itself."""
    return _native.quant.per_channel_cast(
        x,
        fmt,
        num_per_tokens,
        round_sf,
        num_per_channels,
        use_packed_ue8m0,
        least=least_amax("per_channel_cast", fmt),
    )
