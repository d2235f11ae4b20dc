"""Codes of 12 bits, on numpy arrays, beside numpy."""

import re

import ml_dtypes
import numpy as np
import pytest

from tilewright import quant


def to_codes(y: np.ndarray) -> np.ndarray:
    """f32 cut to f16, then to 12 bits, and up by one where the 17 low bits of the f32 say so."""
    bits = y.view("uint32")
    with np.errstate(over="ignore"):
        near = y.astype("float16")
    half = near.view("uint16").astype("int64")
    half -= np.abs(near.astype("float32")) > np.abs(y)  # toward zero
    code = half >> 4
    return code + ((code & 1) + (bits & 0x1FFFF) > 0x10000)


def packed(codes: np.ndarray) -> np.ndarray:
    """Bytes [m, 3 k / 2] of codes [m, k]: words of which the first code is on top."""
    bits = codes[..., None] >> np.arange(11, -1, -1) & 1
    words = np.packbits(bits.reshape(len(codes), -1, 4, 8).astype("uint8"), axis=-1)
    return words[..., 0][..., ::-1].reshape(len(codes), -1)


def wanted(x: np.ndarray, round_sf: bool) -> tuple[np.ndarray, np.ndarray]:
    largest = np.float32(65024)
    a = np.maximum(np.abs(x.astype("float32")).max(1, keepdims=True), np.float32(1e-4))
    sf, inverse = a / largest, largest / a
    if round_sf:
        e = ((sf.view("int32") - 1) >> 23) + 1
        sf, inverse = (e << 23).view("float32"), ((254 - e) << 23).view("float32")
    return packed(to_codes(x.astype("float32") * inverse)), sf


FLAGS = {
    "rows": {},
    "powers": {"round_sf": True},
    "columns": {"use_tma_aligned_col_major_sf": True},
    "packed": {"round_sf": True, "use_packed_ue8m0": True},
    "packed columns": {
        "round_sf": True,
        "use_packed_ue8m0": True,
        "use_tma_aligned_col_major_sf": True,
    },
}


def random(m: int, k: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(m + k)
    return (rng.standard_normal((m, k)) * 2.0 ** rng.integers(-40, 1, (m, k))).astype(dtype)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16])
def test_there_and_back_are_bitwise_numpys(flags: str, dtype: str) -> None:
    options = FLAGS[flags]
    for m in (1, 6):
        x = random(m, 192, dtype)
        codes, factors = wanted(x, "round_sf" in options)
        q, sf = quant.per_token_cast_to_e5m6(x, 192, **options)
        np.testing.assert_array_equal(q, codes)
        assert q.dtype == np.uint8 and q.flags.c_contiguous
        grid = (sf << 23).view("float32") if "use_packed_ue8m0" in options else sf
        np.testing.assert_array_equal(grid, factors)
        if "columns" in flags:
            assert [s // 4 for s in sf.strides] == [1, -(-m // 4) * 4]
        named = quant.per_token_cast(x, "e5m6", 192, **options)
        np.testing.assert_array_equal(named[0], q)
        np.testing.assert_array_equal(named[1], sf)
        y = quant.cast_back_e5m6((q, sf), "fp32", (1, 192))
        assert np.square(y - x.astype("float32")).sum() < 1e-4 * np.square(y).sum()
        again = quant.cast_back((q, sf), "fp32", (1, 192), "e5m6")
        np.testing.assert_array_equal(again, y)
        rows = quant.per_token_cast_back((q, sf), "bf16", 192, "e5m6")
        np.testing.assert_array_equal(rows, y.astype(ml_dtypes.bfloat16))


def test_no_rows_and_rows_with_gaps() -> None:
    q, sf = quant.per_token_cast_to_e5m6(random(0, 64, "float32"), 64)
    assert q.shape == (0, 96) and sf.shape == (0, 1)
    assert quant.cast_back_e5m6((q, sf), "bf16", (1, 64)).shape == (0, 64)
    memory = random(5, 128, "float32")
    found = quant.per_token_cast_to_e5m6(memory[:, :64], 64)
    np.testing.assert_array_equal(found[0], wanted(memory[:, :64], False)[0])


def test_blocks_of_any_size() -> None:
    q = np.random.default_rng(1).integers(0, 256, (70, 96), "uint8")
    ones = quant.cast_back_e5m6((q, np.ones((70, 1), "float32")), "fp32", (1, 64))
    sf = np.arange(1, 7, dtype="float32").reshape(3, 2)
    y = quant.cast_back_e5m6((q, sf), "fp32", (32, 32))
    factors = np.repeat(np.repeat(sf, 32, 0), 32, 1)[:70]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, ones * factors)


def test_results_go_where_the_caller_says() -> None:
    x = random(3, 64, "float32")
    q, sf = np.empty((3, 96), "uint8"), np.empty((3, 1), "float32")
    got = quant.per_token_cast(x, "e5m6", 64, out=(q, sf))
    assert got[0] is q and got[1] is sf
    np.testing.assert_array_equal(q, wanted(x, False)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_per_channels": 32}, "the group is 32, of codes of e5m6 it must be a row of 64"),
        ({"x_block_size": (1, 64)}, "x of a cast to e5m6 is a tensor, without factors of its own"),
        ({"x": (np.zeros((2, 64), "int8"), np.ones((2, 1), "float32"))}, "is a tensor, without"),
        ({"use_e4m3_sf": True}, "codes of e5m6 have no factors of e4m3"),
        ({"stochastic_cast": True}, "codes of e5m6 are not rounded at random"),
        ({"use_packed_ue8m0": True}, "use_packed_ue8m0 needs round_sf"),
        ({"least": 0.5}, "least is 0.5, codes of e5m6 have 1e-4"),
        ({"x": np.zeros((2, 12), "float32"), "num_per_channels": 12}, "a multiple of 8"),
    ],
)
def test_casts_that_do_not_fit_are_errors(change: dict, message: str) -> None:
    arguments = {"x": random(2, 64, "float32"), "fmt": "e5m6", "num_per_channels": 64, **change}
    with pytest.raises(ValueError, match=re.escape(message)):
        quant.per_token_cast(**arguments)


def test_other_casts_have_no_such_codes() -> None:
    x, sf = random(2, 64, "float32"), np.ones((2, 1), "float32")
    for refused in (
        lambda: quant.per_token_cast_with_sf_only(x, "e5m6", 64),
        lambda: quant.per_token_cast_with_precomputed_sf(x, "e5m6", 64, sf),
        lambda: quant.per_block_cast(x, "e5m6", (32, 32)),
    ):
        with pytest.raises(ValueError, match="fmt is 'e5m6', it must be 'e4m3' or 'e2m1'"):
            refused()


Q, SF = np.zeros((4, 96), "uint8"), np.ones((4, 1), "float32")


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"x": (Q.view("int8"), SF)}, TypeError, "q is e2m1 [4, 192], it must be u8"),
        ({"x": (Q[:, :92], SF)}, ValueError, "contiguous"),
        ({"x": (Q[:, :92].copy(), SF)}, ValueError, "a multiple of 12 bytes"),
        ({"x": (Q, SF[:3])}, ValueError, "sf is f32 [3, 1], it must be [4, 1]"),
        ({"x": (Q, SF.astype("float64"))}, TypeError, "sf is f64"),
        ({"x": (Q, SF.astype(ml_dtypes.float8_e4m3fn))}, TypeError, "sf is e4m3"),
        ({"x": Q}, TypeError, "must be a tuple"),
        ({"fmt": "fp16"}, ValueError, "fmt is 'fp16'"),
        ({"x_block_size": (1, 32)}, ValueError, "it must be [4, 2]"),
        ({"x_block_size": (1, 0)}, ValueError, "both must be from 1 to"),
    ],
)
def test_casts_back_that_do_not_fit_are_errors(
    change: dict, kind: type[Exception], message: str
) -> None:
    arguments = {"x": (Q, SF), "fmt": "fp32", "x_block_size": (1, 64), **change}
    with pytest.raises(kind, match=re.escape(message)):
        quant.cast_back_e5m6(**arguments)
