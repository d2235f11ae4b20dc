"""Transposes of matrices, one or a batch of them; bits move and are never converted (v1)."""

from torch import Tensor

from . import _native


def transpose(x: Tensor) -> Tensor:
    """x [m, n] as [n, m], contiguous; m and n are multiples of 64."""
    if x.dim() != 2:
        raise AssertionError(f"transpose: x is {[*x.shape]}, it must be [m, n]")
    return _transpose("transpose", x)


def batched_transpose(x: Tensor) -> Tensor:
    """x [b, m, n] as [b, n, m], contiguous; m and n are multiples of 64."""
    if x.dim() != 3:
        raise AssertionError(f"batched_transpose: x is {[*x.shape]}, it must be [b, m, n]")
    return _transpose("batched_transpose", x)


def _transpose(name: str, x: Tensor) -> Tensor:
    shape, strides = x.shape, x.stride()
    m, n = shape[-2:]

    def wrong(what: str) -> AssertionError:
        return AssertionError(f"{name}: x is {[*shape]} with strides {[*strides]}, {what}")

    if m % 64 or n % 64:
        raise wrong("m and n must be multiples of 64")
    if x.dtype.itemsize not in (1, 2, 4):
        raise AssertionError(f"{name}: x is {x.dtype}, it must have 1, 2 or 4 bytes")
    if 0 in shape:
        return x.new_empty((*shape[:-2], n, m))
    if strides[-1] != 1:
        raise wrong("its rows must be contiguous")
    if strides[-2] % 4:
        raise wrong("rows must be a multiple of 4 elements apart")
    if len(shape) == 3 and shape[0] != 1 and strides[0] != m * strides[1]:
        raise wrong("matrices must follow each other")
    return _native.tilewright.transpose(x)
