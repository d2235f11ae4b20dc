"""Casts with scale factors of groups of columns of each row."""

from torch import Tensor

from .. import _native
from .common import check_given_sf, check_hidden, least_amax
from .types import QuantTensor


def per_token_cast(
    x: Tensor | QuantTensor,
    fmt: str,
    num_per_channels: int,
    x_block_size: tuple[int, int] | None = None,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
    stochastic_cast: bool = False,
    out: tuple[Tensor | None, Tensor | None] | None = None,
) -> QuantTensor:
    """Codes and scale factors of x, which may be such a pair itself. fmt 'e5m6' is that of
    per_token_cast_to_e5m6 (v1)."""
    check_hidden("per_token_cast", x, 8 if fmt == "e5m6" else 64)
    return _native.quant.per_token_cast(
        x,
        fmt,
        num_per_channels,
        x_block_size,
        use_tma_aligned_col_major_sf,
        round_sf,
        use_packed_ue8m0,
        use_e4m3_sf,
        stochastic_cast,
        out=out,
        least=least_amax("per_token_cast", fmt, use_e4m3_sf, has_e5m6=True),
    )


def per_token_cast_with_sf_only(
    x: Tensor,
    fmt: str,
    num_per_channels: int,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
    out_sf: Tensor | None = None,
    x_block_size: None = None,
) -> Tensor:
    """The scale factors of per_token_cast alone."""
    _check_plain("per_token_cast_with_sf_only", x, x_block_size)
    return _native.quant.per_token_cast_with_sf_only(
        x,
        fmt,
        num_per_channels,
        use_tma_aligned_col_major_sf,
        round_sf,
        use_packed_ue8m0,
        use_e4m3_sf,
        out_sf=out_sf,
        least=least_amax("per_token_cast_with_sf_only", fmt, use_e4m3_sf),
    )


def per_token_cast_with_precomputed_sf(
    x: Tensor,
    fmt: str,
    num_per_channels: int,
    sf: Tensor,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
    out: Tensor | None = None,
    x_block_size: None = None,
) -> Tensor:
    """The codes alone, by factors that are given: x * (1 / sf)."""
    name = "per_token_cast_with_precomputed_sf"
    _check_plain(name, x, x_block_size)
    if use_tma_aligned_col_major_sf or use_packed_ue8m0:
        raise AssertionError(f"{name}: sf must be row-major and unpacked")
    if round_sf and use_e4m3_sf:
        raise AssertionError(f"{name}: round_sf and use_e4m3_sf exclude each other")
    check_given_sf(name, sf, use_e4m3_sf)
    return _native.quant.per_token_cast_with_precomputed_sf(x, fmt, num_per_channels, sf, out=out)


def _check_plain(name: str, x: Tensor, x_block_size: None) -> None:
    if not isinstance(x, Tensor):
        raise AssertionError(f"{name}: x must be a tensor, it is {type(x).__name__}")
    if x_block_size is not None:
        raise AssertionError(f"{name}: x_block_size is {x_block_size}, it must be None")
    check_hidden(name, x)
