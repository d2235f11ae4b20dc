"""Inputs of tests: lists of sizes, and random tensors, on the device of `config.get_device()`.

Some lists differ between v1 and v2; which one a call means is told by its arguments, else by
TK_API_LEVEL.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from .. import config
from .._level import is_v1
from ..utils import align


# ---- how much to test ----
def is_precompile() -> bool:
    """Whether tests only fill the cache of compiled kernels."""
    return os.environ.get("TK_PRECOMPILE") == "1"


def get_test_level() -> int:
    """0, 1 or 2, from TK_TEST_LEVEL (v2)."""
    level = os.environ.get("TK_TEST_LEVEL", "1")
    if level not in ("0", "1", "2"):
        raise ValueError(f"TK_TEST_LEVEL is {level!r}, it must be 0, 1 or 2")
    return int(level)


def _is_full_test() -> bool:
    """The same switch of v1."""
    return os.environ.get("TK_FULL_TEST") in ("1", "true", "True")


def _means_v1(args: tuple, kwargs: dict) -> bool:
    """Whether the arguments are those of v1: a flag is_benchmark, or no level in front."""
    no_level = args and (isinstance(args[0], bool) or args[0] not in (0, 1, 2))
    if "is_benchmark" in kwargs or no_level:
        return True
    if "level" in kwargs or "backward_only" in kwargs:
        return False
    return not args or is_v1()


def generate_samples(level: int, **dims: Iterable) -> Iterator[dict[str, Any]]:
    """All combinations at level 2; below as many as the longest list has, which use each entry."""
    values = {name: list(entries) for name, entries in dims.items()}
    if level == 2:
        for combination in itertools.product(*values.values()):
            yield dict(zip(values, combination, strict=True))
    elif all(values.values()):
        for i in range(max(map(len, values.values()), default=0)):
            yield {name: entries[i % len(entries)] for name, entries in values.items()}


# ---- sizes ----
def generate_num_tokens(*args: Any, **kwargs: Any) -> list[int]:
    """v1: (alignment=1, is_benchmark=False); v2: (level, alignment=1, backward_only=False)."""
    return (_num_tokens_v1 if _means_v1(args, kwargs) else _num_tokens_v2)(*args, **kwargs)


def _num_tokens_v1(alignment: int = 1, is_benchmark: bool = False) -> list[int]:
    first = [0] if _is_full_test() and not is_benchmark else []
    return [align(tokens, alignment) for tokens in (*first, 4001, 8001)]


def _num_tokens_v2(level: int, alignment: int = 1, backward_only: bool = False) -> list[int]:
    sizes = [128] if is_precompile() else [512, 8001]
    if not is_precompile():
        if level == 2:
            sizes = [0, 1, *sizes]
        elif level == 0 and backward_only:
            sizes = [8001]
    return [align(tokens, alignment) for tokens in sizes]


def generate_hidden_sizes(align: int = 64) -> list[int]:
    """Those that are multiples of `align`."""
    small = [576] if is_v1() else [128, 192, 384, 768]
    return [h for h in (*small, 2048, 2560, 3072, 4096, 6144, 7168) if h % align == 0]


def generate_num_sms(*args: Any, **kwargs: Any) -> list[int]:
    """v1: (); v2: (level). How many cores kernels may use; all of them are the last entry."""
    every = config.get_device_num_sms()
    if not args and not kwargs:
        return [*([1] if _is_full_test() else []), max(1, every - 20), every]
    return _num_sms_v2(every, *args, **kwargs)


def _num_sms_v2(every: int, level: int) -> list[int]:
    return [[every], [max(1, every - 19), every], [1, max(1, every - 19), every]][level]


def generate_cast_config(level: int, fmt: str) -> list[tuple[bool, bool, bool]]:
    """(column-major factors, powers of two, packed) for casts to fmt (v2)."""
    if fmt in ("fp32", "bf16"):
        return [(False, False, False)]
    rows = [(False, True, False), (False, False, False)] if level >= 1 else []
    return [*rows, (True, True, True)]


# ---- routing ----
def generate_moe_params(*args: Any, **kwargs: Any) -> Iterator[dict[str, int]]:
    """v1: (is_benchmark=False); v2: (level). Sizes of a mixture of experts, as one rank sees it."""
    return (_moe_params_v1 if _means_v1(args, kwargs) else _moe_params_v2)(*args, **kwargs)


def _moe_params_v1(is_benchmark: bool = False) -> Iterator[dict[str, int]]:
    if _is_full_test() and not is_benchmark:
        yield _moe_param(0, 1, 1, 1)
    yield from _moe_grid(_is_full_test())


def _moe_params_v2(level: int) -> Iterator[dict[str, int]]:
    if level == 0:
        yield _moe_param(4001, 6, 32, 8)
        yield _moe_param(4001, 8, 4, 64)
        return
    if level == 2:
        yield _moe_param(0, 1, 1, 1)
        yield _moe_param(1, 8, 256, 8)
    yield from _moe_grid(level == 2)


def _moe_grid(full: bool) -> Iterator[dict[str, int]]:
    topk, experts, ranks = [2, 6, 8, 9], [72, 256], [8, 64]
    if full:
        topk, experts, ranks = [*topk, 1, 7], [*experts, 288, 384], [*ranks, 1, 72, 256]
    for k, total, rank in itertools.product(topk, experts, ranks):
        if total % rank == 0:
            yield _moe_param(4001, k, total // rank, rank)


def _moe_param(tokens: int, topk: int, experts: int, ranks: int) -> dict[str, int]:
    return {
        "num_send_tokens": tokens,
        "num_topk": topk,
        "num_experts": experts,
        "num_ep_ranks": ranks,
    }


def generate_topk_idx(params: dict[str, int]) -> Tensor:
    """Experts of the tokens that reach rank 0, int64 [tokens, topk]; -1 for those elsewhere."""
    ranks, experts = params["num_ep_ranks"], params["num_experts"]
    shape = (params["num_send_tokens"] * ranks, experts * ranks)
    scores = torch.rand(shape, dtype=torch.bfloat16, device=config.get_device())
    idx = scores.topk(params["num_topk"], dim=-1, sorted=False).indices
    idx = idx.masked_fill(idx >= experts, -1)
    return idx[(idx >= 0).any(dim=1)].contiguous()


def generate_psum_layout(params: dict[str, int]) -> tuple[Tensor, Tensor]:
    """Which rows of the expert-major layout hold tokens, bool [rows], and where those of each
    expert end, int32 [experts] (v2). params has `alignment`, too."""
    alignment, experts = params["alignment"], params["num_experts"]
    if is_precompile():
        counts = torch.zeros(experts, dtype=torch.int64, device=config.get_device())
        counts[0] = 1
    else:
        idx = generate_topk_idx(params)
        counts = torch.bincount(idx[idx >= 0], minlength=experts)
    aligned = (counts + alignment - 1) // alignment * alignment
    start = aligned.cumsum(0) - aligned
    inside = torch.arange(int(aligned.sum()), device=counts.device)
    inside -= start.repeat_interleave(aligned)
    return inside < counts.repeat_interleave(aligned), (start + counts).int()


# ---- numbers ----
def generate_rand_float(shape: Iterable[int]) -> Tensor:
    """Normal numbers times one power of two, anywhere in the range of fp32."""
    shape = tuple(shape)
    device = config.get_device()
    exponent = int(torch.randint(-110, 127, ()))
    x = torch.randn(shape, device=device) * 2.0**exponent
    x = torch.where(x.isfinite(), x, torch.randn(shape, device=device))
    limit = torch.finfo(torch.float32).max / 8
    return x.clamp(-limit, limit)


def generate_e5m6_inputs(
    num_tokens: int, hidden: int, dtype: torch.dtype
) -> Iterator[tuple[Tensor, bool]]:
    """Normal numbers, then small ones beside the largest code, whose scale is 1 (v1)."""
    device = config.get_device()
    yield torch.randn((num_tokens, hidden), dtype=dtype, device=device), False
    for value in (2.0**-20, 2.0**-14 * 63 / 64, 2.0**-14):
        x = torch.full((num_tokens, hidden), value, dtype=dtype, device=device)
        x[:, -1] = 65024
        yield x, True
