"""The largest scores of rows, and what a router's scores are."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import config


def stable_topk(scores: Tensor, num_topk: int) -> Tensor:
    """Indices of the largest of each row, the best first, among equals the one with the smaller
    index."""
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return order[..., :num_topk].clone(memory_format=torch.contiguous_format)


def topk_sum_and_topk_group_idx(
    scores: Tensor, num_group_sum_topk: int, num_topk_groups: int
) -> Tensor:
    """The best groups of scores [tokens, groups, experts], by the sum of their best one or two."""
    best = scores.topk(num_group_sum_topk, dim=-1).values
    return stable_topk(
        best[..., 0] if num_group_sum_topk == 1 else best[..., 0] + best[..., 1], num_topk_groups
    )


def sqrt_softplus_ref(x: Tensor) -> Tensor:
    """sqrt(log(1 + exp(x)))."""
    if config.is_ascend():
        wide = x.cpu().double()
        return (wide.clamp(min=0) + (-wide.abs()).exp().log1p()).sqrt().to(x)
    return torch.nn.functional.softplus(x, threshold=20).sqrt()
