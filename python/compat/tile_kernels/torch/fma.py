"""a * b + c with one rounding to fp32."""

from __future__ import annotations

import torch
from torch import Tensor


def fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Of fp32. The product is exact in fp64. The sum is rounded to odd there: an inexact one gets
    an odd last bit, which keeps the rounding to fp32 from taking a tie that isn't one."""
    product, addend = a.double() * b.double(), c.double()
    total = product + addend
    part = total - product
    rest = (product - (total - part)) + (addend - part)  # exact
    even = total.view(torch.int64) & 1 == 0
    towards = torch.nextafter(total, torch.copysign(torch.full_like(total, torch.inf), rest))
    inexact = (rest != 0) & total.isfinite()
    return torch.where(inexact & even, towards, total).float()
