"""Codes back to values, on numpy arrays, beside numpy."""

import re

import ml_dtypes
import numpy as np
import pytest
from cast_flags import FLAGS

from tilewright import quant

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], "float32")


def values_of(q: np.ndarray) -> np.ndarray:
    """Codes in f32."""
    if q.dtype != np.int8:
        return q.astype("float32")
    both = np.stack([q.view("uint8") & 15, q.view("uint8") >> 4], -1).reshape(
        len(q), 2 * q.shape[1]
    )
    return np.where(both & 8, -E2M1[both & 7], E2M1[both & 7])


def factors_of(sf: np.ndarray, blocks: tuple[int, int], down: bool = False) -> np.ndarray:
    """Factors in f32, of words that four blocks of a row share, or of a column."""
    if sf.dtype != np.int32:
        return sf.astype("float32")
    exponents = np.ascontiguousarray(sf).view("uint8")
    if down:
        exponents = exponents.reshape(sf.shape[0], sf.shape[1], 4).transpose(0, 2, 1)
        exponents = exponents.reshape(-1, sf.shape[1])
    return (exponents[: blocks[0], : blocks[1]].astype("int32") << 23).view("float32")


def spread(sf: np.ndarray, block: tuple[int, int], shape: tuple[int, int]) -> np.ndarray:
    """The factor of each element."""
    return np.repeat(np.repeat(sf, block[0], 0), block[1], 1)[: shape[0], : shape[1]]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("to", ["fp32", "bf16"])
@pytest.mark.parametrize("shape", [(0, 128), (1, 576), (6, 320)])
def test_groups_of_rows_are_bitwise_numpys(
    flags: str, fmt: str, to: str, shape: tuple[int, int]
) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    for group in (32, 128):
        q, sf = quant.per_token_cast(x, fmt, group, **FLAGS[flags])
        blocks = (shape[0], -(-shape[1] // group))
        wanted = values_of(q) * spread(factors_of(sf, blocks), (1, group), shape)
        y = quant.per_token_cast_back((q, sf), to, group)
        assert y.dtype == (np.float32 if to == "fp32" else ml_dtypes.bfloat16)
        np.testing.assert_array_equal(y, wanted.astype(y.dtype))
        again = quant.cast_back((q, sf), to, x_block_size=(1, group), x_special_fmt=None)
        np.testing.assert_array_equal(again, y)
        if x.size and "e4m3" not in flags:  # as near as the format is fine
            difference = np.square(y.astype("float64") - x).sum()
            total = np.square(y.astype("float64")).sum() + np.square(x.astype("float64")).sum()
            assert difference / total < (2e-2 if fmt == "e2m1" else 1e-3)


@pytest.mark.parametrize("block", [(128, 1), (32, 1), (128, 128), (32, 32), (1, 320)])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_bitwise_numpys(block: tuple[int, int], packed: bool) -> None:
    shape = (300, 320)
    rng = np.random.default_rng(1)
    q = rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
    m, n = (-(-shape[0] // block[0]), -(-shape[1] // block[1]))
    down = block[1] == 1
    if packed:
        words = (-(-m // 4), n) if down else (m, -(-n // 4))
        sf = rng.integers(100, 150, (*words, 4), "uint8").view("int32")[..., 0]
    else:
        sf = rng.standard_normal((m, n)).astype("float32")
    wanted = q.astype("float32") * spread(factors_of(sf, (m, n), down), block, shape)
    np.testing.assert_array_equal(quant.cast_back((q, sf), "fp32", block), wanted)


@pytest.mark.parametrize("flags", [{}, {"round_sf": True}, {"use_e4m3_sf": True}], ids=str)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16])
@pytest.mark.parametrize("group", [16, 32, 64, 128])
def test_in_place_is_a_cast_and_back(flags: dict, fmt: str, dtype: str, group: int) -> None:
    memory = np.random.default_rng(group).standard_normal((7, 400)).astype(dtype)
    x, outside = memory[:, :384], memory[:, 384:].copy()
    pair = quant.per_token_cast(x, fmt, group, **flags)
    to = "fp32" if dtype == "float32" else "bf16"
    wanted = quant.per_token_cast_back(pair, to, group)
    assert quant.per_token_cast_and_cast_back(x, fmt, group, **flags) is None
    np.testing.assert_array_equal(x, wanted)
    np.testing.assert_array_equal(memory[:, 384:], outside)
    with pytest.raises(ValueError, match="columns of x are 192, a multiple of 128 is needed"):
        quant.per_token_cast_and_cast_back(x[:, :192], fmt, 128)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="x is read-only"):
        quant.per_token_cast_and_cast_back(x, fmt, group)


def test_a_slice_of_columns_of_factors() -> None:
    q = np.ones((8, 128), ml_dtypes.float8_e4m3fn)
    sf = np.arange(40, dtype="float32").reshape(4, 10).T
    y = quant.cast_back((q, sf[2:]), "fp32", (1, 32))
    np.testing.assert_array_equal(y[:, ::32], sf[2:])


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"fmt": "fp16"}, ValueError, "fmt is 'fp16', it must be 'bf16' or 'fp32'"),
        (
            {"x_special_fmt": "e4m3"},
            ValueError,
            "x_special_fmt is 'e4m3', it must be None or 'e5m6'",
        ),
        ({"x_block_size": (0, 32)}, ValueError, "blocks have 0 rows and 32 columns"),
        ({"x_block_size": (1, 64)}, ValueError, "sf is f32 [4, 2], it must be [4, 1]"),
        ({"x": np.ones((4, 64), "float32")}, TypeError, "x must be a tuple of codes and"),
        (
            {"x": (np.ones((4, 32), ml_dtypes.float8_e4m3fn), np.ones((4, 1), "float32"))},
            ValueError,
            "columns of x are 32, a multiple of 64 is needed",
        ),
        (
            {"x": (np.ones((4, 64), "float32"), np.ones((4, 2), "float32"))},
            TypeError,
            "q is f32 [4, 64], it must be e4m3 or e2m1",
        ),
        (
            {
                "x": (np.ones((4, 64), ml_dtypes.float8_e4m3fn), np.ones((32, 4), "float32").T),
                "x_block_size": (1, 2),
            },
            None,
            "",
        ),
        (
            {
                "x": (np.ones((4, 64), ml_dtypes.float8_e4m3fn), np.ones((64, 4), "float32").T),
                "x_block_size": (1, 1),
            },
            ValueError,
            "neighbors in a row of sf are 4 elements apart",
        ),
        (
            {
                "x": (
                    np.ones((4, 64), ml_dtypes.float8_e4m3fn),
                    np.ones((4, 4), "float32")[:, ::2],
                )
            },
            ValueError,
            "sf has strides (4, 2), one of them must be 1",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    arguments: dict, kind: type[Exception] | None, message: str
) -> None:
    x = (np.ones((4, 64), ml_dtypes.float8_e4m3fn), np.ones((4, 2), "float32"))
    call = {"x": x, "fmt": "fp32", "x_block_size": (1, 32), **arguments}
    if kind is None:
        quant.cast_back(**call)
        return
    with pytest.raises(kind, match=re.escape(f"cast_back: {message}")):
        quant.cast_back(**call)
