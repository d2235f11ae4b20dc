"""Casts of codes of e2m1 to e4m3 with factors of larger blocks, and no change of value."""

from torch import Tensor

from .. import _native
from .types import QuantTensor


def per_block_cast_lossless(
    x: QuantTensor,
    fmt: str,
    x_block_size: tuple[int, int],
    out_block_size: tuple[int, int],
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
) -> tuple[Tensor, Tensor]:
    """Codes and scale factors, powers of two as those of x, that stand for the same values."""
    return _native.quant.per_block_cast_lossless(
        x,
        fmt,
        x_block_size,
        out_block_size,
        use_tma_aligned_col_major_sf,
        round_sf,
        use_packed_ue8m0,
    )
