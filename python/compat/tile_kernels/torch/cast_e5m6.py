"""Casts to twelve bits and back: a sign, five bits of exponent, six of mantissa (v1)."""

from __future__ import annotations

import torch
from torch import Tensor

from .._native import require
from ..quant.common import get_cast_input_and_config, get_cast_output_config
from ..quant.types import QuantTensor
from ..utils import str_to_dtype
from .scale import laid_out, scales_of, spread, transform_sf

_LARGEST = 65024.0


def cast_to_e5m6(
    x: Tensor,
    num_per_channels: int,
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
) -> QuantTensor:
    """Codes, eight in twelve bytes, and factors of groups of columns of each row."""
    k = x.shape[1]
    require(k % 8 == 0, f"cast_to_e5m6: x has {k} columns, they must be a multiple of 8")
    block = (1, num_per_channels)
    layout = get_cast_output_config(
        "e5m6", block, use_tma_aligned_col_major_sf, round_sf, use_packed_ue8m0
    )
    value = x.float()
    grid, inv = scales_of(value, _LARGEST, layout)
    codes = to_e5m6(value * spread(inv, block, value.shape))
    return packed(codes), laid_out(grid, tuple(x.shape), layout)


def cast_back_from_e5m6(x: QuantTensor, fmt: str, x_block_size: tuple[int, int]) -> Tensor:
    """code * factor, in bf16 or fp32."""
    data, _, layout = get_cast_input_and_config(x, x_block_size)
    value = from_e5m6(unpacked(data))
    factors = spread(transform_sf(x[1], layout), x_block_size, value.shape)
    return (value * factors).to(str_to_dtype(fmt))


def to_e5m6(y: Tensor) -> Tensor:
    """Codes of fp32 in int32: cut to fp16, then to 12 bits, and up by one where the 17 low bits of
    the fp32 say so. Where the fp16 is subnormal those bits are not the ones that were cut."""
    y = y.clamp(-_LARGEST, _LARGEST)
    u = y.contiguous().view(torch.int32)
    exponent, mantissa = u >> 23 & 0xFF, u & 0x7FFFFF
    normal = exponent - 112 << 10 | mantissa >> 13
    subnormal = (mantissa | 0x800000) >> (126 - exponent).clamp(0, 31)
    half = torch.where(exponent >= 113, normal, subnormal)
    code = (u < 0).int() << 11 | half >> 4
    code += (code & 1) + (u & 0x1FFFF) > 0x10000
    return torch.where(y.isnan(), torch.full_like(code, 0x7FF), code)


def from_e5m6(codes: Tensor) -> Tensor:
    """Codes in fp32."""
    return (codes << 4).to(torch.int16).view(torch.float16).float()


def packed(codes: Tensor) -> Tensor:
    """[m, k] codes as bytes [m, 3 k / 2]: eight in three words, the first one on top."""
    v = codes.long().view(codes.shape[0], codes.shape[1] // 8, 8).unbind(-1)
    words = torch.stack(
        [
            v[0] << 20 | v[1] << 8 | v[2] >> 4,
            (v[2] & 0xF) << 28 | v[3] << 16 | v[4] << 4 | v[5] >> 8,
            (v[5] & 0xFF) << 24 | v[6] << 12 | v[7],
        ],
        dim=-1,
    )
    shifts = torch.tensor([0, 8, 16, 24], device=codes.device)
    return (words[..., None] >> shifts & 0xFF).to(torch.uint8).flatten(1)


def unpacked(data: Tensor) -> Tensor:
    """Bytes [m, 3 k / 2] as codes [m, k] in int32."""
    m, width = data.shape
    require(width % 12 == 0, f"e5m6: rows have {width} bytes, they must be a multiple of 12")
    shifts = torch.tensor([0, 8, 16, 24], device=data.device)
    w = (data.long().view(m, width // 12, 3, 4) << shifts).sum(-1).unbind(-1)
    codes = [
        w[0] >> 20,
        w[0] >> 8,
        w[0] << 4 | w[1] >> 28,
        w[1] >> 16,
        w[1] >> 4,
        w[1] << 8 | w[2] >> 24,
        w[2] >> 12,
        w[2],
    ]
    return (torch.stack(codes, dim=-1) & 0xFFF).int().view(m, width // 12 * 8)
