"""Casts to twelve bits and back, bit for bit beside the reference; and what they refuse."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import cast_back, per_token_cast, per_token_cast_back
from tile_kernels.quant.cast_back_e5m6_kernel import cast_back_e5m6
from tile_kernels.quant.per_token_cast_to_e5m6_kernel import per_token_cast_to_e5m6
from tile_kernels.testing.generator import generate_e5m6_inputs
from tile_kernels.testing.numeric import assert_equal, calc_diff
from tile_kernels.torch import cast_back_from_e5m6, cast_to_e5m6

from .sf_flags import FLAGS

DEVICE = config.get_device()
PLAIN = [name for name in FLAGS if "e4m3" not in name]


@pytest.mark.parametrize("flags", PLAIN)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_there_and_back(flags: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    options = FLAGS[flags]
    for m in (0, 1, 17):
        for x, is_special in generate_e5m6_inputs(m, 576, dtype):
            pair = per_token_cast_to_e5m6(x, 576, **options)
            for found, wanted in zip(pair, cast_to_e5m6(x, 576, **options), strict=True):
                assert_equal(found, wanted)
            for found, wanted in zip(per_token_cast(x, "e5m6", 576, **options), pair, strict=True):
                assert_equal(found, wanted)
            for fmt in ("bf16", "fp32"):
                back = cast_back_e5m6(pair, fmt, (1, 576))
                assert_equal(back, cast_back_from_e5m6(pair, fmt, (1, 576)))
                assert_equal(cast_back(pair, fmt, (1, 576), x_special_fmt="e5m6"), back)
                assert_equal(per_token_cast_back(pair, fmt, 576, x_special_fmt="e5m6"), back)
            if m > 0:
                assert calc_diff(back, x) < (5e-6 if is_special else 1e-4)


def test_rows_with_gaps_and_unusual_values() -> None:
    memory = torch.randn(6, 400, device=DEVICE)
    memory[0] = 0
    memory[1, ::2] = -0.0
    memory[2, 5] = torch.inf
    memory[2, 6] = -torch.inf
    memory[3, 7] = torch.nan
    memory[4] *= 2.0**-140
    x = memory[:, :200]
    for flags in PLAIN:
        wanted = cast_to_e5m6(x, 200, **FLAGS[flags])
        for found, each in zip(per_token_cast_to_e5m6(x, 200, **FLAGS[flags]), wanted, strict=True):
            assert_equal(found, each)


def test_the_clamp_stays() -> None:
    x = torch.full((2, 64), 1e-6, device=DEVICE)
    wanted = per_token_cast(x, "e5m6", 64)
    config.set_amax_clamp_for_quant("e4m3", False, 5.0)
    for found, each in zip(per_token_cast(x, "e5m6", 64), wanted, strict=True):
        assert_equal(found, each)


def test_blocks() -> None:
    q = torch.randint(0, 256, (40, 96), dtype=torch.uint8, device=DEVICE)
    sf = torch.rand(2, 2, device=DEVICE)
    for fmt in ("bf16", "fp32"):
        found = cast_back_e5m6((q, sf), fmt, (32, 32)).nan_to_num(7)
        assert_equal(found, cast_back_from_e5m6((q, sf), fmt, (32, 32)).nan_to_num(7))


X = torch.zeros(4, 64, device=DEVICE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_per_channels": 32}, "the group is 32"),
        ({"x": X[:, :12], "num_per_channels": 12}, "multiple of 8"),
        ({"x": X.half()}, "f16"),
        ({"x": X[0]}, r"must be \[m, k\]"),
        ({"x": (X, X)}, "must be a tensor"),
        ({"use_packed_ue8m0": True}, "needs round_sf"),
    ],
)
def test_casts_that_do_not_fit_are_assertions(change: dict, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        per_token_cast_to_e5m6(**{"x": X, "num_per_channels": 64, **change})


Q, SF = torch.zeros(4, 96, dtype=torch.uint8, device=DEVICE), torch.ones(4, 1, device=DEVICE)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ((Q.view(torch.int8), SF), {}, "must be u8"),
        ((Q[:, :92], SF), {}, "contiguous"),
        ((Q, SF.half()), {}, "sf is f16"),
        ((Q, SF[:2]), {}, r"\[4, 1\]"),
        (Q, {}, "tuple"),
        ((Q, SF), {"fmt": "fp16"}, "fp16"),
        ((Q, SF), {"x_block_size": (1, 32)}, r"\[4, 2\]"),
        ((Q, SF), {"x_special_fmt": "e4m3"}, "None or 'e5m6'"),
    ],
)
def test_casts_back_that_do_not_fit_are_assertions(x: tuple, options: dict, message: str) -> None:
    arguments = {"fmt": "bf16", "x_block_size": (1, 64), "x_special_fmt": "e5m6", **options}
    with pytest.raises(AssertionError, match=message):
        cast_back(x, **arguments)
