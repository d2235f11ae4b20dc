"""Casts to formats of few bits with scale factors, and back."""

from .cast_back_kernel import cast_back, per_token_cast_back
from .common import unpack_from_e2m1fn_x2
from .per_token_cast_kernel import (
    per_token_cast,
    per_token_cast_with_precomputed_sf,
    per_token_cast_with_sf_only,
)

__all__ = [
    "cast_back",
    "per_token_cast",
    "per_token_cast_back",
    "per_token_cast_with_precomputed_sf",
    "per_token_cast_with_sf_only",
    "unpack_from_e2m1fn_x2",
]
