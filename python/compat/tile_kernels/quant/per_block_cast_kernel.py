"""Casts with scale factors of blocks of 32 or 128 rows and columns."""

from torch import Tensor

from .. import _native
from .common import check_given_sf, check_hidden, least_amax
from .types import QuantTensor


def per_block_cast(
    x: Tensor,
    fmt: str,
    block_size: tuple[int, int],
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    out: tuple[Tensor | None, Tensor | None] | None = None,
) -> QuantTensor:
    """Codes and scale factors of x."""
    check_hidden("per_block_cast", x)
    return _native.quant.per_block_cast(
        x,
        fmt,
        block_size,
        use_tma_aligned_col_major_sf,
        round_sf,
        use_packed_ue8m0,
        out,
        least=least_amax("per_block_cast", fmt),
    )


def per_block_cast_with_sf_only(
    x: Tensor,
    fmt: str,
    block_size: tuple[int, int],
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    out_sf: Tensor | None = None,
) -> Tensor:
    """The scale factors of per_block_cast alone."""
    check_hidden("per_block_cast_with_sf_only", x)
    return _native.quant.per_block_cast_with_sf_only(
        x,
        fmt,
        block_size,
        use_tma_aligned_col_major_sf,
        round_sf,
        use_packed_ue8m0,
        out_sf,
        least=least_amax("per_block_cast_with_sf_only", fmt),
    )


def per_block_cast_with_precomputed_sf(
    x: Tensor,
    fmt: str,
    block_size: tuple[int, int],
    sf: Tensor,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The codes alone, by factors that are given: x * (1 / sf)."""
    check_hidden("per_block_cast_with_precomputed_sf", x)
    check_given_sf("per_block_cast_with_precomputed_sf", sf)
    return _native.quant.per_block_cast_with_precomputed_sf(
        x, fmt, block_size, sf, use_tma_aligned_col_major_sf, round_sf, use_packed_ue8m0, out
    )
