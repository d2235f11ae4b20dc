"""Inputs, comparisons and names for tests of kernels."""

from .._lazy import lazy

_MODULES = ("bench", "generator", "numeric", "quant")
_MEMBERS = {"clear_unused_sf": "quant", "clear_unused_sf_col_pack": "quant"}

__all__ = [*_MODULES, *_MEMBERS]
__getattr__ = lazy(__name__, _MODULES, _MEMBERS)
