"""Scale factors of blocks: what they are, and how their grid lies in a tensor."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..quant.common import (
    CastInputConfig,
    CastOutputConfig,
    alloc_scaling_factors,
    cast_epilogue,
    get_packed_ue8m0_pack_factor,
    get_packed_ue8m0_torch_dtype,
)
from ..utils import ceil_div

_FLT_MAX = torch.finfo(torch.float32).max


def scales_of(x: Tensor, largest: float, layout: CastOutputConfig) -> tuple[Tensor, Tensor]:
    """Factors of the blocks of x (fp32 [m, k]) as a grid of fp32, and the inverses to multiply by.

    `largest` is the largest code. Elements behind the end of x and NaN don't count.
    """
    blocks = split(x.nan_to_num(0.0, _FLT_MAX, -_FLT_MAX).abs(), layout.sf_block)
    amax = blocks.amax((1, 3)) if blocks.numel() else blocks.new_zeros(blocks.shape[::2])
    a = amax.maximum(torch.tensor(layout.clamp_min_value, device=x.device))
    code = torch.tensor(largest, device=x.device)  # a tensor, so that divisions stay divisions
    sf = a / code
    if layout.round_sf:
        exponent = ((sf.view(torch.int32) - 1) >> 23) + 1
        return (exponent << 23).view(torch.float32), ((254 - exponent) << 23).view(torch.float32)
    if layout.use_e4m3_sf:
        sf = sf.clamp(max=448).to(torch.float8_e4m3fn).float()
        return sf, inverse(sf)
    return sf, code / a


def inverse(sf: Tensor) -> Tensor:
    return torch.ones((), device=sf.device) / sf.float()


def split(x: Tensor, block: tuple[int, int]) -> Tensor:
    """[m, k] as [blocks, rows, blocks, columns], filled up with zeros."""
    (m, k), (rows, columns) = x.shape, block
    x = pad(x, (0, -k % columns, 0, -m % rows))
    return x.view(ceil_div(m, rows), rows, ceil_div(k, columns), columns)


def spread(grid: Tensor, block: tuple[int, int], shape: torch.Size | tuple[int, int]) -> Tensor:
    """The entry of each element's block; the grid may be larger."""
    (m, k), (rows, columns) = shape, block
    grid = grid[: ceil_div(m, rows), : ceil_div(k, columns)]
    return grid.repeat_interleave(rows, 0)[:m].repeat_interleave(columns, 1)[:, :k]


def laid_out(grid: Tensor, shape: tuple[int, int], layout: CastOutputConfig) -> Tensor:
    """A grid of fp32 as operators return it; bytes that fill up words are 0."""
    sf = alloc_scaling_factors(shape, layout, grid.device)
    if not layout.use_packed_ue8m0:
        sf.copy_((grid.T if layout.use_tma_aligned_col_major_sf else grid).to(sf.dtype))
        return cast_epilogue(sf, layout)
    word = get_packed_ue8m0_pack_factor()
    exponents = (grid.contiguous().view(torch.int32) >> 23).to(torch.uint8)
    m, k = grid.shape
    if layout.sf_col_pack:
        words = (
            pad(exponents, (0, 0, 0, -m % word)).view(ceil_div(m, word), word, k).transpose(1, 2)
        )
    else:
        words = pad(exponents, (0, -k % word)).view(m, ceil_div(k, word), word)
        if layout.use_tma_aligned_col_major_sf:
            words = words.transpose(0, 1)
    sf.copy_(words.reshape(sf.shape))
    return cast_epilogue(sf, layout)


def transform_sf(sf: Tensor, input_config: CastInputConfig | None = None) -> Tensor:
    """The grid in fp32 of factors in any layout, with what fills up words; a byte e is 2^(e - 127),
    0 is 0."""
    if sf.dtype != get_packed_ue8m0_torch_dtype():
        return sf.float()
    word = get_packed_ue8m0_pack_factor()
    words = sf.clone(memory_format=torch.contiguous_format)  # also where a size is 1
    exponents = words.view(torch.uint8).view(*sf.shape, word)
    if input_config is not None and input_config.sf_col_pack:
        exponents = exponents.transpose(1, 2).flatten(0, 1)
    else:
        exponents = exponents.flatten(1)
    return (exponents.int() << 23).view(torch.float32)
