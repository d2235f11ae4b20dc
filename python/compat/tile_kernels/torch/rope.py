"""Rotary embedding."""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_embedding_ref(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor | None = None,
    seqlen_offsets: int | Tensor = 0,
    interleaved: bool = False,
    conjugate: bool = False,
) -> Tensor:
    """x [..., tokens, heads, d] with its first r columns rotated by the angles of cos and sin
    [rows, r / 2], in rows positions + seqlen_offsets; the others are copied."""
    half = cos.shape[1]
    if positions is None:
        positions = torch.arange(x.shape[-3], device=x.device)
    rows = (positions + seqlen_offsets).long()
    dtype = torch.promote_types(x.dtype, cos.dtype)
    co, si = (table[rows].to(dtype).unsqueeze(-2) for table in (cos, sin))
    if conjugate:
        si = -si
    turning = x[..., : 2 * half].to(dtype)
    pairs = turning.unflatten(-1, (half, 2) if interleaved else (2, half))
    u, v = pairs.unbind(-1 if interleaved else -2)
    turned = torch.stack([u * co - v * si, u * si + v * co], dim=-1 if interleaved else -2)
    return torch.cat([turned.flatten(-2).to(x.dtype), x[..., 2 * half :]], dim=-1)
