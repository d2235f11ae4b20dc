"""Rotary embedding of queries and keys (v2)."""

from torch import Tensor

from . import _native


def apply_rotary(
    query: Tensor,
    cos_sin_cache: Tensor,
    key: Tensor | None = None,
    positions: Tensor | None = None,
    interleaved: bool = False,
    conjugate: bool = False,
    seqlen_offset: int = 0,
) -> None:
    """Rotates query and key in place, by the angles of each token's position."""
    if not isinstance(seqlen_offset, int):
        raise AssertionError(f"apply_rotary: seqlen_offset is {seqlen_offset!r}, it must be an int")
    _native.transform.apply_rotary(
        query, cos_sin_cache, key, positions, interleaved, conjugate, seqlen_offset
    )
