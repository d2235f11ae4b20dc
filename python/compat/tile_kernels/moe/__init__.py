"""Routing of tokens to experts, and back."""

from .gate import moe_topk_gate, moe_topk_gate_forward, normalize_weight, topk_gate
from .layout import (
    expand_to_fused,
    expand_to_fused_with_sf,
    get_fused_mapping,
    reduce_fused,
)

__all__ = [
    "expand_to_fused",
    "expand_to_fused_with_sf",
    "get_fused_mapping",
    "moe_topk_gate",
    "moe_topk_gate_forward",
    "normalize_weight",
    "reduce_fused",
    "topk_gate",
]
