"""Position-dependent rotations of queries and keys."""

from ._tilewright import apply_rotary

__all__ = ["apply_rotary"]
