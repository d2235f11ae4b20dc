"""Casts of single elements."""

import torch
from torch import Tensor

from .. import _native

_NAMES = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
}


def cast(x: Tensor, dtype: torch.dtype, stochastic_rounding: bool = False) -> Tensor:
    """x in another dtype, to the nearest even; e4m3 and e5m2 saturate. With stochastic_rounding up
    or down at random, as often as the value demands: f32 to bf16 and to e4m3, bf16 to e4m3."""
    for name, given in (("x", x.dtype), ("dtype", dtype)):
        if given not in _NAMES:
            raise AssertionError(f"cast: {name} is {given}, it must be one of {[*_NAMES]}")
    if not x.is_contiguous():
        says = f"cast: x is {[*x.shape]} with strides {[*x.stride()]}"
        raise AssertionError(f"{says}, not contiguous")
    convert = _native.quant.stochastic_cast if stochastic_rounding else _native.quant.cast
    return convert(x, _NAMES[dtype])
