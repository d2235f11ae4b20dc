"""Mixture of experts: from the experts of each token to rows in the order of experts, and back."""

from ._tilewright import (
    expand_to_fused,
    expand_to_fused_with_sf,
)

__all__ = [
    "expand_to_fused",
    "expand_to_fused_with_sf",
]
