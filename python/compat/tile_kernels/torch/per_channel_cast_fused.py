"""Casts with factors of groups of tokens, of rows that an index picks (v1)."""

from __future__ import annotations

from torch import Tensor

from ..quant.types import QuantTensor
from .cast import cast


def per_channel_cast_fused(
    x: Tensor | QuantTensor,
    num_per_tokens: int,
    num_per_channels: int | None,
    round_sf: bool,
    pos_to_token: Tensor | None,
) -> QuantTensor:
    """Codes and factors of x[pos_to_token], where a negative entry stands for a row of zeros."""
    if pos_to_token is not None:
        x = (
            tuple(_rows(t, pos_to_token) for t in x)
            if isinstance(x, tuple)
            else _rows(x, pos_to_token)
        )
    block = (1, num_per_channels) if isinstance(x, tuple) else None
    return cast(x, "e4m3", (num_per_tokens, 1), x_block_size=block, round_sf=round_sf)


def _rows(x: Tensor, index: Tensor) -> Tensor:
    if x.shape[0] == 0:
        return x.new_zeros((index.shape[0], *x.shape[1:]))
    rows = x[index.clamp(min=0).long()]
    return rows.where((index >= 0)[:, None], rows.new_zeros(()))
