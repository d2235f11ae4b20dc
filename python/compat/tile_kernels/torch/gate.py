"""Gates: which experts a token goes to, with what weights, and their gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from .layout import mask_indices_by_tp
from .topk import sqrt_softplus_ref, stable_topk, topk_sum_and_topk_group_idx


def denominator_of(weights: Tensor) -> Tensor:
    """Sums of rows as a tree of 32 leaves, which lanes of a warp add up, + 1e-20; longer rows from
    left to right, starting at 1e-20."""
    tokens, slots = weights.shape
    if slots > 32:
        total = weights.new_full((tokens,), 1e-20)
        for column in weights.unbind(1):
            total = total + column
        return total
    tree = weights.new_zeros((tokens, 32))
    tree[:, :slots] = weights
    while tree.shape[1] > 1:
        half = tree.shape[1] // 2
        tree = tree[:, :half] + tree[:, half:]
    return tree[:, 0] + 1e-20


def normalize_weight(topk_weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of each row, and the row divided by it."""
    denominator = denominator_of(topk_weights)
    return denominator, topk_weights / denominator[:, None]


def _routed_weights(scores: Tensor, chosen: Tensor, factor: float) -> Tensor:
    """Scores of the chosen experts, normalised, then scaled."""
    normalized = normalize_weight(scores.gather(1, chosen))[1]
    return normalized * torch.tensor(factor, dtype=torch.float32, device=scores.device)


def _with_shared(
    chosen: Tensor, weights: Tensor, experts: int, shared: int
) -> tuple[Tensor, Tensor]:
    """Shared experts behind the routed ones, with weight 1."""
    tokens = chosen.shape[0]
    ids = torch.arange(experts, experts + shared, device=chosen.device).expand(tokens, shared)
    return torch.cat([chosen, ids], 1), torch.cat([weights, weights.new_ones(tokens, shared)], 1)


def _physical(
    logical: Tensor, to_physical_map: Tensor, logical_count: Tensor, ep_rank: int
) -> Tensor:
    """The duplicate that each row uses, in 64-bit integers."""
    row = torch.arange(logical.shape[0], device=logical.device)[:, None]
    duplicate = (ep_rank + row * 23333) % logical_count.long()[logical]
    return to_physical_map.long()[logical, duplicate]


def _choose(
    best: Tensor, fix_routing_mask: Tensor | None, unmapped_topk_idx: Tensor | None
) -> Tensor:
    """The best experts; in fixed rows those that are given."""
    if fix_routing_mask is None:
        return best
    return torch.where(fix_routing_mask[:, None], unmapped_topk_idx.clamp(min=0), best)


def _finish(
    mask: Tensor | None, chosen: Tensor, ids: Tensor, weights: Tensor, unmapped: Tensor | None
) -> None:
    """Rows that aren't routed have no experts; the caller learns the logical ones."""
    if unmapped is not None:
        unmapped.copy_(chosen)
    if mask is None:
        return
    ids[~mask] = -1
    weights[~mask] = 0
    if unmapped is not None:
        unmapped[~mask] = -1


def top2_sum_gate(
    logits: Tensor,
    bias: Tensor,
    num_topk: int,
    num_topk_groups: int,
    num_groups: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    routed_scaling_factor: float,
    ep_rank: int,
    num_ep_ranks: int,
    tp_rank: int,
    num_tp_ranks: int,
    scoring_func: str,
    mask: Tensor | None = None,
    fix_routing_mask: Tensor | None = None,
    to_physical_map: Tensor | None = None,
    logical_count: Tensor | None = None,
    unmapped_topk_idx: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gate of v1: groups, three kinds of scores, experts of one tensor-parallel rank."""
    tokens, experts = logits.shape
    shared = num_shared_experts if use_shared_as_routed else 0
    score = {
        "sigmoid": torch.sigmoid,
        "sqrtsoftplus": sqrt_softplus_ref,
        "softmax": lambda x: torch.softmax(x, dim=-1),
    }[scoring_func.lower()]
    scores = score(logits)
    keys = (logits if scoring_func.lower() == "softmax" else scores) + bias
    if 0 < num_topk_groups < num_groups:
        groups = keys.view(tokens, num_groups, experts // num_groups)
        kept = topk_sum_and_topk_group_idx(groups, 2, num_topk_groups)
        out = torch.ones((tokens, num_groups), dtype=torch.bool, device=keys.device)
        out.scatter_(1, kept, False)
        keys = groups.masked_fill(out[:, :, None], -torch.inf).view(tokens, experts)
    chosen = _choose(stable_topk(keys, num_topk), fix_routing_mask, unmapped_topk_idx)
    weights = _routed_weights(scores, chosen, routed_scaling_factor)
    ids, weights = _with_shared(chosen, weights, experts, shared)
    slots = experts
    if to_physical_map is not None:
        ids = _physical(ids, to_physical_map, logical_count, ep_rank)
        slots += to_physical_map.shape[1] - 1
    ids = mask_indices_by_tp(ids, slots, num_ep_ranks, tp_rank, num_tp_ranks)
    _finish(mask, chosen, ids, weights, unmapped_topk_idx)
    return ids, weights


def moe_topk_gate_forward(
    logits: Tensor,
    num_topk: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    routed_scaling_factor: float,
    ep_rank: int,
    scoring_func: str,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    image_bias: Tensor | None = None,
    image_token_mask: Tensor | None = None,
    fix_routing_mask: Tensor | None = None,
    to_physical_map: Tensor | None = None,
    logical_count: Tensor | None = None,
    unmapped_topk_idx: Tensor | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The gate of v2, without rows that are routed at random."""
    experts = logits.shape[1]
    scores = sqrt_softplus_ref(logits)
    keys = scores if bias is None else scores + bias
    if image_token_mask is not None:
        keys = torch.where(image_token_mask[:, None], scores + image_bias, keys)
    chosen = _choose(stable_topk(keys, num_topk), fix_routing_mask, unmapped_topk_idx)
    weights = _routed_weights(scores, chosen, routed_scaling_factor)
    shared = num_shared_experts if use_shared_as_routed else 0
    ids, weights = _with_shared(chosen, weights, experts, shared)
    if to_physical_map is not None:
        ids = _physical(ids, to_physical_map, logical_count, ep_rank)
    _finish(mask, chosen, ids, weights, unmapped_topk_idx)
    if out is None:
        return ids, weights
    return out[0].copy_(ids), out[1].copy_(weights)


def moe_topk_gate_backward(
    scores: Tensor,
    topk_idx: Tensor,
    topk_weights: Tensor,
    grad_topk_weights: Tensor,
    routed_scaling_factor: float,
    scoring_func: str,
    mask: Tensor | None = None,
    grad_scores_sum: Tensor | None = None,
) -> Tensor:
    """The gradient of the logits, in fp64: of the weights, and of a loss that reads the sums of
    normalised scores of each sequence."""
    u, w, g = scores.double(), topk_weights.double(), grad_topk_weights.double()
    factor = torch.tensor(routed_scaling_factor, dtype=torch.float32).double()
    valid = topk_idx >= 0
    index = topk_idx.clamp(min=0)
    denominator = (u.gather(1, index) * valid).sum(1, keepdim=True) + 1e-20
    dot = torch.where(valid, g * w, 0).sum(1, keepdim=True)
    slots = torch.where(valid, (factor.to(g.device) * g - dot) / denominator, 0)
    grad = torch.zeros_like(u).scatter_add_(1, index, slots)
    if grad_scores_sum is not None:
        repeats = scores.shape[0] // max(1, grad_scores_sum.shape[0])
        h = grad_scores_sum.double().repeat_interleave(repeats, 0)
        routed = mask[:, None]
        inverse = torch.where(routed, 1 / torch.where(routed, u.sum(1, keepdim=True), 1), 0)
        grad = grad + (h - (h * u).sum(1, keepdim=True) * inverse) * inverse
    slope = torch.where(u == 0, 0, -torch.expm1(-u * u) / torch.where(u == 0, 1, 2 * u))
    return (grad * slope + 0.0).to(scores.dtype)  # no -0
