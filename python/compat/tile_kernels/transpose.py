"""Transposes of matrices, one or a batch of them; bits move and are never converted (v1)."""

from torch import Tensor

from . import _native
from ._native import require


def transpose(x: Tensor) -> Tensor:
    """x [m, n] as [n, m], contiguous; m and n are multiples of 64."""
    require(x.dim() == 2, f"transpose: x is {[*x.shape]}, it must be [m, n]")
    return _transpose("transpose", x)


def batched_transpose(x: Tensor) -> Tensor:
    """x [b, m, n] as [b, n, m], contiguous; m and n are multiples of 64."""
    require(x.dim() == 3, f"batched_transpose: x is {[*x.shape]}, it must be [b, m, n]")
    return _transpose("batched_transpose", x)


def _transpose(name: str, x: Tensor) -> Tensor:
    m, n = x.shape[-2:]
    says = f"{name}: x is {[*x.shape]} with strides {[*x.stride()]}"
    require(m % 64 == 0 and n % 64 == 0, f"{says}, m and n must be multiples of 64")
    require(x.element_size() in (1, 2, 4), f"{name}: x is {x.dtype}, it must have 1, 2 or 4 bytes")
    if x.numel() == 0:
        return x.new_empty((*x.shape[:-2], n, m))
    require(x.stride(-1) == 1, f"{says}, its rows must be contiguous")
    require(x.stride(-2) % 4 == 0, f"{says}, rows must be a multiple of 4 elements apart")
    in_line = x.dim() == 2 or x.shape[0] == 1 or x.stride(0) == m * x.stride(1)
    require(in_line, f"{says}, matrices must follow each other")
    return _native.tilewright.transpose(x)
