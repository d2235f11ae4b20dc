"""Inputs, comparisons and names for tests of kernels."""

from . import numeric

__all__ = ["numeric"]
