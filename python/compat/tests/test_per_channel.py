"""per_channel_cast and its fused forms, bit for bit beside the reference; what they refuse."""

import pytest
import torch

from tile_kernels import config
from tile_kernels import torch as reference
from tile_kernels.quant import (
    per_channel_cast,
    per_channel_cast_and_transpose,
    per_channel_cast_fused,
)
from tile_kernels.testing.numeric import assert_equal

from .sf_flags import FLAGS

DEVICE = config.get_device()
SIZES = [(0, 128), (128, 576), (640, 192)]


def normal(m: int, k: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(m + k)
    return torch.randn(m, k, dtype=dtype, device=DEVICE)


def assert_pairs(found: tuple, wanted: tuple) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert_equal(x, y)


@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("flags", ["plain", "round", "packed"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_plain_input(group: int, flags: str, dtype: torch.dtype) -> None:
    for m, k in SIZES:
        x = normal(m, k, dtype)
        found = per_channel_cast(x, "e4m3", group, **FLAGS[flags])
        assert_pairs(found, reference.cast(x, "e4m3", (group, 1), **FLAGS[flags]))


@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("columns", [32, 128])
@pytest.mark.parametrize("flags", ["plain", "round", "packed"])
@pytest.mark.parametrize("given", ["plain", "columns", "packed", "packed columns", "slice"])
def test_codes_are_cast_again(group: int, columns: int, flags: str, given: str) -> None:
    for m, k in [(0, 384), (128, 384), (640, 384)]:
        layout = FLAGS["packed columns" if given == "slice" else given]
        x = reference.cast(normal(m + 64, k), "e4m3", (1, columns), **layout)
        x = (x[0][:m], x[1][:m]) if given == "slice" else tuple(
            reference.cast(normal(m, k), "e4m3", (1, columns), **layout))  # fmt: skip
        found = per_channel_cast(x, "e4m3", group, num_per_channels=columns, **FLAGS[flags])
        wanted = reference.cast(x, "e4m3", (group, 1), x_block_size=(1, columns), **FLAGS[flags])
        assert_pairs(found, wanted)


@pytest.mark.parametrize("round_sf", [False, True])
@pytest.mark.parametrize("codes", [False, True])
def test_gathered_rows(round_sf: bool, codes: bool) -> None:
    x, columns = normal(256, 384), None
    if codes:
        x, columns = reference.cast(x, "e4m3", (1, 128)), 128
    torch.manual_seed(0)
    some = torch.randint(-1, 256, (272,), dtype=torch.int32, device=DEVICE)
    some[128:256] = -1
    for index in (None, some, some[:16], some[:0]):
        found = per_channel_cast_fused(x, "e4m3", 128, round_sf, columns, index)
        assert_pairs(found, reference.per_channel_cast_fused(x, 128, columns, round_sf, index))
    assert found[0].shape == found[1].shape == (0, 384)


@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("round_sf", [False, True])
def test_codes_are_transposed(group: int, round_sf: bool) -> None:
    for m, k in SIZES:
        x = normal(m, k, torch.bfloat16)
        q, sf = reference.cast(x, "e4m3", (group, 1), round_sf=round_sf)
        found = per_channel_cast_and_transpose(x, "e4m3", group, round_sf)
        assert_pairs(found, (q.T.contiguous(), sf))


def test_the_clamp_is_the_one_of_the_call() -> None:
    x = normal(128, 128, torch.bfloat16)
    for clamp in (8.0, 0.5):
        config.set_amax_clamp_for_quant("e4m3", False, clamp)
        wanted = reference.cast(x, "e4m3", (32, 1))[1]
        assert_equal(per_channel_cast(x, "e4m3", 32)[1], wanted)
        assert_equal(per_channel_cast_and_transpose(x, "e4m3", 32)[1], wanted)
        assert_equal(
            per_channel_cast_fused(x, "e4m3", 128)[1], reference.cast(x, "e4m3", (128, 1))[1]
        )


X = torch.zeros(128, 128, device=DEVICE)
PAIR = (X.to(torch.float8_e4m3fn), torch.ones(128, 4, device=DEVICE))
INDEX = torch.zeros(16, dtype=torch.int32, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"x": X[:96]}, {"x": X[:, :96].contiguous()}, {"x": X[0]}, {"x": X.half()},
        {"fmt": "e2m1"}, {"fmt": "e5m6"}, {"num_per_tokens": 64}, {"num_per_channels": 32},
        {"use_packed_ue8m0": True}, {"x": PAIR}, {"x": PAIR, "num_per_channels": 64},
        {"x": PAIR, "num_per_channels": 128},
        {"x": (X[:, :64].char(), PAIR[1]), "num_per_channels": 32},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="per_channel_cast"):
        per_channel_cast(**{"x": X, "fmt": "e4m3", "num_per_tokens": 32, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"num_per_tokens": 32}, {"fmt": "e2m1"}, {"x": PAIR, "num_per_channels": 32},
        {"x": X[:16]}, {"pos_to_token": INDEX[:8]}, {"pos_to_token": INDEX.long()},
        {"pos_to_token": INDEX[None]}, {"pos_to_token": INDEX.repeat(2)[::2]},
    ],
)  # fmt: skip
def test_gathered_rows_must_fit(change: dict) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="per_channel_cast"):
        per_channel_cast_fused(**{"x": X, "fmt": "e4m3", "num_per_tokens": 128, **change})


@pytest.mark.parametrize(
    "change", [{"x": X}, {"x": X.bfloat16()[:64]}, {"num_per_tokens": 16}, {"fmt": "e2m1"}]
)
def test_transposed_codes_must_fit(change: dict) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="per_channel_cast"):
        arguments = {"x": X.bfloat16(), "fmt": "e4m3", "num_per_tokens": 32, **change}
        per_channel_cast_and_transpose(**arguments)
