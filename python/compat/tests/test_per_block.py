"""per_block_cast and its parts, bit for bit beside the reference; and what they refuse."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import (
    per_block_cast,
    per_block_cast_with_precomputed_sf,
    per_block_cast_with_sf_only,
)
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch import cast

from .sf_flags import FLAGS

DEVICE = config.get_device()
BLOCKS = [(128, 128), (32, 32), (32, 128), (128, 32)]


@pytest.mark.parametrize("flags", [f for f in FLAGS if "e4m3" not in f])
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_casts(flags: str, fmt: str, block: tuple[int, int], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for m, k in [(0, 576), (128, 576), (161, 576)]:
        x = torch.randn(m, k, dtype=dtype, device=DEVICE)
        found = per_block_cast(x, fmt, block, **FLAGS[flags])
        wanted = cast(x, fmt, block, **FLAGS[flags])
        for a, b in zip(found, wanted, strict=True):
            assert_equal(a, b)
        wide = torch.cat([x, x], dim=1)[:, :k]
        assert_equal(per_block_cast(wide, fmt, block, **FLAGS[flags])[0], wanted[0])
        assert_equal(per_block_cast_with_sf_only(x, fmt, block, **FLAGS[flags]), wanted[1])
        if flags in ("plain", "round"):
            sf = wanted[1]
            codes = per_block_cast_with_precomputed_sf(x, fmt, block, sf, **FLAGS[flags])
            assert_equal(codes, cast(x, fmt, block, sf=sf, **FLAGS[flags]))


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_the_clamp_is_the_one_of_the_call(fmt: str) -> None:
    x = torch.randn(64, 64, device=DEVICE)
    for clamp in (8.0, 0.5):
        config.set_amax_clamp_for_quant(fmt, False, clamp)
        found = per_block_cast(x, fmt, (32, 32))
        assert_equal(found[1], cast(x, fmt, (32, 32))[1])
        assert_equal(per_block_cast_with_sf_only(x, fmt, (32, 32)), found[1])


def test_results_go_where_the_caller_says() -> None:
    x = torch.randn(64, 128, device=DEVICE)
    wanted = per_block_cast(x, "e4m3", (32, 32), **FLAGS["packed"])
    out = tuple(map(torch.zeros_like, wanted))
    found = per_block_cast(x, "e4m3", (32, 32), **FLAGS["packed"], out=out)
    assert [t.data_ptr() for t in found] == [t.data_ptr() for t in out]
    for a, b in zip(out, wanted, strict=True):
        assert_equal(a, b)
    sf = torch.zeros(2, 4, device=DEVICE)
    assert per_block_cast_with_sf_only(x, "e4m3", (32, 32), out_sf=sf).data_ptr() == sf.data_ptr()
    codes = per_block_cast_with_precomputed_sf(x, "e4m3", (32, 32), sf, out=out[0])
    assert codes.data_ptr() == out[0].data_ptr()


X = torch.zeros(64, 128, device=DEVICE)
SF = torch.ones(2, 4, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"x": X[:, :96].contiguous()}, {"x": X[0]}, {"x": X.half()},
        {"x": (X, SF)}, {"fmt": "e5m2"}, {"block_size": (64, 32)}, {"block_size": (1, 32)},
        {"use_packed_ue8m0": True}, {"use_tma_aligned_col_major_sf": True, "out": (None, SF)},
        {"out": (None, SF[:1])}, {"out": (None, SF.double())},
        {"out": (X.to(torch.float8_e4m3fn)[:8], None)},
        {"out": (torch.zeros(64 * 128 + 8, device=DEVICE).to(torch.float8_e4m3fn)[8:].view(64, 128),
                 None)},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    arguments = {"x": X, "fmt": "e4m3", "block_size": (32, 32), **change}
    with pytest.raises((AssertionError, RuntimeError), match="per_block_cast"):
        per_block_cast(**arguments)


@pytest.mark.parametrize(
    "change",
    [
        {"sf": SF[:1]}, {"sf": SF.to(torch.float8_e4m3fn)}, {"sf": SF.int()},
        {"use_tma_aligned_col_major_sf": True}, {"round_sf": True, "use_packed_ue8m0": True},
        {"out": X},
    ],
)  # fmt: skip
def test_factors_that_are_given_must_fit(change: dict) -> None:
    arguments = {"x": X, "fmt": "e4m3", "block_size": (32, 32), "sf": SF, **change}
    with pytest.raises((AssertionError, RuntimeError), match="per_block_cast"):
        per_block_cast_with_precomputed_sf(**arguments)
