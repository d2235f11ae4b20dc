"""per_token_cast and its parts, bit for bit beside the reference; and what they refuse."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import (
    per_token_cast,
    per_token_cast_back,
    per_token_cast_with_precomputed_sf,
    per_token_cast_with_sf_only,
)
from tile_kernels.testing.numeric import assert_equal, check_bias
from tile_kernels.torch import cast

from .sf_flags import FLAGS

DTYPES = [torch.float32, torch.bfloat16]
DEVICE = config.get_device()


def normal(m: int, k: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(m + k)
    return torch.randn(m, k, dtype=dtype, device=DEVICE)


def assert_pairs(found: tuple, wanted: tuple) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert_equal(x, y)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("group", [16, 32, 64, 128, "all"])
def test_plain_input(flags: str, fmt: str, dtype: torch.dtype, group: int | str) -> None:
    for m, k in [(0, 192), (1, 192), (17, 576)]:
        x = normal(m, k, dtype)
        g = k if group == "all" else group
        found = per_token_cast(x, fmt, g, None, **FLAGS[flags])
        assert_pairs(found, cast(x, fmt, (1, g), **FLAGS[flags]))
        assert_equal(per_token_cast_with_sf_only(x, fmt, g, **FLAGS[flags]), found[1])
        wide = torch.cat([x, x], dim=1)[:, :k]
        assert_pairs(per_token_cast(wide, fmt, g, **FLAGS[flags]), found)
        if flags in ("plain", "round", "e4m3"):
            sf = found[1]
            codes = per_token_cast_with_precomputed_sf(x, fmt, g, sf, **FLAGS[flags])
            assert_equal(codes, cast(x, fmt, (1, g), sf=sf, **FLAGS[flags]))
            check_bias(per_token_cast_back(found, "fp32", g), x.float())


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("source", ["e4m3", "e2m1"])
@pytest.mark.parametrize("block", [(128, 128), (32, 32), (1, 32), (1, 128), (1, 16)])
def test_codes_are_cast_again(flags: str, fmt: str, source: str, block: tuple[int, int]) -> None:
    """Each combination with one layout of the factors that are given, all of them in turn."""
    turn = [*FLAGS].index(flags) + (fmt == source) + sum(block)
    given = ("plain", "packed columns", "e4m3")[turn % 3]
    for m in (0, 1, 70):
        pair = cast(normal(m, 576), source, block, **FLAGS[given])
        for group in (16, 32, 128):
            found = per_token_cast(pair, fmt, group, block, **FLAGS[flags])
            wanted = cast(pair, fmt, (1, group), x_block_size=block, **FLAGS[flags])
            assert_pairs(found, wanted)


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("flags", ["plain", "round", "e4m3"])
def test_unusual_values(fmt: str, flags: str) -> None:
    x = normal(8, 128)
    x[0] = 0
    x[1] = -0.0
    x[2, 5] = 3e38
    x[3] *= 2.0**-140
    x[4, ::2] = -0.0
    x[5, 7] = torch.inf
    x[6, 9] = -torch.inf
    x[7] = 1e-30
    assert_pairs(per_token_cast(x, fmt, 32, **FLAGS[flags]), cast(x, fmt, (1, 32), **FLAGS[flags]))
    x[5, 8] = torch.nan
    codes, sf = per_token_cast(x, "e4m3", 32, **FLAGS[flags])
    wanted = cast(x, "e4m3", (1, 32), **FLAGS[flags])
    assert_equal(sf, wanted[1])
    assert torch.equal(codes.float().nan_to_num(500), wanted[0].float().nan_to_num(500))


def test_zeros_stay_zeros_whatever_their_factor() -> None:
    zeros = torch.full((4, 64), 0x80 - 256, dtype=torch.int8, device=DEVICE)  # pairs of 0 and -0
    sf = torch.full((4, 4), 8.0, device=DEVICE)
    assert_equal(per_token_cast((zeros, sf), "e2m1", 32, (1, 32))[0], zeros)


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("flags", ["plain", "round", "e4m3"])
def test_the_clamp_is_the_one_of_the_call(fmt: str, flags: str) -> None:
    x = normal(5, 128)
    for clamp in (4.0, 0.5, 4.0):
        config.set_amax_clamp_for_quant(fmt, "use_e4m3_sf" in FLAGS[flags], clamp)
        found = per_token_cast(x, fmt, 16, **FLAGS[flags])
        assert_pairs(found, cast(x, fmt, (1, 16), **FLAGS[flags]))
        assert_equal(per_token_cast_with_sf_only(x, fmt, 16, **FLAGS[flags]), found[1])


def test_results_go_where_the_caller_says() -> None:
    x = normal(6, 192)
    wanted = per_token_cast(x, "e4m3", 64, **FLAGS["packed"])
    out = tuple(map(torch.zeros_like, wanted))
    found = per_token_cast(x, "e4m3", 64, **FLAGS["packed"], out=out)
    assert [t.data_ptr() for t in found] == [t.data_ptr() for t in out]
    assert_pairs(out, wanted)
    half = per_token_cast(x, "e4m3", 64, **FLAGS["packed"], out=(None, out[1]))
    assert half[1].data_ptr() == out[1].data_ptr()
    sf = torch.zeros(6, 3, device=DEVICE)
    assert per_token_cast_with_sf_only(x, "e4m3", 64, out_sf=sf).data_ptr() == sf.data_ptr()
    codes = per_token_cast_with_precomputed_sf(x, "e4m3", 64, sf, out=out[0])
    assert codes.data_ptr() == out[0].data_ptr()
    assert_equal(out[0], cast(x, "e4m3", (1, 64), sf=sf))


def test_tensors_may_ask_for_gradients() -> None:
    x = normal(2, 64).requires_grad_()
    assert_pairs(per_token_cast(x, "e4m3", 64), cast(x.detach(), "e4m3", (1, 64)))


X = torch.zeros(4, 128, device=DEVICE)
SF = torch.ones(4, 4, device=DEVICE)
CODES = X.to(torch.float8_e4m3fn)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": X[:, :100]}, "100 columns, they must be a multiple of 64"),
        ({"x": X[0]}, r"x is \[128\], it must be \[m, k\]"),
        ({"x": X.half()}, "f16"),
        ({"x": X.T.contiguous().T}, "stride"),
        ({"x": CODES}, "e4m3"),
        ({"fmt": "e5m2"}, "fmt is 'e5m2'"),
        ({"num_per_channels": 48}, "group is 48"),
        ({"x_block_size": (1, 32)}, "x_block_size"),
        ({"x": (CODES, SF)}, "x_block_size"),
        ({"x": (CODES, SF), "x_block_size": (2, 32)}, "2"),
        ({"x": (CODES, SF), "x_block_size": (1, 64)}, "sf"),
        ({"x": (CODES[:, :64].view(torch.int8), SF), "x_block_size": (1, 7)}, "7"),
        ({"use_packed_ue8m0": True}, "needs round_sf"),
        ({"round_sf": True, "use_e4m3_sf": True}, "exclude each other"),
        ({"use_tma_aligned_col_major_sf": True, "out": (None, SF)}, "allocates"),
        ({"out": (None, SF.double())}, "f64"),
        ({"out": (None, SF[:, :2])}, "sf"),
        ({"out": (CODES[:2], None)}, r"q is e4m3 \[2, 128\]"),
    ],
)
def test_what_does_not_fit_is_an_assertion(change: dict, message: str) -> None:
    arguments = {"x": X, "fmt": "e4m3", "num_per_channels": 32, **change}
    with pytest.raises((AssertionError, RuntimeError), match=message):
        per_token_cast(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": (CODES, SF)}, "must be a tensor, it is tuple"),
        ({"x": X[:, :96]}, "96 columns"),
        ({"x_block_size": (1, 32)}, "it must be None"),
        ({"use_tma_aligned_col_major_sf": True}, "row-major and unpacked"),
        ({"round_sf": True, "use_packed_ue8m0": True}, "row-major and unpacked"),
        ({"round_sf": True, "use_e4m3_sf": True}, "exclude each other"),
        ({"use_e4m3_sf": True}, "it must be torch.float8_e4m3fn"),
        ({"sf": SF.to(torch.float8_e4m3fn)}, "it must be torch.float32"),
        ({"sf": SF[:, :3]}, "sf"),
    ],
)
def test_factors_that_are_given_must_fit(change: dict, message: str) -> None:
    arguments = {"x": X, "fmt": "e4m3", "num_per_channels": 32, "sf": SF, **change}
    with pytest.raises(AssertionError, match=message):
        per_token_cast_with_precomputed_sf(**arguments)


def test_factors_alone_are_those_of_plain_input() -> None:
    with pytest.raises(AssertionError, match="it must be None"):
        per_token_cast_with_sf_only(X, "e4m3", 32, x_block_size=(1, 32))
    with pytest.raises(AssertionError, match="must be a tensor"):
        per_token_cast_with_sf_only((CODES, SF), "e4m3", 32)
