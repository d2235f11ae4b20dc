"""Mixture of experts: choosing experts, rows in the order of experts, and the way back."""

from ._tilewright import (
    aux_fi,
    expand_to_fused,
    expand_to_fused_with_sf,
    get_fused_mapping,
    group_count,
    inplace_unique_group_indices,
    mask_indices_by_tp,
    moe_topk_gate_backward,
    moe_topk_gate_forward,
    normalize_weight,
    reduce_fused,
    top2_sum_gate,
    topk_gate,
    topk_sum_and_topk_group_idx,
)

moe_topk_gate = moe_topk_gate_forward

__all__ = [
    "aux_fi",
    "expand_to_fused",
    "expand_to_fused_with_sf",
    "get_fused_mapping",
    "group_count",
    "inplace_unique_group_indices",
    "mask_indices_by_tp",
    "moe_topk_gate",
    "moe_topk_gate_backward",
    "moe_topk_gate_forward",
    "normalize_weight",
    "reduce_fused",
    "top2_sum_gate",
    "topk_gate",
    "topk_sum_and_topk_group_idx",
]
