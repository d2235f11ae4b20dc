"""Comparisons of results; what doesn't hold is an AssertionError that says both values."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def assert_equal(
    x: Tensor,
    y: Tensor,
    check_dtype: bool = True,
    check_shape: bool = True,
    check_stride: bool = True,
) -> None:
    """Both are on one device and equal in every byte: -0 differs from +0, a NaN equals itself."""
    _same("device", x.device, y.device)
    if check_dtype:
        _same("dtype", x.dtype, y.dtype)
    if check_shape:
        _same("shape", [*x.shape], [*y.shape])
    if check_stride and x.numel() > 0:
        _same("strides", x.stride(), y.stride())
    a, b = _bytes(x), _bytes(y)
    _same("bytes", a.numel(), b.numel())
    differing = (a != b).nonzero()
    if differing.numel() > 0:
        first = int(differing[0]) // max(1, x.element_size())
        raise AssertionError(
            f"{differing.numel()} of {a.numel()} bytes differ, first in element {first}:\n{x}\n{y}"
        )


def calc_diff(x: Tensor, y: Tensor) -> Tensor:
    """sum((x - y)^2) / sum(x^2 + y^2) in fp64, a scalar; 0 where both are 0."""
    x, y = x.double(), y.double()
    denominator = (x * x + y * y).sum()
    error = ((x - y) ** 2).sum()
    return torch.where(denominator == 0, torch.zeros_like(error), error / denominator)


def check_bias(x: Tensor, ref: Tensor) -> None:
    """x lies below ref about as often as above."""
    count = x.numel()
    if count == 0:
        return
    share = float(((x < ref).sum() + (x == ref).sum() / 2) / count)
    if not abs(share - 0.5) < 10 / count**0.5:
        raise AssertionError(f"a share of {share} lies below, it must be 0.5 +- {10 / count**0.5}")


def count_bytes(*tensors: Tensor | Iterable | None) -> int:
    """Bytes of the elements of all tensors, also in tuples and lists; None has none."""
    total = 0
    for t in tensors:
        if isinstance(t, (tuple, list)):
            total += count_bytes(*t)
        elif t is not None:
            total += t.numel() * t.element_size()
    return total


def _bytes(x: Tensor) -> Tensor:
    return x.detach().contiguous().as_strided((x.numel(),), (1,)).view(torch.uint8)


def _same(what: str, x: object, y: object) -> None:
    if x != y:
        raise AssertionError(f"{what}: {x} and {y} differ")
