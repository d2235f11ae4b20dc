"""Bytes and codes of casts, made comparable."""

from __future__ import annotations

import torch
from torch import Tensor

from ..quant.common import get_packed_ue8m0_pack_factor
from ..utils import ceil_div


def quant_level_rank(codes: Tensor, fmt: str) -> Tensor:
    """The place of each code among all values, int32 in one dimension; neighbours differ by one,
    +0 and -0 are one (v2). fmt: 'bf16' or 'e4m3', else pairs of e2m1."""
    if fmt == "bf16":
        return _rank(codes.contiguous().view(torch.int16), 0x7F7F, 0x7FFF, 0x8000)
    codes = codes.contiguous().view(torch.uint8)
    if fmt == "e4m3":
        return _rank(codes, 0x7E, 0x7F, 0x80)
    return _rank(torch.stack([codes & 0xF, codes >> 4], dim=-1), 7, 7, 8)


def _rank(codes: Tensor, zero: int, magnitude: int, sign: int) -> Tensor:
    codes = codes.flatten().int()
    distance = codes & magnitude
    return torch.where(codes & sign != 0, zero - distance, zero + distance).int()


def clear_unused_sf(sf: Tensor, hidden: int, num_per_channels: int) -> Tensor:
    """The bytes of packed factors, row by row; those that belong to no group become 0, in the
    caller's memory if that is contiguous."""
    exponents = _bytes(sf)
    exponents[:, ceil_div(hidden, num_per_channels) :] = 0
    return exponents


def clear_unused_sf_col_pack(sf: Tensor, num_tokens: int, num_per_tokens: int) -> Tensor:
    """The same of factors that are packed along tokens (v2)."""
    word = get_packed_ue8m0_pack_factor()
    exponents = _bytes(sf)
    blocks = ceil_div(num_tokens, num_per_tokens)
    if exponents.numel() and blocks % word:
        exponents[-1].view(-1, word)[:, blocks % word :] = 0
    return exponents


def _bytes(words: Tensor) -> Tensor:
    dense = words.contiguous()
    rows, columns = dense.shape
    return dense.as_strided((rows, columns), (columns, 1)).view(torch.uint8)
