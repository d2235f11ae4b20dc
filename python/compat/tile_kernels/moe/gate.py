"""Which experts each token goes to, and with what weights."""

from typing import Any

from torch import Tensor

from .. import _native
from .._level import is_v1
from .._native import require
from .scoring import ScoringFunc


def topk_gate(scores: Tensor, num_topk: int) -> Tensor:
    """Indices of the largest scores of each row, the best first."""
    return _native.moe.topk_gate(scores, num_topk)


def topk_sum_and_topk_group_idx(scores: Tensor, num_topk_sum: int, num_topk_groups: int) -> Tensor:
    """The best groups of scores [tokens, groups, experts], by their best one or two (v1)."""
    return _native.moe.topk_sum_and_topk_group_idx(scores, num_topk_sum, num_topk_groups)


def normalize_weight(topk_weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of each row, and the row divided by it. v1 has rows of more than 32, too."""
    return _native.moe.normalize_weight(topk_weights, wide_rows=is_v1())


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
    """The gate of v1: (topk_idx, topk_weights). It also writes unmapped_topk_idx."""
    score = ScoringFunc.from_str(scoring_func)
    require(score != ScoringFunc.IDENTITY, "top2_sum_gate: scores by 'identity' are no weights")
    _check_rank("top2_sum_gate", ep_rank)
    return _native.moe.top2_sum_gate(
        logits,
        bias,
        num_topk,
        num_topk_groups,
        num_groups,
        use_shared_as_routed,
        num_shared_experts,
        routed_scaling_factor,
        ep_rank,
        num_ep_ranks,
        tp_rank,
        num_tp_ranks,
        str(score),
        mask,
        fix_routing_mask,
        to_physical_map,
        logical_count,
        unmapped_topk_idx,
    )


def moe_topk_gate_forward(
    logits: Tensor,
    num_topk: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    routed_scaling_factor: float,
    ep_rank: int,
    scoring_func: str = "sqrtsoftplus",
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    image_bias: Tensor | None = None,
    image_token_mask: Tensor | None = None,
    fix_routing_mask: Tensor | None = None,
    to_physical_map: Tensor | None = None,
    logical_count: Tensor | None = None,
    unmapped_topk_idx: Tensor | None = None,
    force_random: Tensor | None = None,
    out: tuple[Tensor, Tensor] | None = None,
    scores: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gate of v2: (topk_idx, topk_weights). It also writes unmapped_topk_idx and scores."""
    _check_rank("moe_topk_gate_forward", ep_rank)
    return _native.moe.moe_topk_gate_forward(
        logits,
        num_topk,
        use_shared_as_routed,
        num_shared_experts,
        routed_scaling_factor,
        ep_rank,
        scoring_func,
        mask,
        bias,
        image_bias,
        image_token_mask,
        fix_routing_mask,
        to_physical_map,
        logical_count,
        unmapped_topk_idx,
        force_random,
        out,
        scores,
    )


def moe_topk_gate(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Another name of moe_topk_gate_forward."""
    return moe_topk_gate_forward(*args, **kwargs)


def moe_topk_gate_backward(
    scores: Tensor,
    topk_idx: Tensor,
    topk_weights: Tensor,
    grad_topk_weights: Tensor,
    routed_scaling_factor: float,
    scoring_func: str = "sqrtsoftplus",
    mask: Tensor | None = None,
    grad_scores_sum: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The gradient of the logits, by the scores of the forward pass (v2)."""
    return _native.moe.moe_topk_gate_backward(
        scores,
        topk_idx,
        topk_weights,
        grad_topk_weights,
        routed_scaling_factor,
        scoring_func,
        mask,
        grad_scores_sum,
        out,
    )


def _check_rank(name: str, ep_rank: int) -> None:
    if not -(2**31) <= ep_rank < 2**31:
        raise AssertionError(f"{name}: ep_rank is {ep_rank}, which needs more than 32 bits")
