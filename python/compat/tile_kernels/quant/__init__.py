"""Casts to formats of few bits with scale factors, and back."""

from .batched_transpose_weight_sf_kernel import batched_transpose_weight_sf
from .cast_back_kernel import cast_back, per_token_cast_back
from .cast_kernel import cast
from .common import unpack_from_e2m1fn_x2
from .per_block_cast_kernel import (
    per_block_cast,
    per_block_cast_with_precomputed_sf,
    per_block_cast_with_sf_only,
)
from .per_block_cast_lossless_kernel import per_block_cast_lossless
from .per_channel_cast_and_transpose_kernel import per_channel_cast_and_transpose
from .per_channel_cast_fused_kernel import per_channel_cast_fused
from .per_channel_cast_kernel import per_channel_cast
from .per_token_cast_and_cast_back_kernel import per_token_cast_and_cast_back
from .per_token_cast_kernel import (
    per_token_cast,
    per_token_cast_with_precomputed_sf,
    per_token_cast_with_sf_only,
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
    "unpack_from_e2m1fn_x2",
]
