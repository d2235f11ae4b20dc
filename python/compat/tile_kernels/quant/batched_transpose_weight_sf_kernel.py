"""Factors of weights as words, for multiplies with the weights and with their transposes (v2)."""

from collections.abc import Sequence

from torch import Tensor

from .. import _native

NAME = "batched_transpose_weight_sf"


def batched_transpose_weight_sf(
    sf: Sequence[Tensor],
    block_size: int,
    transpose_sf1s: Sequence[bool],
    outs: Sequence[tuple[Tensor, Tensor] | None],
) -> list[tuple[Tensor, Tensor]]:
    """(sf0, sf1) of each weight's factors; outs: None, or an earlier result to write anew."""
    for factors, turned, out in zip(sf, transpose_sf1s, outs, strict=False):
        if out is not None and factors.dim() in (2, 3):
            rows, columns = factors.shape[-2:]
            _check_out("sf0", out[0], factors, rows * block_size, columns, False)
            _check_out("sf1", out[1], factors, columns * block_size, rows, turned)
    return _native.quant.batched_transpose_weight_sf(sf, block_size, transpose_sf1s, outs)


def _check_out(name: str, t: Tensor, sf: Tensor, length: int, factors: int, turned: bool) -> None:
    """A given result lies like those that a call makes, also where a size is 1."""
    if not isinstance(t, Tensor):
        raise AssertionError(f"{NAME}: {name} is {type(t).__name__}, it must be a tensor")
    strides = (length, 1) if turned else (1, length)
    if sf.dim() == 3:
        strides = (-(-factors // 4) * length, *strides)
    if t.stride() != strides:
        raise AssertionError(f"{NAME}: {name} has strides {t.stride()}, not {strides}")
    at = t.data_ptr()
    if at % 32 != 0:
        raise AssertionError(f"{NAME}: {name} begins at {at:#x}, which is no multiple of 32")
