"""Casts in blocks of rows and columns, on numpy arrays: as groups of rows once blocks are rows."""

import re

import ml_dtypes
import numpy as np
import pytest

from tilewright import quant

PACKED = {"round_sf": True, "use_packed_ue8m0": True}
COLUMNS = {"use_tma_aligned_col_major_sf": True}
FLAGS = [{}, {"round_sf": True}, PACKED, COLUMNS, {**PACKED, **COLUMNS}]
BLOCKS = [(128, 128), (32, 32), (32, 128), (128, 32)]


def random(m: int, k: int) -> np.ndarray:
    return np.random.default_rng(m * k).standard_normal((m, k)).astype("float32")


def rows_of_blocks(x: np.ndarray, block: tuple[int, int]) -> np.ndarray:
    """Row i, j has the elements of block i, j; zeros fill up those at the edges."""
    m, n = -(-x.shape[0] // block[0]), -(-x.shape[1] // block[1])
    padded = np.zeros((m * block[0], n * block[1]), x.dtype)
    padded[: x.shape[0], : x.shape[1]] = x
    return padded.reshape(m, block[0], n, block[1]).swapaxes(1, 2).reshape(m * n, -1)


def nibbles(q: np.ndarray) -> np.ndarray:
    if q.dtype != np.int8:
        return q.view("uint8")
    return np.stack([q.view("uint8") & 15, q.view("uint8") >> 4], -1).reshape(len(q), -1)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_cast_like_a_row_of_its_elements(
    flags: dict, fmt: str, block: tuple[int, int]
) -> None:
    x = random(150, 320)
    q, sf = quant.per_block_cast(x, fmt, block, **flags)
    rows = rows_of_blocks(x, block)
    powers = {"round_sf": True} if "round_sf" in flags else {}
    codes, factors = quant.per_token_cast(rows, fmt, rows.shape[1], **powers)
    np.testing.assert_array_equal(rows_of_blocks(nibbles(q), block), nibbles(codes))
    m, n = -(-150 // block[0]), -(-320 // block[1])
    found = sf
    if "use_packed_ue8m0" in flags:
        exponents = np.ascontiguousarray(sf).view("uint8")
        assert not exponents[:, n:].any()
        found = (exponents[:, :n].astype("int32") << 23).view("float32")
    np.testing.assert_array_equal(found, factors.reshape(m, n))
    if "use_tma_aligned_col_major_sf" in flags:
        assert sf.strides == (4, 16 * -(-m // 4))
    alone = quant.per_block_cast_with_sf_only(x, fmt, block, **flags)
    np.testing.assert_array_equal(alone, sf)
    assert alone.strides == sf.strides
    if powers and sf.dtype == np.float32 and sf.flags.c_contiguous:
        given = quant.per_block_cast_with_precomputed_sf(x, fmt, block, sf, round_sf=True)
        np.testing.assert_array_equal(given.view("uint8"), q.view("uint8"))


@pytest.mark.parametrize("flags", [{}, PACKED, {**PACKED, **COLUMNS}], ids=str)
@pytest.mark.parametrize("into", [(1, 128), (32, 32), (128, 128)])
@pytest.mark.parametrize("shape", [(0, 128), (161, 576), (128, 128)])
def test_larger_blocks_without_loss(
    flags: dict, into: tuple[int, int], shape: tuple[int, int]
) -> None:
    x = random(*shape) * np.float32(2**20)
    if x.size:  # all groups are within reach of each other
        x = np.copysign(np.maximum(np.abs(x), np.abs(x).max() / 2**9), x)
    pair = quant.per_token_cast(x, "e2m1", 32, **{"round_sf": True, **flags})
    result = quant.per_block_cast_lossless(pair, "e4m3", (1, 32), into, **flags)
    assert result[0].dtype == ml_dtypes.float8_e4m3fn
    values = quant.cast_back(pair, "fp32", (1, 32))
    found = quant.cast_back(result, "fp32", into)
    np.testing.assert_array_equal(found.view("int32"), values.view("int32"))


def test_factors_too_far_apart_stop_it() -> None:
    q = np.ones((1, 32), "int8")
    with pytest.raises(RuntimeError, match="factors of a block are too far apart"):
        sf = np.array([[1, 2**-12]], "float32")
        quant.per_block_cast_lossless((q, sf), "e4m3", (1, 32), (1, 64))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fmt": "e2m1"}, "fmt is 'e2m1', it must be 'e4m3'"),
        ({"out_block_size": (1, 48)}, "blocks of 1 x 32 are to become ones of 1 x 48"),
        ({"use_packed_ue8m0": True}, "use_packed_ue8m0 needs round_sf"),
        ({"x": (np.ones((1, 40), "int8"), np.ones((1, 3), "float32"))}, "columns of x are 80"),
    ],
)
def test_what_does_not_fit_without_loss(options: dict, message: str) -> None:
    x = (np.ones((1, 32), "int8"), np.ones((1, 2), "float32"))
    call = {"x": x, "fmt": "e4m3", "x_block_size": (1, 32), "out_block_size": (32, 32), **options}
    with pytest.raises(ValueError, match=re.escape(f"per_block_cast_lossless: {message}")):
        quant.per_block_cast_lossless(**call)


def test_no_rows() -> None:
    q, sf = quant.per_block_cast(random(0, 128), "e2m1", (32, 32), False, True, True)
    assert (q.shape, sf.shape) == ((0, 64), (0, 1))


def test_results_go_where_the_caller_says() -> None:
    x = random(128, 192)
    q, sf = np.empty((128, 192), ml_dtypes.float8_e4m3fn), np.empty((1, 2), "float32")
    got = quant.per_block_cast(x, "e4m3", (128, 128), out=(q, sf))
    assert got[0] is q and got[1] is sf
    half = quant.per_block_cast(x, "e4m3", (128, 128), out=(None, sf))
    np.testing.assert_array_equal(half[0].view("uint8"), q.view("uint8"))
    assert quant.per_block_cast_with_sf_only(x, "e4m3", (128, 128), out_sf=sf) is sf
    assert quant.per_block_cast_with_precomputed_sf(x, "e4m3", (128, 128), sf, out=q) is q


def test_the_least_amax_is_the_callers() -> None:
    x = np.ones((32, 64), "float32")
    assert (quant.per_block_cast(x, "e4m3", (32, 32), least=896)[1] == 2).all()


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("per_block_cast", {"fmt": "e5m2"}, "fmt is 'e5m2', it must be 'e4m3' or 'e2m1'"),
        ("per_block_cast", {"block_size": (64, 32)}, "blocks are 64 x 32, both must be 32 or 128"),
        ("per_block_cast", {"use_packed_ue8m0": True}, "use_packed_ue8m0 needs round_sf"),
        (
            "per_block_cast_with_sf_only",
            {"use_tma_aligned_col_major_sf": True, "out_sf": np.empty((1, 2), "float32")},
            "out has scale factors, which use_tma_aligned_col_major_sf allocates",
        ),
        (
            "per_block_cast_with_precomputed_sf",
            {"sf": np.ones((1, 2), "float32"), "use_tma_aligned_col_major_sf": True},
            "sf is given row by row in f32",
        ),
        (
            "per_block_cast_with_precomputed_sf",
            {"sf": np.ones((2, 2), "float32")},
            "sf is f32 [2, 2], it must be [1, 2]",
        ),
        (
            "per_block_cast_with_precomputed_sf",
            {"sf": np.ones((1, 2), "float32"), "out": np.empty(4097, "int8")[1:].reshape(64, 64)},
            "the codes in out begin at",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(function: str, options: dict, message: str) -> None:
    arguments = {"fmt": "e4m3", "block_size": (128, 128), **options}
    if isinstance(options.get("out"), np.ndarray):
        arguments["fmt"] = "e2m1"
    with pytest.raises(ValueError, match=re.escape(f"{function}: {message}")):
        getattr(quant, function)(random(64, 128 if "out" in options else 192), **arguments)
