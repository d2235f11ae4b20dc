"""Factors of weights as words, for multiplies with the weights and with their transposes (v2)."""

from collections.abc import Sequence

from torch import Tensor

from .. import _native


def batched_transpose_weight_sf(
    sf: Sequence[Tensor],
    block_size: int,
    transpose_sf1s: Sequence[bool],
    outs: Sequence[tuple[Tensor, Tensor] | None],
) -> list[tuple[Tensor, Tensor]]:
    """(sf0, sf1) of each weight's factors; outs: None, or an earlier result to write anew."""
    return _native.quant.batched_transpose_weight_sf(sf, block_size, transpose_sf1s, outs)
