"""Routing of tokens to experts, and back."""

from .gate import normalize_weight, topk_gate
from .layout import expand_to_fused, expand_to_fused_with_sf

__all__ = [
    "expand_to_fused",
    "expand_to_fused_with_sf",
    "normalize_weight",
    "topk_gate",
]
