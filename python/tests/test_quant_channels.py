"""Casts in groups of rows of each column, on numpy arrays: as groups of the transposed's rows."""

import re

import ml_dtypes
import numpy as np
import pytest

from tilewright import quant


def random(m: int, k: int) -> np.ndarray:
    return np.random.default_rng(m * k).standard_normal((m, k)).astype("float32")


def wanted(x: np.ndarray, group: int, round_sf: bool) -> tuple[np.ndarray, np.ndarray]:
    """Codes as bytes, and factors in f32."""
    q, sf = quant.per_token_cast(np.ascontiguousarray(x.T), "e4m3", group, round_sf=round_sf)
    return q.view("uint8").T, sf.T


def unpacked(sf: np.ndarray, blocks: int) -> np.ndarray:
    """Factors in f32, of words of four of a column; the bytes that fill up words must be 0."""
    exponents = sf.view("uint8").reshape(*sf.shape, 4).transpose(0, 2, 1).reshape(-1, sf.shape[1])
    assert not exponents[blocks:].any()
    return (exponents[:blocks].astype("int32") << 23).view("float32")


@pytest.mark.parametrize("round_sf", [False, True])
@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(0, 64), (128, 64), (384, 576)])
def test_columns_are_cast_like_rows(
    round_sf: bool, group: int, dtype: str, shape: tuple[int, int]
) -> None:
    x = random(*shape).astype(dtype)
    codes, factors = wanted(x, group, round_sf)
    q, sf = quant.per_channel_cast(x, "e4m3", group, round_sf)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)
    if round_sf:
        q, words = quant.per_channel_cast(x, "e4m3", group, True, use_packed_ue8m0=True)
        np.testing.assert_array_equal(q.view("uint8"), codes)
        np.testing.assert_array_equal(unpacked(words, len(factors)), factors)
    if dtype != "float32":
        q, sf = quant.per_channel_cast_and_transpose(x, "e4m3", group, round_sf)
        np.testing.assert_array_equal(q.view("uint8"), codes.T)
        np.testing.assert_array_equal(sf, factors)


@pytest.mark.parametrize("flags", [{}, {"round_sf": True, "use_packed_ue8m0": True}], ids=str)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("group", [32, 128])
def test_codes_are_cast_again(flags: dict, columns: bool, group: int) -> None:
    pair = quant.per_token_cast(
        random(256, 256), "e4m3", group, use_tma_aligned_col_major_sf=columns, **flags
    )
    values = quant.per_token_cast_back(pair, "fp32", group)
    codes, factors = wanted(values, 128, True)
    q, sf = quant.per_channel_cast(pair, "e4m3", 128, True, group)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)
    sliced = (pair[0][128:], pair[1][128:])
    codes, factors = wanted(values[128:], 32, False)
    q, sf = quant.per_channel_cast(sliced, "e4m3", 32, False, num_per_channels=group)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)


@pytest.mark.parametrize("round_sf", [False, True])
@pytest.mark.parametrize("count", [0, 16, 128, 400])
def test_rows_are_gathered(round_sf: bool, count: int) -> None:
    x = random(70, 128)
    index = np.random.default_rng(1).integers(-30, 70, count, "int32")
    rows = np.where(index[:, None] < 0, np.float32(0), x[index])
    codes, factors = wanted(rows, 128, round_sf)
    q, sf = quant.per_channel_cast_fused(x, "e4m3", 128, round_sf, pos_to_token=index)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)
    pair = quant.per_token_cast(x, "e4m3", 128)
    values = quant.per_token_cast_back(pair, "fp32", 128)
    codes, factors = wanted(np.where(index[:, None] < 0, np.float32(0), values[index]), 128, False)
    q, sf = quant.per_channel_cast_fused(pair, "e4m3", 128, False, 128, index)
    if round_sf:  # a factor of x times the inverse is rounded once more otherwise
        np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)


def test_without_an_index_all_rows_are_cast() -> None:
    x = random(128, 64)
    q, sf = quant.per_channel_cast_fused(x, "e4m3", 128)
    codes, factors = wanted(x, 128, False)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(sf, factors)


E4M3 = np.ones((128, 128), ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize(
    ("function", "options", "kind", "message"),
    [
        ("", {"fmt": "e2m1"}, ValueError, "fmt is 'e2m1', it must be 'e4m3'"),
        ("", {"num_per_tokens": 64}, ValueError, "the group is 64, it must be 32 or 128"),
        ("", {"x": random(64, 64)}, ValueError, "rows of x are 64, a multiple of 128 is needed"),
        ("", {"x": random(128, 32)}, ValueError, "columns of x are 32, a multiple of 64 is"),
        ("", {"use_packed_ue8m0": True}, ValueError, "use_packed_ue8m0 needs round_sf"),
        ("", {"num_per_channels": 32}, ValueError, "num_per_channels is for x that is a tuple"),
        ("", {"x": (E4M3, random(128, 1))}, ValueError, "num_per_channels is for x that is a"),
        (
            "",
            {"x": (E4M3, random(128, 2)), "num_per_channels": 64},
            ValueError,
            "x has a factor for each 64 columns, they must be 32 or 128",
        ),
        (
            "",
            {"x": (E4M3, random(129, 1)), "num_per_channels": 128},
            ValueError,
            "x_sf is f32 [129, 1], it must be [128, 1]",
        ),
        ("", {"x": random(128, 64).astype("float16")}, TypeError, "x is f16 [128, 64]"),
        ("_and_transpose", {}, TypeError, "x is f32 [128, 64], it must be bf16"),
        ("_fused", {"num_per_tokens": 32}, ValueError, "num_per_tokens is 32, it must be 128"),
        (
            "_fused",
            {"pos_to_token": np.zeros(8, "int32")},
            ValueError,
            "entries of pos_to_token are 8, a multiple of 16 is needed",
        ),
        ("_fused", {"pos_to_token": np.zeros(16, "int64")}, TypeError, "pos_to_token is i64 [16]"),
        (
            "_fused",
            {"x": (E4M3, np.zeros((128, 1), "int32")), "num_per_channels": 128},
            TypeError,
            "sf is i32 [128, 1], it must be f32",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    function: str, options: dict, kind: type[Exception], message: str
) -> None:
    arguments = {"x": random(128, 64), "fmt": "e4m3", "num_per_tokens": 128, **options}
    with pytest.raises(kind, match=re.escape(f"per_channel_cast{function}: {message}")):
        getattr(quant, f"per_channel_cast{function}")(**arguments)
