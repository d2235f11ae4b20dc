"""Routing of tokens to experts, and back."""

from .gate import (
    moe_topk_gate,
    moe_topk_gate_backward,
    moe_topk_gate_forward,
    normalize_weight,
    top2_sum_gate,
    topk_gate,
    topk_sum_and_topk_group_idx,
)
from .indices import aux_fi, group_count, inplace_unique_group_indices, mask_indices_by_tp
from .layout import (
    expand_to_fused,
    expand_to_fused_with_sf,
    get_fused_mapping,
    reduce_fused,
)

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
