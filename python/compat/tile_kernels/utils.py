"""Arithmetic on sizes, names of dtypes. Imports no sibling."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e2m1": "int8"}


def ceil_div(x: int, y: int) -> int:
    return (x + y - 1) // y


def align(x: int, y: int) -> int:
    """The least multiple of y that is at least x."""
    return ceil_div(x, y) * y


def is_power_of_two(x: int) -> bool:
    return x > 0 and x & (x - 1) == 0


def next_power_of_two(x: int) -> int:
    """The least power of two that is at least x >= 1; 2 for 0."""
    return 1 << (x - 1).bit_length()


def dtype_to_str(dtype: torch.dtype) -> str:
    """Short name of a dtype; int8 stands for pairs of e2m1."""
    for short, name in _DTYPES.items():
        if str(dtype) == "torch." + name:
            return short
    raise ValueError(f"dtype_to_str: {dtype} is none of {', '.join(_DTYPES.values())}")


def str_to_dtype(fmt: str) -> torch.dtype:
    """The dtype of that short name."""
    if fmt not in _DTYPES:
        raise ValueError(f"str_to_dtype: {fmt!r} is none of {', '.join(_DTYPES)}")
    import torch

    return getattr(torch, _DTYPES[fmt])
