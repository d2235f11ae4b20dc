"""From the experts of each token to the expert-major layout, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from ..utils import align
from .fma import fma


def mask_indices_by_tp(
    indices: Tensor, n: int, num_ep_ranks: int, tp_rank: int, num_tp_ranks: int
) -> Tensor:
    """Indices of the experts of one tensor-parallel rank, numbered densely; the others are -1."""
    per_rank = n // num_ep_ranks
    rank = indices.div(per_rank, rounding_mode="floor")
    local = rank.div(num_tp_ranks, rounding_mode="floor") * per_rank + indices % per_rank
    mine = (indices >= 0) & (rank % num_tp_ranks == tp_rank)
    return local.where(mine, -1).to(indices.dtype)


def group_count(group_idx: Tensor, num_groups: int) -> Tensor:
    """How often each group occurs."""
    return torch.bincount(group_idx[group_idx >= 0], minlength=num_groups).int()


def aux_fi(topk_idx: Tensor, num_experts: int, num_aux_topk: int) -> Tensor:
    """How often each expert occurs, relative to a uniform choice of num_aux_topk."""
    count = group_count(topk_idx, num_experts).long()
    if topk_idx.shape[0] == 0:
        return count.float()
    total = torch.tensor(topk_idx.shape[0] * num_aux_topk, device=count.device)
    return (count * num_experts).float() / total.float()


def inplace_unique_group_indices(group_indices: Tensor, num_groups: int) -> None:
    """What occurred before in its row becomes -1; negative entries stay."""
    for k in range(1, group_indices.shape[1]):
        column = group_indices[:, k]
        seen = (group_indices[:, :k] == column[:, None]).any(1) & (column >= 0)
        column[seen] = -1


def expand_to_fused(x: Tensor, token_topk_to_pos: Tensor, pos_to_expert: Tensor) -> Tensor:
    """Each token's row at all of its positions, zeros elsewhere."""
    return _expanded(x, token_topk_to_pos, pos_to_expert.shape[0])


def expand_to_fused_with_sf(
    x: tuple[Tensor, Tensor],
    num_per_channels: int,
    token_topk_to_pos: Tensor,
    pos_to_expert: Tensor,
    use_tma_aligned_col_major_sf: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same of codes and of their factors, whose columns may be made to lie densely."""
    data, sf = x
    rows = pos_to_expert.shape[0]
    out = _expanded(sf, token_topk_to_pos, rows)
    if use_tma_aligned_col_major_sf:
        columns = sf.new_zeros((sf.shape[1], align(rows, 4)))[:, :rows]
        out = columns.copy_(out.T).T
    return _expanded(data, token_topk_to_pos, rows), out


def _expanded(x: Tensor, token_topk_to_pos: Tensor, rows: int) -> Tensor:
    """Rows of bytes, since not all dtypes can be indexed."""
    out = torch.zeros((rows, x.shape[1]), dtype=x.dtype, device=x.device)
    token, slot = (token_topk_to_pos >= 0).nonzero(as_tuple=True)
    position = token_topk_to_pos[token, slot].long()
    out.view(torch.uint8)[position] = x.view(torch.uint8)[token]
    return out


def reduce_fused(
    x: Tensor | tuple[Tensor, Tensor],
    topk_weights: Tensor | None,
    token_topk_to_pos: Tensor,
    fp8_format: str = "",
    sf: Tensor | None = None,
) -> Tensor:
    """The weighted sum of each token's rows, slot by slot with fused multiply-adds."""
    data, x_sf = x if isinstance(x, tuple) else (x, None)
    tokens, slots = token_topk_to_pos.shape
    total = torch.zeros((tokens, data.shape[1]), device=data.device)
    for k in range(slots if tokens else 0):
        rows = (token_topk_to_pos[:, k] >= 0).nonzero()[:, 0]
        position = token_topk_to_pos[rows, k].long()
        factor = total.new_ones(rows.shape[0]) if topk_weights is None else topk_weights[rows, k]
        if x_sf is not None:
            factor = factor * x_sf[position]
        total[rows] = fma(data[position].float(), factor[:, None], total[rows])
    if sf is not None:
        total = total * sf[0]
    dtype = torch.float8_e4m3fn if fp8_format == "e4m3" else data.dtype
    return total.clamp(-448, 448).to(dtype) if dtype == torch.float8_e4m3fn else total.to(dtype)
