"""Casts with scale factors of blocks, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from .. import config
from .._native import require
from ..quant.common import (
    get_cast_input_and_config,
    get_cast_output_config,
    get_packed_ue8m0_pack_factor,
    get_packed_ue8m0_torch_dtype,
    unpack_from_e2m1fn_x2,
)
from ..quant.types import QuantTensor
from ..utils import ceil_div, str_to_dtype
from .scale import inverse, laid_out, scales_of, spread, transform_sf

__all__ = [
    "batched_transpose_weight_sf",
    "cast",
    "cast_back",
    "convert_to_e2m1_bits",
    "get_max_quant_val",
    "transform_sf",
    "transpose_weight_sf",
]


def get_max_quant_val(dtype: torch.dtype) -> float:
    """The largest value of a code: of e2m1, which int8 holds, or of e4m3."""
    return {torch.int8: 6.0, torch.float8_e4m3fn: 448.0}[dtype]


def convert_to_e2m1_bits(
    quant_tensor: Tensor, max_quant_val: float | None = None, device: object = None
) -> Tensor:
    """Codes of e2m1 of fp32, one in a byte: nearest, to even, at most 6; NaN becomes 7. The last
    two arguments are those of v1, and mean nothing."""
    a = quant_tensor.abs()
    ups = [a > 0.25, a >= 0.75, a > 1.25, a >= 1.75, a > 2.5, a >= 3.5, a > 5]
    code = torch.stack(ups).sum(0, dtype=torch.uint8).masked_fill_(a.isnan(), 7)
    return code | quant_tensor.signbit().to(torch.uint8) << 3


def to_codes(y: Tensor, dtype: torch.dtype) -> Tensor:
    """y in fp32 as codes of e4m3, or pairs of e2m1."""
    if dtype == torch.float8_e4m3fn:
        return y.clamp(-448, 448).to(dtype)
    code = convert_to_e2m1_bits(y)
    return (code[:, ::2] | code[:, 1::2] << 4).view(torch.int8)


def values_of(codes: Tensor) -> Tensor:
    """The codes in fp32, without factors."""
    return unpack_from_e2m1fn_x2(codes) if codes.dtype == torch.int8 else codes.float()


def cast(
    x: Tensor | QuantTensor,
    fmt: str,
    block_size: tuple[int, int] = (32, 32),
    sf: Tensor | None = None,
    x_block_size: tuple[int, int] | None = None,
    round_sf: bool = False,
    use_tma_aligned_col_major_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
) -> QuantTensor | Tensor:
    """Codes and factors of x, or of the pair x; the codes alone where the factors are given."""
    require(fmt in ("e4m3", "e2m1"), f"cast: fmt is {fmt!r}, it must be 'e4m3' or 'e2m1'")
    layout = get_cast_output_config(
        fmt, block_size, use_tma_aligned_col_major_sf, round_sf, use_packed_ue8m0, use_e4m3_sf
    )
    data, x_sf, x_layout = get_cast_input_and_config(x, x_block_size)
    require(data.dtype != torch.uint8, "cast: x is e5m6, it must be e4m3 or e2m1")
    value = values_of(data)
    shape = tuple(value.shape)
    if sf is not None:
        require(x_sf is None, "cast: sf is given, so x must be without factors")
        laid = use_tma_aligned_col_major_sf or use_packed_ue8m0
        require(not laid, "cast: sf that is given must be row-major and unpacked")
        grid_shape = tuple(map(ceil_div, shape, block_size))
        require(tuple(sf.shape) == grid_shape, f"cast: sf is {[*sf.shape]}, not {[*grid_shape]}")
        wanted = torch.float8_e4m3fn if use_e4m3_sf else torch.float32
        require(sf.dtype == wanted, f"cast: sf is {sf.dtype}, it must be {wanted}")
        return to_codes(value * spread(inverse(sf), block_size, shape), layout.torch_dtype)
    real = value
    if x_sf is not None:
        s_in = spread(transform_sf(x[1], x_layout), x_block_size, shape)
        real = value * s_in
    grid, inv = scales_of(real, get_max_quant_val(layout.torch_dtype), layout)
    inv = spread(inv, block_size, shape)
    if x_sf is None or block_size[1] == 1 or config.is_ascend():
        y = real * inv
    else:  # the product of both factors first; zeros stay, whatever it is
        y = torch.where(value == 0, value, value * (s_in * inv))
    return to_codes(y, layout.torch_dtype), laid_out(grid, shape, layout)


def cast_back(x: QuantTensor, fmt: str, block_size: tuple[int, int] = (32, 32)) -> Tensor:
    """code * factor, in bf16 or fp32."""
    require(fmt in ("bf16", "fp32"), f"cast_back: fmt is {fmt!r}, it must be 'bf16' or 'fp32'")
    require(isinstance(x, tuple), "cast_back: x must be a tuple of codes and scale factors")
    data, _, layout = get_cast_input_and_config(x, block_size)
    value = values_of(data)
    factors = spread(transform_sf(x[1], layout), block_size, value.shape)
    return (value * factors).to(str_to_dtype(fmt))


def transpose_weight_sf(sf: Tensor, block_size: int, transpose_sf1: bool) -> tuple[Tensor, Tensor]:
    """Exponents of the factors of a weight [n, k] in words, column-major: for the weight, and for
    its transpose; the latter row-major with `transpose_sf1`."""
    grids = sf if sf.dim() == 3 else sf[None]
    exponents = (grids.contiguous().view(torch.int32) >> 23).to(torch.uint8)
    sf0 = _words(exponents, block_size).transpose(1, 2)
    sf1 = _words(exponents.transpose(1, 2), block_size)
    sf1 = sf1 if transpose_sf1 else sf1.transpose(1, 2)
    return (sf0, sf1) if sf.dim() == 3 else (sf0[0], sf1[0])


def _words(exponents: Tensor, block_size: int) -> Tensor:
    """[g, rows, columns] of blocks as words [g, words of a row, rows of the weight]."""
    word = get_packed_ue8m0_pack_factor()
    filled = pad(exponents, (0, -exponents.shape[2] % word))
    rows = filled.repeat_interleave(block_size, 1).contiguous()
    words = rows.view(get_packed_ue8m0_torch_dtype())
    return words.transpose(1, 2).clone(memory_format=torch.contiguous_format)


def batched_transpose_weight_sf(
    sf: Sequence[Tensor], block_size: int, transpose_sf1s: Sequence[bool]
) -> list[tuple[Tensor, Tensor]]:
    """transpose_weight_sf of each."""
    pairs = zip(sf, transpose_sf1s, strict=True)
    return [transpose_weight_sf(each, block_size, flag) for each, flag in pairs]
