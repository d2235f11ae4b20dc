"""Casts to formats of few bits with scale factors, and element casts."""

from ._tilewright import (
    batched_transpose_weight_sf,
    cast,
    cast_back,
    per_block_cast,
    per_block_cast_lossless,
    per_block_cast_with_precomputed_sf,
    per_block_cast_with_sf_only,
    per_channel_cast,
    per_channel_cast_and_transpose,
    per_channel_cast_fused,
    per_token_cast,
    per_token_cast_and_cast_back,
    per_token_cast_back,
    per_token_cast_with_precomputed_sf,
    per_token_cast_with_sf_only,
    stochastic_cast,
)

__all__ = [
    "batched_transpose_weight_sf",
    "cast",
    "cast_back",
    "per_block_cast",
    "per_block_cast_lossless",
    "per_block_cast_with_precomputed_sf",
    "per_block_cast_with_sf_only",
    "per_channel_cast",
    "per_channel_cast_and_transpose",
    "per_channel_cast_fused",
    "per_token_cast",
    "per_token_cast_and_cast_back",
    "per_token_cast_back",
    "per_token_cast_with_precomputed_sf",
    "per_token_cast_with_sf_only",
    "stochastic_cast",
]
